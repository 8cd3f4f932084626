package wire

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A client that never stops sending is answered all the same: whenever a request has been
// handled, the next one is there.
func TestServer_an_answer_does_not_wait_for_the_end_of_a_stream(t *testing.T) {
	behind, answered := make(chan struct{}), make(chan struct{})
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		if _, ok := req.Body.(*kmsg.ProduceRequest); !ok {
			return tell(req.Body.ResponseKind())
		}
		select {
		case <-behind:
		case <-answered:
		}
		return Reply{Fate: Silent}
	})
	c := s.connectTCP()
	silent := frameOf(produceTo("t", make([]byte, 100)), 9, 2)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Write(append(frameOf(kmsg.NewPtrMetadataRequest(), 9, 1), silent...))
		for err == nil {
			if _, err = c.Write(silent); err != nil {
				break
			}
			select {
			case behind <- struct{}{}:
			case <-answered:
				ended <- nil
				return
			}
		}
		ended <- err
	}()
	c.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
	close(answered)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// What a handler writes before it waits is no answer to its own request.
func TestServer_observes_the_answer_to_each_request_alone(t *testing.T) {
	var sizes []int
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		req.Conn.Flush()
		return tell(req.Body.ResponseKind())
	})
	s.Observe = func(_ string, _ time.Duration, _, answered int) { sizes = append(sizes, answered) }
	c := s.connect()
	var all []byte
	for i := range 3 {
		all = append(all, frameOf(kmsg.NewPtrMetadataRequest(), 9, int32(i))...)
	}
	c.send(all)
	want := 0
	for range 3 {
		want = lengthBytes + len(c.read())
	}
	c.Close()
	s.closeEntry()
	for i, got := range sizes {
		if got != want {
			t.Errorf("the answer to request %d is observed with %d bytes, want %d", i, got, want)
		}
	}
	if len(sizes) != 3 {
		t.Errorf("%d answers were observed", len(sizes))
	}
}

// A client that keeps memory in hand is not spared because an answer is written to it.
func TestConn_a_stall_outlives_the_answers_that_are_written_meanwhile(t *testing.T) {
	const since = 12345
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		req.Conn.stalled.Store(since)
		req.Conn.flushBefore()
		if got := req.Conn.stalled.Load(); got != since {
			t.Errorf("it stalled since %d and now since %d", since, got)
		}
		return tell(req.Body.ResponseKind())
	})
	c := s.connect()
	c.send(append(frameOf(kmsg.NewPtrMetadataRequest(), 9, 1), frameOf(kmsg.NewPtrMetadataRequest(), 9, 2)...))
	c.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
	c.answer(kmsg.NewPtrMetadataResponse(), 9, 2)
}

// Records that were lent to an answer that is never given are let go, and so is what it
// took to write many.
func TestConn_keeps_no_records_of_others(t *testing.T) {
	lose := false
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		if len(req.Conn.lent) > 0 || cap(req.Conn.apart) > keptApart || cap(req.Conn.list) > 3*keptApart || req.Conn.piece != nil {
			t.Errorf("%d records are still lent, there is room for %d in %d buffers, and %d are kept of the last write",
				len(req.Conn.lent), cap(req.Conn.apart), cap(req.Conn.list), cap(req.Conn.piece))
		}
		resp := req.Body.ResponseKind().(*kmsg.FetchResponse)
		resp.Topics = []kmsg.FetchResponseTopic{{}}
		for range 5 * keptApart {
			p := kmsg.NewFetchResponseTopicPartition()
			p.RecordBatches = []byte{1, 2}
			req.Conn.LendRecords(p.RecordBatches, [][]byte{{3}})
			resp.Topics[0].Partitions = append(resp.Topics[0].Partitions, p)
		}
		if lose {
			return Reply{Done: resp, Fate: LoseAnswers}
		}
		lose = true
		return tell(resp)
	})
	c := s.connect()
	c.ask(kmsg.NewPtrFetchRequest(), 11, 1)
	c.answer(kmsg.NewPtrFetchResponse(), 11, 1)
	c.ask(kmsg.NewPtrFetchRequest(), 11, 2) // never answered
	c.ask(kmsg.NewPtrFetchRequest(), 11, 3)
	c.Close()
	s.closeEntry()
}
