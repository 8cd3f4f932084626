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

// A room is where batches up to a size are decompressed, so many at a time. It
// bounds the memory that compressed batches can make the process take.
type room struct {
	size   int         // bytes of a buffer
	places chan []byte // each with its buffer, nil until it is needed
	loose  sync.Pool   // buffers of callers that gave their place up
}

func newRoom(places, size int) *room {
	r := &room{size: size, places: make(chan []byte, places)}
	for range places {
		r.places <- nil
	}
	r.loose.New = func() any { b := make([]byte, 0, size); return &b }
	return r
}

// rooms are tried in order: a batch that does not fit begins again in the next.
// Their buffers are what compressed batches take at most, whoever sends how many
// at a time: 10 MiB for each core, and 64 MiB. They are made when they are needed
// and kept.
var rooms = []*room{
	newRoom(2*runtime.GOMAXPROCS(0), 1<<20+64<<10), // what clients send unless told otherwise
	newRoom(runtime.GOMAXPROCS(0), 8<<20),
	newRoom(1, MaxDecompressed),
}

// A packedError says why compressed records cannot be read.
type packedError struct{ err error }

func (e *packedError) Error() string { return "cannot decompress the records: " + e.err.Error() }
func (e *packedError) Unwrap() error { return e.err }

// errNoRoom says that something is larger than its buffer.
var errNoRoom = errors.New("it is larger than the buffer")

// decompressed calls do with the decompressed form of records, which is valid
// until do returns. More than limit bytes are an error. With hold, do runs in the
// batch's place, and neither waits nor decompresses; without, the place is given
// up before, so that nobody waits for do, and the buffer is kept.
func decompressed(codec int16, records []byte, limit int, hold bool, do func([]byte) error) error {
	for _, r := range rooms {
		if err := r.unpack(codec, records, limit, hold, do); err != errNoRoom {
			return err
		}
		if limit <= r.size {
			break
		}
	}
	return fmt.Errorf("cannot decompress the records: they are larger than %d bytes, the most that is decompressed", min(limit, MaxDecompressed))
}

// unpack decompresses into a buffer of the room, and is errNoRoom if that is too
// small.
func (r *room) unpack(codec int16, records []byte, limit int, hold bool, do func([]byte) error) error {
	if hold {
		return r.inPlace(codec, records, limit, do)
	}
	buf := r.loose.Get().(*[]byte)
	defer r.loose.Put(buf)
	out, err := r.intoLoose((*buf)[:0:min(limit, r.size)], codec, records)
	if err != nil {
		return err
	}
	return do(out)
}

func (r *room) inPlace(codec int16, records []byte, limit int, do func([]byte) error) error {
	buf := <-r.places
	defer func() { r.places <- buf }()
	if buf == nil {
		buf = make([]byte, 0, r.size)
	}
	out, err := decompress(buf[:0:min(limit, r.size)], codec, records)
	if err != nil {
		return err
	}
	return do(out)
}

func (r *room) intoLoose(dst []byte, codec int16, records []byte) ([]byte, error) {
	place := <-r.places
	defer func() { r.places <- place }()
	return decompress(dst, codec, records)
}

// decompress appends to dst, which is empty, what records hold. It is errNoRoom
// if that is more than dst has capacity for, or else a *packedError.
func decompress(dst []byte, codec int16, records []byte) ([]byte, error) {
	out, err := decodeRecords(dst, codec, records)
	if err != nil && err != errNoRoom {
		return nil, &packedError{err}
	}
	return out, err
}

func decodeRecords(dst []byte, codec int16, records []byte) ([]byte, error) {
	switch codec {
	case codecGzip:
		z, err := gzip.NewReader(bytes.NewReader(records))
		if err != nil {
			return nil, err
		}
		return readInto(dst, z)
	case codecSnappy:
		return decompressSnappy(dst, records)
	case codecLz4:
		return decompressLz4(dst, records)
	case codecZstd:
		return decompressZstd(dst, records)
	}
	return nil, fmt.Errorf("compression type %d is not known", codec)
}

// readInto appends what r has to dst, up to its capacity.
func readInto(dst []byte, r io.Reader) ([]byte, error) {
	var beyond [1]byte
	for {
		to := dst[len(dst):cap(dst)]
		if len(to) == 0 {
			to = beyond[:]
		}
		n, err := r.Read(to)
		switch {
		case n > 0 && &to[0] == &beyond[0]:
			return nil, errNoRoom
		case err == io.EOF:
			return dst[:len(dst)+n], nil
		case err != nil:
			return nil, err
		}
		dst = dst[:len(dst)+n]
	}
}

var lz4Readers = sync.Pool{New: func() any { return lz4.NewReader(nil) }}

// lz4Mark begins an lz4 frame. Behind it stand flags, of which Java consumers ask
// for version 1 and blocks that do not build on each other.
var lz4Mark = []byte{0x04, 0x22, 0x4d, 0x18}

const (
	lz4FlagBits = 0b11_1_00000 // the version and whether blocks are independent
	lz4Flags    = 0b01_1_00000
)

var errLz4Frame = errors.New("this is no lz4 frame of version 1 with independent blocks")

func decompressLz4(dst, records []byte) ([]byte, error) {
	if len(records) <= len(lz4Mark) || !bytes.HasPrefix(records, lz4Mark) || records[len(lz4Mark)]&lz4FlagBits != lz4Flags {
		return nil, errLz4Frame
	}
	r := lz4Readers.Get().(*lz4.Reader)
	defer lz4Readers.Put(r)
	r.Reset(bytes.NewReader(records))
	defer r.Reset(nil)
	return readInto(dst, r)
}

// zstdWindow is the largest window of a zstd frame that is served, 128 MiB, as
// in Kafka (ZSTD_WINDOWLOG_LIMIT_DEFAULT). No memory is taken for it: the buffer
// for the records is the window.
const zstdWindow = 128 << 20

// zstdDecoder decodes a batch on each core at a time. It is made when the process
// starts, since it has channels of its own: one that is made inside a
// testing/synctest bubble ends the process when it is used in another.
var zstdDecoder = func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
}()

func decompressZstd(dst, records []byte) ([]byte, error) {
	out, err := zstdDecoder.DecodeAll(records, dst)
	// A frame that does not tell its size fails with any error where the buffer has
	// no room for one more block.
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || err != nil && cap(dst)-len(out) < zstdBlock {
		return nil, errNoRoom
	}
	return out, err
}

// zstdBlock is the most bytes that a block of zstd holds (RFC 8878).
const zstdBlock = 128 << 10

// xerial is how snappy-java frames snappy: this header, then blocks, each behind
// its length. Kafka's Java client writes it, librdkafka writes a plain block.
var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeader = 16 // the mark above and two version numbers

func decompressSnappy(dst, records []byte) ([]byte, error) {
	if !bytes.HasPrefix(records, xerial) {
		return snappyBlock(dst, records)
	}
	if len(records) < xerialHeader {
		return nil, errSnappyEnds
	}
	for rest := records[xerialHeader:]; len(rest) > 0; {
		if len(rest) >= xerialHeader && bytes.HasPrefix(rest, xerial) {
			rest = rest[xerialHeader:] // one stream behind another, which snappy-java reads as one
			continue
		}
		if len(rest) < 4 {
			return nil, errSnappyEnds
		}
		n := int(binary.BigEndian.Uint32(rest))
		if n > len(rest)-4 {
			return nil, errSnappyEnds
		}
		var err error
		if dst, err = snappyBlock(dst, rest[4:4+n]); err != nil {
			return nil, err
		}
		rest = rest[4+n:]
	}
	return dst, nil
}

var errSnappyEnds = errors.New("the snappy frame ends in the middle of a block")

// snappyBlock appends what a block holds.
func snappyBlock(dst, block []byte) ([]byte, error) {
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return nil, err
	}
	if n > cap(dst)-len(dst) {
		// A block of snappy cannot grow by more than this, so a length beyond it is
		// a lie.
		if n > maxSnappyGrowth*len(block) {
			return nil, snappy.ErrCorrupt
		}
		return nil, errNoRoom
	}
	// Strict, since consumers do not know the extensions of S2.
	if _, err := snappy.DecodeStrict(dst[len(dst):len(dst)+n], block); err != nil {
		return nil, err
	}
	return dst[:len(dst)+n], nil
}

// maxSnappyGrowth bounds what a snappy block can grow to: its longest copy takes
// 3 bytes for 64.
const maxSnappyGrowth = 64
