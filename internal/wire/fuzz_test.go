package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
)

// A scriptedConn is a connection on which a client has sent all that it will,
// and reads whatever comes.
type scriptedConn struct {
	bytes.Reader
	written int
	closed  bool
}

func (c *scriptedConn) Write(p []byte) (int, error)      { c.written += len(p); return len(p), nil }
func (c *scriptedConn) Close() error                     { c.closed = true; return nil }
func (c *scriptedConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *scriptedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *scriptedConn) SetDeadline(time.Time) error      { return nil }
func (c *scriptedConn) SetReadDeadline(time.Time) error  { return nil }
func (c *scriptedConn) SetWriteDeadline(time.Time) error { return nil }

// serveBytes serves a connection with these bytes on it until it ends.
func serveBytes(handler HandlerFunc, sent []byte) *scriptedConn {
	c := &scriptedConn{Reader: *bytes.NewReader(sent)}
	s := NewServer(handler, nil, zap.NewNop())
	s.ServeConn(c, Advertised{Host: "h", Port: 1}) //nolint:errcheck // it is not shut down
	s.work.Wait()
	return c
}

// FuzzFrame puts arbitrary bytes on a connection. It must close, without a
// panic, and what it allocated must be in proportion to the bytes.
func FuzzFrame(f *testing.F) {
	for _, h := range hostileInputs() {
		f.Add(h.bytes)
	}
	for _, c := range clientFrames(f) {
		f.Add(rawFrame(c.raw))
	}
	for _, api := range Served() {
		for v := api.Min; v <= api.Max; v++ {
			f.Add(frameOf(filled(kmsg.RequestForKey(api.Key)), v, 1))
		}
	}
	f.Add(metadataFrames(0, 3))
	// What a connection costs in any case, and what the fuzzer itself does meanwhile.
	const overhead = 2 << 20
	f.Fuzz(func(t *testing.T, sent []byte) {
		silent := func(context.Context, *Request) Reply { return Reply{Fate: Silent} }
		cost := allocated(func() { serveBytes(silent, sent) })
		if most := int64(overhead + mostPerByte*len(sent)); cost > most {
			t.Errorf("%d bytes made the server allocate %d, want %d at most", len(sent), cost, most)
		}
		if c := serveBytes(answerAnything, sent); !c.closed {
			t.Error("the connection is open")
		}
	})
}

// answerAnything does with a request all that is done with requests here, except
// for looking into batches.
func answerAnything(_ context.Context, req *Request) Reply {
	first := true
	in, out := Split(req, func(TopicPartition) bool { first = !first; return first })
	answers := []kmsg.Response{nil, nil}
	for i, part := range []*Request{in, out} {
		if part != nil {
			answers[i] = ErrorAnswer(part.Body, 6, "why")
		}
	}
	if merged := Merge(answers[0], answers[1]); merged != nil {
		return tell(Without(merged, func(tp TopicPartition) bool { return tp.Partition == 1 }))
	}
	return tell(ErrorAnswer(req.Body, 6, ""))
}

// resealed repairs what a random change to a batch breaks first, so that the
// fuzzer gets to see what comes after it.
func resealed(raw []byte) []byte {
	raw = bytes.Clone(raw)
	if len(raw) < batchOverhead {
		return raw
	}
	clear(raw[:8])
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-batchPrefix))
	raw[16] = 2
	return sealed(raw)
}

func addBatches(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(make([]byte, 61))
	f.Add(batchOf(plainRecords(3), producerOf(7, 0, 0)))
	for _, r := range recordsTests() {
		f.Add(packedBatch(r.count, r.packed))
	}
	for _, c := range codecs {
		plain := bytes.Join(plainRecords(5), nil)
		f.Add(packedBatch(5, c.pack(plain), attributes(c.bits)))
		f.Add(packedBatch(5, c.pack(plain)[:10], attributes(c.bits)))
	}
	f.Add(packedBatch(5, xerialed(bytes.Join(plainRecords(5), nil), 30), attributes(codecSnappy)))
	f.Add(packedBatch(5, zstdStream(bytes.Join(plainRecords(5), nil)), attributes(codecZstd)))
	f.Add(compressedBatch(f, kgo.GzipCompression(), sizedRecords(3, 50)))
	for _, c := range clientFrames(f) {
		if _, req, failed := new(decoder).decode(c.raw, admitAll); failed == nil {
			if produce, ok := req.(*kmsg.ProduceRequest); ok {
				f.Add(produce.Topics[0].Partitions[0].Records)
			}
		}
	}
}

// FuzzCheckBatch judges arbitrary batches. Whatever is accepted has to keep what
// an accepted batch promises; nothing may panic or allocate beyond the limit.
func FuzzCheckBatch(f *testing.F) {
	addBatches(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, set := range [][]byte{bytes.Clone(raw), resealed(raw)} {
			before := bytes.Clone(set)
			var c CheckedBatch
			var err *BatchError
			cost := allocated(func() { c, err = CheckBatch(set, anyBatch) })
			if most := mostForLimit(MaxDecompressed); cost > most {
				t.Errorf("a batch of %d bytes took %d, want %d at most", len(set), cost, most)
			}
			switch {
			case err == nil:
				wantSound(t, c, before)
			case err.Code == 0 || err.Problem == "":
				t.Errorf("refused without code or reason: %+v", err)
			case !bytes.Equal(set, before):
				t.Error("a batch was changed that was refused")
			}
		}
	})
}

// wantSound checks an accepted batch against its own records.
func wantSound(t *testing.T, c CheckedBatch, sent []byte) {
	raw := c.Raw
	if len(raw) != int(c.Length)+batchPrefix || c.Magic != 2 || c.FirstOffset != 0 || c.LastOffsetDelta != c.NumRecords-1 {
		t.Errorf("accepted a batch of %d bytes with the header %+v", len(raw), c.RecordBatch)
	}
	wantHeaderAlone(t, c, sent)
	n, first, greatest := int32(0), int32(0), int64(noTimestamp)
	err := EachRecord(raw, MaxDecompressed, func(r Record) error {
		if r.Offset != int64(n) {
			t.Errorf("record %d has offset %d", n, r.Offset)
		}
		if r.Timestamp > greatest {
			first, greatest = n, r.Timestamp
		}
		n++
		return nil
	})
	if err != nil || n != c.NumRecords || first != c.MaxTimestampDelta || greatest != c.MaxTimestamp {
		t.Errorf("accepted with %d records, the greatest timestamp %d at %d; read %d (%v), %d at %d",
			c.NumRecords, c.MaxTimestamp, c.MaxTimestampDelta, n, err, greatest, first)
	}
}

// FuzzEachRecord reads arbitrary stored batches with a small limit.
func FuzzEachRecord(f *testing.F) {
	addBatches(f)
	const limit = 64 << 10
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, set := range [][]byte{raw, resealed(raw)} {
			before := bytes.Clone(set)
			total := 0
			cost := allocated(func() {
				EachRecord(set, limit, func(r Record) error { //nolint:errcheck // any will do
					total += len(r.Key) + len(r.Value)
					for _, h := range r.Headers {
						total += len(h.Key) + len(h.Value)
					}
					return nil
				})
			})
			if !bytes.Equal(set, before) {
				t.Error("the batch was changed")
			}
			if most := max(limit, len(set)); total > most {
				t.Errorf("a batch of %d bytes has %d bytes of keys, values and headers, want %d at most", len(set), total, most)
			}
			// A header takes 40 bytes and a copy of its key, for two bytes of a record.
			if most := mostForLimit(max(limit, len(set))) + 100*int64(max(limit, len(set))); cost > most {
				t.Errorf("a batch of %d bytes took %d, want %d at most", len(set), cost, most)
			}
		}
	})
}
