package wire

import (
	"bytes"
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// decodeOverhead is what decoding may allocate however short the frame is, and
// what the fuzzer itself does meanwhile.
const decodeOverhead = 2 << 20

// FuzzDecode decodes an arbitrary body as a request of each API and version that
// is served. Nothing may panic, nor allocate more than a stated multiple of the
// bytes, and what was decoded can be taken apart and answered.
func FuzzDecode(f *testing.F) {
	for _, api := range Served() {
		for v := api.Min; v <= api.Max; v++ {
			for _, req := range []kmsg.Request{kmsg.RequestForKey(api.Key), filled(kmsg.RequestForKey(api.Key))} {
				req.SetVersion(v)
				f.Add(api.Key, v, req.AppendTo(nil))
			}
		}
		for _, frame := range lyingFrames(api.Key, api.Max, 4<<10) {
			f.Add(api.Key, api.Max, frame[len(rawHeader(0, 0, 0)):])
		}
	}
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		frame := frameWith(key, version, body)
		var req kmsg.Request
		var failed *failure
		cost := allocated(func() { _, req, failed = new(decoder).decode(frame, admitAll) })
		if most := int64(decodeOverhead + mostPerByte*len(frame)); cost > most {
			t.Errorf("version %d of API %d: %d bytes took %d, want %d at most", version, key, len(frame), cost, most)
		}
		switch {
		case failed != nil && req != nil:
			t.Errorf("a request was decoded and refused: %v", failed.err)
		case failed != nil && (failed.reason == ReasonInternal || failed.err == nil):
			t.Errorf("refused for %v: %v", failed.reason, failed.err)
		case req != nil:
			answerWhatWasDecoded(req)
		}
		if api, ok := Lookup(key); ok && key == int16(kmsg.Produce) && version >= api.Min && version <= api.Max {
			wantLikeKmsg(t, new(decoder), version, body)
		}
	})
}

// frameWith is a request header, flexible where the API's version wants it, and a
// body.
func frameWith(key, version int16, body []byte) []byte {
	header := rawHeader(key, version, 1)
	if req := kmsg.RequestForKey(key); req != nil {
		if req.SetVersion(version); req.IsFlexible() {
			header = append(header, 0)
		}
	}
	return append(header, body...)
}

// answerWhatWasDecoded does with a request all that this package does with one.
func answerWhatWasDecoded(req kmsg.Request) {
	r := &Request{Conn: &Conn{}, Body: req}
	if produce, ok := req.(*kmsg.ProduceRequest); ok {
		r.Batches = AppendBatches(nil, produce)
	}
	answerAnything(context.Background(), r).Told.AppendTo(nil)
	req.AppendTo(nil)
}

// FuzzDecompress decompresses arbitrary bytes with a small limit, which bounds
// what comes of it and what it takes.
func FuzzDecompress(f *testing.F) {
	const limit = 64 << 10
	plain := bytes.Join(plainRecords(20), nil)
	for _, c := range codecs {
		f.Add(c.bits, c.pack(plain))
		f.Add(c.bits, c.pack(plain)[:10])
		f.Add(c.bits, c.pack(make([]byte, limit)))
		f.Add(c.bits, c.pack(make([]byte, limit+1)))
	}
	for _, b := range bombs() {
		f.Add(b.bits, b.packed[:min(len(b.packed), 2000)])
	}
	f.Add(int16(codecSnappy), xerialed(plain, 30))
	f.Add(int16(codecSnappy), append(kbin.AppendUvarint(nil, 1<<31), 0))
	f.Add(int16(codecZstd), zstdStream(plain))
	f.Fuzz(func(t *testing.T, codec int16, packed []byte) {
		cost := allocated(func() {
			decompressed(codec&codecBits, packed, limit, true, func(out []byte) error { //nolint:errcheck // any will do
				if len(out) > limit {
					t.Errorf("%d bytes came of %d, want %d at most", len(out), len(packed), limit)
				}
				return nil
			})
		})
		if most := mostForLimit(max(limit, len(packed))); cost > most {
			t.Errorf("decompressing %d bytes took %d, want %d at most", len(packed), cost, most)
		}
	})
}
