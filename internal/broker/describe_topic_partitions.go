package broker

import (
	"slices"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeTopicPartitions, version 0 (KIP-966): topics by name, or all of them,
// some partitions at a time.
//
// Topics come in order of their names, each once. An answer holds at most the
// limit of partitions, and a cursor to ask on from if there are more; a topic that
// is not there costs nothing of the limit. Who goes on from a cursor names its
// topic again.
//
// Differences from Apache Kafka: the empty name is INVALID_TOPIC_EXCEPTION for
// that topic, where Kafka says UNKNOWN_SERVER_ERROR for all of them.

// maxDescribedPartitions is the most partitions in one answer
// (max.request.partition.size.limit).
const maxDescribedPartitions = 2000

func (b *Broker) describeTopicPartitions(r *kmsg.DescribeTopicPartitionsRequest) kmsg.Response {
	if badCursor(r) {
		return wire.ErrorAnswer(r, kerr.InvalidRequest.Code, "")
	}
	resp := r.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	left := int(min(max(r.ResponsePartitionLimit, 1), maxDescribedPartitions))
	for _, name := range b.namesFrom(r) {
		if left == 0 {
			resp.NextCursor = nextCursor(name, 0)
			return resp
		}
		told, next := b.describeFrom(name, firstPartition(r.Cursor, name), left)
		resp.Topics = append(resp.Topics, told)
		if next > 0 {
			resp.NextCursor = nextCursor(name, next)
			return resp
		}
		left -= len(told.Partitions)
	}
	return resp
}

// badCursor says whether the cursor names no partition, or a topic that is not
// among those asked for.
func badCursor(r *kmsg.DescribeTopicPartitionsRequest) bool {
	if r.Cursor == nil {
		return false
	}
	named := len(r.Topics) == 0 || slices.ContainsFunc(r.Topics,
		func(t kmsg.DescribeTopicPartitionsRequestTopic) bool { return t.Topic == r.Cursor.Topic })
	return !named || r.Cursor.Partition < 0
}

// namesFrom lists the names that are asked for, in order and each once, from the
// cursor's topic on.
func (b *Broker) namesFrom(r *kmsg.DescribeTopicPartitionsRequest) (names []string) {
	if len(r.Topics) == 0 {
		names = b.Topics()
	}
	for i := range r.Topics {
		names = append(names, r.Topics[i].Topic)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if r.Cursor != nil {
		at, _ := slices.BinarySearch(names, r.Cursor.Topic)
		names = names[at:]
	}
	return names
}

// firstPartition is where the answer begins with a topic.
func firstPartition(c *kmsg.DescribeTopicPartitionsRequestCursor, name string) int {
	if c != nil && c.Topic == name {
		return int(c.Partition)
	}
	return 0
}

func nextCursor(name string, partition int) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = name, int32(partition)
	return &c
}

// describeFrom describes a topic from a partition on, at most some of them, and
// tells which one is next, 0 if none is left.
func (b *Broker) describeFrom(name string, first, most int) (told kmsg.DescribeTopicPartitionsResponseTopic, next int) {
	told.Default()
	told.Topic, told.IsInternal, told.AuthorizedOperations = &name, isInternal(name), topicOperations
	t := b.lookup(name)
	switch {
	case t != nil:
		told.TopicID = t.id
	case badTopicName(name) != "":
		told.ErrorCode = kerr.InvalidTopicException.Code
		return told, 0
	default:
		told.ErrorCode = kerr.UnknownTopicOrPartition.Code
		return told, 0
	}
	there := len(t.all())
	end := min(first+most, there)
	for n := first; n < end; n++ {
		told.Partitions = append(told.Partitions, ledHere(int32(n)))
	}
	if end == there || first >= there {
		return told, 0
	}
	return told, end
}

// ledHere is a partition as it always is with one broker. The Java client fails
// on lists of eligible leader replicas that are null.
func ledHere(n int32) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	p := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	p.Partition, p.LeaderID, p.LeaderEpoch = n, NodeID, leaderEpoch
	p.Replicas, p.ISR = []int32{NodeID}, []int32{NodeID}
	p.EligibleLeaderReplicas, p.LastKnownELR = []int32{}, []int32{}
	return p
}
