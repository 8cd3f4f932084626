package broker

import (
	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetFetch, versions 1 to 10 (all topics from 2, several groups from 8, topic
// ids from 10).
//
// What was not committed is offset -1 and no error, whether or not there is such
// a group, topic or partition; only an unknown topic id is one. A null list of
// topics asks for all that was committed. In a group of the consumer protocol, one
// that names a member or an epoch (from version 9 on) has to name the right ones.

// The versions of OffsetFetch in which something changed.
const (
	offsetFetchGroupsSince   = 8
	offsetFetchTopicIDsSince = 10
)

func (b *Broker) offsetFetch(r *kmsg.OffsetFetchRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.OffsetFetchResponse)
	if r.Version >= offsetFetchGroupsSince {
		for i := range r.Groups {
			resp.Groups = append(resp.Groups, b.offsetsOf(&r.Groups[i], r.Version))
		}
		return resp
	}
	told := b.offsetsOf(oneGroup(r), r.Version)
	resp.ErrorCode = told.ErrorCode
	for _, t := range told.Topics {
		old := kmsg.OffsetFetchResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			old.Partitions = append(old.Partitions, kmsg.OffsetFetchResponseTopicPartition(p))
		}
		resp.Topics = append(resp.Topics, old)
	}
	return resp
}

// oneGroup is a request of before version 8 as later ones say it.
func oneGroup(r *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = r.Group
	for i, t := range r.Topics {
		g.Topics = append(g.Topics, kmsg.NewOffsetFetchRequestGroupTopic())
		g.Topics[i].Topic, g.Topics[i].Partitions = t.Topic, t.Partitions
	}
	if r.Topics != nil && g.Topics == nil {
		g.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	}
	return &g
}

// offsetsOf answers for one group.
func (b *Broker) offsetsOf(asked *kmsg.OffsetFetchRequestGroup, version int16) kmsg.OffsetFetchResponseGroup {
	told := kmsg.NewOffsetFetchResponseGroup()
	told.Group = asked.Group
	if told.ErrorCode = groupCode(b.groups.MayFetch(asked.Group, asked.MemberID, asked.MemberEpoch)); told.ErrorCode != 0 {
		return told
	}
	if asked.Topics == nil {
		told.Topics = b.allOffsets(asked.Group)
		return told
	}
	for i := range asked.Topics {
		told.Topics = append(told.Topics, b.offsetsIn(asked.Group, &asked.Topics[i], version))
	}
	return told
}

// allOffsets is all that a group committed, topic by topic.
func (b *Broker) allOffsets(id string) (topics []kmsg.OffsetFetchResponseGroupTopic) {
	for _, o := range b.groups.Offsets(id) {
		if n := len(topics); n == 0 || topics[n-1].Topic != o.Topic {
			t := kmsg.NewOffsetFetchResponseGroupTopic()
			if t.Topic = o.Topic; b.lookup(o.Topic) != nil {
				t.TopicID = b.lookup(o.Topic).id
			}
			topics = append(topics, t)
		}
		t := &topics[len(topics)-1]
		t.Partitions = append(t.Partitions, tellOffset(o.Number, o.Offset))
	}
	return topics
}

// offsetsIn is what a group committed for some partitions of a topic.
func (b *Broker) offsetsIn(id string, asked *kmsg.OffsetFetchRequestGroupTopic, version int16) kmsg.OffsetFetchResponseGroupTopic {
	told := kmsg.NewOffsetFetchResponseGroupTopic()
	told.Topic, told.TopicID = asked.Topic, asked.TopicID
	name, code := asked.Topic, int16(0)
	if version >= offsetFetchTopicIDsSince {
		if name = b.TopicName(asked.TopicID); name == "" {
			code = kerr.UnknownTopicID.Code
		}
	}
	for _, n := range asked.Partitions {
		o, ok := b.groups.Offset(id, group.Partition{Topic: name, Number: n})
		if !ok {
			o = group.Offset{At: -1, LeaderEpoch: -1}
		}
		p := tellOffset(n, o)
		p.ErrorCode = code
		told.Partitions = append(told.Partitions, p)
	}
	return told
}

func tellOffset(number int32, o group.Offset) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = number, o.At, o.LeaderEpoch, &o.Metadata
	return p
}
