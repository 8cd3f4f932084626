package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestLimits_answers_that_nobody_reads_share_a_bounded_memory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, readers = 1 << 20, 20
		s := newTestServer(t, fetchAnswers(size))
		s.answers.limit = 4 << 20
		ask := func() *testClient {
			c := s.connect()
			c.ask(kmsg.NewPtrFetchRequest(), 11, 1)
			return c
		}
		for range readers {
			ask()
			synctest.Wait()
			if used := s.answers.used.Load(); used > s.answers.limit {
				t.Errorf("%d bytes of answers are held, want %d at most", used, s.answers.limit)
			}
			<-time.After(StallTime)
		}
		honest := ask()
		honest.answer(kmsg.NewPtrFetchResponse(), 11, 1)
		s.wantClose(ReasonNoAnswerMemory)
	})
}

func TestLimits_an_answer_larger_than_all_memory_for_answers_is_not_sent(t *testing.T) {
	s := newTestServer(t, fetchAnswers(1<<20))
	s.answers.limit = 1 << 20
	c := s.connect()
	c.ask(kmsg.NewPtrFetchRequest(), 11, 1)
	c.wantEOF()
	s.wantClose(ReasonNoAnswerMemory)
}

// Where large requests need more memory together than there is, the one that
// has not got on for longest gives way, and others are served.
func TestLimits_large_requests_share_a_bounded_memory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, answerEmpty)
		s.frames.limit = 12 << 20
		stalled := s.connect()
		stalled.send(unfinished(3 << 20))
		synctest.Wait()
		begun := time.Now()
		req := kmsg.NewPtrProduceRequest()
		req.Topics = produceOf("t", make([]byte, 5<<20))
		honest := s.connect()
		honest.ask(req, 9, 1)
		honest.answer(req.ResponseKind(), 9, 1)
		s.wantClose(ReasonNoFrameMemory)
		if took := time.Since(begun); took > 2*StallTime {
			t.Errorf("the other waited for %v, want %v at most", took, 2*StallTime)
		}
		stalled.wantEOF()
		<-time.After(2 * keptTime)
		synctest.Wait()
		if n := s.frames.used.Load(); n != 0 {
			t.Errorf("%d bytes were not given back", n)
		}
	})
}

func TestLimits_requests_in_hand_are_not_cut_for_memory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newTestServer(t, func(_ context.Context, req *Request) Reply {
			<-release // as a rule does that delays it
			return tell(req.Body.ResponseKind())
		})
		s.frames.limit = 6 << 20
		req := kmsg.NewPtrProduceRequest()
		req.Topics = produceOf("t", make([]byte, 3<<20))
		delayed, refused := s.connect(), s.connect()
		delayed.ask(req, 9, 1)
		synctest.Wait()
		refused.Write(unfinished(5 << 20)) //nolint:errcheck // it is closed in the middle
		s.wantClose(ReasonNoFrameMemory)
		refused.wantEOF()
		close(release)
		delayed.answer(req.ResponseKind(), 9, 1)
	})
}

// A Fetch of tens of thousands of partitions that waits for records holds much,
// and loses nothing if it is cut.
func TestLimits_a_large_Fetch_that_waits_gives_way(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, func(ctx context.Context, req *Request) Reply {
			if req.Conn.ID == 1 {
				req.Conn.Flush()
				<-ctx.Done()
			}
			return tell(req.Body.ResponseKind())
		})
		fetch := kmsg.NewPtrFetchRequest()
		fetch.Topics = []kmsg.FetchRequestTopic{{Topic: "t", Partitions: make([]kmsg.FetchRequestTopicPartition, 20_000)}}
		s.frames.limit = decodedCost * int64(len(frameOf(fetch, 11, 1))) * 3 / 2
		waiting, other := s.connect(), s.connect()
		waiting.ask(fetch, 11, 1)
		synctest.Wait()
		other.ask(fetch, 11, 1)
		other.answer(kmsg.NewPtrFetchResponse(), 11, 1)
		s.wantClose(ReasonNoFrameMemory)
		waiting.wantEOF()
	})
}

func TestLimits_a_Produce_of_many_partitions_counts_for_what_it_takes(t *testing.T) {
	s := newTestServer(t, answerEmpty)
	s.frames.limit = 10_000 * entryCost
	for partitions, want := range map[int]CloseReason{9_000: ReasonClientClosed, 11_000: ReasonNoFrameMemory} {
		c := s.connect()
		req := manyPartitions(partitions)
		c.ask(req, 9, 1)
		if want == ReasonClientClosed {
			c.answer(req.ResponseKind(), 9, 1)
			c.Close()
		} else {
			c.wantEOF()
		}
		s.wantClose(want)
	}
}

func TestLimits_one_connection_too_many_is_closed(t *testing.T) {
	s := newTestServer(t, answerEmpty)
	s.Limits.MaxConnections = 3
	var open []*testClient
	for range 3 {
		open = append(open, s.connect())
	}
	near, far := net.Pipe()
	if err := s.ServeConn(far, Advertised{}); !errors.Is(err, ErrTooManyConnections) {
		t.Errorf("ServeConn gave %v, want ErrTooManyConnections", err)
	}
	if _, err := near.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("reading gave %v, want the end of the connection", err)
	}
	e := s.closeEntry()
	if got := e.ContextMap(); got["reason"] != ReasonTooManyConnections.String() || got["detail"] != "3 are open, the most" {
		t.Errorf("the log says %v", got)
	}
	open[0].send(metadataFrames(1, 2))
	open[0].answer(kmsg.NewPtrMetadataResponse(), 9, 1)

	open[1].Close()
	s.wantClose(ReasonClientClosed)
	if err := s.Drain(expired()); err == nil {
		t.Error("no connection is open")
	}
	s.wantServed()
}

func expired() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestLimits_requests_that_list_everything_are_handled_a_few_at_a_time(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside atomic.Int64
		release := make(chan struct{})
		s := newTestServer(t, func(_ context.Context, req *Request) Reply {
			inside.Add(1)
			<-release
			return tell(req.Body.ResponseKind())
		})
		var clients []*testClient
		for range 3 * MaxListing {
			c := s.connect()
			c.send(metadataFrames(1, 2))
			clients = append(clients, c)
		}
		synctest.Wait()
		if n := inside.Load(); n != MaxListing {
			t.Errorf("%d are handled at a time, want %d", n, MaxListing)
		}
		close(release)
		for _, c := range clients {
			c.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
		}
	})
}

func TestLimits_a_request_that_waits_makes_way_for_others_that_list_everything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newTestServer(t, func(_ context.Context, req *Request) Reply {
			if req.Conn.ID <= 2*MaxListing {
				req.Conn.Flush() // as a rule does that delays it
				<-release
			}
			return tell(req.Body.ResponseKind())
		})
		for range 2 * MaxListing {
			s.connect().send(metadataFrames(1, 2))
		}
		s.wantServed()
		close(release)
	})
}

func TestLimits_an_idle_connection_gives_its_buffers_up(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, fetchAnswers(500_000))
		c := s.connect()
		c.ask(kmsg.NewPtrFetchRequest(), 11, 1)
		c.answer(kmsg.NewPtrFetchResponse(), 11, 1)
		c.send(rawFrame(rawHeader(0, 3, 2), []byte{0xff, 0xff, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 1, 0, 0, 0, 0, 0, 7, 0xa1, 0x20}, make([]byte, 500_000)))
		c.answer(kmsg.NewPtrProduceResponse(), 3, 2)
		synctest.Wait()
		if s.frames.used.Load() == 0 || s.answers.used.Load() == 0 {
			t.Error("nothing is kept for the next request")
		}
		<-time.After(2 * keptTime)
		synctest.Wait()
		if frames, answers := s.frames.used.Load(), s.answers.used.Load(); frames+answers != 0 {
			t.Errorf("%d bytes for frames and %d for answers are kept", frames, answers)
		}
	})
}

func TestLimits_who_asks_for_little_does_not_wait_for_who_asks_for_everything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newTestServer(t, func(_ context.Context, req *Request) Reply {
			if req.Body.(*kmsg.MetadataRequest).Topics == nil {
				<-release
			}
			return tell(req.Body.ResponseKind())
		})
		for range 2 * MaxListing {
			s.connect().send(metadataFrames(1, 2))
		}
		synctest.Wait()
		few := kmsg.NewPtrMetadataRequest()
		few.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr("orders")}}
		c := s.connect()
		c.ask(few, 9, 1)
		c.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
		close(release)
	})
}
