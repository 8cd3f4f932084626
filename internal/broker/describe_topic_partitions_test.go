package broker

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type cursor = kmsg.DescribeTopicPartitionsRequestCursor

// describingTopics makes a DescribeTopicPartitions request; without names it
// asks for all topics.
func describingTopics(limit int32, from *cursor, names ...string) *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit, req.Cursor = limit, from
	for _, name := range names {
		req.Topics = append(req.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: name})
	}
	return req
}

// partitionsTold lists an answer as "topic code partitions", and where it goes on.
func partitionsTold(resp kmsg.Response) (told []string) {
	r := resp.(*kmsg.DescribeTopicPartitionsResponse)
	for _, t := range r.Topics {
		line := text(t.Topic) + " " + codeName(t.ErrorCode)
		for _, p := range t.Partitions {
			line += fmt.Sprint(" ", p.Partition)
		}
		told = append(told, line)
	}
	if next := r.NextCursor; next != nil {
		told = append(told, fmt.Sprintf("next %s-%d", next.Topic, next.Partition))
	}
	return told
}

func TestDescribeTopicPartitions_SomeAtATime(t *testing.T) {
	n, c := startWith(t, "b", "a")
	n.make("d", 3, nil)
	at := func(topic string, partition int32) *cursor { return &cursor{Topic: topic, Partition: partition} }
	for _, tt := range []struct {
		name  string
		limit int32
		from  *cursor
		names []string
		want  []string
	}{
		{"all topics", 100, nil, nil, []string{"a NONE 0 1", "b NONE 0 1", "d NONE 0 1 2"}},
		{"by name, in order and once", 100, nil, []string{"d", "a", "d"}, []string{"a NONE 0 1", "d NONE 0 1 2"}},
		{"cut inside a topic", 3, nil, nil, []string{"a NONE 0 1", "b NONE 0", "next b-1"}},
		{"cut behind a topic", 4, nil, nil, []string{"a NONE 0 1", "b NONE 0 1", "next d-0"}},
		{"at the limit exactly", 7, nil, nil, []string{"a NONE 0 1", "b NONE 0 1", "d NONE 0 1 2"}},
		{"a limit of 0 is 1", 0, nil, nil, []string{"a NONE 0", "next a-1"}},
		{"a limit below 0 is 1", math.MinInt32, nil, nil, []string{"a NONE 0", "next a-1"}},
		{"unknown ones cost nothing", 2, nil, []string{"a", "c", "0"}, []string{"0 UNKNOWN_TOPIC_OR_PARTITION", "a NONE 0 1", "next c-0"}},
		{"unknown ones are told before the limit", 3, nil, []string{"a", "c"}, []string{"a NONE 0 1", "c UNKNOWN_TOPIC_OR_PARTITION"}},
		{"names that cannot be", 1, nil, []string{"a b", "", "."}, []string{" INVALID_TOPIC_EXCEPTION", ". INVALID_TOPIC_EXCEPTION", "a b INVALID_TOPIC_EXCEPTION"}},

		{"on from inside a topic", 100, at("b", 1), nil, []string{"b NONE 1", "d NONE 0 1 2"}},
		{"on and cut again", 2, at("d", 1), nil, []string{"d NONE 1 2"}},
		{"on and cut again before the end", 1, at("d", 1), nil, []string{"d NONE 1", "next d-2"}},
		{"on by name", 100, at("b", 1), []string{"d", "b", "a"}, []string{"b NONE 1", "d NONE 0 1 2"}},
		{"on behind the last partition", 100, at("b", 2), []string{"b", "d"}, []string{"b NONE", "d NONE 0 1 2"}},
		{"on far behind the last partition", 100, at("b", math.MaxInt32), []string{"b", "d"}, []string{"b NONE", "d NONE 0 1 2"}},
		{"on from an unknown topic", 100, at("c", 1), []string{"a", "c", "d"}, []string{"c UNKNOWN_TOPIC_OR_PARTITION", "d NONE 0 1 2"}},
		{"all from a topic that is gone", 100, at("c", 2), nil, []string{"d NONE 0 1 2"}},
		{"all from behind the last topic", 100, at("z", 0), nil, nil},

		{"on from a topic that is not asked for", 100, at("b", 0), []string{"a", "d"}, []string{"a INVALID_REQUEST", "d INVALID_REQUEST"}},
		{"on from no name", 100, at("", 0), []string{"a"}, []string{"a INVALID_REQUEST"}},
		{"on from a partition below 0", 100, at("a", -1), []string{"a", "d"}, []string{"a INVALID_REQUEST", "d INVALID_REQUEST"}},
		{"all from a partition below 0", 100, at("a", -1), nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want(t, "told", partitionsTold(c.ask(describingTopics(tt.limit, tt.from, tt.names...))), tt.want)
		})
	}
}

func TestDescribeTopicPartitions_OfATopicIsWhole(t *testing.T) {
	n, c := startWith(t, "there")
	resp := c.ask(describingTopics(2, nil, "there", "xyz"))
	there, gone := kmsg.NewDescribeTopicPartitionsResponseTopic(), kmsg.NewDescribeTopicPartitionsResponseTopic()
	there.Topic, there.TopicID, there.AuthorizedOperations = kmsg.StringPtr("there"), n.id("there"), 3576
	for i := range int32(2) {
		p := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		p.Partition, p.LeaderID, p.LeaderEpoch = i, NodeID, 0
		p.Replicas, p.ISR = []int32{NodeID}, []int32{NodeID}
		there.Partitions = append(there.Partitions, p)
	}
	wanted := kmsg.NewPtrDescribeTopicPartitionsResponse()
	wanted.Topics = []kmsg.DescribeTopicPartitionsResponseTopic{there}
	wanted.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: "xyz"}
	opts := cmp.Options{cmpopts.IgnoreTypes(kmsg.Tags{}), cmpopts.EquateEmpty()}
	if diff := cmp.Diff(kmsg.Response(wanted), resp, opts); diff != "" {
		t.Errorf("told (- wanted, + got):\n%s", diff)
	}
	for _, p := range resp.(*kmsg.DescribeTopicPartitionsResponse).Topics[0].Partitions {
		if p.EligibleLeaderReplicas == nil || p.LastKnownELR == nil {
			t.Error("a list of eligible leader replicas is null, and the Java client fails on that")
		}
	}

	resp = c.ask(describingTopics(2, nil, "xyz"))
	gone.Topic, gone.ErrorCode, gone.AuthorizedOperations = kmsg.StringPtr("xyz"), 3, 3576
	wanted.Topics, wanted.NextCursor = []kmsg.DescribeTopicPartitionsResponseTopic{gone}, nil
	if diff := cmp.Diff(kmsg.Response(wanted), resp, opts); diff != "" {
		t.Errorf("told of a topic that is not there (- wanted, + got):\n%s", diff)
	}
}

func TestDescribeTopicPartitions_ReachesAllPartitionsOfALargeTopic(t *testing.T) {
	const partitions = 2*maxDescribedPartitions + 1
	n := start(t, Options{})
	n.make("large", partitions, nil)
	c := n.dial()
	seen, answers := 0, 0
	for from := (*cursor)(nil); answers == 0 || from != nil; answers++ {
		r := c.ask(describingTopics(math.MaxInt32, from, "large")).(*kmsg.DescribeTopicPartitionsResponse)
		for _, p := range r.Topics[0].Partitions {
			want(t, "partition", int(p.Partition), seen)
			seen++
		}
		from = nil
		if next := r.NextCursor; next != nil {
			from = &cursor{Topic: next.Topic, Partition: next.Partition}
		}
	}
	want(t, "partitions and answers", []int{seen, answers}, []int{partitions, 3})
}
