package kafka

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a header may say that is not so, and damage on the way.

func numRecords(n int32) func(*kmsg.RecordBatch) {
	return func(h *kmsg.RecordBatch) { h.NumRecords = n }
}

func lastDelta(n int32) func(*kmsg.RecordBatch) {
	return func(h *kmsg.RecordBatch) { h.LastOffsetDelta = n }
}

func attributes(bits int16) func(*kmsg.RecordBatch) {
	return func(h *kmsg.RecordBatch) { h.Attributes |= bits }
}

func firstOffset(n int64) func(*kmsg.RecordBatch) {
	return func(h *kmsg.RecordBatch) { h.FirstOffset = n }
}

func leaderEpoch(n int32) func(*kmsg.RecordBatch) {
	return func(h *kmsg.RecordBatch) { h.PartitionLeaderEpoch = n }
}

// flip turns one bit of a byte.
func flip(at int) func([]byte) []byte {
	return func(raw []byte) []byte { raw[at] ^= 1; return raw }
}

// putting writes a byte; the checksum does not know.
func putting(at int, to byte) func([]byte) []byte {
	return func(raw []byte) []byte { raw[at] = to; return raw }
}

// length writes the length of a batch.
func length(n int32) func([]byte) []byte {
	return func(raw []byte) []byte {
		binary.BigEndian.PutUint32(raw[lengthAt:], uint32(n))
		return raw
	}
}

// longer makes the length say so many bytes more than there are.
func longer(n int) func([]byte) []byte {
	return func(raw []byte) []byte { return length(int32(len(raw) - leaderAt + n))(raw) }
}

// cutBy takes bytes from the end; cutTo leaves so many.
func cutBy(n int) func([]byte) []byte { return func(raw []byte) []byte { return raw[:len(raw)-n] } }
func cutTo(n int) func([]byte) []byte { return func(raw []byte) []byte { return raw[:n] } }

// trailed puts bytes behind.
func trailed(by ...byte) func([]byte) []byte {
	return func(raw []byte) []byte { return append(raw, by...) }
}
