package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// twoBatches gives partition there-0 the offsets 0 to 5 in two batches.
func twoBatches(t *testing.T) *client {
	_, c := startWith(t, "there")
	c.store("there", 0, plain(3))
	c.store("there", 0, plain(3))
	return c
}

func TestDeleteRecords_MovesTheStart(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before int64 // deleted up to here already
		offset int64
		want   string
		low    int64
		start  int64
	}{
		{"to where it is", 0, 0, "NONE", 0, 0},
		{"into a batch", 0, 1, "NONE", 1, 1},
		{"to a batch", 0, 3, "NONE", 3, 3},
		{"to the end", 0, 6, "NONE", 6, 6},
		{"all, wherever the end is", 0, -1, "NONE", 6, 6},
		{"back leaves it", 4, 2, "NONE", 4, 4},
		{"beyond the end", 0, 7, "OFFSET_OUT_OF_RANGE", -1, 0},
		{"below minus one", 0, -2, "OFFSET_OUT_OF_RANGE", -1, 0},
		{"beyond the end after a trim", 4, 7, "OFFSET_OUT_OF_RANGE", -1, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			everyVersion(t, kmsg.DeleteRecords, func(t *testing.T, version int16) {
				c := twoBatches(t)
				c.trimTo("there", 0, tt.before)
				told := c.ask(trimming(version, "there", 0, tt.offset)).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
				wantCode(t, told.ErrorCode, tt.want)
				want(t, "low watermark", told.LowWatermark, tt.low)
				want(t, "start", c.list("there", 0, earliestOffset).Offset, tt.start)
				want(t, "end", c.end("there", 0), 6)
			})
		})
	}
}

func TestDeleteRecords_JudgesEachPartitionByItself(t *testing.T) {
	c := twoBatches(t)
	req := trimming(2, "there", 0, 2)
	req.Topics[0].Partitions = append(req.Topics[0].Partitions,
		kmsg.DeleteRecordsRequestTopicPartition{Partition: 1, Offset: -1},
		kmsg.DeleteRecordsRequestTopicPartition{Partition: 9, Offset: 0})
	req.Topics = append(req.Topics, trimming(2, "no such", 0, 0).Topics...)
	var told []any
	for _, topic := range c.ask(req).(*kmsg.DeleteRecordsResponse).Topics {
		for _, p := range topic.Partitions {
			told = append(told, topic.Topic, p.Partition, codeName(p.ErrorCode), p.LowWatermark)
		}
	}
	want(t, "told", told, []any{
		"there", int32(0), "NONE", int64(2),
		"there", int32(1), "NONE", int64(0),
		"there", int32(9), "UNKNOWN_TOPIC_OR_PARTITION", int64(-1),
		"no such", int32(0), "UNKNOWN_TOPIC_OR_PARTITION", int64(-1),
	})
}

func TestDeleteRecords_OfAPartitionTwiceTheLastCounts(t *testing.T) {
	for _, tt := range []struct {
		name    string
		offsets []int64
		want    string
		low     int64
	}{
		{"the first would be out of range", []int64{7, 2}, "NONE", 2},
		{"the last is out of range", []int64{2, 7}, "OFFSET_OUT_OF_RANGE", -1},
		{"the last is lower", []int64{5, 1}, "NONE", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := twoBatches(t)
			req := trimming(2, "there", 0, tt.offsets[0])
			req.Topics = append(req.Topics, trimming(2, "there", 1, 0).Topics...)
			req.Topics = append(req.Topics, trimming(2, "there", 0, tt.offsets[1]).Topics...)
			resp := c.ask(req).(*kmsg.DeleteRecordsResponse)
			want(t, "topics", len(resp.Topics), 1)
			want(t, "partitions", len(resp.Topics[0].Partitions), 2)
			told := resp.Topics[0].Partitions[0]
			wantCode(t, told.ErrorCode, tt.want)
			want(t, "partition and low watermark", []int64{int64(told.Partition), told.LowWatermark}, []int64{0, tt.low})
			want(t, "start", c.list("there", 0, earliestOffset).Offset, max(tt.low, 0))
		})
	}
}

func TestDeleteRecords_ByCleanupPolicy(t *testing.T) {
	for _, tt := range []struct{ policy, want string }{
		{"delete", "NONE"},
		{"compact", "POLICY_VIOLATION"},
		{"compact,delete", "NONE"},
		{"", "NONE"},
	} {
		t.Run("cleanup.policy="+tt.policy, func(t *testing.T) {
			n := start(t, Options{})
			n.make("there", 1, map[string]string{"cleanup.policy": tt.policy})
			c := n.dial()
			wantCode(t, c.trimTo("there", 0, 0).ErrorCode, tt.want)
			wantCode(t, c.trimTo("there", 0, -1).ErrorCode, tt.want)
			wantCode(t, c.trimTo("there", 7, 0).ErrorCode, "UNKNOWN_TOPIC_OR_PARTITION")
			if tt.want == "NONE" {
				tt.want = "OFFSET_OUT_OF_RANGE"
			}
			wantCode(t, c.trimTo("there", 0, 5).ErrorCode, tt.want)
		})
	}
}

func TestDeleteRecords_WhatIsLeftIsRead(t *testing.T) {
	c := twoBatches(t)
	c.trimTo("there", 0, 1)
	told := c.fetch("there", 0, 0)
	wantCode(t, told.ErrorCode, "OFFSET_OUT_OF_RANGE")

	told = c.fetch("there", 0, 1)
	want(t, "the batch around the start comes whole", offsetsIn(told.RecordBatches), []int64{0, 3})
	want(t, "log start offset", told.LogStartOffset, 1)

	c.trimTo("there", 0, -1)
	told = c.fetch("there", 0, 6)
	wantCode(t, told.ErrorCode, "NONE")
	want(t, "what is left of all", len(told.RecordBatches), 0)
	want(t, "base offset of the next", c.store("there", 0, plain(1)), 6)
	want(t, "and it is there", offsetsIn(c.fetch("there", 0, 6).RecordBatches), []int64{6})
}

func TestDeleteRecords_LeavesTheMemoryOfTheProducers(t *testing.T) {
	_, c := startWith(t, "there")
	c.store("there", 0, by(7, 0, 0, 2))
	c.store("there", 0, by(7, 0, 2, 1))
	known := c.describe("there", 0).ActiveProducers
	c.trimTo("there", 0, -1)
	want(t, "producers", c.describe("there", 0).ActiveProducers, known)

	told := c.produce("there", 0, by(7, 0, 0, 2))
	wantCode(t, told.ErrorCode, "NONE")
	want(t, "old base offset and new start", []int64{told.BaseOffset, told.LogStartOffset}, []int64{0, 3})
	want(t, "the next goes on", c.store("there", 0, by(7, 0, 3, 1)), 3)
	wantCode(t, c.produce("there", 0, by(7, 0, 9, 1)).ErrorCode, "OUT_OF_ORDER_SEQUENCE_NUMBER")
}
