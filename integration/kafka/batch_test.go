package kafka

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The layout of a record batch of magic 2, as far as bytes are looked at.
const (
	lengthAt   = 8
	leaderAt   = 12 // partition leader epoch; from here on the length counts
	magicAt    = 16
	crcAt      = 17
	coveredAt  = 21 // where the checksum begins to cover
	headerSize = 61
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A batch is a record batch that a script sends: sound, but for the changes that
// are made to it. Its words say them all.
type batch struct {
	words    []string
	producer string // its name in the script, "" for none
	epoch    func(identity) int16
	first    int32
	records  int
	value    string
	key      string // "" for none
	times    []int64
	codec    codec

	record  []func(i int, r *kmsg.Record)         // changes to each record
	payload func([]byte) []byte                   // instead of, or to, the records' bytes
	header  []func(s *scene, b *kmsg.RecordBatch) // changes that the checksum covers
	bytes   []func([]byte) []byte                 // damage on the way
}

// by is a batch of an idempotent producer: n records from a sequence on.
func by(producer string, first int32, n int) batch {
	return batch{
		words: []string{fmt.Sprintf("%s %d+%d", producer, first, n)}, producer: producer, first: first, records: n, value: "a record",
		epoch: func(who identity) int16 { return who.epoch },
	}
}

// plain is a batch that belongs to no producer.
func plain(n int) batch {
	b := by("", -1, n)
	b.words[0] = fmt.Sprintf("plain %d", n)
	return b
}

// but is the batch with a word more.
func (b batch) but(format string, args ...any) batch {
	b.words = append(b.words[:len(b.words):len(b.words)], fmt.Sprintf(format, args...))
	return b
}

func (b batch) String() string { return strings.Join(b.words, ", ") }

// in is the batch in another epoch than the one that the producer was given.
func (b batch) in(epoch int16) batch {
	b = b.but("epoch %d", epoch)
	b.epoch = func(identity) int16 { return epoch }
	return b
}

// of gives each record this value.
func (b batch) of(value string) batch {
	b = b.but("of %q", value)
	b.value = value
	return b
}

// sized gives each record a value of n bytes.
func (b batch) sized(n int) batch {
	b = b.but("%d bytes each", n)
	b.value = strings.Repeat("v", n)
	return b
}

// keyed gives each record this key.
func (b batch) keyed(key string) batch {
	b = b.but("key %q", key)
	b.key = key
	return b
}

// at gives the records times, in milliseconds from the base of the script.
func (b batch) at(times ...int64) batch {
	b = b.but("at %v", times)
	b.times = times
	return b
}

// with compresses the records.
func (b batch) with(c codec) batch {
	b = b.but("%s", c.name)
	b.codec = c
	return b
}

// holding puts bytes in the place of the records, as they come from the codec.
func (b batch) holding(what string, payload []byte) batch {
	b = b.but("%s for records", what)
	b.payload = func([]byte) []byte { return payload }
	return b
}

// followed puts bytes behind the records, within the codec.
func (b batch) followed(by ...byte) batch {
	b = b.but("records followed by % x", by)
	b.payload = func(records []byte) []byte { return append(records, by...) }
	return b
}

// each changes each record.
func (b batch) each(what string, change func(i int, r *kmsg.Record)) batch {
	b = b.but("%s", what)
	b.record = append(b.record[:len(b.record):len(b.record)], change)
	return b
}

// saying changes the header before the checksum is made.
func (b batch) saying(what string, change func(h *kmsg.RecordBatch)) batch {
	b = b.but("%s", what)
	b.header = append(b.header[:len(b.header):len(b.header)], func(_ *scene, h *kmsg.RecordBatch) { change(h) })
	return b
}

// damaged changes the bytes when all is made.
func (b batch) damaged(what string, change func(raw []byte) []byte) batch {
	b = b.but("%s", what)
	b.bytes = append(b.bytes[:len(b.bytes):len(b.bytes)], change)
	return b
}

// encode is the batch as it is sent.
func (b batch) encode(s *scene) []byte {
	h := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, Attributes: b.codec.bits, LastOffsetDelta: int32(b.records - 1),
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: b.first, NumRecords: int32(b.records),
	}
	if b.producer != "" {
		who := s.producers[b.producer]
		h.ProducerID, h.ProducerEpoch = who.id, b.epoch(who)
	}
	b.fill(s, &h)
	h.Length = int32(headerSize - leaderAt + len(h.Records))
	for _, change := range b.header {
		change(s, &h)
	}
	raw := signed(h.AppendTo(nil))
	for _, change := range b.bytes {
		raw = change(raw)
	}
	return raw
}

// fill makes the records, and the times of the header that follow from them.
func (b batch) fill(s *scene, h *kmsg.RecordBatch) {
	var records []byte
	for i := range b.records {
		r := kmsg.Record{OffsetDelta: int32(i), Value: []byte(b.value)}
		if b.key != "" {
			r.Key = []byte(b.key)
		}
		at := s.at(int64(i))
		if i < len(b.times) {
			at = s.at(b.times[i])
		}
		if i == 0 {
			h.FirstTimestamp, h.MaxTimestamp = at, at
		}
		h.MaxTimestamp, r.TimestampDelta64 = max(h.MaxTimestamp, at), at-h.FirstTimestamp
		records = b.appendRecord(records, i, r)
	}
	if b.payload != nil {
		records = b.payload(records)
	}
	if b.codec.compress != nil {
		records = b.codec.compress(records)
	}
	h.Records = records
}

func (b batch) appendRecord(to []byte, i int, r kmsg.Record) []byte {
	r.Length = int32(len(r.AppendTo(nil)) - 1) // a length of 0 takes one byte
	for _, change := range b.record {
		change(i, &r)
	}
	return r.AppendTo(to)
}

// signed writes the checksum of a batch.
func signed(raw []byte) []byte {
	binary.BigEndian.PutUint32(raw[crcAt:], crc32.Checksum(raw[coveredAt:], castagnoli))
	return raw
}

// A codec is a compression type.
type codec struct {
	name     string
	bits     int16
	compress func([]byte) []byte
}

var (
	gzipCodec   = codec{"gzip", 1, gzipped}
	snappyCodec = codec{"snappy", 2, func(b []byte) []byte { return snappy.Encode(nil, b) }}
	xerialCodec = codec{"snappy in frames", 2, xerialFramed}
	lz4Codec    = codec{"lz4", 3, lz4Compressed}
	zstdCodec   = codec{"zstd", 4, zstdCompressed}
)

// claiming is a codec in name only.
func claiming(bits int16) codec { return codec{fmt.Sprintf("codec %d in name", bits), bits, nil} }

func gzipped(b []byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	w.Write(b) //nolint:errcheck // into memory
	w.Close()
	return buf.Bytes()
}

// xerialFramed is the form of snappy-java, in two blocks.
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
