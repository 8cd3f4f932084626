package web

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Pipes is a listener within the process: clients dial it, and deadlines work
// in a synctest bubble.
type pipes struct {
	at      net.Addr
	conns   chan net.Conn
	closed  chan struct{}
	closing sync.Once
}

var loopbackAddress = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9644}

func newPipes(at net.Addr) *pipes {
	return &pipes{at: at, conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.closing.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return p.at }

// dial connects, and waits for the connection to be accepted.
func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// serve serves the house on pipes until the test ends.
func (h *house) serve() *pipes {
	p := newPipes(loopbackAddress)
	done := make(chan error, 1)
	go func() { done <- h.server.Serve(p) }()
	h.t.Cleanup(func() {
		h.server.Shutdown(h.t.Context()) //nolint:errcheck // the context has ended: all is cut off
		if err := <-done; err != http.ErrServerClosed {
			h.t.Errorf("Serve returned %v", err)
		}
	})
	return p
}

// A reader reads server-sent events.
type reader struct {
	t    testing.TB
	conn net.Conn
	resp *http.Response
	r    *bufio.Reader
}

// follow opens a stream of events.
func follow(t testing.TB, c net.Conn, target string, header ...string) *reader {
	t.Helper()
	head := append([]string{"GET " + target + " HTTP/1.1", "Host: localhost"}, header...)
	if _, err := fmt.Fprintf(c, "%s\r\n\r\n", strings.Join(head, "\r\n")); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &reader{t: t, conn: c, resp: resp, r: bufio.NewReader(resp.Body)}
}

// A message is one server-sent event, or a comment.
type message struct{ id, event, data, comment, retry string }

func (r *reader) next() (m message, err error) {
	for {
		line, err := r.r.ReadString('\n')
		if err != nil {
			return m, err
		}
		if line = strings.TrimSuffix(line, "\n"); line == "" {
			return m, nil
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			m.id = value
		case "event":
			m.event = value
		case "data":
			m.data = value
		case "retry":
			m.retry = value
		case "":
			m.comment = value
		default:
			r.t.Errorf("unknown field in %q", line)
		}
	}
}

// want reads messages, each as "event id", or "lost N", "reset" and ": comment".
func (r *reader) want(all ...string) {
	r.t.Helper()
	for _, want := range all {
		m, err := r.next()
		if err != nil {
			r.t.Fatalf("instead of %q the stream ended: %v", want, err)
		}
		if got := m.String(); got != want {
			r.t.Fatalf("the stream says %q, want %q", got, want)
		}
	}
}

func (m message) String() string {
	switch {
	case m.comment != "":
		return ": " + m.comment
	case m.retry != "":
		return "retry " + m.retry
	case m.event == "lost":
		return "lost " + m.data
	case m.event == "reset":
		return "reset"
	}
	return m.event + " " + m.id
}
