package broker

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestGroupCode_KnowsEveryReason(t *testing.T) {
	for why := group.OK + 1; why.String() != "unknown reason"; why++ {
		if groupErrors[why] == nil {
			t.Errorf("no error tells that %s", why)
		}
	}
}

// A wait is a request that is under way in virtual time.
type wait struct {
	*client
	done chan kmsg.Response
}

// ask sends a request on a connection of its own and lets it come as far as it
// can.
func (n *node) wait(req kmsg.Request) *wait {
	n.t.Helper()
	w := &wait{client: n.dial(), done: make(chan kmsg.Response, 1)}
	w.send(req)
	go func() {
		if resp, err := w.read(req); err == nil {
			w.done <- resp
		}
		close(w.done)
	}()
	synctest.Wait()
	return w
}

func (w *wait) wantWaiting() {
	w.t.Helper()
	synctest.Wait()
	if len(w.done) > 0 {
		w.t.Fatal("the request was answered, and it should wait")
	}
}

func (w *wait) joined() *kmsg.JoinGroupResponse {
	w.t.Helper()
	resp, _ := (<-w.done).(*kmsg.JoinGroupResponse)
	if resp == nil {
		w.t.Fatal("the JoinGroup was not answered")
	}
	return resp
}

func TestJoinGroup_WaitsForTheOthers(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		first := c.joined("g")
		c.ask(first.syncing(3, "all"))
		second := n.wait(joining(3, "g", ""))
		second.wantWaiting()
		wantCode(t, c.ask(first.beat(3)).(*kmsg.HeartbeatResponse).ErrorCode, "REBALANCE_IN_PROGRESS")

		leader := c.ask(joining(3, "g", first.member)).(*kmsg.JoinGroupResponse)
		follower := second.joined()
		want(t, "members", []int{len(leader.Members), len(follower.Members)}, []int{2, 0})
		want(t, "leader", follower.LeaderID, first.member)

		sync := n.wait(membership{"g", follower.MemberID, 2}.syncing(3, ""))
		sync.wantWaiting()
		req := membership{"g", first.member, 2}.syncing(3, "left")
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: follower.MemberID, MemberAssignment: []byte("right")})
		want(t, "the leader's", string(c.ask(req).(*kmsg.SyncGroupResponse).MemberAssignment), "left")
		want(t, "the follower's", string((<-sync.done).(*kmsg.SyncGroupResponse).MemberAssignment), "right")
	})
}

// What a member says is kept after its request: the memory of the request is used
// again.
func TestJoinGroup_KeepsWhatMembersSay(t *testing.T) {
	_, c := startWith(t)
	req := joining(3, "g", "")
	req.Protocols[0].Metadata = []byte("what I read")
	told := c.ask(req).(*kmsg.JoinGroupResponse)
	m := membership{"g", told.MemberID, told.Generation}
	c.ask(m.syncing(3, "what you get"))
	for range 3 { // over the memory of the requests
		c.ask(describingGroups(6, "ggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg"))
	}
	member := c.ask(describingGroups(4, "g")).(*kmsg.DescribeGroupsResponse).Groups[0].Members[0]
	want(t, "metadata and assignment", []string{string(member.ProtocolMetadata), string(member.MemberAssignment)}, []string{"what I read", "what you get"})
}

func describingGroups(version int16, ids ...string) *kmsg.DescribeGroupsRequest {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.Groups = version, ids
	return req
}

func TestJoinGroup_EndsWithTheServer(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		c.joined("g")
		waiting := n.wait(joining(3, "g", ""))
		waiting.wantWaiting()
		began := time.Now()
		n.server.Shutdown(context.Background())
		wantCode(t, waiting.joined().ErrorCode, "NOT_COORDINATOR")
		want(t, "time that it took", time.Since(began), 0)
	})
}

// The goroutine of a connection goes with it, and the member stays.
func TestJoinGroup_OfAClientThatGoesAway(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		first := c.joined("g")
		waiting := n.wait(joining(3, "g", ""))
		waiting.conn.Close()
		pass(2 * lookForClient)
		if open, _ := n.server.Connections(); open != 1 {
			t.Errorf("%d connections are open, and the one that asks here should be", open)
		}
		want(t, "members", len(n.groups.Describe("g").Members), 2)
		leader := c.ask(joining(3, "g", first.member)).(*kmsg.JoinGroupResponse)
		want(t, "members of the next generation", len(leader.Members), 2)
	})
}

// No earlier answer of the connection waits with a JoinGroup.
func TestJoinGroup_LetsEarlierAnswersGo(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		c.joined("g")
		other := n.dial()
		beat, join := membership{"g", "ghost", 1}.beat(3), joining(3, "g", "")
		frames := other.format.AppendRequest(nil, beat, 1)
		if _, err := other.conn.Write(other.format.AppendRequest(frames, join, 2)); err != nil {
			t.Fatal(err)
		}
		other.correlation = 1
		wantCode(t, other.receive(beat).(*kmsg.HeartbeatResponse).ErrorCode, "UNKNOWN_MEMBER_ID")
	})
}

func TestJoinGroup_HasASessionForAPatienceBeforeVersion1(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		c.joined("g")
		req := joining(0, "h", "")
		req.RebalanceTimeoutMillis = 0
		first := c.ask(req).(*kmsg.JoinGroupResponse)
		second := n.wait(joining(0, "h", ""))
		pass(9 * time.Second)
		second.wantWaiting()
		pass(time.Second)
		want(t, "members", len(second.joined().Members), 1)
		wantCode(t, c.ask(membership{"h", first.MemberID, 1}.beat(0)).(*kmsg.HeartbeatResponse).ErrorCode, "UNKNOWN_MEMBER_ID")
	})
}

func TestJoinGroup_ThatIsRefusedTellsNoProtocol(t *testing.T) {
	_, c := startWith(t)
	everyVersion(t, kmsg.JoinGroup, func(t *testing.T, version int16) {
		resp := c.ask(joining(version, "g", "ghost")).(*kmsg.JoinGroupResponse)
		wantCode(t, resp.ErrorCode, "UNKNOWN_MEMBER_ID")
		none := "null"
		if version < 7 {
			none = ""
		}
		want(t, "protocol, member and generation", fmt.Sprint(text(resp.Protocol), " ", resp.MemberID, " ", resp.Generation), none+" ghost -1")
	})
}

func TestSyncGroup_HasToNameTheProtocolFromVersion5(t *testing.T) {
	_, c := startWith(t)
	m := c.joined("g")
	everyVersion(t, kmsg.SyncGroup, func(t *testing.T, version int16) {
		req := m.syncing(version, "all")
		req.Protocol = nil
		told := c.ask(req).(*kmsg.SyncGroupResponse)
		expected := "NONE"
		if version >= syncProtocolSince {
			expected = "INCONSISTENT_GROUP_PROTOCOL"
		}
		wantCode(t, told.ErrorCode, expected)
	})
}

func TestLeaveGroup_TellsWhereItsVersionHasRoom(t *testing.T) {
	_, c := startWith(t)
	everyVersion(t, kmsg.LeaveGroup, func(t *testing.T, version int16) {
		top, each := "NONE", []string{"UNKNOWN_MEMBER_ID"}
		if version < leaveSeveralSince {
			top, each = "UNKNOWN_MEMBER_ID", nil
		}
		resp := c.ask(membership{group: "g", member: "ghost"}.leaving(version)).(*kmsg.LeaveGroupResponse)
		wantCode(t, resp.ErrorCode, top)
		var codes []string
		for _, m := range resp.Members {
			codes = append(codes, codeName(m.ErrorCode))
		}
		want(t, "codes", codes, each)
		wantCode(t, c.ask(membership{member: "ghost"}.leaving(version)).(*kmsg.LeaveGroupResponse).ErrorCode, "INVALID_GROUP_ID")
	})
}

func TestDescribeGroups_OfOneThatIsNotThere(t *testing.T) {
	_, c := startWith(t)
	everyVersion(t, kmsg.DescribeGroups, func(t *testing.T, version int16) {
		told := c.ask(describingGroups(version, "none")).(*kmsg.DescribeGroupsResponse).Groups[0]
		expected, message := "NONE", "null"
		if version >= describeGroupNotFoundSince {
			expected, message = "GROUP_ID_NOT_FOUND", "Group none not found."
		}
		wantCode(t, told.ErrorCode, expected)
		want(t, "state and message", []string{told.State, text(told.ErrorMessage)}, []string{"Dead", message})
	})
}

func TestDescribeGroups_TellsWhatMayBeDone(t *testing.T) {
	n, c := startWith(t)
	n.commitFor("g", "there", 0, 1)
	for _, asked := range []bool{false, true} {
		req := describingGroups(6, "g")
		req.IncludeAuthorizedOperations = asked
		operations := int32(-2147483648)
		if asked {
			operations = groupOperations
		}
		want(t, "operations", c.ask(req).(*kmsg.DescribeGroupsResponse).Groups[0].AuthorizedOperations, operations)
	}
}

func TestListGroups_GoesByFilters(t *testing.T) {
	n, c := startWith(t, "there")
	n.commitFor("offsets", "there", 0, 1)
	c.joined("members")
	for _, tt := range []struct {
		name          string
		states, types []string
		want          []string
	}{
		{"none", nil, nil, []string{"members", "offsets"}},
		{"a state", []string{"Empty"}, nil, []string{"offsets"}},
		{"letters of either size", []string{"EMPTY", "completingrebalance"}, []string{"CLASSIC"}, []string{"members", "offsets"}},
		{"a state that there is not", []string{"Nonsense"}, nil, nil},
		{"another type", nil, []string{"share"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := kmsg.NewPtrListGroupsRequest()
			req.Version, req.StatesFilter, req.TypesFilter = newest(t, kmsg.ListGroups), tt.states, tt.types
			var ids []string
			for _, g := range c.ask(req).(*kmsg.ListGroupsResponse).Groups {
				ids = append(ids, g.Group)
			}
			want(t, "groups", ids, tt.want)
		})
	}
}
