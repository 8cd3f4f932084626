package broker

import (
	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ConsumerGroupHeartbeat, versions 0 and 1 (the client chooses its member id, and
// may subscribe by a regular expression, in 1): the consumer protocol, KIP-848.
//
// The coordinator assigns, with the uniform or the range assignor. The first
// assignment of a group is made at once, later ones at least a second apart. An
// assignment is told only if it changed or the member said all there is to say.
// The session is 45 s, the interval of heartbeats 5 s. The first heartbeat of a
// member takes a classic group of consumers over; when the last member of this
// protocol leaves, classic members get their group back.
//
// Differences from Apache Kafka: racks are not looked at. New topics that an
// expression matches are found with the next heartbeat. Which member keeps the
// odd partition goes by the order in which they came.

func (b *Broker) consumerGroupHeartbeat(req *wire.Request, r *kmsg.ConsumerGroupHeartbeatRequest) kmsg.Response {
	told := b.groups.ConsumerHeartbeat(group.ConsumerHeartbeat{
		Group: r.Group, MemberID: r.MemberID, Epoch: r.MemberEpoch, InstanceID: r.InstanceID, RackID: r.RackID,
		ClientID: req.Client, ClientHost: clientHost(req.Conn), Rebalance: millis(r.RebalanceTimeoutMillis),
		Names: r.SubscribedTopicNames, Regex: r.SubscribedTopicRegex, Assignor: r.ServerAssignor,
		Owns: ownedPartitions(r), SaysOwns: r.Topics != nil, Topics: b.groupTopics(), GivenID: r.Version == 0,
	})
	resp := r.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
	if resp.ErrorCode = groupCode(told.Reason); told.Reason != group.OK {
		if told.Text == "" {
			told.Text = told.Reason.String()
		}
		resp.ErrorMessage = &told.Text
		return resp
	}
	resp.MemberID, resp.MemberEpoch = &told.MemberID, told.Epoch
	if told.Stays {
		resp.HeartbeatIntervalMillis = int32(group.ConsumerInterval.Milliseconds())
	}
	if told.Assigned {
		a := kmsg.NewConsumerGroupHeartbeatResponseAssignment()
		for _, t := range byTopic(told.Assignment) {
			a.Topics = append(a.Topics, kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{TopicID: t.TopicID, Partitions: t.Partitions})
		}
		resp.Assignment = &a
	}
	return resp
}

// ownedPartitions lists what a member says that it reads.
func ownedPartitions(r *kmsg.ConsumerGroupHeartbeatRequest) (all []group.TopicPartition) {
	for _, t := range r.Topics {
		for _, n := range t.Partitions {
			all = append(all, group.TopicPartition{TopicID: t.TopicID, Number: n})
		}
	}
	return all
}

// byTopic gathers sorted partitions topic by topic.
func byTopic(all []group.TopicPartition) (topics []kmsg.AssignmentTopicPartition) {
	for _, p := range all {
		if n := len(topics); n == 0 || topics[n-1].TopicID != p.TopicID {
			topics = append(topics, kmsg.AssignmentTopicPartition{TopicID: p.TopicID})
		}
		t := &topics[len(topics)-1]
		t.Partitions = append(t.Partitions, p.Number)
	}
	return topics
}
