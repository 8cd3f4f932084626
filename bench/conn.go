package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// patience is how long a connection may live beyond what it is meant to: a broker
	// that hangs ends the run.
	patience = 60 * time.Second
	// maxAnswer is the most bytes of an answer that are believed, 64 MiB: none that is
	// asked for is as large.
	maxAnswer = 64 << 20
	// readAhead is the buffer of answers. Larger reads go past it.
	readAhead = 64 << 10
)

// A conn is a connection to a broker.
type conn struct {
	net.Conn
	r           *bufio.Reader
	correlation int32
	answer      []byte // the last one, without its length
	forget      func() bool
}

// Close ends the connection.
func (c *conn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// dial connects for no longer than is meant and patience allows.
func dial(ctx context.Context, address string, meant time.Duration) (*conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &conn{
		Conn: c, r: bufio.NewReaderSize(c, readAhead),
		forget: context.AfterFunc(ctx, func() { c.Close() }), // an interrupt ends whatever waits
	}, c.SetDeadline(time.Now().Add(meant + patience))
}

// read reads an answer, which is valid until the next one is read, and checks that it
// answers the request of this correlation id.
func (c *conn) read(correlation int32) ([]byte, error) {
	var length [lengthBytes]byte
	if _, err := io.ReadFull(c.r, length[:]); err != nil {
		return nil, fmt.Errorf("reading an answer: %w", err)
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if n < 4 || n > maxAnswer {
		return nil, fmt.Errorf("an answer says that it has %d bytes; 4 to %d can be", n, maxAnswer)
	}
	if cap(c.answer) < n {
		c.answer = make([]byte, n)
	}
	c.answer = c.answer[:n]
	if _, err := io.ReadFull(c.r, c.answer); err != nil {
		return nil, fmt.Errorf("reading an answer: %w", err)
	}
	if got := int32(binary.BigEndian.Uint32(c.answer)); got != correlation {
		return nil, fmt.Errorf("request %d was answered with correlation id %d", correlation, got)
	}
	return c.answer, nil
}

// ask sends a request and decodes its answer.
func (c *conn) ask(req kmsg.Request) (kmsg.Response, error) {
	c.correlation++
	if _, err := c.Write(request(req, c.correlation)); err != nil {
		return nil, err
	}
	b, err := c.read(c.correlation)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kmsg.NameForKey(req.Key()), err)
	}
	return decode(req, b)
}

// decode reads an answer, correlation id first.
func decode(req kmsg.Request, answer []byte) (kmsg.Response, error) {
	r := kbin.Reader{Src: answer[4:]}
	resp := req.ResponseKind()
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		kmsg.SkipTags(&r)
	}
	if err := resp.ReadFrom(r.Src); err != nil {
		return nil, fmt.Errorf("%s: the answer cannot be read: %w", kmsg.NameForKey(req.Key()), err)
	}
	return resp, nil
}

// settle waits until all that was sent before has been handled: answers come in order,
// and this one is due whatever acks said. What it says is not looked at.
func (c *conn) settle() error {
	c.correlation++
	if _, err := c.Write(request(kmsg.NewPtrApiVersionsRequest(), c.correlation)); err != nil {
		return err
	}
	_, err := c.read(c.correlation)
	return err
}
