package broker

import (
	"fmt"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// finding makes a FindCoordinator request. Versions before 4 have room for the
// first key only.
func finding(version int16, kind int8, keys ...string) *kmsg.FindCoordinatorRequest {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorType, req.CoordinatorKeys = version, kind, keys
	if version < 4 {
		req.CoordinatorKey, req.CoordinatorKeys = keys[0], nil
	}
	return req
}

// A coordinator is what is told of one key; Key is empty before version 4.
type coordinator struct {
	Key  string
	Code int16
	Node int32
	Host string
	Port int32
}

func coordinators(resp kmsg.Response) (all []coordinator) {
	r := resp.(*kmsg.FindCoordinatorResponse)
	if r.Version < 4 {
		return []coordinator{{Code: r.ErrorCode, Node: r.NodeID, Host: r.Host, Port: r.Port}}
	}
	for _, k := range r.Coordinators {
		all = append(all, coordinator{k.Key, k.ErrorCode, k.NodeID, k.Host, k.Port})
	}
	return all
}

func TestFindCoordinator_NamesTheOneNodeForAnyKey(t *testing.T) {
	n := start(t, Options{})
	c := n.dialAs(wire.Advertised{Host: "kafka.example", Port: 29092})
	everyVersion(t, kmsg.FindCoordinator, func(t *testing.T, version int16) {
		for kind := range int8(2) {
			if version == 0 && kind != groupKey {
				continue // it has no place for a kind
			}
			for _, key := range []string{"orders", "", "ключ"} {
				told := coordinator{Node: NodeID, Host: "kafka.example", Port: 29092}
				if version >= 4 {
					told.Key = key
				}
				want(t, fmt.Sprintf("kind %d key %q", kind, key), coordinators(c.ask(finding(version, kind, key))), []coordinator{told})
			}
		}
	})
}

func TestFindCoordinator_ListsKeysAsTheyWereAsked(t *testing.T) {
	c := start(t, Options{}).dial()
	for version := int16(4); version <= newest(t, kmsg.FindCoordinator); version++ {
		var keys []string
		for _, told := range coordinators(c.ask(finding(version, txnKey, "b", "a", "b"))) {
			keys = append(keys, told.Key)
		}
		want(t, "keys", keys, []string{"b", "a", "b"})
		want(t, "of none", coordinators(c.ask(finding(version, groupKey))), nil)
	}
}

func TestFindCoordinator_RefusesAKindThatIsNotServed(t *testing.T) {
	c := start(t, Options{}).dial()
	for version := int16(1); version <= newest(t, kmsg.FindCoordinator); version++ {
		for _, kind := range []int8{2, 9, -1} {
			t.Run(fmt.Sprintf("version %d kind %d", version, kind), func(t *testing.T) {
				told := coordinators(c.ask(finding(version, kind, "key")))
				if len(told) != 1 {
					t.Fatalf("told of %d coordinators", len(told))
				}
				wantCode(t, told[0].Code, "INVALID_REQUEST")
				want(t, "node", told[0].Node, -1)
			})
		}
	}
}

func TestFindCoordinator_MakesNothing(t *testing.T) {
	n := start(t, Options{AutoCreate: true})
	n.dial().ask(finding(4, txnKey, "orders"))
	want(t, "topics", n.Topics(), nil)
	want(t, "transactional ids", len(n.txns.table.IDs()), 0)
}
