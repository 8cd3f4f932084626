// Package wire turns bytes on a connection into Kafka requests and answers into
// bytes.
//
// It owns the listener, the connections, the frames, the table of served
// versions, the answers that report an error, and the judgement whether a batch
// of records is sound. Every answer comes from a Handler.
//
// Bytes from a socket are hostile: no length or count is believed before the
// bytes are there, and nothing that a client sends makes the process panic or
// take memory beyond a stated limit.
//
// The package does not know what a topic, an offset or a producer's state is.
package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// A Server serves Kafka's protocol on any number of listeners. All of its
// answers come from one Handler.
type Server struct {
	// Observe, if it is set before the first connection, is told of every
	// request that was handled: how long that took, and the bytes of the request
	// and of its answer.
	Observe func(api string, took time.Duration, in, out int)

	// Limits may be changed before the first connection.
	Limits Limits

	handler   Handler
	topicName func(id [16]byte) string
	log       *zap.Logger

	ctx     context.Context // ends when Shutdown begins
	cancel  context.CancelFunc
	nextID  atomic.Int64
	frames  *budget       // for large requests
	answers *budget       // for large answers
	listing chan struct{} // a place for each request that may list much
	work    sync.WaitGroup

	mu        sync.Mutex // guards what follows
	closed    bool
	listeners map[net.Listener]struct{}
	conns     map[*Conn]struct{}
	ended     chan struct{} // closed, and made anew, when a connection ends
}

// NewServer makes a server. topicName gives the name of a topic id, "" for one
// that is not known, so that handlers can go by names; nil knows none.
func NewServer(handler Handler, topicName func(id [16]byte) string, log *zap.Logger) *Server {
	if topicName == nil {
		topicName = func([16]byte) string { return "" }
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Server{
		Limits: DefaultLimits(), handler: handler, topicName: topicName, log: log, ctx: ctx, cancel: cancel,
		frames: newBudget(MaxFrameMemory, ReasonNoFrameMemory), answers: newBudget(MaxAnswerMemory, ReasonNoAnswerMemory),
		listing:   make(chan struct{}, MaxListing),
		listeners: map[net.Listener]struct{}{}, conns: map[*Conn]struct{}{}, ended: make(chan struct{}),
	}
}

// An Advertised address is what clients are told to connect to. The zero value
// tells each client the address that it did connect to.
type Advertised struct {
	Host string
	Port int32
}

// ErrClosed is returned by Serve and ServeConn once Shutdown was called.
var ErrClosed = errors.New("the server is closed")

// ErrTooManyConnections is returned by ServeConn when Limits.MaxConnections are
// open.
var ErrTooManyConnections = errors.New("too many connections are open")

// Serve accepts connections until the listener fails or Shutdown is called, and
// returns ErrClosed in the latter case.
func (s *Server) Serve(l net.Listener, advertised Advertised) error {
	if !s.track(l) {
		l.Close()
		return ErrClosed
	}
	failures := 0
	for {
		c, err := l.Accept()
		switch {
		case s.ctx.Err() != nil:
			return ErrClosed
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			// Out of descriptors, or a client that went away: serve on.
			s.log.Warn("accepting a connection failed", zap.Error(err))
			s.pause(min(acceptPause<<min(failures, 10), longestPause))
			failures++
			continue
		}
		failures = 0
		s.ServeConn(c, advertised) //nolint:errcheck // closed: the next Accept says so
	}
}

// How long a listener waits after a failure to accept: twice as long after each
// further one.
const (
	acceptPause  = 10 * time.Millisecond
	longestPause = time.Second
)

func (s *Server) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}

func (s *Server) track(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

// ServeConn serves one connection in a goroutine of its own; it may be a pipe.
// It takes the connection over and closes it.
func (s *Server) ServeConn(c net.Conn, advertised Advertised) error {
	if advertised == (Advertised{}) {
		advertised = addressOf(c.LocalAddr())
	}
	conn := &Conn{
		ID: s.nextID.Add(1), Remote: c.RemoteAddr().String(), Host: advertised.Host, Port: advertised.Port,
		server: s, c: c, ahead: readAhead,
	}
	conn.r = bufio.NewReaderSize(aheadReader{conn}, readAhead)
	if c, ok := c.(*net.TCPConn); ok {
		conn.raw, _ = c.SyscallConn() // what fails has none
	}
	conn.reading.tell, conn.writing.tell = conn.tellRead, conn.tellWrite
	if err := s.admit(conn); err != nil {
		c.Close()
		return err
	}
	return nil
}

// admit begins to serve a connection if there may be one more.
func (s *Server) admit(conn *Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if most := s.Limits.MaxConnections; len(s.conns) >= most {
		s.log.Warn("connection closed", zap.Int64("connection", conn.ID), zap.String("client", conn.Remote),
			zap.Stringer("reason", ReasonTooManyConnections), zap.String("detail", fmt.Sprintf("%d are open, the most", most)))
		return ErrTooManyConnections
	}
	s.conns[conn] = struct{}{}
	conn.ctx, conn.cancel = context.WithCancel(s.ctx)
	s.work.Go(func() {
		conn.serve(conn.ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, conn)
		close(s.ended)
		s.ended = make(chan struct{})
	})
	return nil
}

// Drain waits until no connection is open, so that all that clients have sent
// has been handled. The error is the context's.
func (s *Server) Drain(ctx context.Context) error {
	for {
		s.mu.Lock()
		open, ended := len(s.conns), s.ended
		s.mu.Unlock()
		if open == 0 {
			return nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Connections counts the connections that are open and those that ever were.
func (s *Server) Connections() (open, opened int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.conns)), s.nextID.Load()
}

// addressOf splits an address into what a Metadata answer tells. The address of
// a pipe has no port, and clients of a pipe bring their own dialer.
func addressOf(a net.Addr) Advertised {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return Advertised{Host: a.String(), Port: 9092}
	}
	n, _ := strconv.ParseInt(port, 10, 32)
	return Advertised{Host: host, Port: int32(n)}
}

// Shutdown stops listening, lets requests that are being handled end and their
// answers be written, and closes every connection. What has not ended when ctx
// does is cut off; a handler that does not end even then is left to itself, and
// said to the log. It may be called more than once.
func (s *Server) Shutdown(ctx context.Context) {
	s.beginShutdown()
	done := make(chan struct{})
	go func() { s.work.Wait(); close(done) }()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.conns {
		c.c.Close()
	}
	s.mu.Unlock()

	timer := time.NewTimer(cutGrace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		open, _ := s.Connections()
		s.log.Error("requests are being handled that do not end; they are left behind", zap.Int64("connections", open))
	}
}

func (s *Server) beginShutdown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.cancel()
	for l := range s.listeners {
		l.Close()
	}
	for c := range s.conns {
		c.c.SetReadDeadline(time.Now()) //nolint:errcheck // wakes a blocked read
	}
}
