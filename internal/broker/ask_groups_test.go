package broker

import (
	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// joining makes a JoinGroup request of a consumer that offers range.
func joining(version int16, id, member string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = version, id, member, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 10*second, 60*second
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name = "range"
	req.Protocols = append(req.Protocols, p)
	return req
}

// A membership is what a client was told when it joined.
type membership struct {
	group      string
	member     string
	generation int32
}

// joined joins a group and gives the membership of one that was told at once.
func (c *client) joined(id string) membership {
	c.t.Helper()
	resp := c.ask(joining(3, id, "")).(*kmsg.JoinGroupResponse)
	wantCode(c.t, resp.ErrorCode, "NONE")
	return membership{id, resp.MemberID, resp.Generation}
}

func (m membership) beat(version int16) *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation = version, m.group, m.member, m.generation
	return req
}

func (m membership) leaving(version int16) *kmsg.LeaveGroupRequest {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group, req.MemberID = version, m.group, m.member
	req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: m.member}}
	return req
}

// syncing makes a SyncGroup request that brings the member its own assignment,
// none if it is "".
func (m membership) syncing(version int16, assignment string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation = version, m.group, m.member, m.generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	if assignment != "" {
		req.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: m.member, MemberAssignment: []byte(assignment)}}
	}
	return req
}

// committing makes an OffsetCommit request of nobody's.
func (c *client) committing(version int16, id, topic string, partition int32, offset int64) *kmsg.OffsetCommitRequest {
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = partition, offset
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group = version, id
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, TopicID: c.idOf(topic), Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	return req
}

// committed lists the codes of an OffsetCommit answer.
func committed(resp kmsg.Response) (codes []string) {
	for _, t := range resp.(*kmsg.OffsetCommitResponse).Topics {
		for _, p := range t.Partitions {
			codes = append(codes, codeName(p.ErrorCode))
		}
	}
	return codes
}

// fetchingOffsets makes an OffsetFetch request of one group for partitions of one
// topic.
func (c *client) fetchingOffsets(version int16, id, topic string, partitions ...int32) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group = version, id
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: partitions}}
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = id
	g.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, TopicID: c.idOf(topic), Partitions: partitions}}
	req.Groups = append(req.Groups, g)
	return req
}

// offsetsTold lists the offsets of an OffsetFetch answer.
func offsetsTold(resp kmsg.Response) (offsets []int64) {
	r := resp.(*kmsg.OffsetFetchResponse)
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			offsets = append(offsets, p.Offset)
		}
	}
	for _, g := range r.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				offsets = append(offsets, p.Offset)
			}
		}
	}
	return offsets
}

func deletingOffsets(id, topic string, partitions ...int32) *kmsg.OffsetDeleteRequest {
	t := kmsg.NewOffsetDeleteRequestTopic()
	t.Topic = topic
	for _, p := range partitions {
		t.Partitions = append(t.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p})
	}
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group, req.Topics = id, append(req.Topics, t)
	return req
}

func deletedOffsetCodes(resp kmsg.Response) (codes []string) {
	for _, t := range resp.(*kmsg.OffsetDeleteResponse).Topics {
		for _, p := range t.Partitions {
			codes = append(codes, codeName(p.ErrorCode))
		}
	}
	return codes
}

// commitFor keeps an offset behind the protocol's back.
func (n *node) commitFor(id, topic string, partition int32, offset int64) {
	n.t.Helper()
	n.groups.Commit(group.Commit{
		Identity: group.Identity{Group: id, Generation: -1},
		Offsets:  []group.PartitionOffset{{Partition: group.Partition{Topic: topic, Number: partition}, Offset: group.Offset{At: offset}}},
	})
}

// entering makes a ConsumerGroupHeartbeat request of a member "me" that joins.
func entering(version int16, id string, topics ...string) *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.RebalanceTimeoutMillis = version, id, "me", 60*second
	req.SubscribedTopicNames, req.Topics = topics, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return req
}

// living makes the heartbeat of member "me" that goes on.
func living(id string, epoch int32) *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch, req.RebalanceTimeoutMillis = 1, id, "me", epoch, -1
	return req
}
