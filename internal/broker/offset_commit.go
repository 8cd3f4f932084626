package broker

import (
	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetCommit, versions 2 to 10 (leader epochs from 6, static members from 7,
// topic ids from 10).
//
// Any offset is kept, also one that cannot be, with up to 4096 characters beside
// it. Partitions that are not there are told so, and the others are kept. A client
// in no group (generation -1) may commit to a group without members, which makes
// it. Members of the consumer protocol name their epoch, from version 9 on.
//
// Differences from Apache Kafka: offsets do not expire (offsets.retention.minutes),
// and a retention time (versions 2 to 4) is ignored. More offsets than are kept
// are POLICY_VIOLATION.

// The versions of OffsetCommit in which something changed.
const (
	commitGroupNotFoundSince = 9
	commitEpochsSince        = 9
	commitTopicIDsSince      = 10
)

func (b *Broker) offsetCommit(r *kmsg.OffsetCommitRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.OffsetCommitResponse)
	b.commitOffsets(r, resp, func(k group.Commit) (int16, []group.Reason) {
		why, each := b.groups.Commit(k)
		if why == group.NoSuchGroup && r.Version < commitGroupNotFoundSince {
			return kerr.IllegalGeneration.Code, nil
		}
		return groupCode(why), each
	})
	return resp
}

// commitOffsets commits what can be of a request by keep, which gives an error
// code for all or the reason for each.
func (b *Broker) commitOffsets(r *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, keep func(group.Commit) (int16, []group.Reason)) {
	c := committing{broker: b, request: r, keep: keep}
	for i := range r.Topics {
		resp.Topics = append(resp.Topics, c.topic(&r.Topics[i]))
	}
	c.fill(resp)
}

// committing collects what of a request can be committed.
type committing struct {
	broker  *Broker
	request *kmsg.OffsetCommitRequest
	keep    func(group.Commit) (int16, []group.Reason)
	topics  []*topic
	offsets []group.PartitionOffset
}

// topic begins the answer for a topic: the partitions that are not there have
// their error, the others wait for theirs.
func (c *committing) topic(asked *kmsg.OffsetCommitRequestTopic) kmsg.OffsetCommitResponseTopic {
	told := kmsg.NewOffsetCommitResponseTopic()
	told.Topic, told.TopicID = asked.Topic, asked.TopicID
	t, unknown := c.broker.topicFor(asked.Topic, asked.TopicID, c.request.Version >= commitTopicIDsSince)
	for i := range asked.Partitions {
		from := &asked.Partitions[i]
		p := kmsg.NewOffsetCommitResponseTopicPartition()
		p.Partition, p.ErrorCode = from.Partition, waits
		switch {
		case t == nil:
			p.ErrorCode = unknown.Code
		case t.partition(from.Partition) == nil:
			p.ErrorCode = kerr.UnknownTopicOrPartition.Code
		default:
			c.offsets = append(c.offsets, offsetToKeep(t.name, from))
		}
		told.Partitions = append(told.Partitions, p)
	}
	if t != nil {
		c.topics = append(c.topics, t)
	}
	return told
}

// waits stands for an error code until the coordinator was asked: Kafka has no
// such code.
const waits = -32768

func offsetToKeep(topic string, from *kmsg.OffsetCommitRequestTopicPartition) group.PartitionOffset {
	o := group.Offset{At: from.Offset, LeaderEpoch: from.LeaderEpoch}
	if from.Metadata != nil {
		o.Metadata = *from.Metadata
	}
	return group.PartitionOffset{Partition: group.Partition{Topic: topic, Number: from.Partition}, Offset: o}
}

// fill commits, and puts what became of each partition into the answer.
func (c *committing) fill(resp *kmsg.OffsetCommitResponse) {
	if len(c.offsets) == 0 {
		return
	}
	code := c.commit()
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			if p := &resp.Topics[i].Partitions[j]; p.ErrorCode == waits {
				p.ErrorCode = code()
			}
		}
	}
}

// commit commits, and gives the code of one offset after the other.
func (c *committing) commit() (code func() int16) {
	r, b := c.request, c.broker
	who := group.Identity{Group: r.Group, MemberID: r.MemberID, InstanceID: r.InstanceID, Generation: r.Generation}
	all, each := c.keep(group.Commit{Identity: who, Offsets: c.offsets, KnowsEpochs: r.Version >= commitEpochsSince})
	for _, t := range c.topics {
		if b.lookup(t.name) != t { // deleted meanwhile, and its offsets have to go as well
			b.groups.ForgetTopic(t.name)
		}
	}
	return func() int16 {
		if all != 0 {
			return all
		}
		why := each[0]
		each = each[1:]
		return groupCode(why)
	}
}
