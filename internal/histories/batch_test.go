package histories

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The layout of a record batch of magic 2, as far as histories look at bytes.
const (
	lengthAt   = 8
	prefix     = 12 // base offset and length, which the length does not count
	magicAt    = 16 // from here on the bytes are the producer's, whatever the broker does
	crcAt      = 17
	coveredAt  = 21 // where the checksum begins to cover
	producerAt = 43
	epochAt    = 51
	sequenceAt = 53
	headerSize = 61
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A writer is what a batch says of its producer. The zero sequence of a producer
// id of -1 stands for none.
type writer struct {
	id    int64
	epoch int16
}

// plainWriter is a client without idempotence.
var plainWriter = writer{-1, -1}

// encode makes a batch of records with these values. A record has the time of
// its first sending whichever batch it is sent in.
func encode(by writer, sequence int32, records []record) []byte {
	b := kmsg.RecordBatch{PartitionLeaderEpoch: -1, Magic: 2, ProducerID: by.id, ProducerEpoch: by.epoch, FirstSequence: sequence}
	b.NumRecords, b.LastOffsetDelta = int32(len(records)), int32(len(records)-1)
	b.FirstTimestamp, b.MaxTimestamp = records[0].time, records[0].time
	for i, r := range records {
		b.MaxTimestamp = max(b.MaxTimestamp, r.time)
		one := kmsg.NewRecord()
		one.OffsetDelta, one.TimestampDelta64, one.Value = int32(i), r.time-b.FirstTimestamp, []byte(r.value)
		one.Length = int32(len(one.AppendTo(nil)) - 1)
		b.Records = one.AppendTo(b.Records)
	}
	b.Length = int32(headerSize - prefix + len(b.Records))
	raw := b.AppendTo(nil)
	sign(raw)
	return raw
}

// sign writes the checksum of a batch.
func sign(raw []byte) {
	binary.BigEndian.PutUint32(raw[crcAt:], crc32.Checksum(raw[coveredAt:], castagnoli))
}

// A record is known by its value: no two that an application wrote are alike.
type record struct {
	value string
	time  int64
}

// A stored batch is one as it stands in the log.
type stored struct {
	partition int32
	base      int64
	raw       []byte
}

// key is what the producer sent, and what no broker may change.
func (s stored) key() string { return keyOf(s.raw) }

func keyOf(raw []byte) string { return string(raw[magicAt:]) }

func (s stored) header() (h kmsg.RecordBatch) {
	h.ReadFrom(s.raw) //nolint:errcheck // cut out of a Fetch by its own length
	return h
}

func (s stored) writer() writer {
	return writer{int64(binary.BigEndian.Uint64(s.raw[producerAt:])), int16(binary.BigEndian.Uint16(s.raw[epochAt:]))}
}

func (s stored) sequence() int32 { return int32(binary.BigEndian.Uint32(s.raw[sequenceAt:])) }
func (s stored) end() int64      { return s.base + int64(s.header().NumRecords) }

// batchesIn cuts what a Fetch gave into whole batches; the last one may have been
// cut off by a limit.
func batchesIn(partition int32, records []byte) (all []stored) {
	for len(records) >= headerSize {
		size := int(binary.BigEndian.Uint32(records[lengthAt:])) + prefix
		if size < headerSize || size > len(records) {
			break
		}
		all = append(all, stored{partition, int64(binary.BigEndian.Uint64(records)), records[:size]})
		records = records[size:]
	}
	return all
}
