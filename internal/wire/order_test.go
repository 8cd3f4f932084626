package wire

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// numbered answers with the number of the request on its connection.
func numbered() HandlerFunc {
	n := int32(0)
	return func(_ context.Context, req *Request) Reply {
		resp := req.Body.ResponseKind().(*kmsg.MetadataResponse)
		resp.ControllerID = n
		n++
		return tell(resp)
	}
}

// pipeline is count requests in one piece, with correlation ids from 1000 down.
func pipeline(count int) []byte {
	var all []byte
	for i := range count {
		all = append(all, frameOf(kmsg.NewPtrMetadataRequest(), 9, int32(1000-i))...)
	}
	return all
}

func wantNumbered(t *testing.T, c *testClient, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		resp := kmsg.NewPtrMetadataResponse()
		c.answer(resp, 9, int32(1000-i))
		if resp.ControllerID != int32(i) {
			t.Fatalf("answer %d is the one to request %d", i, resp.ControllerID)
		}
	}
}

func TestServer_a_hundred_requests_in_a_pipe_are_answered_in_order(t *testing.T) {
	c := newTestServer(t, numbered()).connect()
	c.send(pipeline(100))
	wantNumbered(t, c, 0, 100)
}

func TestServer_requests_that_come_byte_by_byte_are_answered_in_order(t *testing.T) {
	c := newTestServer(t, numbered()).connect()
	for i := range 10 {
		for _, b := range frameOf(kmsg.NewPtrMetadataRequest(), 9, int32(1000-i)) {
			c.send([]byte{b})
		}
		wantNumbered(t, c, i, i+1)
	}
}

// Answers are held back while more is there to be read, so that a pipeline costs one
// write and not one for each answer.
func TestServer_answers_to_a_pipeline_go_out_together(t *testing.T) {
	c := newTestServer(t, numbered()).connect()
	c.send(pipeline(100))
	wantNumbered(t, c, 0, 100)
	if n := c.writes.Load(); n != 1 {
		t.Errorf("100 answers took %d writes, want 1", n)
	}
}

func TestServer_an_answer_is_written_when_only_part_of_a_request_waits(t *testing.T) {
	whole := pipeline(2)
	second := frameOf(kmsg.NewPtrMetadataRequest(), 9, 999)
	for cut := range len(second) {
		for name, c := range overBoth(t, numbered) {
			c.send(whole[:len(whole)-len(second)+cut])
			wantNumbered(t, c, 0, 1) // blocks for ever if the answer is held back
			c.send(second[cut:])
			wantNumbered(t, c, 1, 2)
			if t.Failed() {
				t.Fatalf("over %s, %d bytes of the second request waited", name, cut)
			}
		}
	}
}

// overBoth are clients over a pipe and over TCP, each of a server of its own.
func overBoth(t *testing.T, handler func() HandlerFunc) map[string]*testClient {
	t.Helper()
	return map[string]*testClient{
		"a pipe": newTestServer(t, handler()).connect(),
		"TCP":    newTestServer(t, handler()).connectTCP(),
	}
}

// The part that waits may be of a request larger than what is read ahead.
func TestServer_an_answer_is_written_when_part_of_a_large_request_waits(t *testing.T) {
	large := kmsg.NewPtrProduceRequest()
	large.Topics = produceOf("orders", bytes.Repeat([]byte{1}, 3*readAhead))
	s := newTestServer(t, answerEmpty)
	c := s.connect()
	all := append(frameOf(kmsg.NewPtrMetadataRequest(), 9, 1), frameOf(large, 9, 2)...)

	written := make(chan error, 1)
	go func() {
		_, err := c.Write(all[:2*readAhead])
		written <- err
	}()
	c.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	c.send(all[2*readAhead:])
	c.answer(kmsg.NewPtrProduceResponse(), 9, 2)
}

// produceOf is one topic with a partition for each record set.
func produceOf(topic string, records ...[]byte) []kmsg.ProduceRequestTopic {
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	for i, raw := range records {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(i), raw
		t.Partitions = append(t.Partitions, p)
	}
	return []kmsg.ProduceRequestTopic{t}
}

// However many requests wait, no more answers are held back than the limit and
// the one that reaches it.
func TestServer_answers_held_back_are_limited(t *testing.T) {
	const size = 10_000
	id := string(bytes.Repeat([]byte{'x'}, size))
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		resp := req.Body.ResponseKind().(*kmsg.MetadataResponse)
		resp.ClusterID = &id
		return tell(resp)
	})
	c := s.connect()
	c.send(pipeline(100))
	buf := make([]byte, 200*size)
	total, largest := 0, 0
	for total < 100*size {
		n, err := c.Read(buf) // a pipe hands over one write
		if err != nil {
			t.Fatal(err)
		}
		total, largest = total+n, max(largest, n)
	}
	if most := writeBehind + size + 100; largest > most {
		t.Errorf("%d bytes were written at once, want %d at most", largest, most)
	}
}

// A handler that waits, as that of a Fetch does, must not make the answers to
// the requests before it wait too.
func TestConn_Flush_writes_the_answers_that_are_held_back(t *testing.T) {
	release := make(chan struct{})
	answer := numbered()
	s := newTestServer(t, func(ctx context.Context, req *Request) Reply {
		reply := answer(ctx, req)
		if reply.Told.(*kmsg.MetadataResponse).ControllerID == 2 {
			req.Conn.Flush()
			<-release
		}
		return reply
	})
	c := s.connect()
	c.send(pipeline(4))
	wantNumbered(t, c, 0, 2) // blocks for ever if they are held back
	close(release)
	wantNumbered(t, c, 2, 4)
}

func TestConn_Flush_that_fails_ends_the_connection(t *testing.T) {
	gone := make(chan struct{})
	handled := 0
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		if handled++; handled == 2 {
			<-gone
			req.Conn.Flush()
		}
		return tell(req.Body.ResponseKind())
	})
	c := s.connect()
	c.send(pipeline(4))
	c.Close()
	close(gone)
	s.wantClose(ReasonWriteFailed)
	if handled != 2 {
		t.Errorf("%d requests were handled, want 2", handled)
	}
}

func TestServer_connections_do_not_wait_for_each_other(t *testing.T) {
	release := make(chan struct{})
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		if req.Conn.ID == 1 {
			<-release
		}
		return tell(req.Body.ResponseKind())
	})
	slow, quick := s.connect(), s.connect()
	slow.ask(kmsg.NewPtrMetadataRequest(), 9, 1)
	for id := range int32(10) {
		quick.ask(kmsg.NewPtrMetadataRequest(), 9, id)
		quick.answer(kmsg.NewPtrMetadataResponse(), 9, id)
	}
	close(release)
	slow.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
}

// librdkafka writes four bytes where Metadata has one, for "all topics", and so
// three more than the body has.
func TestServer_bytes_behind_the_body_are_ignored(t *testing.T) {
	eachServedVersion(t, func(t *testing.T, api API, v int16) {
		s := newTestServer(t, answerEmpty)
		c := s.connect()
		req := filled(kmsg.RequestForKey(api.Key))
		whole := frameOf(req, v, 1)
		c.send(rawFrame(whole[4:], []byte{0, 0, 0}))
		c.answer(req.ResponseKind(), v, 1)
		c.ask(req, v, 2) // the next request begins where it should
		c.answer(req.ResponseKind(), v, 2)
	})
}

func TestServer_a_client_that_stops_writing_gets_the_answers_it_is_owed(t *testing.T) {
	s := newTestServer(t, numbered())
	c := s.connect()
	all := pipeline(3)
	c.send(append(all, 0, 0, 0, 0)) // three requests and then nonsense
	wantNumbered(t, c, 0, 3)
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("reading on gave %v, want the end of the connection", err)
	}
	s.wantClose(ReasonFrameTooSmall)
}
