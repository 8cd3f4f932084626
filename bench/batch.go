package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Places in the header of a record batch of magic 2 (protocol page, "Record Batch").
const (
	batchPrefix   = 12 // base offset and length, which the length does not count
	batchHeader   = 61 // bytes before the first record
	crcAt         = 17
	crcFrom       = 21 // the checksum covers everything from the attributes on
	lastDeltaAt   = 23
	producerAt    = 43
	epochAt       = 51
	sequenceAt    = 53
	batchLengthAt = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// codecNone leaves records as they are.
const codecNone = "none"

// compressions are the codecs that compress, as Kafka's compression.type names them.
var compressions = []string{"gzip", "snappy", "lz4", "zstd"}

var compressors = map[string]kgo.CompressionCodec{
	"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// newBatch builds the batch of a work, compressed once. Producer, epoch, sequence and
// checksum are written per send.
func newBatch(w work) ([]byte, error) {
	records, attributes, err := compress(w.codec, newRecords(w.records, w.size))
	if err != nil {
		return nil, err
	}
	b := kmsg.NewRecordBatch()
	b.Magic, b.PartitionLeaderEpoch, b.Attributes = 2, -1, attributes
	b.NumRecords, b.LastOffsetDelta = int32(w.records), int32(w.records-1)
	b.FirstTimestamp = time.Now().UnixMilli()
	b.MaxTimestamp = b.FirstTimestamp
	b.Records = records
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[batchLengthAt:], uint32(len(raw)-batchPrefix))
	return raw, nil
}

func compress(codec string, records []byte) (packed []byte, attributes int16, err error) {
	if codec == codecNone {
		return records, 0, nil
	}
	c, err := kgo.DefaultCompressor(compressors[codec])
	if err != nil {
		return nil, 0, err
	}
	packed, used := c.Compress(new(bytes.Buffer), records)
	if used <= 0 {
		return nil, 0, fmt.Errorf("%s did not compress", codec)
	}
	return packed, int16(used), nil
}

// newRecords writes records without key, one behind the other.
func newRecords(n, size int) (all []byte) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		r := kmsg.NewRecord()
		r.OffsetDelta, r.Value = int32(i), text(random, size)
		body := r.AppendTo(nil)
		r.Length = int32(len(body) - 1) // AppendTo wrote a length of 0 in one byte
		all = r.AppendTo(all)
	}
	return all
}

// text is so many bytes of words, which compress about as well as log lines do.
func text(random *rand.Rand, size int) []byte {
	const words, letters = 500, 26
	t := make([]byte, 0, size+16)
	for len(t) < size {
		word := rand.New(rand.NewPCG(random.Uint64N(words), 0))
		for range 3 + word.IntN(8) {
			t = append(t, 'a'+byte(word.IntN(letters)))
		}
		t = append(t, ' ')
	}
	return t[:size]
}
