package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Compression is how a topic wants its batches compressed (compression.type).
type Compression struct {
	// Codec is one of the compression types of a batch's attributes, 0 for none.
	Codec int8
	// Level is the codec's own, as Kafka counts it: compression.gzip.level 1 to 9
	// or -1, compression.lz4.level 1 to 17, compression.zstd.level -131072 to 22.
	// Libraries that know fewer take the nearest. Of no meaning for none and snappy.
	Level int
}

// Levels that mean a codec's default.
const (
	DefaultGzipLevel = gzip.DefaultCompression
	DefaultLz4Level  = 9 // and means lz4's fast compressor, in Kafka too
	DefaultZstdLevel = 3
)

// changes says whether a batch has to be compressed anew.
func (to *Compression) changes(c *CheckedBatch) bool {
	return to != nil && int16(to.Codec) != c.Attributes&codecBits
}

// compressions bounds how many batches are compressed at a time. Each takes an
// encoder, of which the largest has 8 MiB.
var compressions = make(chan struct{}, runtime.GOMAXPROCS(0))

// errPackedTooLarge says that a batch grew beyond what the topic allows.
var errPackedTooLarge = errors.New("it is larger than the topic allows")

// compress writes the batch, which is sound, as the topic wants it: a new one in
// Raw, with the same offsets, times and producer. Its size counts again, as in
// Kafka. What Kafka drops is dropped: attributes that mean nothing, and those of
// records.
func (c *CheckedBatch) compress(rules BatchRules) *BatchError {
	to := rules.Compression
	if !to.changes(c) {
		return nil
	}
	packed, err := c.repacked(*to, rules.MaxBytes)
	switch {
	case errors.Is(err, errPackedTooLarge):
		return unread(kerr.MessageTooLarge, "compressed as the topic wants it, the batch has more than the %d bytes of the topic's max.message.bytes", rules.MaxBytes)
	case err != nil:
		return refuse(kerr.InvalidRecord, "%v", err)
	}
	c.Raw = packed
	c.seal()
	if err := c.ReadFrom(packed); err != nil {
		return refuse(kerr.InvalidRecord, "the batch that was made of it cannot be read: %v", err)
	}
	return nil
}

// repacked is the batch with its records compressed anew, of most bytes at most.
// Its checksum is still the old one.
func (c *CheckedBatch) repacked(to Compression, most int) ([]byte, error) {
	compressions <- struct{}{}
	defer func() { <-compressions }()
	out := &batchBuffer{bytes: append([]byte(nil), c.Raw[:batchOverhead]...), most: most}
	pool := encodersFor(to)
	w := pool.Get().(encoder)
	defer pool.Put(w)
	w.Reset(out)
	defer w.Reset(io.Discard) // lets go of out
	var firstTimestamp int64
	err := c.records(MaxDecompressed, true, func(records []byte) (err error) {
		firstTimestamp, err = c.rewrite(records, w)
		return err
	})
	if err == nil {
		err = w.Close()
	}
	raw := out.bytes
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-batchPrefix))
	binary.BigEndian.PutUint16(raw[attributesAt:], uint16(c.Attributes&transactionalBit|int16(to.Codec)))
	binary.BigEndian.PutUint64(raw[firstTimestampAt:], uint64(firstTimestamp))
	return raw, err
}

// rewrite writes the records as a broker does that makes a batch of them: no
// attributes, and timestamps that count from the first one.
func (c *CheckedBatch) rewrite(records []byte, w io.Writer) (firstTimestamp int64, err error) {
	var head, fields []byte
	for i := range c.NumRecords {
		length, n := kbin.Varint(records)
		r := kbin.Reader{Src: records[n : n+int(length)]}
		records = records[n+int(length):]
		r.Int8()
		timestamp := c.FirstTimestamp + r.Varlong()
		r.Varint() // the offset delta is i
		if i == 0 {
			firstTimestamp = timestamp
		}
		fields = kbin.AppendVarlong(append(fields[:0], 0), timestamp-firstTimestamp)
		fields = kbin.AppendVarint(fields, i)
		head = kbin.AppendVarint(head[:0], int32(len(fields)+len(r.Src)))
		if _, err := w.Write(append(head, fields...)); err != nil {
			return 0, err
		}
		if _, err := w.Write(r.Src); err != nil {
			return 0, err
		}
	}
	return firstTimestamp, nil
}

// A batchBuffer is a batch that is being written, of so many bytes at most.
type batchBuffer struct {
	bytes []byte
	most  int
}

func (b *batchBuffer) Write(p []byte) (int, error) {
	if len(b.bytes)+len(p) > b.most {
		return 0, errPackedTooLarge
	}
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}

// An encoder compresses what is written to it, and can begin anew.
type encoder interface {
	io.WriteCloser
	Reset(io.Writer)
}

// encoders holds a pool for each way to compress.
var encoders sync.Map // Compression -> *sync.Pool

func encodersFor(c Compression) *sync.Pool {
	c = c.known()
	pool, ok := encoders.Load(c)
	if !ok {
		pool, _ = encoders.LoadOrStore(c, &sync.Pool{New: func() any { return c.encoder() }})
	}
	return pool.(*sync.Pool)
}

// known is the same with a level that the library has, so that there are few.
func (c Compression) known() Compression {
	switch int16(c.Codec) {
	case codecGzip:
		c.Level = min(max(c.Level, gzip.DefaultCompression), gzip.BestCompression)
	case codecLz4:
		c.Level = min(max(c.Level, 1), DefaultLz4Level+1)
	case codecZstd:
		c.Level = int(zstd.EncoderLevelFromZstd(min(c.Level, math.MaxInt8)))
	default:
		c.Level = 0
	}
	return c
}

// encoder makes one of a known level, in the forms that Kafka's own have: snappy
// in snappy-java's frames, lz4 in independent blocks of 64 KiB, zstd without a
// checksum.
func (c Compression) encoder() encoder {
	switch int16(c.Codec) {
	case codecGzip:
		w, err := gzip.NewWriterLevel(io.Discard, c.Level)
		return made(w, err)
	case codecSnappy:
		return &xerialWriter{}
	case codecLz4:
		w := lz4.NewWriter(io.Discard)
		return made(w, w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false),
			lz4.ConcurrencyOption(1), lz4.CompressionLevelOption(lz4Level(c.Level))))
	case codecZstd:
		w, err := zstd.NewWriter(io.Discard, zstd.WithEncoderLevel(zstd.EncoderLevel(c.Level)), zstd.WithEncoderConcurrency(1),
			zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(encoderWindow), zstd.WithEncoderCRC(false))
		return made(w, err)
	}
	return &plainWriter{}
}

// encoderWindow is the window of the zstd frames that are made here, 2 MiB.
const encoderWindow = 2 << 20

// lz4Level is the library's name of a level: 9 is Kafka's default and its fast
// compressor, and what lies above is the best there is.
func lz4Level(level int) lz4.CompressionLevel {
	switch {
	case level == DefaultLz4Level:
		return lz4.Fast
	case level > DefaultLz4Level:
		return lz4.Level9
	}
	return lz4.CompressionLevel(1 << (8 + level))
}

func made[T encoder](w T, err error) encoder {
	if err != nil {
		panic(err) // the options are known to be good
	}
	return w
}

// A plainWriter leaves records as they are.
type plainWriter struct{ io.Writer }

func (w *plainWriter) Reset(to io.Writer) { w.Writer = to }
func (w *plainWriter) Close() error       { return nil }

// xerialBlock is the most bytes of a block of framed snappy, as in snappy-java.
const xerialBlock = 32 << 10

// A xerialWriter frames snappy as snappy-java does.
type xerialWriter struct {
	to      io.Writer
	begun   bool
	block   []byte // what is still to be compressed
	scratch []byte
}

func (w *xerialWriter) Reset(to io.Writer) { w.to, w.begun, w.block = to, false, w.block[:0] }

func (w *xerialWriter) Write(p []byte) (n int, err error) {
	for n < len(p) {
		more := min(len(p)-n, xerialBlock-len(w.block))
		w.block = append(w.block, p[n:n+more]...)
		n += more
		if len(w.block) == xerialBlock {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (w *xerialWriter) Close() error {
	if len(w.block) == 0 {
		return nil
	}
	return w.flush()
}

// flush writes a block behind its length, and before the first one the header.
func (w *xerialWriter) flush() error {
	w.scratch = w.scratch[:0]
	if !w.begun {
		w.begun = true
		w.scratch = append(append(w.scratch, xerial...), 0, 0, 0, 1, 0, 0, 0, 1)
	}
	block := snappy.Encode(nil, w.block)
	w.scratch = append(binary.BigEndian.AppendUint32(w.scratch, uint32(len(block))), block...)
	w.block = w.block[:0]
	_, err := w.to.Write(w.scratch)
	return err
}
