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
		for _, kind := range []int8{shareKey, 9, -1} {
			if kind == shareKey && version >= shareKeysSince {
				continue
			}
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

func TestFindCoordinator_KeysOfSharePartitions(t *testing.T) {
	const id = "MkU3OEVBNTcwNTJENDM2Qg" // of a topic
	c := start(t, Options{}).dial()
	for _, tt := range []struct {
		name, key string
		good      bool
	}{
		{"a share partition", "group:" + id + ":0", true},
		{"a group with a colon", "a:b:" + id + ":0", true},
		{"colons at the end", "group:" + id + ":0::", true},
		{"a padded id", "group:" + id + "==:0", true},
		{"a partition below 0", "group:" + id + ":-1", true},
		{"a partition with a sign", "group:" + id + ":+1", true},
		{"a partition with leading zeros", "group:" + id + ":007", true},
		{"nothing", "", false},
		{"one word", "group", false},
		{"no partition", "group:" + id, false},
		{"no group", ":" + id + ":0", false},
		{"a blank group", " :" + id + ":0", false},
		{"an id that is too short", "group:MkU3OEVBNTcwNTJENDM2:0", false},
		{"an id of other letters", "group:MkU3OEVBNTcwNTJENDM+/w:0", false},
		{"no id", "group::0", false},
		{"colons only", "::", false},
		{"a partition that is no number", "group:" + id + ":x", false},
		{"a partition behind a space", "group:" + id + ": 1", false},
		{"a partition that is too large", "group:" + id + ":2147483648", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told := coordinators(c.ask(finding(shareKeysSince, shareKey, "other:"+id+":1", tt.key)))
			wanted := []coordinator{
				{Key: "other:" + id + ":1", Node: NodeID, Host: "pipe", Port: 9092},
				{Key: tt.key, Node: NodeID, Host: "pipe", Port: 9092},
			}
			if !tt.good {
				wanted[1] = coordinator{Key: tt.key, Code: 42, Node: -1, Port: -1} // INVALID_REQUEST
			}
			want(t, "told", told, wanted)
		})
	}
}

func TestFindCoordinator_MakesNothing(t *testing.T) {
	n := start(t, Options{AutoCreate: true})
	n.dial().ask(finding(4, txnKey, "orders"))
	want(t, "topics", n.Topics(), nil)
	want(t, "transactional ids", len(n.txns.table.IDs()), 0)
}
