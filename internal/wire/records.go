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
	return c.records(limit, false, func(records []byte) error { return c.walk(records, yield) })
}

// ScanRecords is EachRecord for a yield that neither waits nor reads another
// batch: few buffers serve all calls, and one call may wait for another to end.
func ScanRecords(raw []byte, limit int, yield func(Record) error) error {
	c, err := stored(raw)
	if err != nil {
		return err
	}
	return c.records(limit, true, func(records []byte) error { return c.walk(records, yield) })
}

func stored(raw []byte) (*CheckedBatch, error) {
	b, err := ParseBatchHeader(raw)
	if err != nil {
		return nil, err
	}
	return &CheckedBatch{RecordBatch: b, Raw: raw}, nil
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

// walk calls yield for each of the uncompressed records.
func (c *CheckedBatch) walk(records []byte, yield func(Record) error) error {
	w := recordWalk{batch: c, rest: records, headers: true}
	for w.next() {
		if err := yield(w.record); err != nil {
			return err
		}
	}
	return w.err
}

// A recordWalk goes over uncompressed records, which have to fill the batch
// exactly. It allocates nothing, unless headers are wanted and there are some.
type recordWalk struct {
	batch   *CheckedBatch
	rest    []byte // records to come
	headers bool   // whether anybody wants the headers; they are checked anyway

	seen   int32
	record Record // the one that next came to
	err    error  // why next came to none, nil at the end
}

// next goes on to the next record.
func (w *recordWalk) next() bool {
	if w.seen == w.batch.NumRecords {
		if len(w.rest) > 0 {
			w.err = fmt.Errorf("%d bytes follow the last of %d records", len(w.rest), w.seen)
		}
		return false
	}
	length, n := kbin.Varint(w.rest)
	if n <= 0 || length < 0 || int(length) > len(w.rest)-n {
		return w.fail("its length %d goes beyond the batch", length)
	}
	end := n + int(length)
	if err := w.read(w.rest[n:end]); err != nil {
		return w.fail("%w", err)
	}
	if w.record.Offset != w.batch.FirstOffset+int64(w.seen) {
		return w.fail("its offset delta is %d", w.record.Offset-w.batch.FirstOffset)
	}
	w.rest = w.rest[end:]
	w.seen++
	return true
}

func (w *recordWalk) fail(format string, args ...any) bool {
	w.err = fmt.Errorf("record %d of %d: "+format, append([]any{w.seen, w.batch.NumRecords}, args...)...)
	return false
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
