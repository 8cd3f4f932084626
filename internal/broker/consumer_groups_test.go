package broker

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// heard is what a ConsumerGroupHeartbeat was told in a line.
func heard(resp kmsg.Response) string {
	r := resp.(*kmsg.ConsumerGroupHeartbeatResponse)
	if r.ErrorCode != 0 {
		return codeName(r.ErrorCode)
	}
	told := fmt.Sprintf("%s: epoch %d, every %d ms", text(r.MemberID), r.MemberEpoch, r.HeartbeatIntervalMillis)
	if r.Assignment != nil {
		for _, t := range r.Assignment.Topics {
			told += fmt.Sprint(" ", t.Partitions)
		}
	}
	return told
}

func TestConsumerGroupHeartbeat_SeesTopicsAsTheyAreNow(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		want(t, "first", heard(c.ask(entering(1, "g", "new", "a"))), "me: epoch 2, every 5000 ms [0 1]")
		pass(time.Second)
		n.make("new", 3, nil)
		told := c.ask(living("g", 2)).(*kmsg.ConsumerGroupHeartbeatResponse)
		want(t, "topics when one was made", len(told.Assignment.Topics), 2)
		pass(time.Second)
		c.ask(deleting(6, "a"))
		gaveUp := living("g", 3)
		gaveUp.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{{TopicID: n.id("new"), Partitions: []int32{0, 1, 2}}}
		want(t, "when one was deleted", heard(c.ask(gaveUp)), "me: epoch 4, every 5000 ms [0 1 2]")
		leaving := living("g", -1)
		want(t, "when it leaves", heard(c.ask(leaving)), "me: epoch -1, every 0 ms")
	})
}

func TestConsumerGroupHeartbeat_SaysWhatWasWrong(t *testing.T) {
	_, c := startWith(t, "there")
	for _, tt := range []struct {
		name    string
		change  func(r *kmsg.ConsumerGroupHeartbeatRequest)
		code    string
		message string
	}{
		{"no group", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.Group = "" }, "INVALID_REQUEST", "GroupId can't be empty."},
		{"no member", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberID = "" }, "INVALID_REQUEST", "MemberId can't be empty."},
		{"an assignor", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.ServerAssignor = kmsg.StringPtr("mine") }, "UNSUPPORTED_ASSIGNOR",
			"ServerAssignor mine is not supported. Supported assignors: uniform, range."},
		{"an expression", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.SubscribedTopicRegex = kmsg.StringPtr("t(") }, "INVALID_REGULAR_EXPRESSION",
			"SubscribedTopicRegex `t(` is not a valid regular expression: missing closing )."},
		{"a group", func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = 7 }, "GROUP_ID_NOT_FOUND", "Consumer group g not found."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := entering(1, "g", "there")
			tt.change(req)
			told := c.ask(req).(*kmsg.ConsumerGroupHeartbeatResponse)
			wantCode(t, told.ErrorCode, tt.code)
			want(t, "message", text(told.ErrorMessage), tt.message)
			want(t, "member, epoch and interval", fmt.Sprint(text(told.MemberID), told.MemberEpoch, told.HeartbeatIntervalMillis), "null0 0")
		})
	}
}

func TestConsumerGroupDescribe_OfAnotherGroup(t *testing.T) {
	_, c := startWith(t)
	c.joined("classic")
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{"classic", "none"}
	var told []string
	for _, g := range c.ask(req).(*kmsg.ConsumerGroupDescribeResponse).Groups {
		wantCode(t, g.ErrorCode, "GROUP_ID_NOT_FOUND")
		told = append(told, text(g.ErrorMessage))
	}
	want(t, "messages", fmt.Sprint(told), "[Group classic is not a consumer group. Group none not found.]")
}

func TestDescribeGroups_OfTheConsumerProtocol(t *testing.T) {
	_, c := startWith(t, "there")
	c.ask(entering(1, "g", "there"))
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.Groups = 6, []string{"g", "none"}
	var told []string
	for _, g := range c.ask(req).(*kmsg.DescribeGroupsResponse).Groups {
		wantCode(t, g.ErrorCode, "GROUP_ID_NOT_FOUND")
		want(t, "state", g.State, "Dead")
		told = append(told, text(g.ErrorMessage))
	}
	want(t, "messages", fmt.Sprint(told), "[Group g is not a classic group. Group none not found.]")
}

func TestConsumerGroup_IsListedAsOne(t *testing.T) {
	_, c := startWith(t, "there")
	c.ask(entering(1, "g", "there"))
	req := kmsg.NewPtrListGroupsRequest()
	req.Version, req.TypesFilter = 5, []string{"consumer"}
	want(t, "groups", c.ask(req).(*kmsg.ListGroupsResponse).Groups, []kmsg.ListGroupsResponseGroup{
		{Group: "g", ProtocolType: "consumer", GroupState: "Stable", GroupType: "consumer"},
	})
}

func TestConsumerGroup_JudgesWhoAsksForOffsets(t *testing.T) {
	_, c := startWith(t, "there")
	c.ask(entering(1, "g", "there"))
	everyVersion(t, kmsg.OffsetCommit, func(t *testing.T, version int16) {
		req := c.committing(version, "g", "there", 0, 5)
		req.MemberID, req.Generation = "me", 2
		expected := "NONE"
		if version < commitEpochsSince {
			expected = "UNSUPPORTED_VERSION"
		}
		want(t, "codes", committed(c.ask(req)), []string{expected})
	})
	for epoch, expected := range map[int32]string{2: "NONE", 1: "STALE_MEMBER_EPOCH"} {
		req := c.fetchingOffsets(9, "g", "there", 0)
		req.Groups[0].MemberID, req.Groups[0].MemberEpoch = kmsg.StringPtr("me"), epoch
		wantCode(t, c.ask(req).(*kmsg.OffsetFetchResponse).Groups[0].ErrorCode, expected)
	}
}
