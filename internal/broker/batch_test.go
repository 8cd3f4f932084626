package broker

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The layout of a record batch of magic 2, as far as tests look at bytes.
const (
	offsetAt   = 0
	lengthAt   = 8
	epochAt    = 12 // partition leader epoch
	magicAt    = 16
	crcAt      = 17
	coveredAt  = 21 // where the checksum begins to cover
	codecAt    = 22 // the lowest bits of the attributes
	sequenceAt = 53
	headerSize = 61
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A draft is a batch that a client is about to send: a header, whose length,
// checksum, count and times follow from the records unless a test says
// otherwise, and records of the same value.
type draft struct {
	kmsg.RecordBatch
	times    []int64 // one record for each, in milliseconds since 1970
	value    []byte
	compress func([]byte) []byte
	header   []func(*kmsg.RecordBatch) // lies that the checksum covers
	raw      []func([]byte) []byte     // damage on the way
}

// plainTime is the time of a record unless a test says otherwise: before that at
// which a synctest bubble begins, since a record may not come from the future.
const plainTime = 900_000_000_000

// plain is a batch of n records that belongs to no producer.
func plain(n int) *draft {
	d := &draft{value: []byte("a record"), times: make([]int64, n)}
	d.Default()
	for i := range d.times {
		d.times[i] = plainTime
	}
	d.Magic, d.PartitionLeaderEpoch = 2, -1
	d.ProducerID, d.ProducerEpoch, d.FirstSequence = -1, -1, -1
	return d
}

// by is a batch of n records of an idempotent producer.
func by(id int64, epoch int16, sequence int32, n int) *draft {
	d := plain(n)
	d.ProducerID, d.ProducerEpoch, d.FirstSequence = id, epoch, sequence
	return d
}

// at makes the batch one record for each of these times.
func (d *draft) at(times ...int64) *draft {
	d.times = times
	return d
}

// of gives each record this value.
func (d *draft) of(value string) *draft {
	d.value = []byte(value)
	return d
}

// sized gives each record a value of n bytes.
func (d *draft) sized(n int) *draft {
	d.value = bytes.Repeat([]byte("v"), n)
	return d
}

// with compresses the records.
func (d *draft) with(c codec) *draft {
	d.Attributes = d.Attributes&^7 | c.bits
	d.compress = c.compress
	return d
}

// saying changes the header after it was made, before the checksum.
func (d *draft) saying(change func(*kmsg.RecordBatch)) *draft {
	d.header = append(d.header, change)
	return d
}

// damaged changes the bytes after all was made.
func (d *draft) damaged(change func([]byte) []byte) *draft {
	d.raw = append(d.raw, change)
	return d
}

// bytes is the batch as it is sent.
func (d *draft) bytes() []byte {
	b := d.RecordBatch
	b.NumRecords, b.LastOffsetDelta = int32(len(d.times)), int32(len(d.times)-1)
	b.FirstTimestamp, b.MaxTimestamp = d.times[0], d.times[0]
	for i, ts := range d.times {
		b.MaxTimestamp = max(b.MaxTimestamp, ts)
		b.Records = appendRecord(b.Records, i, ts-b.FirstTimestamp, d.value)
	}
	if d.compress != nil {
		b.Records = d.compress(b.Records)
	}
	b.Length = int32(headerSize - epochAt + len(b.Records))
	for _, change := range d.header {
		change(&b)
	}
	raw := b.AppendTo(nil)
	sign(raw)
	for _, change := range d.raw {
		raw = change(raw)
	}
	return raw
}

// appendRecord encodes a record without key and headers.
func appendRecord(to []byte, delta int, age int64, value []byte) []byte {
	r := kmsg.NewRecord()
	r.OffsetDelta, r.TimestampDelta64, r.Value = int32(delta), age, value
	r.Length = int32(len(r.AppendTo(nil)) - 1) // a length of 0 takes one byte
	return r.AppendTo(to)
}

// sign writes the checksum of a batch.
func sign(raw []byte) {
	binary.BigEndian.PutUint32(raw[crcAt:], crc32.Checksum(raw[coveredAt:], castagnoli))
}

// stored is what a reader gets for a batch that was sent: the producer's bytes
// with the base offset, and the leader epoch of the broker.
func stored(sent []byte, baseOffset int64) []byte {
	b := bytes.Clone(sent)
	binary.BigEndian.PutUint64(b[offsetAt:], uint64(baseOffset))
	binary.BigEndian.PutUint32(b[epochAt:], leaderEpoch)
	return b
}

// A codec is a compression type.
type codec struct {
	name     string
	bits     int16
	compress func([]byte) []byte
}

var codecs = []codec{
	{"gzip", 1, gzipped},
	{"snappy block", 2, func(b []byte) []byte { return snappy.Encode(nil, b) }},
	{"snappy framed as snappy-java does", 2, xerialFramed},
	{"lz4", 3, lz4Compressed},
	{"zstd", 4, zstdCompressed},
}

func codecNamed(t testing.TB, name string) codec {
	t.Helper()
	for _, c := range codecs {
		if c.name == name {
			return c
		}
	}
	t.Fatalf("there is no codec %q", name)
	return codec{}
}

func gzipped(b []byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	w.Write(b) //nolint:errcheck // into memory
	w.Close()
	return buf.Bytes()
}

// xerialFramed cuts the bytes in two blocks.
func xerialFramed(b []byte) []byte {
	framed := []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}
	for _, part := range [][]byte{b[:len(b)/2], b[len(b)/2:]} {
		block := snappy.Encode(nil, part)
		framed = binary.BigEndian.AppendUint32(framed, uint32(len(block)))
		framed = append(framed, block...)
	}
	return framed
}

func lz4Compressed(b []byte) []byte {
	var buf bytes.Buffer
	w := lz4.NewWriter(&buf)
	w.Write(b) //nolint:errcheck // into memory
	w.Close()
	return buf.Bytes()
}

func zstdCompressed(b []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // the options are constants
	}
	defer w.Close()
	return w.EncodeAll(b, nil)
}
