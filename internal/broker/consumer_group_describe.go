package broker

import (
	"fmt"

	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ConsumerGroupDescribe, versions 0 and 1 (the protocol of each member in 1).
//
// A group of the classic protocol is GROUP_ID_NOT_FOUND, as one is that is not
// there. What a member has to give up is in its assignment until it has.

// The protocols that a member may speak (MemberType).
const (
	classicMember  = 0
	consumerMember = 1
)

func (b *Broker) consumerGroupDescribe(r *kmsg.ConsumerGroupDescribeRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
	for _, id := range r.Groups {
		told := b.describedConsumers(id)
		if r.IncludeAuthorizedOperations && told.ErrorCode == 0 {
			told.AuthorizedOperations = groupOperations
		}
		resp.Groups = append(resp.Groups, told)
	}
	return resp
}

func (b *Broker) describedConsumers(id string) kmsg.ConsumerGroupDescribeResponseGroup {
	told := kmsg.NewConsumerGroupDescribeResponseGroup()
	told.Group = id
	if id == "" {
		told.ErrorCode = kerr.InvalidGroupID.Code
		return told
	}
	d, ok := b.groups.DescribeConsumers(id)
	if !ok {
		told.ErrorCode = kerr.GroupIDNotFound.Code
		told.ErrorMessage = kmsg.StringPtr(b.whyNoConsumers(id))
		return told
	}
	told.State, told.Epoch, told.AssignmentEpoch, told.AssignorName = d.State.String(), d.Epoch, d.TargetEpoch, d.Assignor
	for i := range d.Members {
		told.Members = append(told.Members, b.describedMember(&d.Members[i]))
	}
	return told
}

// whyNoConsumers says what is wrong with a group that does not speak the consumer
// protocol. Kafka's own tools show it.
func (b *Broker) whyNoConsumers(id string) string {
	if b.groups.Describe(id).State == group.Dead {
		return fmt.Sprintf("Group %s not found.", id)
	}
	return fmt.Sprintf("Group %s is not a consumer group.", id)
}

func (b *Broker) describedMember(m *group.ConsumerMemberDescription) kmsg.ConsumerGroupDescribeResponseGroupMember {
	told := kmsg.NewConsumerGroupDescribeResponseGroupMember()
	told.MemberID, told.InstanceID, told.RackID, told.MemberEpoch = m.ID, m.InstanceID, m.RackID, m.Epoch
	told.ClientID, told.ClientHost, told.SubscribedTopics = m.ClientID, m.ClientHost, m.Names
	told.SubscribedTopicRegex = &m.Regex // "" for none, as in Kafka
	told.Assignment.TopicPartitions = b.named(byTopic(m.Assigned))
	told.TargetAssignment.TopicPartitions = b.named(byTopic(m.Target))
	told.MemberType = consumerMember
	if m.Classic {
		told.MemberType = classicMember
	}
	return told
}

// named fills in the names of topics.
func (b *Broker) named(topics []kmsg.AssignmentTopicPartition) []kmsg.AssignmentTopicPartition {
	for i := range topics {
		topics[i].Topic = b.TopicName(topics[i].TopicID)
	}
	return topics
}
