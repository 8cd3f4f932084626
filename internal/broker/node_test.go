package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
	"go.uber.org/zap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A node is a broker behind a server, without listeners: its clients come over
// pipes.
type node struct {
	*Broker
	t      testing.TB
	server *wire.Server
}

// start runs a node until the test ends. A broker with Options{} makes no topics
// by itself.
func start(t testing.TB, o Options) *node {
	t.Helper()
	b := New(o)
	n := &node{Broker: b, t: t, server: wire.NewServer(b.Sessions(b), b.TopicName, zap.NewNop())}
	t.Cleanup(n.stop)
	return n
}

// stop shuts the server down and waits for its connections.
func (n *node) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	n.server.Shutdown(ctx)
}

// startWith runs a node that has these topics, of two partitions each, and
// connects a client.
func startWith(t testing.TB, topics ...string) (*node, *client) {
	t.Helper()
	n := start(t, Options{})
	for _, name := range topics {
		n.make(name, 2, nil)
	}
	return n, n.dial()
}

// make makes a topic behind the protocol's back.
func (n *node) make(name string, partitions int32, configs map[string]string) {
	n.t.Helper()
	if err := n.CreateTopic(name, partitions, configs); err != nil {
		n.t.Fatalf("making topic %q: %v", name, err)
	}
}

// id is the id of a topic.
func (n *node) id(name string) [16]byte {
	n.t.Helper()
	topic := n.lookup(name)
	if topic == nil {
		n.t.Fatalf("there is no topic %q", name)
	}
	return topic.id
}

// at is a partition, to look at from inside.
func (n *node) at(name string, number int32) *partition {
	n.t.Helper()
	p := n.lookup(name).partition(number)
	if p == nil {
		n.t.Fatalf("there is no partition %s-%d", name, number)
	}
	return p
}

// A client speaks Kafka's protocol over one connection. Its methods end the test
// when the connection fails, so they belong into the test's own goroutine; try
// is for the others.
type client struct {
	t           testing.TB
	node        *node
	conn        net.Conn
	format      *kmsg.RequestFormatter
	correlation int32
}

func (n *node) dial() *client { return n.dialAs(wire.Advertised{}) }

// dialAs connects as over a listener with this advertised address.
func (n *node) dialAs(advertised wire.Advertised) *client {
	n.t.Helper()
	near, far := net.Pipe()
	if err := n.server.ServeConn(far, advertised); err != nil {
		n.t.Fatalf("connecting: %v", err)
	}
	n.t.Cleanup(func() { near.Close() })
	return &client{t: n.t, node: n, conn: near, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID("test"))}
}

// ask sends a request and waits for its answer.
func (c *client) ask(req kmsg.Request) kmsg.Response {
	c.t.Helper()
	resp, err := c.try(req)
	if err != nil {
		c.t.Fatalf("asking for %s version %d: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	return resp
}

// try is ask with an error.
func (c *client) try(req kmsg.Request) (kmsg.Response, error) {
	if err := c.write(req); err != nil {
		return nil, err
	}
	return c.read(req)
}

// send sends a request and does not wait for an answer.
func (c *client) send(req kmsg.Request) {
	c.t.Helper()
	if err := c.write(req); err != nil {
		c.t.Fatalf("sending %s version %d: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
}

// receive waits for the answer to a request that was sent.
func (c *client) receive(req kmsg.Request) kmsg.Response {
	c.t.Helper()
	resp, err := c.read(req)
	if err != nil {
		c.t.Fatalf("waiting for the answer to %s version %d: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	return resp
}

func (c *client) write(req kmsg.Request) error {
	c.correlation++
	_, err := c.conn.Write(c.format.AppendRequest(nil, req, c.correlation))
	return err
}

// read reads one answer. It has to belong to the newest request, to be of the
// request's version, and to be encoded so that it comes out as the same bytes
// when it is encoded again: nothing is missing and nothing is left over.
func (c *client) read(req kmsg.Request) (kmsg.Response, error) {
	body, err := c.readFrame()
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	if got := int32(binary.BigEndian.Uint32(body)); got != c.correlation {
		c.t.Errorf("the answer has correlation id %d, the request %d", got, c.correlation)
	}
	body = body[4:]
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		if body[0] != 0 {
			c.t.Errorf("the header of the answer has %d tags", body[0])
		}
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, err
	}
	if again := resp.AppendTo(nil); !bytes.Equal(again, body) {
		c.t.Errorf("%s version %d does not encode as it was decoded:\n%s", kmsg.NameForKey(req.Key()), req.GetVersion(), cmp.Diff(body, again))
	}
	return resp, nil
}

// readFrame reads what stands behind a length.
func (c *client) readFrame() ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(c.conn, length[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(length[:]))
	_, err := io.ReadFull(c.conn, frame)
	return frame, err
}

// wantClosed waits until the broker has closed the connection, which must have
// nothing more to say.
func (c *client) wantClosed() {
	c.t.Helper()
	if n, err := c.conn.Read(make([]byte, 1)); err != io.EOF {
		c.t.Fatalf("the connection gave %d bytes and %v, and should be closed", n, err)
	}
}

// codeName is the name of an error code, NONE for 0.
func codeName(code int16) string {
	if err := kerr.TypedErrorForCode(code); err != nil {
		return err.Message
	}
	return "NONE"
}

// wantCode compares an error code with the name of the one that is wanted.
func wantCode(t testing.TB, code int16, want string) {
	t.Helper()
	if got := codeName(code); got != want {
		t.Errorf("the answer is %s instead of %s", got, want)
	}
}

// want compares what was told with what should have been.
func want[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(kmsg.Tags{})); diff != "" {
		t.Errorf("%s (- wanted, + got):\n%s", what, diff)
	}
}

// text is what a nullable string says, "null" if it is null.
func text(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}
