package wire

import (
	"context"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// hundredByKB is the batch of the performance goals: 100 records of 1 kB.
func hundredByKB() []byte { return batchOf(sizedRecords(100, 1000), producerOf(1, 0, 0)) }

func BenchmarkCheckBatch(b *testing.B) {
	for _, bb := range []struct {
		name string
		raw  []byte
	}{
		{"100 x 1 kB", hundredByKB()},
		{"1 x 100 B", batchOf(sizedRecords(1, 100), producerOf(1, 0, 0))},
		{"10000 x 10 B", batchOf(sizedRecords(10_000, 10), producerOf(1, 0, 0))},
		{"100 x 1 kB, gzip", compressedBatch(b, kgo.GzipCompression(), sizedRecords(100, 1000))},
		{"100 x 1 kB, snappy", compressedBatch(b, kgo.SnappyCompression(), sizedRecords(100, 1000))},
		{"100 x 1 kB, lz4", compressedBatch(b, kgo.Lz4Compression(), sizedRecords(100, 1000))},
		{"100 x 1 kB, zstd", compressedBatch(b, kgo.ZstdCompression(), sizedRecords(100, 1000))},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.raw)))
			b.ReportAllocs()
			var r Request
			for b.Loop() {
				if _, err := r.CheckBatch(bb.raw, anyBatch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkChecksum is what the checksum alone takes of BenchmarkCheckBatch.
func BenchmarkChecksum(b *testing.B) {
	raw := hundredByKB()
	b.SetBytes(int64(len(raw)))
	sum := uint32(0)
	for b.Loop() {
		sum += crc32.Checksum(raw[crcFrom:], castagnoli)
	}
	_ = sum
}

func BenchmarkEachRecord(b *testing.B) {
	raw := hundredByKB()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if err := EachRecord(raw, MaxDecompressed, func(Record) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeProduce(b *testing.B) {
	for name, records := range map[string][]byte{"100 x 1 kB": hundredByKB(), "1 x 100 B": batchOf(sizedRecords(1, 100))} {
		b.Run(name, func(b *testing.B) {
			req := kmsg.NewPtrProduceRequest()
			req.Topics = produceOf("orders", records)
			frame := frameOf(req, 9, 1)[lengthBytes:]
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			var d decoder
			for b.Loop() {
				if _, _, f := d.decode(frame, admitAll); f != nil {
					b.Fatal(f.err)
				}
				d.forget()
			}
		})
	}
}

func BenchmarkEncodeProduceAnswer(b *testing.B) {
	resp := ErrorAnswer(produceTwo(), 0, "")
	c := &Conn{}
	b.ReportAllocs()
	for b.Loop() {
		c.out = c.out[:0]
		c.answer(header{correlation: 1}, resp)
	}
}

// BenchmarkServer_Produce is all that this package does for a Produce, but for
// the socket: read the frame, decode it, call the handler, encode the answer.
func BenchmarkServer_Produce(b *testing.B) {
	for name, records := range map[string][]byte{"100 x 1 kB": hundredByKB(), "1 x 100 B": batchOf(sizedRecords(1, 100))} {
		b.Run(name, func(b *testing.B) {
			req := kmsg.NewPtrProduceRequest()
			req.Topics = produceOf("orders", records)
			frame := frameOf(req, 9, 1)
			const requests = 100
			var sent []byte
			for range requests {
				sent = append(sent, frame...)
			}
			answer := tell(ErrorAnswer(req, 0, ""))
			handler := func(context.Context, *Request) Reply { return answer }
			b.SetBytes(int64(len(sent)))
			b.ReportAllocs()
			for b.Loop() {
				serveBytes(handler, sent)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/requests, "ns/request")
		})
	}
}
