package broker

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// startSet runs a node with one topic, "there", that has these configs.
func startSet(t *testing.T, configs map[string]string) (*node, *client) {
	t.Helper()
	n := start(t, Options{})
	n.make("there", 2, configs)
	return n, n.dial()
}

// recordErrors is what an answer says of single records.
func recordErrors(told kmsg.ProduceResponseTopicPartition) (all []string) {
	for _, r := range told.ErrorRecords {
		all = append(all, fmt.Sprintf("%d %s", r.RelativeOffset, text(r.ErrorMessage)))
	}
	return all
}

func TestProduce_LogAppendTimeIsTheBrokers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := startSet(t, map[string]string{"message.timestamp.type": "LogAppendTime"})
		now := time.Now().UnixMilli()
		batch := by(7, 0, 0, 2).at(1000, 1<<60)
		for range 2 { // and a replay is told the first one's
			told := c.produce("there", 0, batch)
			wantCode(t, told.ErrorCode, "NONE")
			want(t, "offset, time and start", []int64{told.BaseOffset, told.LogAppendTime, told.LogStartOffset}, []int64{0, now, 0})
			<-time.After(time.Second)
		}
		c.store("there", 0, plain(3))
		want(t, "the first batch", c.everything("there", 0, 0)[:len(batch.bytes())], stored(by(7, 0, 0, 2).at(1000, 1<<60).saying(func(b *kmsg.RecordBatch) {
			b.Attributes, b.MaxTimestamp = 8, now
		}).bytes(), 0))
		want(t, "the first of the latest batch", spotOf(c.list("there", 0, maxTimestampOffset)), spot{"NONE", 2, now + 2000, 0})
		want(t, "the first at a time", spotOf(c.list("there", 0, now)), spot{"NONE", 0, now, 0})
		want(t, "the first behind it", spotOf(c.list("there", 0, now+1)), spot{"NONE", 2, now + 2000, 0})
		want(t, "none is later", spotOf(c.list("there", 0, now+2001)), spot{"NONE", -1, -1, -1})
		want(t, "producers", writers(c.describe("there", 0)), []writer{{7, 0, 1, now}})
	})
}

func TestProduce_ARefusedBatchHasNoAppendTime(t *testing.T) {
	_, c := startSet(t, map[string]string{"message.timestamp.type": "LogAppendTime"})
	told := c.produce("there", 0, by(7, 0, 5, 1))
	wantCode(t, told.ErrorCode, ooo)
	want(t, "offset and time", []int64{told.BaseOffset, told.LogAppendTime}, []int64{-1, -1})
}

func TestProduce_TimesOutOfRangeAreListed(t *testing.T) {
	everyVersion(t, kmsg.Produce, func(t *testing.T, version int16) {
		synctest.Test(t, func(t *testing.T) {
			_, c := startSet(t, map[string]string{"message.timestamp.before.max.ms": "60000", "message.timestamp.after.max.ms": "1000"})
			now := time.Now().UnixMilli()
			c.store("there", 0, by(7, 0, 0, 3).at(now-60_000, now+1000, -1))
			told := c.produceAs(version, "there", 0, by(7, 0, 3, 3).at(now-60_001, now, now+1001))
			wantCode(t, told.ErrorCode, "INVALID_TIMESTAMP")
			want(t, "base offset", told.BaseOffset, -1)
			want(t, "offset of the next", c.store("there", 0, by(7, 0, 3, 1).at(now)), 3)
			if version < 8 {
				return
			}
			want(t, "message", text(told.ErrorMessage), "One or more records have been rejected due to invalid timestamp")
			between := fmt.Sprintf("is out of range. The timestamp should be within [%d, %d]", now-60_000, now+1000)
			want(t, "records", recordErrors(told), []string{
				fmt.Sprintf("0 Timestamp %d of message with offset 0 %s", now-60_001, between),
				fmt.Sprintf("2 Timestamp %d of message with offset 2 %s", now+1001, between),
			})
		})
	})
}

func TestProduce_ACompactedTopicWantsKeys(t *testing.T) {
	for _, policy := range []string{"compact", "compact,delete"} {
		_, c := startSet(t, map[string]string{"cleanup.policy": policy})
		everyVersion(t, kmsg.Produce, func(t *testing.T, version int16) {
			told := c.produceAs(version, "there", 1, by(7, 0, 5, 1)) // refused before its sequence is looked at
			wantCode(t, told.ErrorCode, "INVALID_RECORD")
			want(t, "base offset", told.BaseOffset, -1)
			if version >= 8 {
				want(t, "records", recordErrors(told), []string{"0 Compacted topic cannot accept message without key in topic partition there-1"})
			}
		})
		want(t, "end", c.end("there", 1), 0)
	}
}

func TestProduce_CompressesAsTheTopicWantsIt(t *testing.T) {
	for name, bits := range map[string]int16{"uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4} {
		t.Run(name, func(t *testing.T) {
			n, c := startSet(t, map[string]string{"compression.type": name, "compression.gzip.level": "9"})
			offset := int64(0)
			for _, batch := range []*draft{plain(3), by(7, 0, 0, 3).with(codecNamed(t, "gzip")), by(7, 0, 0, 3).with(codecNamed(t, "zstd"))} {
				c.store("there", 0, batch.at(5000, 7000, 6000).sized(1000))
			}
			var kept int
			for offset < c.end("there", 0) {
				raw := c.batchAt("there", 0, offset)
				b, bad := wire.ParseBatchHeader(raw)
				if bad != nil {
					t.Fatal(bad)
				}
				want(t, "codec, records and greatest time", []int64{int64(b.Attributes), int64(b.NumRecords), b.MaxTimestamp}, []int64{int64(bits), 3, 7000})
				kept += len(raw)
				offset += int64(b.NumRecords)
			}
			want(t, "batches of three, the last one a replay", offset, 6)
			want(t, "bytes in use", n.memory.used.Load(), int64(kept))
			want(t, "greatest time", spotOf(c.list("there", 0, maxTimestampOffset)), spot{"NONE", 1, 7000, 0})
		})
	}
}

// batchAt is the batch that holds an offset.
func (c *client) batchAt(topic string, partition int32, offset int64) []byte {
	c.t.Helper()
	return fetchedFrom(c.ask(c.fetching(fetchVersion, place{topic, partition, offset, 1})))[0].RecordBatches
}
