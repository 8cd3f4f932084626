package log

import (
	"encoding/binary"
	"fmt"
)

// Where the fields that the log uses lie in the header of a record batch, magic
// 2 (KIP-98; Kafka's DefaultRecordBatch). The checksum covers what comes from
// the attributes, byte 21, on.
const (
	baseOffsetAt      = 0  // int64
	lengthAt          = 8  // int32, bytes that follow it
	leaderEpochAt     = 12 // int32
	lastOffsetDeltaAt = 23 // int32
	maxTimestampAt    = 35 // int64
	headerSize        = 61 // the whole header, up to the first record
)

// A header is the bytes of a batch; what lies behind the batch does not matter.
type header []byte

// size is the bytes of the whole batch.
func (h header) size() int {
	return int(binary.BigEndian.Uint32(h[lengthAt:])) + leaderEpochAt
}

func (h header) lastOffsetDelta() int32 {
	return int32(binary.BigEndian.Uint32(h[lastOffsetDeltaAt:]))
}

func (h header) lastOffset() int64 {
	return int64(binary.BigEndian.Uint64(h[baseOffsetAt:])) + int64(h.lastOffsetDelta())
}

func (h header) maxTimestamp() int64 {
	return int64(binary.BigEndian.Uint64(h[maxTimestampAt:]))
}

// place writes what the broker, and not the producer, decides.
func (h header) place(baseOffset int64, leaderEpoch int32) {
	binary.BigEndian.PutUint64(h[baseOffsetAt:], uint64(baseOffset))
	binary.BigEndian.PutUint32(h[leaderEpochAt:], uint32(leaderEpoch))
}

// mustAgree panics if the log could not find its way over this batch.
func mustAgree(batch []byte, records int32) {
	if len(batch) < headerSize {
		panic(fmt.Sprintf("log: a batch of %d bytes has no room for a header", len(batch)))
	}
	h := header(batch)
	if h.size() != len(batch) {
		panic(fmt.Sprintf("log: a batch of %d bytes says that it has %d", len(batch), h.size()))
	}
	if records < 1 || h.lastOffsetDelta() != records-1 {
		panic(fmt.Sprintf("log: a batch of %d records says that its last offset delta is %d", records, h.lastOffsetDelta()))
	}
}
