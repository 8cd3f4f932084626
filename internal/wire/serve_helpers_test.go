package wire

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// A testServer is a Server without listeners, and what it logged.
type testServer struct {
	*Server
	t      *testing.T
	logs   *observer.ObservedLogs
	closed chan struct{} // one for each connection that was logged as closed
}

// mostConns is the most connections that a test opens.
const mostConns = 1000

func newTestServer(t *testing.T, handler HandlerFunc) *testServer {
	t.Helper()
	return newNamingServer(t, handler, nil)
}

// newNamingServer makes a server that knows the names of topic ids.
func newNamingServer(t *testing.T, handler HandlerFunc, topicName func([16]byte) string) *testServer {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	s := &testServer{t: t, logs: logs, closed: make(chan struct{}, mostConns)}
	signalling := zapcore.RegisterHooks(core, func(e zapcore.Entry) error {
		if e.Message == "connection closed" {
			s.closed <- struct{}{}
		}
		return nil
	})
	s.Server = NewServer(handler, topicName, zap.New(signalling))
	t.Cleanup(func() { s.Shutdown(context.Background()) })
	return s
}

// closeEntry waits until one more connection is closed and returns what was
// logged last about that.
func (s *testServer) closeEntry() observer.LoggedEntry {
	s.t.Helper()
	<-s.closed
	entries := s.logs.FilterMessage("connection closed").All()
	return entries[len(entries)-1]
}

// wantClose waits for a connection to close and checks the reason in the log.
func (s *testServer) wantClose(want CloseReason) {
	s.t.Helper()
	e := s.closeEntry()
	if got := e.ContextMap()["reason"]; got != want.String() {
		s.t.Errorf("the connection was closed because %q (%v), want %q", got, e.ContextMap()["detail"], want)
	}
}

// A testClient speaks to a testServer over a pipe, which has no buffer: a write
// returns when the server has read it all.
type testClient struct {
	net.Conn
	t      *testing.T
	writes *atomic.Int64 // calls of Write on the server's side
}

// connect opens a connection. It is closed when the test ends, before the
// server is shut down.
func (s *testServer) connect() *testClient {
	s.t.Helper()
	near, far := net.Pipe()
	near.SetDeadline(time.Now().Add(failsafe)) //nolint:errcheck // a pipe always can
	c := &testClient{Conn: near, t: s.t, writes: new(atomic.Int64)}
	s.t.Cleanup(func() { near.Close() })
	if err := s.ServeConn(&countingConn{far, c.writes}, Advertised{}); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// failsafe is how long a client waits in a test that would hang otherwise, and
// then says where.
const failsafe = 2 * time.Minute

// A countingConn counts how often it is written to.
type countingConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// send writes raw bytes.
func (c *testClient) send(raw []byte) {
	c.t.Helper()
	if _, err := c.Write(raw); err != nil {
		c.t.Fatalf("writing %d bytes: %v", len(raw), err)
	}
}

// ask sends a request in version v.
func (c *testClient) ask(req kmsg.Request, v int16, correlation int32) {
	c.t.Helper()
	c.send(frameOf(req, v, correlation))
}

// read reads one frame, without its length.
func (c *testClient) read() []byte {
	c.t.Helper()
	frame, err := readAnswer(c)
	if err != nil {
		c.t.Fatal(err)
	}
	return frame
}

// answer reads the answer to a request in version v and decodes it into resp.
func (c *testClient) answer(resp kmsg.Response, v int16, correlation int32) {
	c.t.Helper()
	if err := decodeAnswer(c.read(), resp, v, correlation); err != nil {
		c.t.Fatal(err)
	}
}

// wantEOF checks that the server closes without writing anything more.
func (c *testClient) wantEOF() {
	c.t.Helper()
	got := make([]byte, 1000)
	if n, err := c.Read(got); n > 0 || err != io.EOF {
		c.t.Errorf("got %x and error %v, want the end of the connection", got[:n], err)
		c.Close()
	}
}

func readAnswer(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, frame)
	return frame, err
}

// decodeAnswer reads the header of an answer by its own knowledge of flexible
// versions, and then the body.
func decodeAnswer(frame []byte, resp kmsg.Response, v int16, correlation int32) error {
	r := kbin.Reader{Src: frame}
	if got := r.Int32(); got != correlation {
		return fmt.Errorf("the answer has correlation id %d, want %d", got, correlation)
	}
	if flexible, ok := flexibleFrom[resp.Key()]; ok && v >= flexible && resp.Key() != 18 {
		if tags := r.Uvarint(); tags != 0 {
			return fmt.Errorf("the header of the answer has %d tags, want none", tags)
		}
	}
	if !r.Ok() {
		return fmt.Errorf("the answer %x ends in its header", frame)
	}
	resp.SetVersion(v)
	if err := resp.ReadFrom(r.Src); err != nil {
		return err
	}
	if whole := resp.AppendTo(nil); len(whole) != len(r.Src) {
		return fmt.Errorf("the body of the answer has %d bytes, and %d of them are the response", len(r.Src), len(whole))
	}
	return nil
}

// flexibleFrom is the version from which on each API's messages, and the headers
// before them, are flexible (the "flexibleVersions" of Kafka's message
// definitions).
var flexibleFrom = map[int16]int16{
	0: 9, 1: 12, 2: 6, 3: 9, 10: 3, 18: 3, 19: 5, 20: 4, 21: 2, 22: 2, 23: 4, 24: 3, 25: 3, 26: 3, 28: 3, 32: 4, 33: 2,
	35: 2, 37: 2, 43: 2, 44: 1, 46: 0, 60: 0, 61: 0, 65: 0, 66: 0, 74: 0, 75: 0,
	8: 8, 9: 6, 11: 6, 12: 4, 13: 4, 14: 4, 15: 5, 16: 3, 42: 2, 47: 1, 68: 0, 69: 0, // 47 never was
}

// frameOf is a whole request, its length included, with client id "tester".
func frameOf(req kmsg.Request, v int16, correlation int32) []byte {
	req.SetVersion(v)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("tester")).AppendRequest(nil, req, correlation)
}

// rawFrame is a frame made by hand: its length and then the parts.
func rawFrame(parts ...[]byte) []byte {
	frame := make([]byte, 4)
	for _, p := range parts {
		frame = append(frame, p...)
	}
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

// rawHeader is a request header of version 1, with client id "tester" and no
// tags.
func rawHeader(key, version int16, correlation int32) []byte {
	h := kbin.AppendInt16(nil, key)
	h = kbin.AppendInt16(h, version)
	h = kbin.AppendInt32(h, correlation)
	return kbin.AppendString(h, "tester")
}

// copyOf is a request or response as it comes out of its own encoding: what its
// version does not have is gone.
func copyOf[M interface {
	SetVersion(int16)
	GetVersion() int16
	AppendTo([]byte) []byte
	ReadFrom([]byte) error
}](t testing.TB, m M) M {
	t.Helper()
	c := reflect.New(reflect.TypeOf(m).Elem()).Interface().(M)
	c.SetVersion(m.GetVersion())
	if err := c.ReadFrom(m.AppendTo(nil)); err != nil {
		t.Fatalf("%T version %d cannot be read back: %v", m, m.GetVersion(), err)
	}
	return c
}

// tell makes a reply of a response.
func tell(resp kmsg.Response) Reply { return Reply{Done: resp, Told: resp} }

// answerEmpty answers every request with an empty response.
func answerEmpty(_ context.Context, req *Request) Reply { return tell(req.Body.ResponseKind()) }

// admitAll lets every request be decoded.
func admitAll(int64) bool { return true }
