package wire

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
)

// A Record is one record of a batch. Its byte slices alias the batch, or the
// buffer it was decompressed into, and are valid until the next record.
type Record struct {
	Offset    int64  // the batch's base offset plus the record's delta
	Timestamp int64  // milliseconds since 1970, as consumers see it
	Created   int64  // the producer's own time, where the batch has the broker's (LogAppendTime); else the same
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
//
// yield may do what it likes, also read another batch: each call holds a buffer
// of its own meanwhile. Callers of which there may be as many as clients use
// ScanRecords.
func EachRecord(raw []byte, limit int, yield func(Record) error) error {
	c, err := stored(raw)
	if err != nil {
		return err
	}
	return c.records(limit, false, func(records []byte) error { return c.walk(records, true, yield) })
}

// ScanRecords is EachRecord for a yield that neither waits nor reads another
// batch: few buffers serve all calls, and one call may wait for another to end.
func ScanRecords(raw []byte, limit int, yield func(Record) error) error {
	c, err := stored(raw)
	if err != nil {
		return err
	}
	return c.records(limit, true, func(records []byte) error { return c.walk(records, true, yield) })
}

func stored(raw []byte) (*CheckedBatch, error) {
	b, err := ParseBatchHeader(raw)
	if err != nil {
		return nil, err
	}
	return &CheckedBatch{RecordBatch: b, Raw: raw}, nil
}

// eachRecord scans the records without their headers.
func (c *CheckedBatch) eachRecord(limit int, yield func(Record) error) error {
	return c.records(limit, true, func(records []byte) error { return c.walk(records, false, yield) })
}

// records calls do with the records as they are without compression; see
// decompressed.
func (c *CheckedBatch) records(limit int, hold bool, do func([]byte) error) error {
	codec := c.Attributes & codecBits
	if codec == codecNone {
		return do(c.Records)
	}
	return decompressed(codec, c.Records, limit, hold, do)
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
	w.record.Created = w.batch.FirstTimestamp + r.Varlong()
	w.record.Timestamp = w.record.Created
	if w.batch.Attributes&appendTimeBit != 0 {
		w.record.Timestamp = w.batch.MaxTimestamp
	}
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
