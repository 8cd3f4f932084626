// Package web is the HTTP side of a broker: the page, the API that scripts and
// the command speak, and the metrics.
//
// Its invariant: it shows what journal and fault know and changes nothing but
// the fault rules, and what is forgotten by a reset. It keeps no notes of its
// own except how long requests took.
//
// It serves whoever can reach its address, and asks for no password; what it
// keeps out is pages of other origins, which would reach it through a browser on
// the same machine.
//
// It does not know topics, partitions or Kafka's protocol.
package web

import (
	"context"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/fencepostmq/fencepost/internal/fault"
	"github.com/fencepostmq/fencepost/internal/journal"
	"go.uber.org/zap"
)

const (
	// headerTime is how long a client may take to send the head of a request.
	headerTime = 5 * time.Second

	// readTime is how long it may take to send the whole of one.
	readTime = 15 * time.Second

	// writeTime is how long an answer may take from the head of the request on,
	// the drawing of a verdict included. Streams of events have eventTime.
	writeTime = 2 * time.Minute

	// idleTime is how long a connection may stay open between two requests.
	idleTime = 15 * time.Second

	// maxHeaderBytes is the longest head of a request.
	maxHeaderBytes = 32 << 10

	// maxConnections is how many connections are served at a time; further ones
	// wait until one of them ends.
	maxConnections = 256

	// maxStreams is how many of them may be streams of events, which last.
	maxStreams = 64

	// maxVerdicts is how many verdicts are drawn at a time, since each may read
	// the whole log. Further requests wait.
	maxVerdicts = 2
)

// Options are what a Server shows and what it can do. Journal, Faults and Reset
// are required.
type Options struct {
	Journal     *journal.Journal
	Faults      *fault.Set
	Seed        uint64
	Version     string
	Kafka       []string                    // the Kafka addresses, HOST:PORT
	Reset       func()                      // forgets events and counters
	Connections func() (open, opened int64) // of Kafka clients; nil where nobody counts them
	Log         *zap.Logger                 // nil logs nothing
}

// A Server is the HTTP side of one broker. Its methods may be called from any
// goroutine.
type Server struct {
	o        Options
	metrics  *metrics
	handler  http.Handler
	http     *http.Server
	streams  chan struct{} // a place for each stream of events
	verdicts chan struct{} // and for each verdict that is drawn

	ctx    context.Context // ends when Shutdown begins
	cancel context.CancelFunc
}

// New makes a server, which serves nothing until Serve is called or its Handler
// is put somewhere.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	s := &Server{
		o:        o,
		streams:  make(chan struct{}, maxStreams),
		verdicts: make(chan struct{}, maxVerdicts),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.metrics = newMetrics(&s.o)
	s.handler = guard(newRouter(s.routes()))
	s.http = &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      writeTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       withListener,
		ErrorLog:          stdLog(o.Log),
	}
	return s
}

// stdLog hands what net/http has to say to the debug log: all of it is about
// clients that went away or sent no HTTP.
func stdLog(z *zap.Logger) *log.Logger {
	l, err := zap.NewStdLogAt(z, zap.DebugLevel)
	if err != nil {
		panic(err) // there is no such level
	}
	return l
}

// Handler serves all routes.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve serves a listener until it fails or Shutdown is called, and returns
// http.ErrServerClosed in the latter case. It may be called for several.
func (s *Server) Serve(l net.Listener) error {
	return s.http.Serve(limitListener(l, maxConnections))
}

// Shutdown stops listening, ends the streams of events at once, lets the other
// requests end, and cuts off what has not ended when ctx does; the error is then
// that of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		s.http.Close()
	}
	return err
}

// A Health is the answer of GET /healthz.
type Health struct {
	Status  string   `json:"status"` // ok
	Version string   `json:"version"`
	Kafka   []string `json:"kafka"` // addresses, HOST:PORT
	Seed    uint64   `json:"seed"`
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, Health{
		Status: "ok", Version: s.o.Version, Kafka: append([]string{}, s.o.Kafka...), Seed: s.o.Seed,
	})
}

func (s *Server) reset(w http.ResponseWriter, _ *http.Request) error {
	s.o.Reset()
	s.o.Log.Info("events and counters were reset")
	w.WriteHeader(http.StatusNoContent)
	return nil
}
