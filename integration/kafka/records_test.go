package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// recordsSummary tells records that are nothing from those that are not there, and
// how much of a batch stands at the end.
func recordsSummary(b []byte, null bool) string {
	if null {
		return "null"
	}
	n := 0
	for whole := next(b); whole != nil; whole = next(b) {
		b = b[len(whole):]
		n++
	}
	if len(b) > 0 {
		return fmt.Sprintf("%d whole and a part", n)
	}
	return fmt.Sprintf("%d", n)
}

// next is the first whole batch, nil if there is none.
func next(b []byte) []byte {
	if len(b) < headerSize {
		return nil
	}
	n := leaderAt + int(int32(binary.BigEndian.Uint32(b[lengthAt:])))
	if n < headerSize || n > len(b) {
		return nil
	}
	return b[:n]
}

// A readBatch is a batch as a reader gets it. Its checksum covers ids and times that
// differ by nature, so it counts only whether it is right.
type readBatch struct {
	FirstOffset          int64
	PartitionLeaderEpoch int32
	Attributes           int16
	LastOffsetDelta      int32
	FirstTimestamp       int64
	MaxTimestamp         int64
	ProducerID           int64
	ProducerEpoch        int16
	FirstSequence        int32
	NumRecords           int32
	Checksum             string
	Records              string // a hash of what was compressed, and its size
}

// batches adds a part for each whole batch.
func (f *flattener) batches(path string, b []byte) {
	for whole := next(b); whole != nil; whole = next(b) {
		b = b[len(whole):]
		f.structure(fmt.Sprintf("%s[%d]", path, binary.BigEndian.Uint64(whole)), reflect.ValueOf(readOne(whole)))
	}
}

func readOne(raw []byte) readBatch {
	var h kmsg.RecordBatch
	if err := h.ReadFrom(raw); err != nil {
		return readBatch{Records: err.Error()}
	}
	b := readBatch{
		FirstOffset: h.FirstOffset, PartitionLeaderEpoch: h.PartitionLeaderEpoch, Attributes: h.Attributes, LastOffsetDelta: h.LastOffsetDelta,
		FirstTimestamp: h.FirstTimestamp, MaxTimestamp: h.MaxTimestamp, ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch,
		FirstSequence: h.FirstSequence, NumRecords: h.NumRecords, Checksum: "right",
	}
	if crc32.Checksum(raw[coveredAt:], castagnoli) != binary.BigEndian.Uint32(raw[crcAt:]) {
		b.Checksum = "wrong"
	}
	records, err := decompressed(h.Attributes&7, h.Records)
	if err != nil {
		b.Records = err.Error()
		return b
	}
	if h.Attributes&controlBit != 0 {
		b.Records = marker(records)
		return b
	}
	b.Records = fmt.Sprintf("%d bytes, %08x", len(records), crc32.ChecksumIEEE(records))
	return b
}

// controlBit is the attribute of a batch that holds a marker.
const controlBit = 0x20

// marker tells a marker in words. The epoch of the coordinator that wrote it, which
// says how often it moved, is left out.
func marker(records []byte) string {
	var r kmsg.Record
	if err := r.ReadFrom(records); err != nil {
		return err.Error()
	}
	var key kmsg.ControlRecordKey
	var value kmsg.EndTxnMarker
	if err := errors.Join(key.ReadFrom(r.Key), value.ReadFrom(r.Value)); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s marker of version %d, %d bytes", key.Type, value.Version, len(records))
}

// decompressed undoes a codec. How a broker compresses is its own affair.
func decompressed(bits int16, b []byte) ([]byte, error) {
	switch bits {
	case 1:
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	case 2:
		return unsnapped(b)
	case 3:
		return io.ReadAll(lz4.NewReader(bytes.NewReader(b)))
	case 4:
		r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return r.DecodeAll(b, nil)
	}
	return b, nil
}

// xerialHead is how many bytes snappy-java puts before its blocks.
const xerialHead = 16

func unsnapped(b []byte) ([]byte, error) {
	if !bytes.HasPrefix(b, []byte("\x82SNAPPY\x00")) || len(b) < xerialHead {
		return snappy.Decode(nil, b)
	}
	var all []byte
	for b = b[xerialHead:]; len(b) > 4; {
		n := int(binary.BigEndian.Uint32(b))
		if n < 0 || n > len(b)-4 {
			return nil, fmt.Errorf("a block of %d bytes in %d", n, len(b)-4)
		}
		block, err := snappy.Decode(nil, b[4:4+n])
		if err != nil {
			return nil, err
		}
		all, b = append(all, block...), b[4+n:]
	}
	return all, nil
}
