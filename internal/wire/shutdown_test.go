package wire

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestShutdown_ends_connections_that_wait_for_a_request(t *testing.T) {
	tests := []struct {
		name string
		sent []byte
	}{
		{"for the first byte", nil},
		{"in the middle of a length", []byte{0, 0}},
		{"behind a length", []byte{0, 0, 0, 40}},
		{"in the middle of a frame", metadataFrames(0, 1)[:20]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestServer(t, answerEmpty)
				c := s.connect()
				c.send(tt.sent)
				synctest.Wait()
				s.Shutdown(context.Background())
				c.wantEOF()
				s.wantClose(ReasonShutdown)
			})
		})
	}
}

func TestShutdown_lets_the_handler_end_and_writes_its_answer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		handled := 0
		s := newTestServer(t, func(_ context.Context, req *Request) Reply {
			<-release
			handled++
			return tell(req.Body.ResponseKind())
		})
		c := s.connect()
		c.send(metadataFrames(0, 2)) // the second one is not begun any more
		var answered []int32
		go collect(c, &answered)
		done := make(chan struct{})
		go func() { s.Shutdown(context.Background()); close(done) }()
		synctest.Wait()
		select {
		case <-done:
			t.Error("the shutdown did not wait for the handler")
		default:
		}

		close(release)
		<-done
		s.wantClose(ReasonShutdown)
		synctest.Wait()
		if len(answered) != 1 || answered[0] != 0 || handled != 1 {
			t.Errorf("%d requests were handled and %v answered, want 1 and [0]", handled, answered)
		}
	})
}

func TestShutdown_ends_the_context_of_handlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, func(ctx context.Context, req *Request) Reply {
			<-ctx.Done() // as a Fetch that waits for records does
			return tell(req.Body.ResponseKind())
		})
		c := s.connect()
		c.send(metadataFrames(7, 8))
		var answered []int32
		go collect(c, &answered)
		synctest.Wait()
		s.Shutdown(context.Background())
		s.wantClose(ReasonShutdown)
		synctest.Wait()
		if len(answered) != 1 || answered[0] != 7 {
			t.Errorf("answered %v, want [7]", answered)
		}
	})
}

func TestShutdown_cuts_off_a_client_that_does_not_read_its_answer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, answerEmpty)
		s.connect().send(metadataFrames(0, 1))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begun := time.Now()
		s.Shutdown(ctx)
		if took := time.Since(begun); took != time.Second {
			t.Errorf("the shutdown took %v of virtual time, want the second that it was given", took)
		}
		s.wantClose(ReasonWriteFailed)
	})
}

func TestShutdown_refuses_what_comes_later(t *testing.T) {
	s := newTestServer(t, answerEmpty)
	s.Shutdown(context.Background())
	s.Shutdown(context.Background()) // once more is fine

	near, far := net.Pipe()
	if err := s.ServeConn(far, Advertised{}); !errors.Is(err, ErrClosed) {
		t.Errorf("ServeConn gave %v, want ErrClosed", err)
	}
	if _, err := near.Write([]byte{0}); err == nil {
		t.Error("the connection is open")
	}
	l := listen(t)
	if err := s.Serve(l, Advertised{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Serve gave %v, want ErrClosed", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept on the listener gave %v, want that it is closed", err)
	}
}

func TestShutdown_may_be_called_by_many(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, answerEmpty)
		for range 10 {
			s.connect()
		}
		for range 5 {
			go s.Shutdown(context.Background())
		}
		for range 10 {
			s.wantClose(ReasonShutdown)
		}
	})
}

func TestServer_Connections_counts_the_open_ones_and_all(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, answerEmpty)
		want := func(open, opened int64) {
			t.Helper()
			synctest.Wait()
			if a, b := s.Connections(); a != open || b != opened {
				t.Errorf("%d connections are open of %d, want %d of %d", a, b, open, opened)
			}
		}
		want(0, 0)
		a, b := s.connect(), s.connect()
		want(2, 2)
		a.Close()
		want(1, 2)
		s.connect()
		want(2, 3)
		b.Close()
		s.Shutdown(context.Background())
		want(0, 3)
	})
}

func TestServer_Drain_waits_until_no_connection_is_open(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, answerEmpty)
		if err := s.Drain(context.Background()); err != nil {
			t.Errorf("with no connection: %v", err)
		}
		first, second := s.connect(), s.connect()
		drained := make(chan error, 1)
		go func() { drained <- s.Drain(context.Background()) }()
		for _, c := range []*testClient{first, second} {
			synctest.Wait()
			if len(drained) > 0 {
				t.Error("it did not wait for all connections")
			}
			c.Close()
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

func TestServer_Drain_ends_with_its_context(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, answerEmpty)
		s.connect()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that the deadline was exceeded", err)
		}
	})
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// serveOn serves a listener and returns what Serve will return.
func (s *testServer) serveOn(l net.Listener, advertised Advertised) <-chan error {
	served := make(chan error, 1)
	go func() { served <- s.Serve(l, advertised) }()
	return served
}

func dial(t *testing.T, l net.Listener) *testClient {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(failsafe)) //nolint:errcheck // a TCP connection always can
	t.Cleanup(func() { c.Close() })
	return &testClient{Conn: c, t: t}
}

// connectTCP is connect over TCP.
func (s *testServer) connectTCP() *testClient {
	s.t.Helper()
	l := listen(s.t)
	s.serveOn(l, Advertised{})
	return dial(s.t, l)
}

func TestServe_answers_on_every_listener_until_Shutdown(t *testing.T) {
	s := newTestServer(t, answerEmpty)
	var listeners []net.Listener
	var served []<-chan error
	for range 2 {
		l := listen(t)
		listeners, served = append(listeners, l), append(served, s.serveOn(l, Advertised{}))
	}
	for _, l := range listeners {
		c := dial(t, l)
		c.send(metadataFrames(3, 4))
		c.answer(kmsg.NewPtrMetadataResponse(), 9, 3)
	}
	s.Shutdown(context.Background())
	for _, err := range served {
		if err := <-err; !errors.Is(err, ErrClosed) {
			t.Errorf("Serve gave %v, want ErrClosed", err)
		}
	}
	for _, l := range listeners {
		if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
			c.Close()
			t.Errorf("%v still takes connections", l.Addr())
		}
	}
}

func TestServe_ends_when_the_listener_is_closed(t *testing.T) {
	s := newTestServer(t, answerEmpty)
	l := listen(t)
	served := s.serveOn(l, Advertised{})
	c := dial(t, l)
	c.send(metadataFrames(1, 2))
	c.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
	l.Close()
	if err := <-served; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve gave %v, want that the listener is closed", err)
	}
	c.send(metadataFrames(2, 3)) // its connections live on
	c.answer(kmsg.NewPtrMetadataResponse(), 9, 2)
}

// A flakyListener fails a few times, as one does that has run out of
// descriptors.
type flakyListener struct {
	net.Listener
	failures int
}

func (l *flakyListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, errors.New("too many open files")
	}
	return l.Listener.Accept()
}

func TestServe_goes_on_after_a_failure_to_accept(t *testing.T) {
	s := newTestServer(t, answerEmpty)
	l := listen(t)
	s.serveOn(&flakyListener{l, 3}, Advertised{})
	c := dial(t, l)
	c.send(metadataFrames(1, 2))
	c.answer(kmsg.NewPtrMetadataResponse(), 9, 1)
	if n := s.logs.FilterMessage("accepting a connection failed").Len(); n != 3 {
		t.Errorf("%d failures were logged, want 3", n)
	}
}

func TestServer_tells_each_connection_its_address(t *testing.T) {
	told := make(chan Advertised, 1)
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		told <- Advertised{req.Conn.Host, req.Conn.Port}
		return tell(req.Body.ResponseKind())
	})
	plain, fixed := listen(t), listen(t)
	s.serveOn(plain, Advertised{})
	s.serveOn(fixed, Advertised{"kafka.example", 19092})
	tests := []struct {
		name string
		c    *testClient
		want Advertised
	}{
		{"the address that it came to", dial(t, plain), Advertised{"127.0.0.1", int32(plain.Addr().(*net.TCPAddr).Port)}},
		{"the address that was chosen", dial(t, fixed), Advertised{"kafka.example", 19092}},
		{"something for a pipe", s.connect(), Advertised{"pipe", 9092}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.c.send(metadataFrames(1, 2))
			if got := <-told; got != tt.want {
				t.Errorf("told %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestServer_numbers_its_connections(t *testing.T) {
	ids := make(chan int64, 1)
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		ids <- req.Conn.ID
		return Reply{Fate: Silent}
	})
	for want := range int64(3) {
		s.connect().send(metadataFrames(0, 1))
		if got := <-ids; got != want+1 {
			t.Errorf("the connection has id %d, want %d", got, want+1)
		}
	}
}

func TestServer_a_client_that_goes_away_before_its_answer(t *testing.T) {
	release := make(chan struct{})
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		<-release
		return tell(req.Body.ResponseKind())
	})
	c := s.connect()
	c.send(metadataFrames(0, 1))
	c.Close()
	close(release)
	s.wantClose(ReasonWriteFailed)
}
