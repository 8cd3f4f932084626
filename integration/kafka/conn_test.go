package kafka

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A conn is one connection to a broker. What it is used for ends with the first
// request that is not answered.
type conn struct {
	net.Conn
	r           *bufio.Reader
	correlation int32
}

// The ways in which a request has no answer. errSlow is none of them: the machine is
// busy.
var (
	errClosed = errors.New("connection closed")
	errSilent = errors.New("no answer")
	errSlow   = fmt.Errorf("no answer in %s", answerPatience)
)

const clientID = "compared"

func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, answerPatience)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, r: bufio.NewReader(c)}, nil
}

// A head is what a request header has beside key, version and correlation id.
type head struct {
	client *string
	tags   []byte // of a flexible header, with their count; nil is none
}

// frame encodes a request with its length.
func frame(req kmsg.Request, correlation int32, h head) []byte {
	b := header(req.Key(), req.GetVersion(), correlation, h.client)
	if req.IsFlexible() {
		if h.tags == nil {
			h.tags = []byte{0}
		}
		b = append(b, h.tags...)
	}
	return sized(req.AppendTo(b))
}

// header begins a frame with four bytes of room for its length.
func header(key, version int16, correlation int32, client *string) []byte {
	b := make([]byte, 4)
	b = kbin.AppendInt16(b, key)
	b = kbin.AppendInt16(b, version)
	b = kbin.AppendInt32(b, correlation)
	return kbin.AppendNullableString(b, client)
}

// sized writes the length of a frame.
func sized(b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// read reads the next frame.
func (c *conn) read(wait time.Duration) ([]byte, error) {
	c.SetReadDeadline(time.Now().Add(wait)) //nolint:errcheck // a connection of TCP has deadlines
	var size [4]byte
	if _, err := io.ReadFull(c.r, size[:]); err != nil {
		return nil, cut(err)
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(c.r, b)
	return b, cut(err)
}

// cut tells the two ways in which an answer stays out.
func cut(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSilent
	}
	return errClosed
}

// write sends bytes. That the broker has closed shows when the answer is read.
func (c *conn) write(b []byte) {
	c.SetWriteDeadline(time.Now().Add(answerPatience)) //nolint:errcheck // a connection of TCP has deadlines
	c.Write(b)                                         //nolint:errcheck // see above
}

// ask sends a request and reads its answer.
func (c *conn) ask(req kmsg.Request, h head, wait time.Duration) (kmsg.Response, error) {
	c.send(req, h)
	return c.answer(req, wait)
}

// send sends a request, and does not read.
func (c *conn) send(req kmsg.Request, h head) {
	c.correlation++
	c.write(frame(req, c.correlation, h))
}

// answer reads the answer to the request that was sent last.
func (c *conn) answer(req kmsg.Request, wait time.Duration) (kmsg.Response, error) {
	b, err := c.read(wait)
	if errors.Is(err, errSilent) && wait == answerPatience {
		err = errSlow
	}
	if err != nil {
		return nil, err
	}
	return decode(req, b, c.correlation)
}

// decode reads the answer to a request.
func decode(req kmsg.Request, b []byte, correlation int32) (kmsg.Response, error) {
	r := kbin.Reader{Src: b}
	if got := r.Int32(); got != correlation {
		return nil, fmt.Errorf("the answer has correlation id %d, and the request %d", got, correlation)
	}
	resp := req.ResponseKind()
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		kmsg.SkipTags(&r)
	}
	if resp.Key() == int16(kmsg.ApiVersions) && len(r.Src) >= 2 && binary.BigEndian.Uint16(r.Src) == unsupportedVersion {
		resp.SetVersion(0) // KIP-511
	}
	if err := resp.ReadFrom(r.Src); err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return resp, nil
}

const unsupportedVersion = 35

// tell sends a request that wants no answer, and another behind it, whose answer
// shows that there was none to the first.
func (c *conn) tell(req kmsg.Request, h head) error {
	c.send(req, h)
	_, err := c.ask(kmsg.NewPtrApiVersionsRequest(), h, answerPatience)
	if err == nil {
		return errSilent
	}
	return err
}
