package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	snappyxerial "github.com/klauspost/compress/snappy/xerial"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestCheckBatch_accepts_what_the_compressor_of_franz_go_makes(t *testing.T) {
	for name, c := range map[string]kgo.CompressionCodec{
		"gzip": kgo.GzipCompression(), "gzip 9": kgo.GzipCompression().WithLevel(9),
		"snappy": kgo.SnappyCompression(),
		"lz4":    kgo.Lz4Compression(), "lz4 9": kgo.Lz4Compression().WithLevel(9),
		"zstd": kgo.ZstdCompression(), "zstd best": kgo.ZstdCompression().WithLevel(int(zstd.SpeedBestCompression)),
	} {
		t.Run(name, func(t *testing.T) {
			for _, records := range [][][]byte{plainRecords(1), plainRecords(1000), sizedRecords(100, 1000), sizedRecords(1, 1_000_000)} {
				wantAccepted(t, compressedBatch(t, c, records), anyBatch)
			}
		})
	}
}

// encodings are ways in which encoders of the field write a compression type.
func encodings() map[string]codec {
	all := map[string]codec{}
	add := func(name string, bits int16, pack func([]byte) []byte) { all[name] = codec{name, bits, pack} }
	for _, level := range []int{gzip.HuffmanOnly, gzip.NoCompression, gzip.BestSpeed, gzip.BestCompression} {
		add(fmt.Sprintf("gzip level %d", level), 1, func(b []byte) []byte { return gzipped(b, level) })
	}
	add("gzip in two members", 1, func(b []byte) []byte {
		return append(gzipped(b[:len(b)/2], 6), gzipped(b[len(b)/2:], 6)...)
	})
	add("snappy, better", 2, func(b []byte) []byte { return s2.EncodeSnappyBetter(nil, b) })
	add("snappy, best", 2, func(b []byte) []byte { return s2.EncodeSnappyBest(nil, b) })
	add("snappy, framed by klauspost's xerial", 2, func(b []byte) []byte { return snappyxerial.Encode(nil, b) })
	for _, block := range []int{1, 100, 32 << 10, 1 << 20} {
		add(fmt.Sprintf("snappy, framed in blocks of %d", block), 2, func(b []byte) []byte { return xerialed(b, block) })
	}
	for _, size := range []lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block1Mb, lz4.Block4Mb} {
		add(fmt.Sprintf("lz4 in blocks of %v", size), 3, func(b []byte) []byte { return lz4ed(b, lz4.BlockSizeOption(size)) })
	}
	add("lz4 with all checksums", 3, func(b []byte) []byte {
		return lz4ed(b, lz4.BlockChecksumOption(true), lz4.ChecksumOption(true))
	})
	add("lz4 with its size", 3, func(b []byte) []byte { return lz4ed(b, lz4.SizeOption(uint64(len(b)))) })
	add("lz4 without checksum", 3, func(b []byte) []byte { return lz4ed(b, lz4.ChecksumOption(false)) })
	add("lz4 level 9", 3, func(b []byte) []byte { return lz4ed(b, lz4.CompressionLevelOption(lz4.Level9)) })
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault, zstd.SpeedBetterCompression, zstd.SpeedBestCompression} {
		add(fmt.Sprintf("zstd %v", level), 4, func(b []byte) []byte { return zstded(b, zstd.WithEncoderLevel(level)) })
		add(fmt.Sprintf("zstd %v, streamed", level), 4, func(b []byte) []byte { return zstdStream(b, zstd.WithEncoderLevel(level)) })
	}
	add("zstd without checksum", 4, func(b []byte) []byte { return zstded(b, zstd.WithEncoderCRC(false)) })
	add("zstd in two frames", 4, func(b []byte) []byte { return append(zstded(b[:len(b)/2]), zstded(b[len(b)/2:])...) })
	return all
}

func TestCheckBatch_accepts_every_encoding_of_its_codecs(t *testing.T) {
	for name, c := range encodings() {
		t.Run(name, func(t *testing.T) {
			for _, records := range [][][]byte{plainRecords(1), sizedRecords(100, 1000), sizedRecords(3, 100_000)} {
				packed := c.pack(bytes.Join(records, nil))
				wantAccepted(t, packedBatch(int32(len(records)), packed, attributes(c.bits)), anyBatch)
			}
		})
	}
}

func wantCannotDecompress(t *testing.T, raw []byte) {
	t.Helper()
	_, err := CheckBatch(raw, anyBatch)
	switch {
	case err == nil:
		t.Error("accepted")
	case err.Code != kerr.UnknownServerError.Code || err.Unread || !strings.HasPrefix(err.Problem, "cannot decompress the records: "):
		t.Errorf("got %+v, want one that cannot be decompressed", err)
	}
}

func TestCheckBatch_refuses_broken_compression(t *testing.T) {
	plain := bytes.Join(sizedRecords(10, 1000), nil)
	for _, c := range append(codecs, codec{"snappy in frames", 2, func(b []byte) []byte { return xerialed(b, 3000) }}) {
		packed := c.pack(plain)
		for name, broken := range map[string][]byte{
			"nothing":                nil,
			"one byte":               packed[:1],
			"another beginning":      patched(packed, 0, ^packed[0], ^packed[1]),
			"the middle overwritten": patched(packed, len(packed)/2, bytes.Repeat([]byte{0xff}, 64)...),
			"half":                   packed[:len(packed)/2],
			"the last byte missing":  packed[:len(packed)-1],
			"a byte behind":          append(bytes.Clone(packed), 0x55),
			"random bytes":           []byte(strings.Repeat("\x9c\x11\xe4\x07", 50)),
		} {
			t.Run(c.name+", "+name, func(t *testing.T) {
				_, err := CheckBatch(packedBatch(10, broken, attributes(c.bits)), anyBatch)
				if err == nil || err.Unread || err.Code != kerr.InvalidRecord.Code && err.Code != kerr.UnknownServerError.Code {
					t.Errorf("got %+v, want records that cannot be read", err)
				}
			})
		}
	}
}

func TestCheckBatch_refuses_snappy_that_lies(t *testing.T) {
	block := snappy.Encode(nil, bytes.Join(plainRecords(1), nil))
	mark := xerialed(nil, 1)
	uvarint := func(n uint64) []byte { return binary.AppendUvarint(nil, n) }
	for name, packed := range map[string][]byte{
		"a block of 4 GB":                        append(uvarint(1<<32-1), block...),
		"a block of more than 4 GB":              append(uvarint(1<<40), block...),
		"a block just below the limit":           append(uvarint(MaxDecompressed-1), block...),
		"a block larger than its bytes can be":   append(uvarint(10_000_000), block...),
		"a frame that ends in its mark":          mark[:12],
		"a frame that ends in a length":          append(bytes.Clone(mark), 0, 0),
		"a block beyond the frame":               append(bytes.Clone(mark), 0, 0, 0, 9, 1, 0),
		"a block of 4 GB in a frame":             append(bytes.Clone(mark), 0xff, 0xff, 0xff, 0xff, 1, 0),
		"a block of no bytes in a frame":         append(bytes.Clone(mark), 0, 0, 0, 0),
		"a block that announces 4 GB in a frame": append(append(bytes.Clone(mark), 0, 0, 0, 6), append(uvarint(1<<32-1), 0)...),
	} {
		t.Run(name, func(t *testing.T) {
			raw := packedBatch(1, packed, attributes(codecSnappy))
			wantAllocated(t, allocated(func() { wantCannotDecompress(t, raw) }), 2<<20)
		})
	}
}

// S2 is snappy with extensions that no other decoder reads: a batch of it would
// be lost to every consumer.
func TestCheckBatch_refuses_s2(t *testing.T) {
	value := strings.Repeat("abcdefgh", 100)
	value = value[:400] + "X" + value[400:] + "Y" + value
	plain := bytes.Join([][]byte{framed(fields(0, nullBytes, varint(int32(len(value)), []byte(value)...), noHeaders))}, nil)
	packed := s2.EncodeBest(nil, plain)
	if got, err := s2.Decode(nil, packed); err != nil || !bytes.Equal(got, plain) {
		t.Fatalf("s2 cannot read it back: %v", err)
	}
	if _, err := snappy.DecodeStrict(nil, packed); err == nil {
		t.Fatal("the block has none of the extensions")
	}
	wantCannotDecompress(t, packedBatch(1, packed, attributes(codecSnappy)))
}

// A window costs nothing, however large.
func TestCheckBatch_refuses_zstd_windows_larger_than_Kafka_does(t *testing.T) {
	plain := bytes.Join(sizedRecords(100, 1000), nil)
	for window, sound := range map[int]bool{1 << 20: true, 8 << 20: true, zstdWindow: true, 2 * zstdWindow: false} {
		packed := zstdStream(plain, zstd.WithWindowSize(window))
		raw := packedBatch(100, packed, attributes(codecZstd))
		wantAllocated(t, allocated(func() {
			if sound {
				wantAccepted(t, raw, anyBatch)
			} else {
				wantCannotDecompress(t, raw)
			}
		}), raceCosts*8<<20)
	}
}

// A header of zstd may announce any size: nothing is allocated for it but the
// buffers that there are.
func TestCheckBatch_refuses_zstd_that_announces_much(t *testing.T) {
	frame := func(size uint64) []byte { // one segment, whose window is its size
		f := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}
		return append(binary.LittleEndian.AppendUint64(f, size), 1, 0, 0)
	}
	for _, size := range []uint64{16 << 20, MaxDecompressed, MaxDecompressed + 1, 1 << 40, 1<<64 - 1} {
		raw := packedBatch(1, frame(size), attributes(codecZstd))
		wantAllocated(t, allocated(func() {
			if _, err := CheckBatch(raw, anyBatch); err == nil || !strings.HasPrefix(err.Problem, "cannot decompress the records: ") {
				t.Errorf("got %+v, want one that cannot be decompressed", err)
			}
		}), mostForLimit(MaxDecompressed))
	}
}
