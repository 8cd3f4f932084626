package wire

import (
	"fmt"
	"math"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// MaxRecordErrors is the most records that one refused batch lists, about 1 MB
// of answer. Kafka lists all of them: a batch of 64 MiB can hold nine million.
const MaxRecordErrors = 10_000

// shownRecordErrors is how many of them the message of the batch shows, as in
// Kafka.
const shownRecordErrors = 3

// RecordRules is what a topic's settings ask of each record.
type RecordRules struct {
	// Before and After are how many milliseconds a record's time may lie behind
	// and ahead of the broker's: message.timestamp.before.max.ms and
	// message.timestamp.after.max.ms. A record without a time (-1) always passes.
	Before, After int64
	// AppendTime is message.timestamp.type=LogAppendTime: times are not looked at,
	// and the producer may not claim to give the broker's.
	AppendTime bool
	// Keys asks for a key, as a topic does that is compacted.
	Keys bool
}

// A RecordError says why one record of a batch is refused, in Kafka's words.
type RecordError struct {
	Index   int32 // of the record in its batch
	Problem string
}

// thorough says whether every record has to be looked at. If not, the least and
// the greatest timestamp tell whether one is refused.
func (r *RecordRules) thorough(attributes int16) bool {
	switch {
	case r == nil:
		return false
	case r.AppendTime:
		return r.Keys || attributes&appendTimeBit != 0
	}
	return r.Keys || r.Before != math.MaxInt64
}

// allows says whether a record may have this time when the broker's is now, both in
// milliseconds since 1970. The arithmetic wraps where Kafka's does, so that the least
// times there are count as ahead.
func (r *RecordRules) allows(now, timestamp int64) bool {
	if r == nil || r.AppendTime || timestamp == noTimestamp {
		return true
	}
	age := now - timestamp
	return age <= r.Before && -age <= r.After
}

// badRecords collects the records of a batch that are refused.
type badRecords struct {
	rules    *RecordRules
	of       TopicPartition
	now      int64
	batch    *CheckedBatch
	repacked bool
	total    int
	badTime  bool // one of them for its time
	list     []RecordError
}

// judge looks at a record. The key comes first, as in Kafka: a record is refused
// once.
func (b *badRecords) judge(r *Record) {
	switch rules := b.rules; {
	case rules.Keys && r.Key == nil:
		b.add(r, func() string {
			return fmt.Sprintf("Compacted topic cannot accept message without key in topic partition %s", b.of)
		})
	case rules.AppendTime && b.batch.Attributes&appendTimeBit != 0:
		b.badTime = true
		b.add(r, func() string {
			return fmt.Sprintf("Invalid timestamp type in message %s. Producer should not set timestamp type to LogAppendTime.", b.name(r))
		})
	case !rules.allows(b.now, r.Created):
		b.badTime = true
		b.add(r, func() string {
			return fmt.Sprintf("Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
				r.Created, r.Offset, b.now-rules.Before, b.now+rules.After)
		})
	}
}

func (b *badRecords) add(r *Record, problem func() string) {
	b.total++
	if len(b.list) < MaxRecordErrors {
		b.list = append(b.list, RecordError{int32(r.Offset - b.batch.FirstOffset), problem()})
	}
}

// name is how Kafka prints a record: one whose batch stays as it was compressed
// has only been skimmed, and a null then has -1 bytes.
func (b *badRecords) name(r *Record) string {
	class, null := "DefaultRecord", 0
	if b.batch.Attributes&codecBits != codecNone && !b.repacked {
		class, null = "PartialDefaultRecord", -1
	}
	size := func(field []byte) int {
		if field == nil {
			return null
		}
		return len(field)
	}
	return fmt.Sprintf("%s(offset=%d, timestamp=%d, key=%d bytes, value=%d bytes)", class, r.Offset, r.Timestamp, size(r.Key), size(r.Value))
}

// refusal is what a client is told of the batch as a whole.
func (b *badRecords) refusal() *BatchError {
	const rejected = "One or more records have been rejected due to "
	var e *BatchError
	if b.badTime {
		e = refuse(kerr.InvalidTimestamp, rejected+"invalid timestamp")
	} else {
		var shown []string
		for _, r := range b.list[:min(len(b.list), shownRecordErrors)] {
			shown = append(shown, fmt.Sprintf("RecordError(batchIndex=%d, message='%s')", r.Index, r.Problem))
		}
		e = refuse(kerr.InvalidRecord, rejected+"%d record errors in total, and only showing the first three errors at most: [%s]",
			b.total, strings.Join(shown, ", "))
	}
	e.Records = b.list
	return e
}
