package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestErrorAnswer_of_groups_refuses_as_a_coordinator_does(t *testing.T) {
	consumer := kmsg.StringPtr("consumer")
	join, joined := kmsg.NewPtrJoinGroupRequest(), kmsg.NewPtrJoinGroupResponse()
	join.MemberID, join.ProtocolType = "me", "consumer"
	joined.ErrorCode, joined.Generation, joined.MemberID = notLeader, -1, "me"
	sync, synced := kmsg.NewPtrSyncGroupRequest(), kmsg.NewPtrSyncGroupResponse()
	sync.ProtocolType, sync.Protocol = consumer, kmsg.StringPtr("range")
	synced.ErrorCode, synced.MemberAssignment = notLeader, []byte{}
	beat := kmsg.NewPtrHeartbeatResponse()
	beat.ErrorCode = notLeader
	leaveOne, left := kmsg.NewPtrLeaveGroupRequest(), kmsg.NewPtrLeaveGroupResponse()
	leaveOne.MemberID, left.ErrorCode = "me", notLeader
	leaveTwo, leftTwo := kmsg.NewPtrLeaveGroupRequest(), kmsg.NewPtrLeaveGroupResponse()
	leaveTwo.Members = []kmsg.LeaveGroupRequestMember{{MemberID: "me"}, {InstanceID: consumer}}
	leftTwo.ErrorCode = notLeader
	leftTwo.Members = []kmsg.LeaveGroupResponseMember{{MemberID: "me", ErrorCode: notLeader}, {InstanceID: consumer, ErrorCode: notLeader}}
	describe, described := kmsg.NewPtrDescribeGroupsRequest(), kmsg.NewPtrDescribeGroupsResponse()
	describe.Groups = []string{"billing"}
	group := kmsg.NewDescribeGroupsResponseGroup()
	group.Group, group.ErrorCode, group.ErrorMessage = "billing", notLeader, why
	described.Groups = append(described.Groups, group)
	drop, dropped := kmsg.NewPtrDeleteGroupsRequest(), kmsg.NewPtrDeleteGroupsResponse()
	drop.Groups = []string{"billing"}
	dropped.Groups = []kmsg.DeleteGroupsResponseGroup{{Group: "billing", ErrorCode: notLeader}}
	listed := kmsg.NewPtrListGroupsResponse()
	listed.ErrorCode = notLeader

	for _, tt := range []struct {
		name string
		req  kmsg.Request
		want kmsg.Response
	}{
		{"join_group 6", at(6, join), joined},
		{"join_group 9", at(9, join), joined},
		{"sync_group 0", at(0, sync), synced},
		{"sync_group 5", at(5, sync), synced},
		{"heartbeat 4", at(4, kmsg.NewPtrHeartbeatRequest()), beat},
		{"leave_group 2", at(2, leaveOne), left},
		{"leave_group 5", at(5, leaveTwo), leftTwo},
		{"offset_commit 9", at(9, commitOne("orders", [16]byte{})), committed("orders", [16]byte{})},
		{"offset_commit 10, by id", at(10, commitOne("", [16]byte{1})), committed("", [16]byte{1})},
		{"offset_fetch 7", at(7, fetchOffsetsOld()), offsetsRefusedOld()},
		{"offset_fetch 9", at(9, fetchOffsets("orders", "")), offsetsRefused("orders", "")},
		{"offset_delete 0", at(0, deleteOffsets()), offsetsKept()},
		{"describe_groups 6", at(6, describe), described},
		{"list_groups 5", at(5, kmsg.NewPtrListGroupsRequest()), listed},
		{"delete_groups 2", at(2, drop), dropped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.SetVersion(tt.req.GetVersion())
			got := ErrorAnswer(tt.req, notLeader, *why)
			if diff := cmp.Diff(copyOf(t, tt.want), copyOf(t, got), cmpopts.IgnoreUnexported(kmsg.Tags{})); diff != "" {
				t.Errorf("the answer (-want +got):\n%s", diff)
			}
		})
	}
}

func commitOne(topic string, id [16]byte) *kmsg.OffsetCommitRequest {
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = 3, 17
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, TopicID: id, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	return req
}

func committed(topic string, id [16]byte) *kmsg.OffsetCommitResponse {
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Topics = []kmsg.OffsetCommitResponseTopic{{
		Topic: topic, TopicID: id,
		Partitions: []kmsg.OffsetCommitResponseTopicPartition{{Partition: 3, ErrorCode: notLeader}},
	}}
	return resp
}

func fetchOffsetsOld() *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "orders", Partitions: []int32{0, 1}}}
	return req
}

func offsetsRefusedOld() *kmsg.OffsetFetchResponse {
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.ErrorCode = notLeader
	part := func(n int32) kmsg.OffsetFetchResponseTopicPartition {
		return kmsg.OffsetFetchResponseTopicPartition{Partition: n, Offset: -1, LeaderEpoch: -1, ErrorCode: notLeader}
	}
	resp.Topics = []kmsg.OffsetFetchResponseTopic{{Topic: "orders", Partitions: []kmsg.OffsetFetchResponseTopicPartition{part(0), part(1)}}}
	return resp
}

// fetchOffsets asks for partition 0 of a topic each for groups billing, shipping
// and so on; "" asks for all that the group committed.
func fetchOffsets(topics ...string) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	for i, topic := range topics {
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = []string{"billing", "shipping"}[i]
		if topic != "" {
			g.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: []int32{0}}}
		}
		req.Groups = append(req.Groups, g)
	}
	return req
}

func offsetsRefused(topics ...string) *kmsg.OffsetFetchResponse {
	resp := kmsg.NewPtrOffsetFetchResponse()
	for i, topic := range topics {
		g := kmsg.NewOffsetFetchResponseGroup()
		g.Group, g.ErrorCode = []string{"billing", "shipping"}[i], notLeader
		if topic != "" {
			g.Topics = []kmsg.OffsetFetchResponseGroupTopic{{Topic: topic, Partitions: []kmsg.OffsetFetchResponseGroupTopicPartition{
				{Offset: -1, LeaderEpoch: -1, ErrorCode: notLeader}}}}
		}
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}

func deleteOffsets() *kmsg.OffsetDeleteRequest {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "orders", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 3}}}}
	return req
}

func offsetsKept() *kmsg.OffsetDeleteResponse {
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.ErrorCode = notLeader
	resp.Topics = []kmsg.OffsetDeleteResponseTopic{{
		Topic: "orders", Partitions: []kmsg.OffsetDeleteResponseTopicPartition{{Partition: 3, ErrorCode: notLeader}},
	}}
	return resp
}

// A group that asks for all of its offsets names no topic, so that no match of a
// topic takes it out of a request.
func TestSplit_of_groups_takes_whole_groups_and_their_topics(t *testing.T) {
	to := func(topic string) func(TopicPartition) bool {
		return func(tp TopicPartition) bool { return tp.Topic == topic }
	}
	names := func(req *Request) (groups []string) {
		if req == nil {
			return nil
		}
		for _, g := range req.Body.(*kmsg.OffsetFetchRequest).Groups {
			groups = append(groups, g.Group)
		}
		return groups
	}
	for _, tt := range []struct {
		name    string
		topics  []string
		in, out []string
	}{
		{"one of two", []string{"orders", "audit"}, []string{"billing"}, []string{"shipping"}},
		{"both", []string{"orders", "orders"}, []string{"billing", "shipping"}, nil},
		{"one that asks for all", []string{"", "orders"}, []string{"shipping"}, []string{"billing"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, out := Split(&Request{Body: at(8, fetchOffsets(tt.topics...))}, to("orders"))
			if diff := cmp.Diff([][]string{tt.in, tt.out}, [][]string{names(in), names(out)}); diff != "" {
				t.Errorf("in and out (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMerge_puts_topics_into_their_group(t *testing.T) {
	answer := func(group, topic string) *kmsg.OffsetFetchResponse {
		resp := at9(kmsg.NewPtrOffsetFetchResponse())
		resp.Groups = []kmsg.OffsetFetchResponseGroup{{Group: group, Topics: []kmsg.OffsetFetchResponseGroupTopic{{Topic: topic}}}}
		return resp
	}
	got := Merge(Merge(answer("billing", "orders"), answer("shipping", "orders")), answer("billing", "audit"))
	want := answer("billing", "orders")
	want.Groups[0].Topics = append(want.Groups[0].Topics, kmsg.OffsetFetchResponseGroupTopic{Topic: "audit"})
	want.Groups = append(want.Groups, answer("shipping", "orders").Groups...)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(kmsg.Tags{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the merged answer (-want +got):\n%s", diff)
	}
}

func at9(resp *kmsg.OffsetFetchResponse) *kmsg.OffsetFetchResponse {
	resp.SetVersion(9)
	return resp
}

func TestFillTopicNames_fills_those_of_groups(t *testing.T) {
	req := fetchOffsets("", "kept")
	req.Groups[0].Topics = []kmsg.OffsetFetchRequestGroupTopic{{TopicID: [16]byte{1}}}
	FillTopicNames(req, func([16]byte) string { return "orders" })
	if diff := cmp.Diff([]TopicPartition{{"kept", 0}}, partitionsIn(req)); diff != "" || req.Groups[0].Topics[0].Topic != "orders" {
		t.Errorf("the request is %+v (%s)", req, diff)
	}
}
