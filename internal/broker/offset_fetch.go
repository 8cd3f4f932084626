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
// Who wants stable offsets (from version 7 on) is told of those that an open
// transaction may change; asking for all leaves out what is nothing but pending.
//
// Difference from Apache Kafka: an epoch without a member is UNKNOWN_MEMBER_ID in a
// group of the consumer protocol, and not UNKNOWN_SERVER_ERROR.

// The versions of OffsetFetch in which something changed.
const (
	offsetFetchGroupsSince   = 8
	offsetFetchTopicIDsSince = 10
)

func (b *Broker) offsetFetch(r *kmsg.OffsetFetchRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.OffsetFetchResponse)
	f := offsetFetching{b, r.Version, r.RequireStable}
	if r.Version >= offsetFetchGroupsSince {
		for i := range r.Groups {
			resp.Groups = append(resp.Groups, f.group(&r.Groups[i]))
		}
		return resp
	}
	told := f.group(oneGroup(r))
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

// offsetFetching is how the groups of one request are answered.
type offsetFetching struct {
	broker  *Broker
	version int16
	stable  bool // offsets that an open transaction may change are not told
}

func (f *offsetFetching) group(asked *kmsg.OffsetFetchRequestGroup) kmsg.OffsetFetchResponseGroup {
	told := kmsg.NewOffsetFetchResponseGroup()
	told.Group = asked.Group
	if told.ErrorCode = groupCode(f.broker.groups.MayFetch(asked.Group, asked.MemberID, asked.MemberEpoch)); told.ErrorCode != 0 {
		return told
	}
	if asked.Topics == nil {
		told.Topics = f.all(asked.Group)
		return told
	}
	for i := range asked.Topics {
		told.Topics = append(told.Topics, f.topic(asked.Group, &asked.Topics[i]))
	}
	return told
}

// all is all that a group committed, topic by topic.
func (f *offsetFetching) all(id string) (topics []kmsg.OffsetFetchResponseGroupTopic) {
	for _, o := range f.broker.groups.Offsets(id) {
		if n := len(topics); n == 0 || topics[n-1].Topic != o.Topic {
			t := kmsg.NewOffsetFetchResponseGroupTopic()
			if t.Topic = o.Topic; f.broker.lookup(o.Topic) != nil {
				t.TopicID = f.broker.lookup(o.Topic).id
			}
			topics = append(topics, t)
		}
		t := &topics[len(topics)-1]
		t.Partitions = append(t.Partitions, f.partition(id, o.Partition, o.Offset))
	}
	return topics
}

// topic is what a group committed for some partitions of a topic.
func (f *offsetFetching) topic(id string, asked *kmsg.OffsetFetchRequestGroupTopic) kmsg.OffsetFetchResponseGroupTopic {
	told := kmsg.NewOffsetFetchResponseGroupTopic()
	told.Topic, told.TopicID = asked.Topic, asked.TopicID
	name, unknown := asked.Topic, false
	if f.version >= offsetFetchTopicIDsSince {
		name = f.broker.TopicName(asked.TopicID)
		unknown = name == ""
	}
	for _, n := range asked.Partitions {
		at := group.Partition{Topic: name, Number: n}
		o, ok := f.broker.groups.Offset(id, at)
		if !ok {
			o = notCommitted
		}
		p := f.partition(id, at, o)
		if unknown {
			p.ErrorCode = kerr.UnknownTopicID.Code
		}
		told.Partitions = append(told.Partitions, p)
	}
	return told
}

// notCommitted is told where nothing was.
var notCommitted = group.Offset{At: -1, LeaderEpoch: -1}

func (f *offsetFetching) partition(id string, at group.Partition, o group.Offset) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	if f.stable && f.broker.groups.Unstable(id, at) {
		o, p.ErrorCode = notCommitted, kerr.UnstableOffsetCommit.Code
	}
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = at.Number, o.At, o.LeaderEpoch, &o.Metadata
	return p
}
