package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// allocated is how many bytes are allocated while f runs, by whomever.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

func wantAllocated(t *testing.T, got, most int64) {
	t.Helper()
	t.Logf("allocated %d kB, %d kB are allowed", got>>10, most>>10)
	if got > most {
		t.Errorf("allocated %d kB, want %d kB at most", got>>10, most>>10)
	}
}

// A hundred connections of 90 MB each would be 9 GB. What a connection costs
// before it has sent anything is its read-ahead and the first piece of a frame.
func TestServer_connections_that_announce_much_and_send_nothing_cost_nothing(t *testing.T) {
	const conns, each = 100, 2 * (readAhead + firstRead)
	announcements := map[string][]byte{
		"a Produce of 90 MB":           binary.BigEndian.AppendUint32(nil, 90<<20),
		"a Produce of 90 MB, with key": {0x05, 0xa0, 0, 0, 0, 0},
		"a Produce of 90 MB, with header": append([]byte{0x05, 0xa0, 0, 0},
			rawHeader(int16(kmsg.Produce), 9, 1)...),
		"2 GB":               {0x7f, 0xff, 0xff, 0xff, 0, 0},
		"a Metadata of 1 MB": {0, 0x10, 0, 0, 0, 3},
		"a Metadata of 2 MB": {0, 0x20, 0, 0, 0, 3},
	}
	for name, announcement := range announcements {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t, answerEmpty)
			wantAllocated(t, allocated(func() {
				for range conns {
					s.connect().Write(announcement) //nolint:errcheck // the server may close before it has read all
				}
				s.Shutdown(context.Background())
			}), conns*each)
		})
	}
}

// Memory follows the bytes that have come.
func TestServer_half_a_large_frame_costs_what_has_come(t *testing.T) {
	s := newTestServer(t, answerEmpty)
	const come = 8 << 20
	half := append([]byte{0x05, 0xa0, 0, 0}, make([]byte, come-4)...)
	wantAllocated(t, allocated(func() {
		c := s.connect()
		c.send(half)
		c.Close()
		s.wantClose(ReasonReadFailed)
	}), 4*come)
}

// An array allocates its elements before the bytes of them are looked at: a
// frame of 1 MB must not make one of a million large elements.
func TestServer_a_Metadata_that_announces_a_million_topics_is_refused(t *testing.T) {
	for _, v := range []int16{1, 9, 12} {
		s := newTestServer(t, func(_ context.Context, req *Request) Reply {
			t.Errorf("the handler was asked for %d topics", len(req.Body.(*kmsg.MetadataRequest).Topics))
			return tell(req.Body.ResponseKind())
		})
		header := rawHeader(3, v, 1)
		if v >= 9 {
			header = append(header, 0)
			header = kbin.AppendUvarint(header, 1_000_001)
		} else {
			header = kbin.AppendInt32(header, 1_000_000)
		}
		frame := rawFrame(header, make([]byte, MaxSmallFrame-len(header)))
		wantAllocated(t, allocated(func() {
			c := s.connect()
			c.send(frame)
			c.wantEOF()
			s.wantClose(ReasonBadBody)
		}), 64*MaxSmallFrame)
	}
}

// mostPerByte bounds what the decoding of a frame may cost: so many bytes for
// each byte of it, which a request of nothing but the smallest elements needs.
const mostPerByte = 128

// The dearest frames of all APIs: at each place of a body where a count may
// stand, one that announces as much as the rest can hold, with a rest of zeros,
// which are the smallest elements.
func TestServer_decoding_costs_a_bounded_multiple_of_the_frame(t *testing.T) {
	const size = 16 << 10
	for _, api := range Served() {
		for _, v := range []int16{api.Min, flexibleFrom[api.Key] - 1, api.Max} {
			if v < api.Min {
				continue
			}
			t.Run(fmt.Sprintf("%s version %d", api.Name, v), func(t *testing.T) {
				dearest := int64(0)
				for _, frame := range lyingFrames(api.Key, v, size) {
					dearest = max(dearest, allocated(func() { new(decoder).decode(frame, admitAll) })/int64(len(frame)))
				}
				if dearest > mostPerByte {
					t.Errorf("the dearest of the frames took %d times its bytes, want %d at most", dearest, mostPerByte)
				}
				t.Logf("%d times its bytes", dearest)
			})
		}
	}
}

func lyingFrames(key, version int16, size int) [][]byte {
	whole := frameOf(filled(kmsg.RequestForKey(key)), version, 1)[4:]
	var frames [][]byte
	for at := len(rawHeader(0, 0, 0)); at < len(whole); at++ {
		rest := size - at - 4
		for _, count := range [][]byte{
			binary.BigEndian.AppendUint32(nil, uint32(rest)),
			binary.BigEndian.AppendUint32(nil, uint32(rest/20)),
			kbin.AppendUvarint(nil, uint32(rest)),
			kbin.AppendUvarint(nil, uint32(rest/20)),
		} {
			frames = append(frames, append(append(bytes.Clone(whole[:at]), count...), make([]byte, rest)...))
		}
	}
	return frames
}

// Tags that nobody knows are kept in a map, which takes many times their bytes:
// harmless in small frames, but a Produce may have 100 MB of them.
func TestServer_a_Produce_of_nothing_but_tags_is_refused(t *testing.T) {
	const tags = 1 << 20
	frame := rawHeader(0, 9, 1)
	frame = append(frame, 0, 0 /* transactional id */, 0, 1, 0, 0, 0, 9, 1 /* no topics */)
	frame = kbin.AppendUvarint(frame, tags)
	for i := range uint32(tags) {
		frame = append(kbin.AppendUvarint(frame, i), 0)
	}
	wantAllocated(t, allocated(func() {
		if _, _, f := new(decoder).decode(frame, admitAll); f == nil || f.reason != ReasonBadBody {
			t.Errorf("a Produce with a million tags gave %+v, want %v", f, ReasonBadBody)
		}
	}), int64(len(frame)))
}

func TestServer_keeps_no_buffer_of_a_large_frame(t *testing.T) {
	var conn *Conn
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		conn = req.Conn
		return tell(req.Body.ResponseKind())
	})
	c := s.connect()
	large := kmsg.NewPtrProduceRequest()
	large.Topics = produceOf("t", make([]byte, 8<<20))
	c.ask(large, 9, 1)
	c.answer(large.ResponseKind(), 9, 1)
	c.ask(kmsg.NewPtrMetadataRequest(), 9, 2)
	c.answer(kmsg.NewPtrMetadataResponse(), 9, 2)
	s.Shutdown(context.Background()) // its end comes after all that conn did
	if cap(conn.frame) > keptFrame || cap(conn.out) > keptFrame {
		t.Errorf("the connection keeps %d bytes for frames and %d for answers, want %d at most", cap(conn.frame), cap(conn.out), keptFrame)
	}
}

// What a large request took is given back when it has been answered or soon
// after, and not when the next one comes: a few connections that sent one each and are idle
// must not keep others from sending.
func TestServer_an_idle_connection_holds_nothing_of_a_large_request(t *testing.T) {
	large := kmsg.NewPtrProduceRequest()
	large.Topics = produceOf("t", make([]byte, 32<<20))
	for name, req := range map[string]*kmsg.ProduceRequest{"many bytes": large, "many partitions": manyPartitions(MaxPartitions)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestServer(t, answerEmpty)
				c := s.connect()
				frame := frameOf(req, 9, 1)
				before := heapInUse()
				c.send(frame)
				c.answer(req.ResponseKind(), 9, 1)
				<-time.After(2 * keptTime)
				synctest.Wait()
				if more := heapInUse() - before; more > 4<<20 {
					t.Errorf("an idle connection holds %d kB, want 4096 kB at most", more>>10)
				}
				if n := s.frames.used.Load(); n != 0 {
					t.Errorf("%d bytes are counted for large requests, want none", n)
				}
				runtime.KeepAlive(frame)
			})
		})
	}
}

// heapInUse is how many bytes are allocated and still reachable.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what pools held goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What a client sends in a steady stream allocates nothing for its frames.
func TestServer_reuses_the_buffer_of_small_frames(t *testing.T) {
	s := newTestServer(t, func(context.Context, *Request) Reply { return Reply{Fate: Silent} })
	c := s.connect()
	req := kmsg.NewPtrProduceRequest()
	req.Topics = produceOf("t", make([]byte, 100_000))
	frame := frameOf(req, 9, 1)
	c.send(frame)
	const rounds = 100
	wantAllocated(t, allocated(func() {
		for range rounds {
			c.send(frame)
		}
		c.Close()
		io.ReadAll(c) //nolint:errcheck // closed
		s.wantClose(ReasonClientClosed)
	}), rounds*10_000)
}
