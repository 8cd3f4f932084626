package broker

import (
	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetDelete, version 0.
//
// Offsets of a topic that the group's members read are kept
// (GROUP_SUBSCRIBED_TO_TOPIC); what members of another type than "consumer" read
// is not known, so that only a group without members lets any go. An offset that
// was never committed is deleted as well.

func (b *Broker) offsetDelete(r *kmsg.OffsetDeleteRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.OffsetDeleteResponse)
	var known []group.Partition
	for i := range r.Topics {
		t := b.lookup(r.Topics[i].Topic)
		for _, p := range r.Topics[i].Partitions {
			if t.partition(p.Partition) != nil {
				known = append(known, group.Partition{Topic: t.name, Number: p.Partition})
			}
		}
	}
	why, each := b.groups.DeleteOffsets(r.Group, known)
	if resp.ErrorCode = groupCode(why); why != group.OK {
		return resp
	}
	code := map[group.Partition]int16{}
	for i, p := range known {
		code[p] = groupCode(each[i])
	}
	for i := range r.Topics {
		resp.Topics = append(resp.Topics, deletedOffsets(&r.Topics[i], code))
	}
	return resp
}

// deletedOffsets tells what became of the partitions of a topic; those without a
// code are not there.
func deletedOffsets(asked *kmsg.OffsetDeleteRequestTopic, code map[group.Partition]int16) kmsg.OffsetDeleteResponseTopic {
	told := kmsg.NewOffsetDeleteResponseTopic()
	told.Topic = asked.Topic
	for _, p := range asked.Partitions {
		c, known := code[group.Partition{Topic: asked.Topic, Number: p.Partition}]
		if !known {
			c = kerr.UnknownTopicOrPartition.Code
		}
		told.Partitions = append(told.Partitions, kmsg.OffsetDeleteResponseTopicPartition{Partition: p.Partition, ErrorCode: c})
	}
	return told
}
