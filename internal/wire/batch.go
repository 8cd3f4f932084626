package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Sizes and places in the header of a record batch of magic 2 (protocol page,
// "Record Batch").
const (
	batchPrefix   = 12 // base offset and length, which the length does not count
	batchOverhead = 61 // bytes before the first record
	crcAt         = 17
	crcFrom       = 21 // the checksum covers everything from the attributes on

	maxTimestampAt = 35
)

// Bits of a batch's attributes.
const (
	codecBits        = 0x07
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
	// Transactional is set if the request has a transactional id.
	Transactional bool
}

// A CheckedBatch is a batch that is sound, and what was learned from a walk over
// its records.
type CheckedBatch struct {
	kmsg.RecordBatch
	Raw []byte

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

// ParseBatchHeader reads the header of the first batch in a record set. It
// checks nothing but that the header is there and that it is one of magic 2.
func ParseBatchHeader(raw []byte) (kmsg.RecordBatch, *BatchError) {
	var b kmsg.RecordBatch
	switch {
	case raw == nil:
		return b, unread(kerr.InvalidRecord, "the record set is null")
	case len(raw) == 0:
		return b, unread(kerr.InvalidRecord, "the record set has no bytes")
	case len(raw) < batchPrefix+5:
		return b, unread(kerr.InvalidRecord, "the record set ends after %d bytes, inside the header of a batch", len(raw))
	}
	// Magic stands at the same place in every format there ever was.
	if magic := int8(raw[16]); magic != 2 {
		return b, unread(kerr.CorruptMessage, "magic %d is not served, only 2 (Kafka 0.11 and later)", magic)
	}
	length := int(int32(binary.BigEndian.Uint32(raw[8:])))
	switch {
	case length < batchOverhead-batchPrefix:
		return b, unread(kerr.CorruptMessage, "the batch says that it has %d bytes, less than its own header", length)
	case length > len(raw)-batchPrefix:
		return b, unread(kerr.InvalidRecord, "the batch says that it has %d bytes, and %d are there", length, len(raw)-batchPrefix)
	}
	if err := b.ReadFrom(raw); err != nil {
		return b, unread(kerr.InvalidRecord, "the header of the batch cannot be read: %v", err)
	}
	return b, nil
}

// CheckBatch judges the record set that a Produce request holds for one
// partition: that it is one sound batch of magic 2 which a producer may write.
// Every record is walked over, compressed or not. The order of the checks is
// the one of Kafka's LogValidator.
func CheckBatch(raw []byte, rules BatchRules) (CheckedBatch, *BatchError) {
	b, err := ParseBatchHeader(raw)
	if err != nil {
		return CheckedBatch{}, err
	}
	c := CheckedBatch{RecordBatch: b, Raw: raw}
	if err := c.checkFrame(rules); err != nil {
		return c, err
	}
	if err := c.checkHeader(rules); err != nil {
		return c, err
	}
	err = c.checkRecords() // changes c
	return c, err
}

// checkFrame judges the batch from outside: how many, how large, its checksum.
func (c *CheckedBatch) checkFrame(rules BatchRules) *BatchError {
	whole := int(c.Length) + batchPrefix
	if behind := len(c.Raw) - whole; behind >= batchPrefix {
		return unread(kerr.InvalidRecord, "the record set holds more than one batch: %d bytes follow the first", behind)
	} else if behind > 0 {
		return unread(kerr.InvalidRecord, "%d bytes follow the batch", behind)
	}
	if whole > rules.MaxBytes {
		return unread(kerr.MessageTooLarge, "the batch has %d bytes, and the topic's max.message.bytes is %d", whole, rules.MaxBytes)
	}
	if sum := crc32.Checksum(c.Raw[crcFrom:], castagnoli); sum != uint32(c.CRC) {
		return unread(kerr.CorruptMessage, "the batch says that its CRC-32C is %08x, and it is %08x", uint32(c.CRC), sum)
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
		return refuse(kerr.UnsupportedCompressionType, "compression type %d is not known, the highest is %d", codec, codecZstd)
	case codec == codecZstd && rules.Version < 7:
		return unread(kerr.UnsupportedCompressionType, "zstd needs Produce version 7 or later, and this is version %d", rules.Version)
	}
	return c.checkProducer(rules)
}

func (c *CheckedBatch) checkProducer(rules BatchRules) *BatchError {
	switch {
	case c.ProducerID < 0:
		return nil
	case c.ProducerEpoch < 0:
		return refuse(kerr.InvalidProducerEpoch, "producer %d has epoch %d, and epochs begin at 0", c.ProducerID, c.ProducerEpoch)
	case c.FirstSequence < 0:
		return refuse(kerr.InvalidRecord, "producer %d has sequence %d, and sequences begin at 0", c.ProducerID, c.FirstSequence)
	case c.Transactional() && !rules.Transactional:
		return refuse(kerr.TransactionalIDAuthorizationFailed, "the batch is transactional, and the request has no transactional id")
	}
	return nil
}

// checkRecords walks over the records, which have to fill the batch exactly.
func (c *CheckedBatch) checkRecords() *BatchError {
	greatest := int64(math.MinInt64)
	err := c.eachRecord(MaxDecompressed, false, func(r Record) error {
		if r.Timestamp > greatest {
			greatest, c.MaxTimestampDelta = r.Timestamp, int32(r.Offset-c.FirstOffset)
		}
		return nil
	})
	if err != nil {
		return refuse(kerr.InvalidRecord, "%v", err)
	}
	if greatest != c.MaxTimestamp {
		c.correctMaxTimestamp(greatest)
	}
	return nil
}

// correctMaxTimestamp writes the greatest timestamp where the producer wrote
// another, as Kafka does: lookups by time go by it.
func (c *CheckedBatch) correctMaxTimestamp(timestamp int64) {
	c.MaxTimestamp = timestamp
	binary.BigEndian.PutUint64(c.Raw[maxTimestampAt:], uint64(timestamp))
	c.CRC = int32(crc32.Checksum(c.Raw[crcFrom:], castagnoli))
	binary.BigEndian.PutUint32(c.Raw[crcAt:], uint32(c.CRC))
}

// A Record is one record of a batch. Its byte slices alias the batch, or the
// buffer it was decompressed into, and are valid until the next record.
type Record struct {
	Offset    int64  // the batch's base offset plus the record's delta
	Timestamp int64  // milliseconds since 1970
	Key       []byte // nil for a null key
	Value     []byte // nil for a null value
	Headers   []Header
}

// A Header is one header of a record.
type Header struct {
	Key   string
	Value []byte // nil for a null value
}

// EachRecord calls yield for each record of the first batch in raw,
// decompressing it if need be, and stops at the first error that yield returns.
// No more than limit bytes are decompressed; a batch that would be larger, or
// that is not sound, is an error.
func EachRecord(raw []byte, limit int, yield func(Record) error) error {
	b, err := ParseBatchHeader(raw)
	if err != nil {
		return err
	}
	c := CheckedBatch{RecordBatch: b, Raw: raw}
	return c.eachRecord(limit, true, yield)
}

func (c *CheckedBatch) eachRecord(limit int, headers bool, yield func(Record) error) error {
	codec := c.Attributes & codecBits
	if codec == codecNone {
		return c.walk(c.Records, headers, yield)
	}
	return decompressed(codec, c.Records, limit, func(records []byte) error {
		return c.walk(records, headers, yield)
	})
}

// walk goes over uncompressed records without allocating, unless headers are
// wanted and there are some.
func (c *CheckedBatch) walk(records []byte, headers bool, yield func(Record) error) error {
	w := recordWalk{batch: c, headers: headers}
	for i := range c.NumRecords {
		length, n := kbin.Varint(records)
		if n <= 0 || length < 0 || int(length) > len(records)-n {
			return fmt.Errorf("record %d of %d: its length %d goes beyond the batch", i, c.NumRecords, length)
		}
		if err := w.read(records[n : n+int(length)]); err != nil {
			return fmt.Errorf("record %d of %d: %w", i, c.NumRecords, err)
		}
		if w.record.Offset != c.FirstOffset+int64(i) {
			return fmt.Errorf("record %d of %d: its offset delta is %d", i, c.NumRecords, w.record.Offset-c.FirstOffset)
		}
		if err := yield(w.record); err != nil {
			return err
		}
		records = records[n+int(length):]
	}
	if len(records) > 0 {
		return fmt.Errorf("%d bytes follow the last of %d records", len(records), c.NumRecords)
	}
	return nil
}

type recordWalk struct {
	batch   *CheckedBatch
	headers bool // whether anybody wants the headers; they are checked anyway
	record  Record
}

var (
	errRecordEnds = errors.New("a field goes beyond the record")
	errHeaderKey  = errors.New("a header has no key")
)

// read reads one record, which has to fill body exactly.
func (w *recordWalk) read(body []byte) error {
	r := kbin.Reader{Src: body}
	r.Int8() // attributes, which nothing uses
	w.record.Timestamp = w.batch.FirstTimestamp + r.Varlong()
	w.record.Offset = w.batch.FirstOffset + int64(r.Varint())
	w.record.Key = r.VarintBytes()
	w.record.Value = r.VarintBytes()
	noKey := w.readHeaders(&r)
	if !r.Ok() {
		return errRecordEnds
	}
	if noKey {
		return errHeaderKey
	}
	if len(r.Src) > 0 {
		return fmt.Errorf("%d bytes follow its last field", len(r.Src))
	}
	return nil
}

// readHeaders reads the headers of a record, and says whether one has a null
// key: a value and a header's value may be null, its key may not.
func (w *recordWalk) readHeaders(r *kbin.Reader) (noKey bool) {
	w.record.Headers = w.record.Headers[:0]
	n := r.Varint()
	if n < 0 || int(n) > len(r.Src) {
		r.Span(-1) // no such number of headers can be there
		return false
	}
	for i := int32(0); i < n && r.Ok(); i++ {
		key := r.VarintBytes()
		noKey = noKey || key == nil
		value := r.VarintBytes()
		if w.headers {
			w.record.Headers = append(w.record.Headers, Header{Key: string(key), Value: value})
		}
	}
	return noKey
}
