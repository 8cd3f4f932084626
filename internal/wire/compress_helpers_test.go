package wire

import (
	"bytes"
	"encoding/binary"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// A codec is a compression type and an encoder for it.
type codec struct {
	name string
	bits int16
	pack func([]byte) []byte
}

// codecs are the compression types in the order of their bits, each with the
// encoder of a library that clients use.
var codecs = []codec{
	{"gzip", 1, func(b []byte) []byte { return gzipped(b, gzip.DefaultCompression) }},
	{"snappy", 2, func(b []byte) []byte { return snappy.Encode(nil, b) }},
	{"lz4", 3, func(b []byte) []byte { return lz4ed(b) }},
	{"zstd", 4, func(b []byte) []byte { return zstded(b) }},
}

func codecName(bits int16) string {
	if bits == 0 {
		return "uncompressed"
	}
	return codecs[bits-1].name
}

// must is for encoders that write to memory.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func gzipped(b []byte, level int) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, level)
	must(err)
	_, err = w.Write(b)
	must(err)
	must(w.Close())
	return out.Bytes()
}

func lz4ed(b []byte, options ...lz4.Option) []byte {
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	must(w.Apply(options...))
	_, err := w.Write(b)
	must(err)
	must(w.Close())
	return out.Bytes()
}

// zstded is one frame of known size; zstdStream one of unknown size, as a
// client writes it that streams.
func zstded(b []byte, options ...zstd.EOption) []byte {
	w, err := zstd.NewWriter(nil, append(options, zstd.WithEncoderConcurrency(1))...)
	must(err)
	defer w.Close()
	return w.EncodeAll(b, nil)
}

func zstdStream(b []byte, options ...zstd.EOption) []byte {
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, append(options, zstd.WithEncoderConcurrency(1))...)
	must(err)
	for len(b) > 0 { // more than one write, or the frame is one of known size
		n := min(len(b), 1000)
		_, err = w.Write(b[:n])
		must(err)
		must(w.Flush())
		b = b[n:]
	}
	must(w.Close())
	return out.Bytes()
}

// xerialed is snappy as snappy-java frames it, in blocks of a size.
func xerialed(b []byte, block int) []byte {
	out := []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}
	for len(b) > 0 {
		n := min(len(b), block)
		packed := snappy.Encode(nil, b[:n])
		out = binary.BigEndian.AppendUint32(out, uint32(len(packed)))
		out = append(out, packed...)
		b = b[n:]
	}
	return out
}
