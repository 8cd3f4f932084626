package wire

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// anyBatch is rules that forbid nothing that a sound batch may have.
var anyBatch = BatchRules{MaxBytes: 1 << 30, Version: 13}

// batchOf makes a sound batch of a producer without idempotence out of encoded
// records, a millisecond apart. edit changes its header; the checksum is right in
// any case, and the length unless edit sets it.
func batchOf(records [][]byte, edit ...func(*kmsg.RecordBatch)) []byte {
	return packedBatch(int32(len(records)), bytes.Join(records, nil), edit...)
}

// packedBatch is batchOf for records that are one piece, such as compressed
// ones.
func packedBatch(count int32, records []byte, edit ...func(*kmsg.RecordBatch)) []byte {
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: count - 1, NumRecords: count,
		FirstTimestamp: 1_000_000, MaxTimestamp: 1_000_000 + int64(count-1),
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, Records: records,
	}
	b.Length = int32(batchOverhead - batchPrefix + len(records))
	for _, e := range edit {
		e(&b)
	}
	return sealed(b.AppendTo(nil))
}

// sealed gives a batch the checksum that it should have. It uses nothing of the
// code under test.
func sealed(raw []byte) []byte {
	sum := crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli))
	binary.BigEndian.PutUint32(raw[17:], sum)
	return raw
}

// producerOf makes a batch one of an idempotent producer.
func producerOf(id int64, epoch int16, sequence int32) func(*kmsg.RecordBatch) {
	return func(b *kmsg.RecordBatch) { b.ProducerID, b.ProducerEpoch, b.FirstSequence = id, epoch, sequence }
}

func attributes(bits int16) func(*kmsg.RecordBatch) {
	return func(b *kmsg.RecordBatch) { b.Attributes |= bits }
}

// record encodes a record of a batch.
func record(r kmsg.Record) []byte { return framed(r.AppendTo(nil)[1:]) }

// framed puts the length of a record before its fields.
func framed(fields []byte) []byte {
	return append(kbin.AppendVarint(nil, int32(len(fields))), fields...)
}

// plainRecords are n records with keys, values and headers, a millisecond apart.
func plainRecords(n int) [][]byte {
	records := make([][]byte, n)
	for i := range n {
		records[i] = record(kmsg.Record{
			OffsetDelta: int32(i), TimestampDelta64: int64(i),
			Key: []byte("key"), Value: bytes.Repeat([]byte{'v'}, i%7),
			Headers: []kmsg.Header{{Key: "h", Value: []byte("x")}, {Key: "null"}},
		})
	}
	return records
}

// sizedRecords are n records with a value of size bytes each, which do not
// compress to nothing.
func sizedRecords(n, size int) [][]byte {
	records := make([][]byte, n)
	state := uint32(1)
	for i := range n {
		value := make([]byte, size)
		for j := range value {
			state = state*1664525 + 1013904223
			value[j] = byte(state>>24) & 0x1f
		}
		records[i] = record(kmsg.Record{OffsetDelta: int32(i), TimestampDelta64: int64(i), Value: value})
	}
	return records
}

// compressedBatch is a sound batch compressed by the compressor of franz-go.
func compressedBatch(t testing.TB, codec kgo.CompressionCodec, records [][]byte, edit ...func(*kmsg.RecordBatch)) []byte {
	t.Helper()
	c, err := kgo.DefaultCompressor(codec)
	if err != nil {
		t.Fatal(err)
	}
	packed, used := c.Compress(new(bytes.Buffer), bytes.Join(records, nil))
	if used <= 0 {
		t.Fatalf("%v did not compress", codec)
	}
	return packedBatch(int32(len(records)), packed, append(edit, attributes(int16(used)))...)
}

// patched is a copy of raw with other bytes at a place.
func patched(raw []byte, at int, with ...byte) []byte {
	p := bytes.Clone(raw)
	copy(p[at:], with)
	return p
}

// wantAccepted checks a batch that must be found sound.
func wantAccepted(t *testing.T, raw []byte, rules BatchRules) CheckedBatch {
	t.Helper()
	before := bytes.Clone(raw)
	c, err := CheckBatch(raw, rules)
	if err != nil {
		t.Fatalf("refused with code %d: %s", err.Code, err.Problem)
	}
	if &c.Raw[0] != &raw[0] || len(c.Raw) != len(raw) {
		t.Error("Raw is not the batch that was checked")
	}
	wantHeaderAlone(t, c, before)
	return c
}

// wantHeaderAlone checks that an accepted batch is as it was sent, but for the
// greatest timestamp and the checksum where the producer told a wrong one, the
// claim of LogAppendTime, and what stood behind.
func wantHeaderAlone(t *testing.T, c CheckedBatch, sent []byte) {
	t.Helper()
	want := bytes.Clone(sent[:len(c.Raw)])
	want[22] &^= 0x08
	binary.BigEndian.PutUint64(want[35:], uint64(c.MaxTimestamp))
	sealed(want)
	if !bytes.Equal(c.Raw, want) {
		t.Errorf("the batch is %x now, want %x", c.Raw, want)
	}
	if b, err := ParseBatchHeader(c.Raw); err != nil || b.CRC != c.CRC || b.MaxTimestamp != c.MaxTimestamp {
		t.Errorf("the header says %+v (%v), and what was learned is %+v", b, err, c.RecordBatch)
	}
}

// CheckBatch is Request.CheckBatch for a record set that is in no request.
func CheckBatch(raw []byte, rules BatchRules) (CheckedBatch, *BatchError) {
	c, err := new(Request).CheckBatch(raw, rules)
	return *c, err
}
