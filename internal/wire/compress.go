package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compression types, the lowest three bits of a batch's attributes.
const (
	codecNone   = 0
	codecGzip   = 1
	codecSnappy = 2
	codecLz4    = 3
	codecZstd   = 4
)

// decompressions bounds how many batches are decompressed at a time, and with
// it the memory that compressed batches can make the process take: this many
// times MaxDecompressed.
var decompressions = make(chan struct{}, 2*runtime.GOMAXPROCS(0))

// buffers holds what batches were decompressed into, for the next ones.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// keptBuffer is the largest buffer that is kept for the next batch.
const keptBuffer = 4 << 20

// decompressed calls do with the decompressed form of records, which is valid
// until do returns. More than limit bytes are an error.
func decompressed(codec int16, records []byte, limit int, do func([]byte) error) error {
	decompressions <- struct{}{}
	defer func() { <-decompressions }()
	buf := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= keptBuffer {
			buffers.Put(buf)
		}
	}()
	buf.Reset()
	if err := decompress(buf, codec, records, limit); err != nil {
		return fmt.Errorf("cannot decompress the records: %w", err)
	}
	return do(buf.Bytes())
}

func decompress(buf *bytes.Buffer, codec int16, records []byte, limit int) error {
	switch codec {
	case codecGzip:
		z, err := gzip.NewReader(bytes.NewReader(records))
		if err != nil {
			return err
		}
		return copyLimited(buf, z, limit)
	case codecSnappy:
		return decompressSnappy(buf, records, limit)
	case codecLz4:
		return copyLimited(buf, lz4.NewReader(bytes.NewReader(records)), limit)
	case codecZstd:
		return decompressZstd(buf, records, limit)
	}
	return fmt.Errorf("compression type %d is not known", codec)
}

func tooLarge(limit int) error {
	return fmt.Errorf("they are larger than %d bytes, the most that is decompressed", limit)
}

func copyLimited(buf *bytes.Buffer, r io.Reader, limit int) error {
	n, err := io.Copy(buf, io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return err
	}
	if n > int64(limit) {
		return tooLarge(limit)
	}
	return nil
}

// zstdWindow is the largest window of a zstd frame that is served, 8 MiB: what
// the format asks every decoder to have.
const zstdWindow = 8 << 20

// zstdDecoders holds a decoder for each batch that is decompressed at a time. All
// are made when the process starts, since a decoder has channels of its own: one
// that is made inside a testing/synctest bubble ends the process when it is used
// in another.
var zstdDecoders = func() chan *zstd.Decoder {
	all := make(chan *zstd.Decoder, cap(decompressions))
	for range cap(all) {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			panic(err) // the options are constants
		}
		all <- d
	}
	return all
}()

func decompressZstd(buf *bytes.Buffer, records []byte, limit int) error {
	d := <-zstdDecoders
	defer func() { zstdDecoders <- d }()
	if err := d.Reset(bytes.NewReader(records)); err != nil {
		return err
	}
	defer d.Reset(nil) //nolint:errcheck // gives up its reader, cannot fail
	return copyLimited(buf, d, limit)
}

// xerial is how snappy-java frames snappy: this header, then blocks, each behind
// its length. Kafka's Java client writes it, librdkafka writes a plain block.
var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeader = 16 // the mark above and two version numbers

func decompressSnappy(buf *bytes.Buffer, records []byte, limit int) error {
	if !bytes.HasPrefix(records, xerial) {
		return snappyBlock(buf, records, limit)
	}
	if len(records) < xerialHeader {
		return errSnappyEnds
	}
	for rest := records[xerialHeader:]; len(rest) > 0; {
		if len(rest) < 4 {
			return errSnappyEnds
		}
		n := int(binary.BigEndian.Uint32(rest))
		if n > len(rest)-4 {
			return errSnappyEnds
		}
		if err := snappyBlock(buf, rest[4:4+n], limit); err != nil {
			return err
		}
		rest = rest[4+n:]
	}
	return nil
}

var errSnappyEnds = errors.New("the snappy frame ends in the middle of a block")

func snappyBlock(buf *bytes.Buffer, block []byte, limit int) error {
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return err
	}
	if n > limit-buf.Len() {
		return tooLarge(limit)
	}
	// A block of snappy cannot grow by more than this, so a length beyond it is
	// a lie and nothing is allocated for it.
	if n > maxSnappyGrowth*len(block) {
		return snappy.ErrCorrupt
	}
	buf.Grow(n)
	// Strict, since consumers do not know the extensions of S2.
	out, err := snappy.DecodeStrict(buf.AvailableBuffer()[:n], block)
	if err != nil {
		return err
	}
	buf.Write(out)
	return nil
}

// maxSnappyGrowth bounds what a snappy block can grow to: its longest copy takes
// 3 bytes for 64.
const maxSnappyGrowth = 64
