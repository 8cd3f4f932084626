package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// wantCut checks that the connection which began at a time is closed for a
// reason, after so long.
func (s *testServer) wantCut(begun time.Time, after time.Duration, want CloseReason) {
	s.t.Helper()
	s.wantClose(want)
	if took := time.Since(begun); took.Round(time.Second) != after {
		s.t.Errorf("it was cut after %v, want %v", took, after)
	}
}

// wantServed checks that another connection is served meanwhile.
func (s *testServer) wantServed() {
	s.t.Helper()
	c := s.connect()
	c.send(metadataFrames(1, 2))
	c.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
	c.Close()
	s.wantClose(ReasonClientClosed)
}

func TestLimits_an_idle_connection_is_closed(t *testing.T) {
	for _, tt := range []struct {
		name string
		sent []byte
	}{
		{"that never sent anything", nil},
		{"that has asked before", metadataFrames(0, 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestServer(t, answerEmpty)
				begun := time.Now()
				c := s.connect()
				c.SetDeadline(time.Time{}) //nolint:errcheck // a pipe always can
				c.send(tt.sent)
				go io.Copy(io.Discard, c) //nolint:errcheck // ends with the connection
				s.wantCut(begun, DefaultIdleTimeout, ReasonIdle)
				s.wantServed()
			})
		})
	}
}

func TestLimits_a_connection_is_not_idle(t *testing.T) {
	tests := []struct {
		name    string
		timeout time.Duration
		wait    time.Duration // before it asks a second time
	}{
		{"as long as it sends something now and then", time.Minute, 59 * time.Second},
		{"where there is no such limit", 0, 1000 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestServer(t, answerEmpty)
				s.Limits.IdleTimeout = tt.timeout
				c := s.connect()
				c.SetDeadline(time.Time{}) //nolint:errcheck // a pipe always can
				for range 3 {
					c.send(metadataFrames(1, 2))
					c.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
					<-time.After(tt.wait)
				}
				c.send(metadataFrames(1, 2))
				c.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
			})
		})
	}
}

// Times count from what they are about: idle time from when an answer was read, and the
// time to read an answer from when it was given.
func TestLimits_what_took_long_before_does_not_count(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, func(_ context.Context, req *Request) Reply {
			<-time.After(2 * WriteTime) // as a handler that looks for room
			return tell(req.Body.ResponseKind())
		})
		s.Limits.IdleTimeout = WriteTime / 2
		c := s.connect()
		c.SetDeadline(time.Time{}) //nolint:errcheck // a pipe always can
		for range 3 {
			c.send(metadataFrames(1, 2))
			<-time.After(2*WriteTime + 3*WriteTime/4) // the answer waits longer than it may be idle
			c.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
		}
	})
}

func TestLimits_a_connection_that_waits_for_an_answer_is_not_idle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, func(_ context.Context, req *Request) Reply {
			<-time.After(10 * DefaultIdleTimeout)
			return tell(req.Body.ResponseKind())
		})
		c := s.connect()
		c.SetDeadline(time.Time{}) //nolint:errcheck // a pipe always can
		c.send(metadataFrames(1, 2))
		c.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
		c.send(metadataFrames(2, 3))
		c.answer(kmsg.NewPtrMetadataResponse(), 9, 2)
	})
}

// dribble writes byte by byte, with a pause behind each, until the connection is
// closed.
func (c *testClient) dribble(raw []byte, pause time.Duration) {
	for i := range raw {
		if _, err := c.Write(raw[i : i+1]); err != nil {
			return
		}
		<-time.After(pause)
	}
}

func TestLimits_a_request_that_does_not_arrive_whole_is_cut(t *testing.T) {
	produce := unfinished(200)
	second := time.Second // that the first piece of a large frame has on top
	for _, tt := range []struct {
		name  string
		sent  []byte
		pause time.Duration // behind each byte
		after time.Duration
	}{
		{"in the middle of its length", []byte{0, 0}, 0, FrameTime},
		{"behind its length", []byte{0, 0, 0, 100}, 0, FrameTime},
		{"in its header", produce[:9], 0, FrameTime + second},
		{"a byte a second", produce, time.Second, FrameTime + second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestServer(t, answerEmpty)
				c := s.connect()
				c.SetDeadline(time.Time{}) //nolint:errcheck // a pipe always can
				<-time.After(time.Minute)
				begun := time.Now()
				var sending sync.WaitGroup
				sending.Go(func() { c.dribble(tt.sent, tt.pause) })
				s.wantServed()
				s.wantCut(begun, tt.after, ReasonSlowRequest)
				sending.Wait()
			})
		})
	}
}

// A client may be slow if it goes on.
func TestLimits_a_large_request_over_a_slow_line_arrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, answerEmpty)
		c := s.connect()
		c.SetDeadline(time.Time{}) //nolint:errcheck // a pipe always can
		req := kmsg.NewPtrProduceRequest()
		req.Topics = produceOf("t", make([]byte, 20<<20))
		begun := time.Now()
		for rest := frameOf(req, 9, 1); len(rest) > 0; {
			n := min(len(rest), SlowestRate)
			c.send(rest[:n])
			rest = rest[n:]
			<-time.After(time.Second)
		}
		c.answer(req.ResponseKind(), 9, 1)
		if took := time.Since(begun); took < 5*time.Minute {
			t.Errorf("it took %v, and is not slow", took)
		}
	})
}

func TestLimits_the_longest_that_a_request_may_take(t *testing.T) {
	if most := FrameTime + time.Duration(MaxFrame)*time.Second/SlowestRate; most > 28*time.Minute {
		t.Errorf("the largest request may take %v, want 28 minutes at most", most)
	}
}

// fetchAnswers is a handler that answers every Fetch with so many bytes.
func fetchAnswers(n int) HandlerFunc {
	records := make([]byte, n)
	return func(_ context.Context, req *Request) Reply {
		resp := req.Body.ResponseKind()
		if fetch, ok := resp.(*kmsg.FetchResponse); ok {
			p := kmsg.NewFetchResponseTopicPartition()
			p.RecordBatches = records
			fetch.Topics = []kmsg.FetchResponseTopic{{Topic: "t", Partitions: []kmsg.FetchResponseTopicPartition{p}}}
		}
		return tell(resp)
	}
}

func TestLimits_a_client_that_does_not_read_is_cut(t *testing.T) {
	for name, size := range map[string]int{"a small answer": 10, "a large answer": 8 << 20} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestServer(t, fetchAnswers(size))
				c := s.connect()
				begun := time.Now()
				c.ask(kmsg.NewPtrFetchRequest(), 11, 1)
				s.wantServed()
				s.wantCut(begun, WriteTime, ReasonSlowReader)
				if used := s.answers.used.Load(); used != 0 {
					t.Errorf("%d bytes of answers were not given back", used)
				}
			})
		})
	}
}

func TestLimits_a_client_that_reads_slowly_is_served(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 8 << 20
		s := newTestServer(t, fetchAnswers(size))
		c := s.connect()
		c.SetDeadline(time.Time{}) //nolint:errcheck // a pipe always can
		begun := time.Now()
		c.ask(kmsg.NewPtrFetchRequest(), 11, 1)
		for read := 0; read < size; {
			n, err := io.ReadFull(c, make([]byte, 64<<10))
			if err != nil {
				t.Fatalf("after %d bytes and %v: %v", read, time.Since(begun), err)
			}
			read += n
			<-time.After(time.Second)
		}
		if took := time.Since(begun); took < 2*time.Minute {
			t.Errorf("it took %v, and is not slow", took)
		}
	})
}

// A failingListener never accepts.
type failingListener struct {
	failed atomic.Int64
	closed atomic.Bool
}

func (l *failingListener) Accept() (net.Conn, error) {
	l.failed.Add(1)
	if l.closed.Load() {
		return nil, net.ErrClosed
	}
	return nil, errors.New("too many open files")
}
func (l *failingListener) Close() error   { l.closed.Store(true); return nil }
func (l *failingListener) Addr() net.Addr { return &net.TCPAddr{} }

func TestServe_does_not_spin_when_it_runs_out_of_descriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, answerEmpty)
		l := &failingListener{}
		served := s.serveOn(l, Advertised{})
		<-time.After(time.Minute)
		if n := l.failed.Load(); n > 70 {
			t.Errorf("it tried %d times in a minute, want about once a second", n)
		}
		s.Shutdown(context.Background())
		if err := <-served; !errors.Is(err, ErrClosed) {
			t.Errorf("Serve gave %v, want ErrClosed", err)
		}
	})
}

func TestShutdown_leaves_a_handler_behind_that_does_not_end(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newTestServer(t, func(_ context.Context, req *Request) Reply {
			<-release
			return tell(req.Body.ResponseKind())
		})
		c := s.connect()
		c.send(metadataFrames(0, 1))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begun := time.Now()
		s.Shutdown(ctx)
		if took := time.Since(begun); took != time.Second+cutGrace {
			t.Errorf("the shutdown took %v, want %v", took, time.Second+cutGrace)
		}
		if s.logs.FilterMessage("requests are being handled that do not end; they are left behind").Len() != 1 {
			t.Error("the log does not say that one was left behind")
		}
		c.wantEOF()
		close(release)
		s.wantClose(ReasonWriteFailed)
	})
}

// The bytes of a frame may come in any pieces.
func TestServer_frames_in_pieces_are_read(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, answerEmpty)
		c := s.connect()
		frame := metadataFrames(1, 2)
		for _, pieces := range [][]int{{1}, {3}, {4}, {5}, {6, 12}, {len(frame) - 1}} {
			rest := frame
			for _, n := range pieces {
				c.send(rest[:n])
				rest = rest[n:]
				<-time.After(FrameTime / 3)
			}
			c.send(rest)
			c.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
		}
		if !bytes.Equal(frame[:4], binary.BigEndian.AppendUint32(nil, uint32(len(frame)-4))) {
			t.Error("the frame has another length than it says")
		}
	})
}

func TestLimits_a_long_client_id_is_cut_for_handlers(t *testing.T) {
	for name, tt := range map[string]struct{ sent, want string }{
		"the longest that is told whole": {strings.Repeat("a", MaxClientID), strings.Repeat("a", MaxClientID)},
		"one byte more":                  {strings.Repeat("a", MaxClientID+1), strings.Repeat("a", MaxClientID)},
		"cut in the middle of a letter":  {strings.Repeat("ä", MaxClientID), strings.Repeat("ä", MaxClientID/2)},
		"an odd byte before letters":     {"a" + strings.Repeat("ä", MaxClientID), "a" + strings.Repeat("ä", MaxClientID/2-1)},
		"the longest that there can be":  {strings.Repeat("x", 1<<15-1), strings.Repeat("x", MaxClientID)},
	} {
		t.Run(name, func(t *testing.T) {
			told := make(chan string, 1)
			s := newTestServer(t, func(_ context.Context, req *Request) Reply {
				told <- req.Client
				return tell(req.Body.ResponseKind())
			})
			c := s.connect()
			req := kmsg.NewPtrMetadataRequest()
			req.SetVersion(9)
			c.send(kmsg.NewRequestFormatter(kmsg.FormatterClientID(tt.sent)).AppendRequest(nil, req, 1))
			c.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
			if got := <-told; got != tt.want {
				t.Errorf("the handler was told %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLimits_the_name_of_a_topic_in_a_Produce(t *testing.T) {
	for _, version := range []int16{3, 9} {
		s := newTestServer(t, answerEmpty)
		for length, want := range map[int]CloseReason{MaxTopicName: ReasonClientClosed, MaxTopicName + 1: ReasonBadBody} {
			c := s.connect()
			req := kmsg.NewPtrProduceRequest()
			req.Topics = produceOf(strings.Repeat("t", length), nil)
			c.ask(req, version, 1)
			if want == ReasonClientClosed {
				c.answer(req.ResponseKind(), version, 1)
				c.Close()
			}
			e := s.closeEntry()
			if got := e.ContextMap()["reason"]; got != want.String() {
				t.Errorf("a name of %d bytes: closed because %q, want %q", length, got, want)
			}
		}
	}
}
