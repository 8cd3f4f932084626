package wire

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// storedBatch is a batch as a log keeps it, at an offset and with a leader
// epoch, in each codec.
func storedBatch(bits int16, offset int64) []byte {
	records := [][]byte{
		record(kmsg.Record{Key: []byte("k-0"), Value: []byte("v-0")}),
		record(kmsg.Record{OffsetDelta: 1, TimestampDelta64: 5, Value: []byte{}, Headers: []kmsg.Header{{Key: "id", Value: []byte("7")}, {Key: "null"}, {Key: "", Value: []byte{}}}}),
		record(kmsg.Record{OffsetDelta: 2, TimestampDelta64: -3, Key: []byte{}}),
		record(kmsg.Record{OffsetDelta: 3, TimestampDelta64: 1 << 40, Key: []byte{0, 0xff}, Value: bytes.Repeat([]byte("long "), 1000)}),
	}
	packed := bytes.Join(records, nil)
	if bits != 0 {
		packed = codecs[bits-1].pack(packed)
	}
	return packedBatch(4, packed, attributes(bits), func(b *kmsg.RecordBatch) {
		b.FirstOffset, b.PartitionLeaderEpoch, b.FirstTimestamp = offset, 3, 1_000
	})
}

func storedRecords(offset int64) []Record {
	records := []Record{
		{Offset: offset, Timestamp: 1_000, Key: []byte("k-0"), Value: []byte("v-0")},
		{Offset: offset + 1, Timestamp: 1_005, Value: []byte{}, Headers: []Header{{"id", []byte("7")}, {"null", nil}, {"", []byte{}}}},
		{Offset: offset + 2, Timestamp: 997, Key: []byte{}},
		{Offset: offset + 3, Timestamp: 1_000 + 1<<40, Key: []byte{0, 0xff}, Value: bytes.Repeat([]byte("long "), 1000)},
	}
	for i := range records {
		records[i].Created = records[i].Timestamp
	}
	return records
}

// readAll gathers copies of the records of a batch.
func readAll(raw []byte, limit int) ([]Record, error) {
	var all []Record
	err := EachRecord(raw, limit, func(r Record) error {
		r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
		headers := r.Headers
		r.Headers = nil
		for _, h := range headers {
			r.Headers = append(r.Headers, Header{h.Key, bytes.Clone(h.Value)})
		}
		all = append(all, r)
		return nil
	})
	return all, err
}

func TestEachRecord_tells_keys_values_headers_offsets_and_timestamps(t *testing.T) {
	for bits := range int16(5) {
		for _, offset := range []int64{0, 1_000_000, 1 << 60} {
			t.Run(fmt.Sprintf("%s at offset %d", codecName(bits), offset), func(t *testing.T) {
				got, err := readAll(storedBatch(bits, offset), 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(storedRecords(offset), got); diff != "" {
					t.Errorf("the records (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestEachRecord_reads_the_first_batch_only(t *testing.T) {
	raw := append(storedBatch(0, 10), storedBatch(0, 14)...)
	for name, set := range map[string][]byte{"two batches": raw, "one and a half": raw[:len(raw)-9]} {
		got, err := readAll(set, 1<<20)
		if err != nil || len(got) != 4 || got[0].Offset != 10 {
			t.Errorf("%s: read %d records and error %v, want the 4 of the first", name, len(got), err)
		}
	}
}

func TestEachRecord_stops_at_the_first_error(t *testing.T) {
	enough := errors.New("enough")
	for bits := range int16(5) {
		n := 0
		err := EachRecord(storedBatch(bits, 0), 1<<20, func(Record) error {
			if n++; n == 2 {
				return enough
			}
			return nil
		})
		if err != enough || n != 2 {
			t.Errorf("%s: stopped after %d records with %v, want after 2 with the error of the caller", codecName(bits), n, err)
		}
	}
}

func TestEachRecord_has_no_use_for_a_limit_on_uncompressed_records(t *testing.T) {
	if got, err := readAll(storedBatch(0, 0), 0); err != nil || len(got) != 4 {
		t.Errorf("read %d records and error %v, want all 4", len(got), err)
	}
}

func TestEachRecord_refuses_what_is_no_batch(t *testing.T) {
	for name, raw := range map[string][]byte{"null": nil, "empty": {}, "zeros": make([]byte, 61), "half": storedBatch(0, 0)[:70]} {
		err := EachRecord(raw, 1<<20, func(Record) error { t.Errorf("%s: a record was found", name); return nil })
		var refused *BatchError
		if !errors.As(err, &refused) {
			t.Errorf("%s: the error is %v, want a *BatchError", name, err)
		}
	}
}

// A caller that panics must not leave behind what bounds decompression.
func TestEachRecord_survives_a_panicking_caller(t *testing.T) {
	raw := storedBatch(codecZstd, 0)
	for range 2 * cap(rooms[0].places) {
		func() {
			defer func() { _ = recover() }()
			EachRecord(raw, 1<<20, func(Record) error { panic("no") }) //nolint:errcheck // it panics
		}()
	}
	if _, err := readAll(raw, 1<<20); err != nil { // blocks for ever if the panics held on
		t.Error(err)
	}
}

// Readers do not disturb each other, though they share decoders and buffers.
func TestEachRecord_may_be_called_by_many(t *testing.T) {
	var batches [][]byte
	var wants [][]Record
	for i := range int64(10) {
		batches = append(batches, storedBatch(int16(i%5), i))
		wants = append(wants, storedRecords(i))
	}
	var readers sync.WaitGroup
	for i := range 8 {
		readers.Go(func() {
			for n := range 50 {
				which := (i + n) % len(batches)
				got, err := readAll(batches[which], 1<<20)
				if err != nil || !reflect.DeepEqual(got, wants[which]) {
					t.Errorf("batch %d: error %v, got %v", which, err, got)
					return
				}
			}
		})
	}
	readers.Wait()
}
