package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// MaxFrame is the most bytes of a Produce request, 100 MiB, as Kafka's
	// socket.request.max.bytes has it by default.
	MaxFrame = 100 << 20
	// MaxSmallFrame is the most bytes of any other request, 1 MiB. The decoder
	// allocates an entry for each that an array announces, dozens of bytes for
	// every byte of the frame, so this also bounds what a lie can cost.
	MaxSmallFrame = 1 << 20
	// MaxTopics and MaxPartitions bound what one Produce request may name.
	MaxTopics     = 10_000
	MaxPartitions = 100_000
	// MaxTags bounds the tagged fields of one Produce request. No version that is
	// served has any, and each takes forty times its bytes when decoded.
	MaxTags = 10_000

	// MaxFrameMemory is the most bytes that large requests may take while they are
	// read and handled, all connections together, 512 MiB. The first MiB of each
	// connection is not counted.
	MaxFrameMemory = 512 << 20

	lengthBytes = 4        // before each frame
	minFrame    = 10       // api key, version, correlation id, length of the client id
	firstRead   = 64 << 10 // read before more memory is given to a frame
	keptFrame   = 1 << 20  // largest buffer that a connection keeps for its next frame
	keptBatches = 1000     // most entries that a connection keeps for the batches of its next Produce
	largeDecode = 64 << 10 // frames beyond this are decoded one at a time
)

// decoding lets one large request of those APIs be decoded at a time whose
// arrays may lie, so that many connections that do so cost no more than one.
var decoding = make(chan struct{}, 1)

// A failure is why a connection cannot go on.
type failure struct {
	reason CloseReason
	err    error
}

func fail(reason CloseReason, format string, args ...any) *failure {
	return &failure{reason, fmt.Errorf(format, args...)}
}

// readFrame reads the next request into the connection's buffer. Memory grows
// with the bytes that have come, never with what the frame announces.
func (c *Conn) readFrame() ([]byte, *failure) {
	c.release()
	size, f := c.frameSize()
	if f != nil {
		return nil, f
	}
	frame, err := c.readGrowing(c.frame[:0], size)
	c.frame = frame
	switch {
	case errors.Is(err, errNoFrameMemory):
		return nil, &failure{ReasonNoFrameMemory, err}
	case err != nil:
		return nil, c.readFailure(len(frame)+lengthBytes, err)
	}
	return frame, nil
}

var errNoFrameMemory = errors.New("too many large requests are being read")

// reserve asks for memory for a frame of n bytes, in place of what the
// connection has.
func (c *Conn) reserve(n int) bool {
	more := int64(n) - c.reserved
	if n <= keptFrame {
		return true
	}
	if c.server.frameMemory.Add(more) > c.server.frameLimit {
		c.server.frameMemory.Add(-more)
		return false
	}
	c.reserved += more
	return true
}

// release gives back what the last request took, before anybody waits for the
// next one, which may never come.
func (c *Conn) release() {
	c.server.frameMemory.Add(-c.reserved)
	c.reserved = 0
	if cap(c.frame) > keptFrame {
		c.frame = nil
	}
	clear(c.batches) // they alias the frame
	if c.batches = c.batches[:0]; cap(c.batches) > keptBatches {
		c.batches = nil
	}
}

// frameSize reads the length of the next frame and says whether a request of
// its API may be as long.
func (c *Conn) frameSize() (int, *failure) {
	head, err := c.r.Peek(lengthBytes)
	if err != nil {
		return 0, c.readFailure(len(head), err)
	}
	size := int32(binary.BigEndian.Uint32(head))
	switch {
	case size < minFrame:
		return 0, fail(ReasonFrameTooSmall, "the frame says that it has %d bytes, and a request header alone has %d", size, minFrame)
	case size > MaxFrame:
		return 0, fail(ReasonFrameTooLarge, "the frame says that it has %d bytes, and %d are the most", size, MaxFrame)
	}
	if head, err = c.r.Peek(lengthBytes + 2); err != nil {
		return 0, c.readFailure(len(head), err)
	}
	if key := int16(binary.BigEndian.Uint16(head[lengthBytes:])); size > MaxSmallFrame && key != int16(kmsg.Produce) {
		return 0, fail(ReasonFrameTooLarge, "the frame says that it has %d bytes, and requests of API key %d may have %d", size, key, MaxSmallFrame)
	}
	c.r.Discard(lengthBytes) //nolint:errcheck // they have been peeked
	return int(size), nil
}

// readFailure says why no whole frame could be read. A client that goes away
// between two frames is no failure of anybody's.
func (c *Conn) readFailure(got int, err error) *failure {
	switch {
	case c.server.ctx.Err() != nil:
		return fail(ReasonShutdown, "the broker shuts down")
	case got == 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.ECONNRESET)):
		return &failure{ReasonClientClosed, err}
	}
	return &failure{ReasonReadFailed, fmt.Errorf("after %d bytes of a frame: %w", got, err)}
}

// readGrowing reads size bytes behind buf, and doubles buf only when it is full.
func (c *Conn) readGrowing(buf []byte, size int) ([]byte, error) {
	for len(buf) < size {
		if len(buf) == cap(buf) {
			capacity := min(size, max(2*cap(buf), firstRead))
			if !c.reserve(capacity) {
				return buf, errNoFrameMemory
			}
			grown := make([]byte, len(buf), capacity)
			copy(grown, buf)
			buf = grown
		}
		n, err := io.ReadFull(c.r, buf[len(buf):min(size, cap(buf))])
		buf = buf[:len(buf)+n]
		if err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// A header is the header of a request.
type header struct {
	key, version int16
	correlation  int32
	client       string
}

// decode reads the header and the body of a frame. An ApiVersions request of a
// version that is not served has no body here: it has to be answered all the
// same, and its body cannot be known.
func decode(frame []byte) (header, kmsg.Request, *failure) {
	r := kbin.Reader{Src: frame}
	h := header{key: r.Int16(), version: r.Int16(), correlation: r.Int32()}
	api, ok := Lookup(h.key)
	if !ok {
		return h, nil, fail(ReasonUnknownAPI, "API key %d is not served", h.key)
	}
	if client := r.NullableString(); client != nil {
		h.client = *client
	}
	if !r.Ok() {
		return h, nil, fail(ReasonBadHeader, "the request header of %s ends in the middle", api.Name)
	}
	if h.version < api.Min || h.version > api.Max {
		if h.key == int16(kmsg.ApiVersions) {
			return h, nil, nil
		}
		return h, nil, fail(ReasonUnknownVersion, "version %d of %s is not served, only %d to %d", h.version, api.Name, api.Min, api.Max)
	}
	req := kmsg.RequestForKey(h.key)
	req.SetVersion(h.version)
	if req.IsFlexible() {
		kmsg.SkipTags(&r)
		if !r.Ok() {
			return h, nil, fail(ReasonBadHeader, "the tags in the request header of %s cannot be read", api.Name)
		}
	}
	if err := decodeBody(req, r.Src); err != nil {
		return h, nil, fail(ReasonBadBody, "%s version %d: %w", api.Name, h.version, err)
	}
	return h, req, nil
}

func decodeBody(req kmsg.Request, body []byte) error {
	if req.Key() == int16(kmsg.Produce) {
		if err := checkProduceCounts(req.GetVersion(), body); err != nil {
			return err
		}
	} else if len(body) > largeDecode {
		decoding <- struct{}{}
		defer func() { <-decoding }()
	}
	return req.ReadFrom(body)
}

// checkProduceCounts walks over the body of a Produce request without keeping
// anything, so that no array of topics or partitions is allocated that the
// frame does not hold.
func checkProduceCounts(version int16, body []byte) error {
	w := produceWalk{Reader: kbin.Reader{Src: body}, flexible: version >= 9, ids: version >= 13}
	w.string() // transactional id
	w.Int16()  // acks
	w.Int32()  // timeout
	topics := w.array()
	if topics < 0 || topics > MaxTopics {
		return fmt.Errorf("it names %d topics, and 0 to %d can be", topics, MaxTopics)
	}
	partitions := int32(0)
	for range topics {
		n := w.topic()
		if partitions += n; n < 0 || partitions > MaxPartitions {
			return fmt.Errorf("it names %d partitions of a topic, and 0 to %d can be in all", n, MaxPartitions)
		}
		if !w.Ok() {
			break
		}
	}
	w.tags()
	if w.tagged > MaxTags {
		return fmt.Errorf("it has more than %d tagged fields", MaxTags)
	}
	if !w.Ok() {
		return errors.New("the body ends in the middle, or a length or count in it goes beyond its end")
	}
	return nil
}

type produceWalk struct {
	kbin.Reader
	flexible bool // compact lengths and tags: version 9 on
	ids      bool // topic ids instead of names: version 13 on
	tagged   int  // tagged fields so far
}

// topic walks over one topic and counts its partitions.
func (w *produceWalk) topic() int32 {
	if w.ids {
		w.Uuid()
	} else {
		w.string()
	}
	partitions := w.array()
	for i := int32(0); i < partitions && w.Ok(); i++ {
		w.Int32()
		w.records()
		w.tags()
	}
	w.tags()
	return partitions
}

func (w *produceWalk) string() {
	if w.flexible {
		w.Span(max(int(w.Uvarint())-1, 0))
		return
	}
	w.Span(max(int(w.Int16()), 0))
}

func (w *produceWalk) records() {
	if w.flexible {
		w.CompactNullableBytes()
		return
	}
	w.NullableBytes()
}

func (w *produceWalk) array() int32 {
	if w.flexible {
		return w.CompactArrayLen()
	}
	return w.ArrayLen()
}

func (w *produceWalk) tags() {
	if !w.flexible {
		return
	}
	for n := w.Uvarint(); n > 0 && w.Ok(); n-- {
		if w.tagged++; w.tagged > MaxTags {
			w.Span(-1) // ends the walk
			return
		}
		w.Uvarint()
		w.Span(int(w.Uvarint()))
	}
}
