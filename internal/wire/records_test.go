package wire

import (
	"bytes"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fields are the fields of a record, made by hand: attributes, timestamp delta 0,
// offset delta, and the rest as it is given.
func fields(offsetDelta int32, rest ...[]byte) []byte {
	f := kbin.AppendVarint([]byte{0, 0}, offsetDelta)
	return append(f, bytes.Join(rest, nil)...)
}

// varint is a length or count, and a few bytes behind it.
func varint(n int32, behind ...byte) []byte { return append(kbin.AppendVarint(nil, n), behind...) }

var (
	nullBytes = varint(-1)
	noHeaders = varint(0)
)

// A recordsTest is records that cannot be in a batch: count of them, it says,
// packed in one piece.
type recordsTest struct {
	name    string
	count   int32
	packed  []byte
	problem string
}

func recordsTests() []recordsTest {
	good := record(kmsg.Record{Key: []byte("k"), Value: []byte("v")})
	second := record(kmsg.Record{OffsetDelta: 1, Key: []byte("k"), Value: []byte("v")})
	one := func(name string, packed []byte, problem string) recordsTest {
		return recordsTest{name, 1, packed, problem}
	}
	const ends = "record 0 of 1: a field goes beyond the record"
	return []recordsTest{
		one("no bytes", nil, "record 0 of 1: its length 0 goes beyond the batch"),
		one("a length that has no end", []byte{0x80}, "record 0 of 1: its length 0 goes beyond the batch"),
		one("a length longer than a varint", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "record 0 of 1: its length 0 goes beyond the batch"),
		one("a negative length", varint(-1, good[1:]...), "record 0 of 1: its length -1 goes beyond the batch"),
		one("a length of 2 GB", varint(math.MaxInt32, good[1:]...), "record 0 of 1: its length 2147483647 goes beyond the batch"),
		one("a length one too high", varint(9, good[1:]...), "record 0 of 1: its length 9 goes beyond the batch"),
		one("a length one too low", varint(7, good[1:]...), ends),
		one("a length of 0", varint(0), ends),
		one("a byte missing", good[:len(good)-1], "record 0 of 1: its length 8 goes beyond the batch"),
		one("nothing behind the attributes", framed([]byte{0}), ends),
		one("a timestamp that has no end", framed([]byte{0, 0x80}), ends),
		one("an offset delta that has no end", framed([]byte{0, 0, 0x80}), ends),

		one("a key longer than the record", framed(fields(0, varint(100, 'k'), nullBytes, noHeaders)), ends),
		one("a key of 2 GB", framed(fields(0, varint(math.MaxInt32, 'k'), nullBytes, noHeaders)), ends),
		one("a value longer than the record", framed(fields(0, nullBytes, varint(100, 'v'), noHeaders)), ends),
		one("no value", framed(fields(0, nullBytes)), ends),
		one("no header count", framed(fields(0, nullBytes, nullBytes)), ends),
		one("a negative header count", framed(fields(0, nullBytes, nullBytes, varint(-1))), ends),
		one("a header count beyond the record", framed(fields(0, nullBytes, nullBytes, varint(3, 2, 'a', 2, 'b'))), ends),
		one("a header count of 2 billion", framed(fields(0, nullBytes, nullBytes, varint(math.MaxInt32, 2, 'a', 2, 'b'))), ends),
		one("a null header key", framed(fields(0, nullBytes, nullBytes, varint(1, 1, 2, 'b'))), "record 0 of 1: a header has no key"),
		one("a header key longer than the record", framed(fields(0, nullBytes, nullBytes, varint(1, 100, 'a', 2, 'b'))), ends),
		one("a header without value", framed(fields(0, nullBytes, nullBytes, varint(1, 2, 'a'))), ends),
		one("a header value longer than the record", framed(fields(0, nullBytes, nullBytes, varint(1, 2, 'a', 100, 'b'))), ends),
		one("a byte behind the last header", framed(fields(0, nullBytes, nullBytes, varint(1, 2, 'a', 2, 'b', 0))), "record 0 of 1: 1 bytes follow its last field"),
		one("bytes behind no header", framed(fields(0, nullBytes, nullBytes, noHeaders, []byte("more"))), "record 0 of 1: 4 bytes follow its last field"),

		one("an offset delta of 4", framed(fields(4, nullBytes, nullBytes, noHeaders)), "record 0 of 1: its offset delta is 4"),
		one("an offset delta of -1", framed(fields(-1, nullBytes, nullBytes, noHeaders)), "record 0 of 1: its offset delta is -1"),
		{"the same offset delta twice", 2, append(bytes.Clone(good), good...), "record 1 of 2: its offset delta is 0"},
		{"offset deltas that go down", 2, append(bytes.Clone(second), good...), "record 0 of 2: its offset delta is 1"},
		{"fewer records than the count", 3, append(bytes.Clone(good), second...), "record 2 of 3: its length 0 goes beyond the batch"},
		{"a count of 2 billion", math.MaxInt32, good, "record 1 of 2147483647: its length 0 goes beyond the batch"},
		{"more records than the count", 1, append(bytes.Clone(good), second...), "9 bytes follow the last of 1 records"},
		{"a byte behind the records", 2, append(append(bytes.Clone(good), second...), 0), "1 bytes follow the last of 2 records"},
		{"a bad second record", 2, append(bytes.Clone(good), framed([]byte{0})...), "record 1 of 2: a field goes beyond the record"},
		{"junk", 2, []byte("\xde\xad\xbe\xef\xde\xad\xbe\xef"), "record 0 of 2: its length 0 goes beyond the batch"},
	}
}

func TestCheckBatch_walks_over_the_records(t *testing.T) {
	var tests []checkTest
	for _, r := range recordsTests() {
		tests = append(tests, checkTest{name: r.name, raw: packedBatch(r.count, r.packed), want: invalid(false, r.problem)})
	}
	runCheckTests(t, tests)
}

func TestCheckBatch_walks_over_compressed_records_just_the_same(t *testing.T) {
	for _, c := range codecs {
		t.Run(c.name, func(t *testing.T) {
			var tests []checkTest
			for _, r := range recordsTests() {
				raw := packedBatch(r.count, c.pack(r.packed), attributes(c.bits))
				tests = append(tests, checkTest{name: r.name, raw: raw, want: invalid(false, r.problem)})
			}
			runCheckTests(t, tests)
		})
	}
}

func TestEachRecord_refuses_what_CheckBatch_does(t *testing.T) {
	for _, r := range recordsTests() {
		t.Run(r.name, func(t *testing.T) {
			err := EachRecord(packedBatch(r.count, r.packed), 1<<20, func(Record) error { return nil })
			if err == nil || err.Error() != r.problem {
				t.Errorf("the error is %v, want %s", err, r.problem)
			}
		})
	}
}

func TestCheckBatch_accepts_records_at_the_edges(t *testing.T) {
	long := bytes.Repeat([]byte{'x'}, 100_000)
	tests := []struct {
		name   string
		fields []byte
	}{
		{"null key, null value", fields(0, nullBytes, nullBytes, noHeaders)},
		{"empty key, empty value", fields(0, varint(0), varint(0), noHeaders)},
		{"a long key and value", fields(0, varint(int32(len(long)), long...), varint(int32(len(long)), long...), noHeaders)},
		{"an empty header key", fields(0, nullBytes, nullBytes, varint(1, 0, 0))},
		{"a null header value", fields(0, nullBytes, nullBytes, varint(1, 0, 1))},
		{"the same header key twice", fields(0, nullBytes, nullBytes, varint(2, 2, 'a', 1, 2, 'a', 1))},
		{"attributes of the record", append([]byte{0xff}, fields(0, nullBytes, nullBytes, noHeaders)[1:]...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wantAccepted(t, batchOf([][]byte{framed(tt.fields)}), anyBatch) })
	}
}

func TestCheckBatch_finds_the_greatest_timestamp(t *testing.T) {
	tests := []struct {
		name   string
		deltas []int64
		want   int32 // the offset delta of the first record that has it
	}{
		{"one record", []int64{0}, 0},
		{"rising", []int64{0, 1, 2, 3}, 3},
		{"falling", []int64{0, -1, -2}, 0},
		{"in the middle", []int64{0, 9, 3}, 1},
		{"the first of equals", []int64{0, 9, 3, 9, 9}, 1},
		{"all equal", []int64{0, 0, 0}, 0},
		{"all before the first timestamp", []int64{-5, -3, -9}, 1},
		{"far apart", []int64{0, 1 << 40, 1 << 41}, 2},
	}
	for _, tt := range tests {
		for _, bits := range []int16{0, 1, 2, 3, 4} {
			t.Run(tt.name+" "+codecName(bits), func(t *testing.T) {
				const first = 1_700_000_000_000
				var records [][]byte
				for i, d := range tt.deltas {
					records = append(records, record(kmsg.Record{OffsetDelta: int32(i), TimestampDelta64: d}))
				}
				packed := bytes.Join(records, nil)
				if bits != 0 {
					packed = codecs[bits-1].pack(packed)
				}
				raw := packedBatch(int32(len(records)), packed, attributes(bits), func(b *kmsg.RecordBatch) {
					b.FirstTimestamp, b.MaxTimestamp = first, 12345 // the maximum is a lie
				})
				got := wantAccepted(t, raw, anyBatch)
				if got.MaxTimestampDelta != tt.want || got.MaxTimestamp != first+tt.deltas[tt.want] {
					t.Errorf("the greatest timestamp is %d at %d, want %d at %d", got.MaxTimestamp, got.MaxTimestampDelta, first+tt.deltas[tt.want], tt.want)
				}
			})
		}
	}
}

// One walk over an uncompressed batch is all that a Produce pays for.
func TestCheckBatch_allocates_no_more_for_more_records(t *testing.T) {
	allocations := func(records int) float64 {
		raw := batchOf(plainRecords(records), producerOf(1, 0, 0)) // with headers
		return testing.AllocsPerRun(100, func() {
			if _, err := CheckBatch(raw, anyBatch); err != nil {
				t.Fatal(err)
			}
		})
	}
	if one, many := allocations(1), allocations(1000); one > 1 || many > 1 {
		t.Errorf("%v allocations for a batch of one record and %v for a thousand, want 1 at most", one, many)
	}
}

func TestCheckBatch_refuses_a_codec_bit_on_plain_records(t *testing.T) {
	for bits := int16(1); bits <= 4; bits++ {
		_, err := CheckBatch(batchOf(plainRecords(2), attributes(bits)), anyBatch)
		if err == nil || err.Unread || err.Code != kerr.UnknownServerError.Code {
			t.Errorf("%s over plain records: %+v, want an unknown server error", codecName(bits), err)
		}
	}
}

func TestCheckBatch_refuses_compressed_records_without_the_codec_bit(t *testing.T) {
	raw := compressedBatch(t, kgo.GzipCompression(), sizedRecords(3, 100), func(b *kmsg.RecordBatch) { b.Attributes = 0 })
	raw = sealed(patched(raw, 21, 0, 0))
	if _, err := CheckBatch(raw, anyBatch); err == nil || err.Code != kerr.InvalidRecord.Code {
		t.Errorf("gzip without its bit: %+v, want an unknown server error", err)
	}
}
