package log

import (
	"fmt"
	"testing"
)

// benchmarkSize is where a benchmark begins a new log, so that one that runs for
// long does not fill the machine: the first touch of memory is still in it, since
// the largest pieces are reached.
const benchmarkSize = 512 << 20

func BenchmarkLog_Append(b *testing.B) {
	for _, size := range []int{100_000, 170} {
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			batch := newBatch(100, 0, size)
			var l Log
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if l.Size() >= benchmarkSize {
					l = Log{}
				}
				l.Append(batch, 0, Meta{Records: 100})
			}
		})
	}
}

// filled is a log of 128 MiB and more.
func filled(size int) *Log {
	var l Log
	for l.Size() < 128<<20 {
		ts := l.End()
		l.Append(newBatch(1, ts, size), 0, Meta{Records: 1, MaxTimestamp: ts})
	}
	return &l
}

// scattered goes over the offsets of a log in an order that no cache foresees.
func scattered(l *Log) func() int64 {
	var offset int64
	return func() int64 {
		offset = (offset + 7_919_777) % l.End()
		return offset
	}
}

var sink byte

// What is read is summed over, once a page: finding it alone would be measured
// as some terabytes per second.
func BenchmarkLog_Read(b *testing.B) {
	const maxBytes = 1 << 20
	for _, size := range []int{100_000, 170} {
		b.Run(fmt.Sprintf("1 MiB in batches of %d bytes", size), func(b *testing.B) {
			l := filled(size)
			next := scattered(l)
			b.ReportAllocs()
			var read int64
			for b.Loop() {
				got, err := l.Read(next(), maxBytes)
				if err != nil {
					b.Fatal(err)
				}
				for i := 0; i < len(got); i += 4096 {
					sink += got[i]
				}
				read += int64(len(got))
			}
			b.SetBytes(read / int64(b.N))
		})
	}
}

func BenchmarkLog_Batch(b *testing.B) {
	l := filled(170)
	next := scattered(l)
	b.ReportAllocs()
	for b.Loop() {
		sink += l.Batch(next())[0]
	}
}

func BenchmarkLog_AtOrAfter(b *testing.B) {
	l := filled(170)
	next := scattered(l)
	b.ReportAllocs()
	for b.Loop() {
		sink += l.AtOrAfter(next())[0]
	}
}
