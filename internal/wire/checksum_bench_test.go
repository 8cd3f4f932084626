package wire

import (
	"hash/crc32"
	"testing"
	"time"
)

// BenchmarkCheckBatch_to_its_checksum judges a batch and sums it up in turn, so that a
// busy machine is so for both, and reports what judging takes in terms of the checksum
// alone, which no broker can do without.
func BenchmarkCheckBatch_to_its_checksum(b *testing.B) {
	raw := hundredByKB()
	var judging, summing time.Duration
	sum := uint32(0)
	var r Request
	for b.Loop() {
		began := time.Now()
		if _, err := r.CheckBatch(raw, anyBatch); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		sum += crc32.Checksum(raw[crcFrom:], castagnoli)
		judging, summing = judging+between.Sub(began), summing+time.Since(between)
	}
	_ = sum
	megabytes := float64(b.N) * float64(len(raw)) / 1e6
	b.ReportMetric(float64(judging.Nanoseconds())/megabytes, "ns/MB")
	b.ReportMetric(float64(summing.Nanoseconds())/megabytes, "checksum-ns/MB")
	b.ReportMetric(float64(judging)/float64(summing), "x-checksum")
}
