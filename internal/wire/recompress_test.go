package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// as is rules of a topic that wants a codec.
func as(codec int16, level int) BatchRules {
	rules := anyBatch
	rules.Compression = &Compression{Codec: int8(codec), Level: level}
	return rules
}

func TestCheckBatch_compresses_a_batch_as_the_topic_wants_it(t *testing.T) {
	for to := range int16(5) {
		for from := range int16(5) {
			t.Run(fmt.Sprintf("%s to %s", codecName(from), codecName(to)), func(t *testing.T) {
				raw := packed(from, sizedRecords(100, 1000)...)
				want, err := readAll(raw, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				sent := bytes.Clone(raw)
				c, bad := CheckBatch(raw, as(to, 3))
				if bad != nil {
					t.Fatal(bad)
				}
				if same := &c.Raw[0] == &raw[0]; same != (from == to) || !bytes.Equal(raw, sent) {
					t.Errorf("the same bytes: %v", same)
				}
				wantRecords(t, c, to, want)
			})
		}
	}
}

// wantRecords checks a batch that was compressed: it is sound by itself, and holds
// these records.
func wantRecords(t *testing.T, c CheckedBatch, codec int16, want []Record) {
	t.Helper()
	again := wantAccepted(t, bytes.Clone(c.Raw), anyBatch)
	if !reflect.DeepEqual(again.RecordBatch, c.RecordBatch) || again.MaxTimestampDelta != c.MaxTimestampDelta {
		t.Error("the header is not what was learned of it")
	}
	if c.Attributes != codec {
		t.Errorf("attributes %#x, want %#x", c.Attributes, codec)
	}
	if got, err := readAll(c.Raw, MaxDecompressed); !reflect.DeepEqual(want, got) {
		t.Errorf("there are other records now (%v)", err)
	}
}

// A broker that makes a batch anew knows nothing of what means nothing.
func TestCheckBatch_makes_a_batch_as_brokers_do(t *testing.T) {
	fields := func(attributes byte, ts, offset int32) []byte {
		f := append([]byte{attributes}, varint(ts)...)
		f = append(f, varint(offset)...)
		return framed(append(f, bytes.Join([][]byte{varint(1, 'k'), varint(1, 'v'), varint(1, 2, 'h', 1)}, nil)...))
	}
	odd := batchOf([][]byte{fields(9, 5, 0), fields(3, 2, 1)}, producerOf(7, 3, 9), attributes(0x40c0))
	rules := as(codecZstd, 3)
	c, err := CheckBatch(odd, rules)
	if err != nil {
		t.Fatal(err)
	}
	rules.Compression.Codec = codecNone
	if c, err = CheckBatch(c.Raw, rules); err != nil {
		t.Fatal(err)
	}
	want := batchOf([][]byte{fields(0, 0, 0), fields(0, -3, 1)}, producerOf(7, 3, 9), func(b *kmsg.RecordBatch) {
		b.FirstTimestamp, b.MaxTimestamp = 1_000_005, 1_000_005
	})
	if diff := cmp.Diff(want, c.Raw); diff != "" {
		t.Errorf("the batch (-want +got):\n%s", diff)
	}
}

func TestCheckBatch_knows_every_level_of_a_codec(t *testing.T) {
	records := sizedRecords(10, 10_000)
	want, err := readAll(batchOf(records), 0)
	if err != nil {
		t.Fatal(err)
	}
	for codec, levels := range map[int16][]int{
		codecGzip: {DefaultGzipLevel, 1, 6, 9}, codecSnappy: {0}, codecLz4: {1, 2, 8, DefaultLz4Level, 10, 17},
		codecZstd: {-131072, -1, 0, 1, DefaultZstdLevel, 10, 22},
	} {
		for _, level := range levels {
			c, bad := CheckBatch(batchOf(records), as(codec, level))
			if bad != nil {
				t.Fatalf("%s, level %d: %v", codecName(codec), level, bad)
			}
			wantRecords(t, c, codec, want)
		}
	}
}

// The size counts as it is sent, and once more as it is stored.
func TestCheckBatch_refuses_a_batch_that_grows_beyond_what_the_topic_allows(t *testing.T) {
	plain := batchOf([][]byte{record(kmsg.Record{Value: make([]byte, 100_000)})})
	small, err := CheckBatch(plain, as(codecGzip, gzip.BestCompression))
	if err != nil {
		t.Fatal(err)
	}
	for most, fits := range map[int]bool{len(plain): true, len(plain) - 1: false, len(small.Raw): false} {
		rules := as(codecNone, 0)
		rules.MaxBytes = most
		_, err := CheckBatch(bytes.Clone(small.Raw), rules)
		if (err == nil) != fits {
			t.Errorf("%d bytes are allowed: %v, want it to fit: %v", most, err, fits)
		}
		if err != nil && (err.Code != kerr.MessageTooLarge.Code || !err.Unread) {
			t.Errorf("refused with %+v", *err)
		}
	}
}

// A yield may read another batch, however deep, and however many do so at a time.
func TestEachRecord_may_be_called_by_its_own_yield(t *testing.T) {
	raw := storedBatch(codecZstd, 0)
	var nested func(depth int) error
	nested = func(depth int) error {
		if depth == 0 {
			return nil
		}
		return EachRecord(raw, 1<<20, func(r Record) error {
			if r.Offset > 0 {
				return nil
			}
			return nested(depth - 1)
		})
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			if err := nested(3 * cap(rooms[0].places)); err != nil {
				t.Error(err)
			}
		})
	}
	readers.Wait()
}

// A batch that does not fit into a buffer begins again in a larger one, and the
// largest is the limit.
func TestCheckBatch_decompresses_batches_of_any_size_up_to_the_limit(t *testing.T) {
	ways := append([]codec{
		{"snappy in frames", codecSnappy, func(b []byte) []byte { return xerialed(b, 32<<10) }},
		{"zstd of unknown size", codecZstd, func(b []byte) []byte { return zstdStream(b) }},
	}, codecs...)
	for _, room := range rooms {
		for _, over := range []int{-30, 0, 30, 200_000} {
			value := make([]byte, room.size+over-12) // a record takes 12 more, or 11
			records := record(kmsg.Record{Value: value})
			for _, c := range ways {
				_, err := CheckBatch(packedBatch(1, c.pack(records), attributes(c.bits)), anyBatch)
				if fits := len(records) <= MaxDecompressed; (err == nil) != fits {
					t.Errorf("%s of %d bytes: %v, want it to fit: %v", c.name, len(records), err, fits)
				}
			}
		}
	}
}

// However many large batches come at once, they wait for one buffer.
func TestCheckBatch_decompresses_many_large_batches_in_one_buffer(t *testing.T) {
	raw := packed(codecZstd, sizedRecords(1, 9<<20)...)
	if _, err := CheckBatch(bytes.Clone(raw), anyBatch); err != nil { // now the buffers are there
		t.Fatal(err)
	}
	const many = 20
	wantAllocated(t, allocated(func() {
		var producers sync.WaitGroup
		for range many {
			producers.Go(func() {
				if _, err := CheckBatch(raw, anyBatch); err != nil {
					t.Error(err)
				}
			})
		}
		producers.Wait()
	}), raceCosts*int64(8<<20*runtime.GOMAXPROCS(0)+16<<20))
}
