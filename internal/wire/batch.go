package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Sizes and places in the header of a record batch of magic 2 (protocol page,
// "Record Batch").
const (
	batchPrefix   = 12 // base offset and length, which the length does not count
	batchOverhead = 61 // bytes before the first record
	leastLength   = 14 // that of the smallest batch of any magic
	magicAt       = 16
	crcAt         = 17
	crcFrom       = 21 // the checksum covers everything from the attributes on
	attributesAt  = 21

	firstTimestampAt = 27
	maxTimestampAt   = 35
)

// Bits of a batch's attributes.
const (
	codecBits        = 0x07
	appendTimeBit    = 0x08 // the records have the batch's max timestamp, given by the broker
	transactionalBit = 0x10
	controlBit       = 0x20
)

// MaxDecompressed is the most bytes that the records of one compressed batch
// may take when decompressed, 64 MiB. Kafka knows no such limit.
const MaxDecompressed = 64 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A BatchError says why a record set is refused.
type BatchError struct {
	// Code is what a client is told, one of Kafka's error codes.
	Code int16
	// Unread is set if the batch was refused before it was looked into. Kafka
	// tells no log start offset then.
	Unread bool
	// Problem is what was wrong and where, in words.
	Problem string
	// Records lists the records that the topic's settings refuse, if they are why;
	// the first MaxRecordErrors of them.
	Records []RecordError
}

// Error is the problem in words.
func (e *BatchError) Error() string { return e.Problem }

func refuse(err *kerr.Error, format string, args ...any) *BatchError {
	return &BatchError{Code: err.Code, Problem: fmt.Sprintf(format, args...)}
}

func unread(err *kerr.Error, format string, args ...any) *BatchError {
	e := refuse(err, format, args...)
	e.Unread = true
	return e
}

// BatchRules is what a batch has to keep to besides being sound.
type BatchRules struct {
	// MaxBytes is the topic's max.message.bytes: the most bytes of a batch as it
	// is sent, header included.
	MaxBytes int
	// Version is the version of the Produce request: zstd came with 7.
	Version int16
	// Records is what the topic asks of each record, nil for nothing.
	Records *RecordRules
	// Partition is named to a client whose records are refused.
	Partition TopicPartition
	// Now is the broker's time that records are measured by, in milliseconds since
	// 1970.
	Now int64
	// Compression is how the topic wants batches compressed, nil for as they come.
	Compression *Compression
}

// A CheckedBatch is a batch that is sound, and what was learned from a walk over
// its records.
type CheckedBatch struct {
	kmsg.RecordBatch
	Raw []byte // the batch alone, without what stood behind it

	// MaxTimestampDelta is the offset delta of the first record that has the
	// greatest timestamp. A header that says another MaxTimestamp than that
	// record's has been corrected, in Raw too.
	MaxTimestampDelta int32
}

// Transactional says whether the batch is part of a transaction.
func (c *CheckedBatch) Transactional() bool { return IsTransactional(c.Attributes) }

// IsTransactional says whether a batch with these attributes is part of a
// transaction.
func IsTransactional(attributes int16) bool { return attributes&transactionalBit != 0 }

// AnyTransactional says whether any batch of a Produce says of itself that it is
// part of a transaction.
func AnyTransactional(r *kmsg.ProduceRequest) bool {
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			raw := r.Topics[i].Partitions[j].Records
			if len(raw) > attributesAt+1 && raw[magicAt] == 2 && raw[attributesAt+1]&transactionalBit != 0 {
				return true
			}
		}
	}
	return false
}

// wholeBatch tells how many bytes the batch at the beginning of raw takes, 0 if
// it is cut off. The order is the one in which Kafka looks (ByteBufferLogInputStream):
// a bad length or magic is told even if the batch is not all there.
func wholeBatch(raw []byte) (size int, err *BatchError) {
	if len(raw) < batchPrefix {
		return 0, nil
	}
	length := int(int32(binary.BigEndian.Uint32(raw[8:])))
	if length < leastLength {
		return 0, unread(kerr.CorruptMessage, "the batch says that it has %d bytes, less than its own header", length)
	}
	if len(raw) <= magicAt {
		return 0, nil
	}
	if magic := int8(raw[magicAt]); magic < 0 || magic > 2 {
		return 0, badMagic(kerr.CorruptMessage, magic)
	}
	if length > len(raw)-batchPrefix {
		return 0, nil
	}
	return batchPrefix + length, nil
}

func badMagic(err *kerr.Error, magic int8) *BatchError {
	return unread(err, "magic %d is not served, only 2 (Kafka 0.11 and later)", magic)
}

// ParseBatchHeader reads the header of the first batch in a record set. It
// checks nothing but that the batch is there, whole, and that it is one of magic 2.
func ParseBatchHeader(raw []byte) (kmsg.RecordBatch, *BatchError) {
	var b kmsg.RecordBatch
	size, err := wholeBatch(raw)
	switch {
	case err != nil:
		return b, err
	case size == 0:
		return b, cutOff(raw)
	case raw[magicAt] != 2:
		return b, badMagic(kerr.InvalidRecord, int8(raw[magicAt]))
	case size < batchOverhead:
		return b, unread(kerr.CorruptMessage, "the batch says that it has %d bytes, less than its own header", size-batchPrefix)
	}
	if err := b.ReadFrom(raw); err != nil {
		return b, unread(kerr.InvalidRecord, "the header of the batch cannot be read: %v", err)
	}
	return b, nil
}

// cutOff says what there is instead of a whole batch.
func cutOff(raw []byte) *BatchError {
	switch {
	case raw == nil:
		return unread(kerr.InvalidRecord, "the record set is null")
	case len(raw) == 0:
		return unread(kerr.InvalidRecord, "the record set has no bytes")
	case len(raw) <= magicAt:
		return unread(kerr.InvalidRecord, "the record set ends after %d bytes, inside the header of a batch", len(raw))
	}
	return unread(kerr.InvalidRecord, "the batch says that it has %d bytes, and %d are there", binary.BigEndian.Uint32(raw[8:]), len(raw)-batchPrefix)
}

// CheckBatch judges the record set that a Produce request holds for one
// partition: that it is one sound batch of magic 2 which a producer may write and
// the topic wants. Every record is walked over, compressed or not. The order of
// the checks is the one of Kafka's LogValidator. What the header says wrong of the
// timestamps is corrected, in raw too; a batch that the topic wants compressed
// otherwise is a new one.
//
// The batch is in memory of the request: it is valid until the next one is checked, or
// the outermost Handler returns.
func (r *Request) CheckBatch(raw []byte, rules BatchRules) (*CheckedBatch, *BatchError) {
	c := &r.checked
	*c = CheckedBatch{Raw: raw}
	if r.isOnly(raw) && len(raw) == len(r.Batches[0].Raw) && r.Batches[0].Err == nil {
		c.RecordBatch = r.Batches[0].Header
		return c, c.check(rules)
	}
	var err *BatchError
	if c.RecordBatch, err = ParseBatchHeader(raw); err != nil {
		return c, err
	}
	return c, c.check(rules)
}

func (c *CheckedBatch) check(rules BatchRules) *BatchError {
	if err := c.checkFrame(rules); err != nil {
		return err
	}
	if err := c.checkHeader(rules); err != nil {
		return err
	}
	if err := c.checkRecords(rules); err != nil {
		return err
	}
	return c.compress(rules)
}

// checkFrame judges the batch from outside: how many, how large, its checksum.
func (c *CheckedBatch) checkFrame(rules BatchRules) *BatchError {
	if err := c.cutBehind(); err != nil {
		return err
	}
	if err := c.checkSize(rules.MaxBytes); err != nil {
		return err
	}
	if sum := crc32.Checksum(c.Raw[crcFrom:], castagnoli); sum != uint32(c.CRC) {
		return unread(kerr.CorruptMessage, "the batch says that its CRC-32C is %08x, and it is %08x", uint32(c.CRC), sum)
	}
	return nil
}

// cutBehind takes away what stands behind the batch and is no whole batch, as
// Kafka does.
func (c *CheckedBatch) cutBehind() *BatchError {
	whole := int(c.Length) + batchPrefix
	if len(c.Raw) == whole {
		return nil
	}
	behind := c.Raw[whole:]
	switch second, err := wholeBatch(behind); {
	case err != nil:
		err.Problem = fmt.Sprintf("%d bytes follow the batch, and are none themselves: %s", len(behind), err.Problem)
		return err
	case second > 0:
		return unread(kerr.InvalidRecord, "the record set holds more than one batch: %d bytes follow the first", len(behind))
	}
	c.Raw = c.Raw[:whole:whole]
	return nil
}

func (c *CheckedBatch) checkSize(most int) *BatchError {
	if len(c.Raw) > most {
		return unread(kerr.MessageTooLarge, "the batch has %d bytes, and the topic's max.message.bytes is %d", len(c.Raw), most)
	}
	return nil
}

// checkHeader judges what the header says of the batch.
func (c *CheckedBatch) checkHeader(rules BatchRules) *BatchError {
	codec := c.Attributes & codecBits
	switch {
	case c.FirstOffset != 0:
		return refuse(kerr.InvalidRecord, "the base offset is %d, and a producer has to send 0", c.FirstOffset)
	case c.NumRecords < 1:
		return refuse(kerr.InvalidRecord, "the batch says that it has %d records", c.NumRecords)
	case c.LastOffsetDelta != c.NumRecords-1:
		return refuse(kerr.InvalidRecord, "the batch says that it has %d records, and a last offset delta of %d", c.NumRecords, c.LastOffsetDelta)
	case c.Attributes&controlBit != 0:
		return refuse(kerr.InvalidRecord, "a producer cannot write control batches")
	case codec > codecZstd:
		return refuse(kerr.UnknownServerError, "compression type %d is not known, the highest is %d", codec, codecZstd)
	case codec == codecZstd && rules.Version < 7:
		return unread(kerr.UnsupportedCompressionType, "zstd needs Produce version 7 or later, and this is version %d", rules.Version)
	}
	return c.checkProducer()
}

func (c *CheckedBatch) checkProducer() *BatchError {
	switch {
	case c.ProducerID < 0:
		return nil
	case c.ProducerEpoch < 0:
		return refuse(kerr.InvalidProducerEpoch, "producer %d has epoch %d, and epochs begin at 0", c.ProducerID, c.ProducerEpoch)
	case c.FirstSequence < 0:
		return refuse(kerr.InvalidRecord, "producer %d has sequence %d, and sequences begin at 0", c.ProducerID, c.FirstSequence)
	}
	return nil
}

// checkRecords walks over the records, which have to fill the batch exactly, and
// judges them by what the topic asks.
func (c *CheckedBatch) checkRecords(rules BatchRules) *BatchError {
	asked := rules.Records
	s := recordScan{thorough: asked.thorough(c.Attributes)}
	s.badRecords = badRecords{rules: asked, of: rules.Partition, now: rules.Now, batch: c, repacked: rules.Compression.changes(c)}
	err := c.scan(&s)
	if err == nil && !s.thorough && !(asked.allows(s.now, s.least) && asked.allows(s.now, s.greatest)) {
		s.thorough = true
		err = c.scan(&s)
	}
	switch {
	case err != nil:
		return unreadable(err)
	case s.total > 0:
		return s.refusal()
	}
	c.MaxTimestampDelta = s.greatestAt
	c.stamp(c.Attributes&^appendTimeBit, s.greatest)
	return nil
}

func (c *CheckedBatch) scan(s *recordScan) error {
	return c.records(MaxDecompressed, true, s.over)
}

// A recordScan learns what a batch has to know of its records.
type recordScan struct {
	badRecords
	thorough bool // judge each of them

	least, greatest int64 // timestamps, of those that have one and of none
	greatestAt      int32 // offset delta of the first record that has the greatest
}

// over goes over all records.
func (s *recordScan) over(records []byte) error {
	w := recordWalk{batch: s.batch, rest: records}
	s.least, s.greatest, s.greatestAt = noTimestamp, noTimestamp, 0
	for w.next() {
		r := &w.record
		if r.Created > s.greatest {
			s.greatest, s.greatestAt = r.Created, w.seen-1
		}
		s.least = min(s.least, r.Created)
		if s.thorough {
			s.judge(r)
		}
	}
	return w.err
}

// unreadable is what a client is told of records that cannot be read.
func unreadable(err error) *BatchError {
	if packed := new(packedError); errors.As(err, &packed) {
		return refuse(kerr.UnknownServerError, "%v", err)
	}
	return refuse(kerr.InvalidRecord, "%v", err)
}

// noTimestamp is that of a record without one (RecordBatch.NO_TIMESTAMP).
const noTimestamp = -1

// StampAppendTime gives all records of the batch the time at which the broker
// appends it, in milliseconds since 1970. Their own times stay in the batch, and
// nobody is told them.
func (c *CheckedBatch) StampAppendTime(now int64) {
	c.MaxTimestampDelta = 0
	c.stamp(c.Attributes|appendTimeBit, now)
}

// stamp writes attributes and max timestamp where others stand. Producers get
// them wrong, and lookups by time go by them.
func (c *CheckedBatch) stamp(attributes int16, maxTimestamp int64) {
	if attributes == c.Attributes && maxTimestamp == c.MaxTimestamp {
		return
	}
	c.Attributes, c.MaxTimestamp = attributes, maxTimestamp
	binary.BigEndian.PutUint16(c.Raw[attributesAt:], uint16(attributes))
	binary.BigEndian.PutUint64(c.Raw[maxTimestampAt:], uint64(maxTimestamp))
	c.seal()
}

// seal writes the checksum.
func (c *CheckedBatch) seal() {
	c.CRC = int32(crc32.Checksum(c.Raw[crcFrom:], castagnoli))
	binary.BigEndian.PutUint32(c.Raw[crcAt:], uint32(c.CRC))
}
