package broker

import (
	"fmt"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// endOfEpoch makes an OffsetForLeaderEpoch request.
func endOfEpoch(version int16, topic string, partition, current, epoch int32) *kmsg.OffsetForLeaderEpochRequest {
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = partition, current, epoch
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version = version
	req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}}}
	return req
}

// An ending is what OffsetForLeaderEpoch tells of one partition.
type ending struct {
	Code  string
	Epoch int32
	End   int64
}

func endings(resp kmsg.Response) (all []ending) {
	for _, t := range resp.(*kmsg.OffsetForLeaderEpochResponse).Topics {
		for _, p := range t.Partitions {
			all = append(all, ending{codeName(p.ErrorCode), p.LeaderEpoch, p.EndOffset})
		}
	}
	return all
}

func TestOffsetForLeaderEpoch_OfEachEpoch(t *testing.T) {
	c := twoBatches(t) // there-0 is full, there-1 empty
	c.trimTo("there", 0, 2)
	for _, tt := range []struct {
		name        string
		epoch       int32
		full, empty ending
	}{
		{"the epoch there is", 0, ending{"NONE", 0, 6}, ending{"NONE", 0, 0}},
		{"the next one", 1, ending{"NONE", -1, -1}, ending{"NONE", -1, -1}},
		{"the last that can be", math.MaxInt32, ending{"NONE", -1, -1}, ending{"NONE", -1, -1}},
		{"none", noEpoch, ending{"NONE", -1, -1}, ending{"NONE", -1, -1}},
		{"one before the first ends where the log starts", -2, ending{"NONE", -2, 2}, ending{"NONE", -2, 0}},
		{"the first that can be", math.MinInt32, ending{"NONE", math.MinInt32, 2}, ending{"NONE", math.MinInt32, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			everyVersion(t, kmsg.OffsetForLeaderEpoch, func(t *testing.T, version int16) {
				for i, wanted := range []ending{tt.full, tt.empty} {
					want(t, fmt.Sprint("partition ", i), endings(c.ask(endOfEpoch(version, "there", int32(i), noEpoch, tt.epoch))), []ending{wanted})
				}
			})
		})
	}
}

func TestOffsetForLeaderEpoch_OneErrorComesBeforeAnother(t *testing.T) {
	c := twoBatches(t)
	for _, tt := range []struct {
		name               string
		topic              string
		partition, current int32
		want               string
	}{
		{"no such topic", "missing", 0, noEpoch, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"no such partition", "there", 9, noEpoch, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"partition minus one", "there", -1, noEpoch, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"the partition before the leader's epoch", "there", 9, 5, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"a leader of a later epoch", "there", 0, 1, "UNKNOWN_LEADER_EPOCH"},
		{"a leader of an earlier epoch", "there", 0, -2, "FENCED_LEADER_EPOCH"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			everyVersion(t, kmsg.OffsetForLeaderEpoch, func(t *testing.T, version int16) {
				req := endOfEpoch(version, tt.topic, tt.partition, tt.current, 0)
				want(t, "told", endings(c.ask(req)), []ending{{tt.want, -1, -1}})
			})
		})
	}
}

func TestOffsetForLeaderEpoch_AnswersInTheOrderAskedWhoeverAsks(t *testing.T) {
	c := twoBatches(t)
	for _, replica := range []int32{-2, -1, NodeID, 5, -99} {
		req := endOfEpoch(newest(t, kmsg.OffsetForLeaderEpoch), "there", 1, 0, 0)
		req.ReplicaID = replica
		req.Topics = append(req.Topics, endOfEpoch(4, "missing", 0, 0, 0).Topics...)
		req.Topics = append(req.Topics, endOfEpoch(4, "there", 0, 0, 0).Topics...)
		want(t, fmt.Sprint("to replica ", replica), endings(c.ask(req)),
			[]ending{{"NONE", 0, 0}, {"UNKNOWN_TOPIC_OR_PARTITION", -1, -1}, {"NONE", 0, 6}})
	}
}
