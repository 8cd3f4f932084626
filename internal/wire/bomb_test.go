package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"
)

// A bomb is a few bytes that decompress to gigabytes.
type bomb struct {
	name   string
	bits   int16
	packed []byte
}

// bombPiece is what each piece of a bomb grows to. Pieces can be put one behind
// the other in every codec, but for plain snappy.
const bombPiece = 1 << 20

var bombs = sync.OnceValue(func() []bomb {
	zeros := make([]byte, bombPiece)
	const pieces = 2 << 30 / bombPiece
	repeated := func(piece []byte) []byte { return bytes.Repeat(piece, pieces) }
	frame := xerialed(nil, 1)
	block := snappy.Encode(nil, zeros)
	block = append(binary.BigEndian.AppendUint32(nil, uint32(len(block))), block...)
	return []bomb{
		{"gzip", codecGzip, repeated(gzipped(zeros, gzip.BestCompression))},
		// Snappy cannot grow by more than 21 times; this one is as large as batches get.
		{"snappy in frames", codecSnappy, append(frame, bytes.Repeat(block, 128)...)},
		{"lz4", codecLz4, repeated(lz4ed(zeros, lz4.CompressionLevelOption(lz4.Level9)))},
		{"zstd", codecZstd, repeated(zstded(zeros))},
	}
})

// mostForLimit bounds what decompressing up to a limit may allocate: the buffer
// doubles as it grows, and the codecs have windows and tables of their own.
func mostForLimit(limit int) int64 { return raceCosts * (5*int64(limit) + 24<<20) }

func TestCheckBatch_refuses_bombs_with_bounded_memory(t *testing.T) {
	for _, b := range bombs() {
		t.Run(fmt.Sprintf("%s of %d kB", b.name, len(b.packed)>>10), func(t *testing.T) {
			raw := packedBatch(1, b.packed, attributes(b.bits))
			runtime.GC()
			wantAllocated(t, allocated(func() {
				_, err := CheckBatch(raw, anyBatch)
				wantProblem(t, err, "cannot decompress the records: they are larger than 67108864 bytes, the most that is decompressed")
			}), mostForLimit(MaxDecompressed))
		})
	}
}

func wantProblem(t *testing.T, err *BatchError, problem string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("accepted, want: %s", problem)
	case !cmp.Equal(*err, invalid(false, problem)):
		t.Errorf("got %+v, want an invalid record: %s", *err, problem)
	}
}

func TestEachRecord_stops_bombs_at_its_own_limit(t *testing.T) {
	const limit = 1 << 20
	for _, b := range bombs() {
		t.Run(b.name, func(t *testing.T) {
			raw := packedBatch(1, b.packed, attributes(b.bits))
			wantAllocated(t, allocated(func() {
				err := EachRecord(raw, limit, func(Record) error { return nil })
				want := "cannot decompress the records: they are larger than 1048576 bytes, the most that is decompressed"
				if err == nil || err.Error() != want {
					t.Errorf("the error is %v, want %s", err, want)
				}
			}), mostForLimit(limit))
		})
	}
}

// The limit is what the records take, to the byte.
func TestEachRecord_limit_is_exact(t *testing.T) {
	records := sizedRecords(10, 1000)
	plain := bytes.Join(records, nil)
	for _, c := range append(codecs, codec{"snappy in frames", codecSnappy, func(b []byte) []byte { return xerialed(b, 999) }}) {
		raw := packedBatch(10, c.pack(plain), attributes(c.bits))
		for limit, fits := range map[int]bool{len(plain): true, len(plain) - 1: false, 1: false, 0: false, len(plain) + 1: true} {
			err := EachRecord(raw, limit, func(Record) error { return nil })
			if (err == nil) != fits {
				t.Errorf("%s of %d bytes with a limit of %d: %v, want it to fit: %v", c.name, len(plain), limit, err, fits)
			}
		}
	}
}

// Memory for decompressing is bounded over all connections together.
func TestScanRecords_decompresses_a_few_batches_at_a_time(t *testing.T) {
	most := cap(rooms[0].places)
	raw := packedBatch(1, codecs[0].pack(bytes.Join(plainRecords(1), nil)), attributes(codecGzip))
	inside, release := make(chan struct{}, 3*most), make(chan struct{})
	var readers sync.WaitGroup
	for range 3 * most {
		readers.Go(func() {
			err := ScanRecords(raw, 1<<20, func(Record) error {
				inside <- struct{}{}
				<-release
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range most {
		<-inside
	}
	for range 1000 { // time for one too many to show itself
		runtime.Gosched()
	}
	if n := len(inside); n > 0 {
		t.Errorf("%d batches were decompressed at a time, want %d at most", most+n, most)
	}
	close(release)
	readers.Wait()
}
