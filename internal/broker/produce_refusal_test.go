package broker

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A refused batch is one kind of refusal. The partition that it meets holds the
// offsets 0 to 9: ten records of producer 7, epoch 1, of which the window
// remembers five batches of one record each, from sequence 5 on. The log starts
// at 2.
type refusedBatch struct {
	name  string
	bytes []byte
	want  string
	says  string // in the message
	start int64  // log start offset: what Kafka tells
}

const (
	unread = -1 // Kafka refuses it before it looks at the log
	read   = 2
)

// next is the batch that would be accepted.
func next(n int) *draft { return by(7, 1, 10, n) }

// lying is that batch with a header that says something else.
func lying(n int, change func(*kmsg.RecordBatch)) []byte { return next(n).saying(change).bytes() }

func refusedBatches(t *testing.T) []refusedBatch {
	cut := next(2).bytes()
	two := append(by(7, 1, 10, 1).bytes(), by(7, 1, 11, 1).bytes()...)
	zstd := codecNamed(t, "zstd")
	return []refusedBatch{
		{"a gap", by(7, 1, 11, 1).bytes(), ooo, "out of order: expected 10, got 11", read},
		{"a sequence before the window", by(7, 1, 4, 1).bytes(), ooo, "out of order: expected 10, got 4", read},
		{"a batch that takes two of the window's together", by(7, 1, 5, 2).bytes(), ooo, "out of order: expected 10, got 5", read},
		{"the newest and one more", by(7, 1, 9, 2).bytes(), ooo, "out of order: expected 10, got 9", read},
		{"a newer epoch in the middle", by(7, 2, 10, 1).bytes(), ooo, "out of order: expected 0, got 10", read},
		{"an older epoch", by(7, 0, 10, 1).bytes(), stale, "fenced by epoch 1", read},
		{"an older epoch that begins at 0", by(7, 0, 0, 1).bytes(), stale, "fenced by epoch 1", read},
		{"another producer that does not begin at 0", by(8, 0, 10, 1).bytes(), ooo, "out of order: expected 0, got 10", read},
		{"a negative sequence", by(7, 1, -1, 1).bytes(), "INVALID_RECORD", "sequence -1", read},
		{"the least sequence", by(7, 1, -1<<31, 1).bytes(), "INVALID_RECORD", "sequence -2147483648", read},
		{"a negative epoch", by(7, -2, 10, 1).bytes(), stale, "epoch -2", read},
		{"a transactional batch", lying(1, func(b *kmsg.RecordBatch) { b.Attributes |= 1 << 4 }), "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "part of a transaction", unread},
		{"a control batch", lying(1, func(b *kmsg.RecordBatch) { b.Attributes |= 1 << 5 }), "INVALID_RECORD", "control", read},
		{"a base offset", lying(1, func(b *kmsg.RecordBatch) { b.FirstOffset = 77 }), "INVALID_RECORD", "base offset is 77", read},
		{"one record more than there is", lying(2, func(b *kmsg.RecordBatch) { b.NumRecords++ }), "INVALID_RECORD", "3 records", read},
		{"one record less than there is", lying(2, func(b *kmsg.RecordBatch) { b.NumRecords-- }), "INVALID_RECORD", "1 records", read},
		{"no records", lying(2, func(b *kmsg.RecordBatch) { b.NumRecords = 0 }), "INVALID_RECORD", "0 records", read},
		{"minus one record", lying(2, func(b *kmsg.RecordBatch) { b.NumRecords = -1 }), "INVALID_RECORD", "-1 records", read},
		{"a last offset delta that is too small", lying(2, func(b *kmsg.RecordBatch) { b.LastOffsetDelta-- }), "INVALID_RECORD", "last offset delta of 0", read},
		{"a negative last offset delta", lying(2, func(b *kmsg.RecordBatch) { b.LastOffsetDelta = -1 }), "INVALID_RECORD", "last offset delta of -1", read},
		{"counts that agree on more than there is", lying(2, func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = 3, 2 }), "INVALID_RECORD", "record 2 of 3", read},
		{"counts that agree on less than there is", lying(2, func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = 1, 0 }), "INVALID_RECORD", "follow the last", read},
		{"a record that says it stands elsewhere", lying(1, func(b *kmsg.RecordBatch) {
			b.Records = appendRecord(nil, 4, 0, nil)
			b.Length = 49 + int32(len(b.Records))
		}), "INVALID_RECORD", "offset delta is 4", read},
		{"records that are none", lying(2, func(b *kmsg.RecordBatch) {
			for i := range b.Records {
				b.Records[i] = 0xff
			}
		}), "INVALID_RECORD", "record 0 of 2", read},
		{"a compression type of 5", lying(2, func(b *kmsg.RecordBatch) { b.Attributes |= 5 }), "UNKNOWN_SERVER_ERROR", "type 5", read},
		{"gzip that is none", lying(2, func(b *kmsg.RecordBatch) { b.Attributes |= 1 }), "UNKNOWN_SERVER_ERROR", "decompress", read},
		{"snappy that is none", lying(2, func(b *kmsg.RecordBatch) { b.Attributes |= 2 }), "UNKNOWN_SERVER_ERROR", "decompress", read},
		{"lz4 that is none", lying(2, func(b *kmsg.RecordBatch) { b.Attributes |= 3 }), "UNKNOWN_SERVER_ERROR", "decompress", read},
		{"zstd that is none", lying(2, func(b *kmsg.RecordBatch) { b.Attributes |= 4 }), "UNKNOWN_SERVER_ERROR", "decompress", read},
		{"a wrong count in a compressed batch", next(2).with(zstd).saying(func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = 4, 3 }).bytes(), "INVALID_RECORD", "record 2 of 4", read},
		{"a wrong checksum", next(2).damaged(func(b []byte) []byte { b[len(b)-1] ^= 1; return b }).bytes(), "CORRUPT_MESSAGE", "CRC-32C", unread},
		{"a wrong checksum on a replay", by(7, 1, 9, 1).damaged(func(b []byte) []byte { b[crcAt] ^= 1; return b }).bytes(), "CORRUPT_MESSAGE", "CRC-32C", unread},
		{"a magic of 1", next(2).damaged(func(b []byte) []byte { b[magicAt] = 1; return b }).bytes(), "INVALID_RECORD", "magic 1", unread},
		{"a magic of 9", next(2).damaged(func(b []byte) []byte { b[magicAt] = 9; return b }).bytes(), "CORRUPT_MESSAGE", "magic 9", unread},
		{"a length that is less than a header", next(2).damaged(func(b []byte) []byte { binary.BigEndian.PutUint32(b[lengthAt:], 4); return b }).bytes(), "CORRUPT_MESSAGE", "4 bytes", unread},
		{"a length that is more than there is", next(2).damaged(func(b []byte) []byte { binary.BigEndian.PutUint32(b[lengthAt:], 100_000); return b }).bytes(), "INVALID_RECORD", "100000 bytes", unread},
		{"a batch cut short", cut[:len(cut)-5], "INVALID_RECORD", "bytes", unread},
		{"ten bytes", cut[:10], "INVALID_RECORD", "10 bytes", unread},
		{"two batches", two, "INVALID_RECORD", "more than one batch", unread},
		{"a batch and twelve zeros", append(slices.Clone(cut), make([]byte, 12)...), "CORRUPT_MESSAGE", "12 bytes follow", unread},
		{"nothing", []byte{}, "INVALID_RECORD", "no bytes", unread},
		{"null", nil, "INVALID_RECORD", "null", unread},
		{"a batch that is too large", next(1).sized(defaultMaxMessageBytes).bytes(), "MESSAGE_TOO_LARGE", "max.message.bytes is 1048588", unread},
	}
}

// tenRecords makes the partition that the refused batches meet, and gives the
// batches that its window remembers.
func tenRecords(t *testing.T) (c *client, window []*draft) {
	_, c = startWith(t, "there")
	c.store("there", 0, by(7, 0, 0, 1))
	c.store("there", 0, by(7, 1, 0, 4))
	for i := range int32(6) {
		window = append(window, by(7, 1, 4+i, 1).at(int64(1000+i)))
		c.store("there", 0, window[i])
	}
	c.trimTo("there", 0, read)
	return c, window[1:]
}

func TestProduce_ARefusedBatchChangesNothing(t *testing.T) {
	for _, bad := range refusedBatches(t) {
		t.Run(bad.name, func(t *testing.T) {
			everyVersion(t, kmsg.Produce, func(t *testing.T, version int16) {
				c, window := tenRecords(t)
				before := c.snapshot("there", 0)
				told := onlyProduced(t, c.ask(c.producing(version, -1, entry{"there", 0, bad.bytes})))
				bad.check(t, version, told)
				want(t, "the partition afterwards", c.snapshot("there", 0), before)

				for i, batch := range window {
					want(t, fmt.Sprint("base offset of remembered batch ", i), c.store("there", 0, batch), int64(6+i))
				}
				want(t, "base offset of the next", c.store("there", 0, next(1)), 11)
			})
		})
	}
}

// check compares what was told of a refused batch with what has to be.
func (bad refusedBatch) check(t *testing.T, version int16, told kmsg.ProduceResponseTopicPartition) {
	t.Helper()
	code, start := bad.want, bad.start
	if version < 7 && start == read && bad.bytes[codecAt]&7 == 4 { // zstd came with version 7
		code, start = "UNSUPPORTED_COMPRESSION_TYPE", unread
	}
	if version < 5 {
		start = unread
	}
	wantCode(t, told.ErrorCode, code)
	want(t, "base offset, time and start", []int64{told.BaseOffset, told.LogAppendTime, told.LogStartOffset}, []int64{-1, -1, start})
	switch {
	case version < 8:
		want(t, "message", text(told.ErrorMessage), "null")
	case !strings.Contains(text(told.ErrorMessage), bad.says):
		t.Errorf("the message %q does not say %q", text(told.ErrorMessage), bad.says)
	}
}

// The refusals of a whole request change as little as those of a batch.
func TestProduce_ARefusedRequestChangesNothing(t *testing.T) {
	for _, tt := range []struct {
		name    string
		request func(c *client) *kmsg.ProduceRequest
		want    string
	}{
		{"acks of 2", func(c *client) *kmsg.ProduceRequest {
			return c.producing(produceVersion, 2, entry{"there", 0, next(1).bytes()})
		}, "INVALID_REQUIRED_ACKS"},
		{"an unknown topic id", func(c *client) *kmsg.ProduceRequest {
			req := c.producing(13, -1, entry{"there", 0, next(1).bytes()})
			req.Topics[0].TopicID[0] ^= 1
			return req
		}, "UNKNOWN_TOPIC_ID"},
		{"an unknown partition", func(c *client) *kmsg.ProduceRequest {
			return c.producing(produceVersion, -1, entry{"there", 2, next(1).bytes()})
		}, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"a transaction of an id that nobody has", func(c *client) *kmsg.ProduceRequest {
			batch := lying(1, func(b *kmsg.RecordBatch) { b.Attributes |= 1 << 4 })
			req := c.producing(produceVersion, -1, entry{"there", 0, batch})
			req.TransactionID = kmsg.StringPtr("tx")
			return req
		}, "INVALID_PRODUCER_ID_MAPPING"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := tenRecords(t)
			before := c.snapshot("there", 0)
			wantCode(t, onlyProduced(t, c.ask(tt.request(c))).ErrorCode, tt.want)
			want(t, "the partition afterwards", c.snapshot("there", 0), before)
			want(t, "base offset of the next", c.store("there", 0, next(1)), 11)
		})
	}
}

// A plain batch may come with a transactional id; Kafka stores it as a plain one.
func TestProduce_APlainBatchWithATransactionalIDIsStored(t *testing.T) {
	_, c := startWith(t, "there")
	req := c.producing(produceVersion, -1, entry{"there", 0, by(7, 0, 0, 1).bytes()})
	req.TransactionID = kmsg.StringPtr("tx")
	wantCode(t, onlyProduced(t, c.ask(req)).ErrorCode, "NONE")
}
