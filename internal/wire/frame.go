package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

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
	// MaxTopicName is the most bytes of a topic's name in a Produce request, four
	// times what a topic may be called: what was refused is remembered by its name.
	MaxTopicName = 1000
	// MaxClientID is the most bytes of a client id that handlers are told; the rest
	// of a longer one is cut off.
	MaxClientID = 256
	// MaxTags bounds the tagged fields of one Produce request. No version that is
	// served has any, and each takes forty times its bytes when decoded.
	MaxTags = 10_000

	// MaxFrameMemory is the most bytes that large requests may take while they are
	// read and handled, all connections together, 256 MiB. The first firstRead bytes
	// of each connection are not counted, nor is what it takes to decode a request
	// of at most smallRequest bytes.
	MaxFrameMemory = 256 << 20

	claimFrom  = 64 << 10 // smallest batch whose memory is given away
	claimShare = 16       // what of its frame is not the batch is less than the batch divided by this

	lengthBytes = 4        // before each frame
	minFrame    = 10       // api key, version, correlation id, length of the client id
	firstRead   = 64 << 10 // read before more memory is given to a frame
	keptFrame   = 1 << 20  // largest buffer that a connection keeps for its next frame
	keptAnswer  = 2 << 20  // largest buffer that a connection keeps for its next answers: a Fetch of 1 MiB, as clients ask for by default, and more
	largeFrame  = 16 << 10 // a frame, or what is left of one, from which on it is read without a buffer between
	keptBatches = 1000     // most entries that a connection keeps for the batches of its next Produce
	largeDecode = 64 << 10 // frames beyond this are decoded one at a time

	smallRequest = 16 << 10 // bytes of a request whose decoded form is not counted
	decodedCost  = 16       // bytes that request and answer take for each byte of a larger one: about 300 for a partition of 20
	smallProduce = 100      // entries of a Produce whose decoded form and answer are not counted, and kept for the next
	entryCost    = 512      // bytes that request, batch and answer take for each topic or partition of a larger one
)

// A failure is why a connection cannot go on.
type failure struct {
	reason CloseReason
	err    error
}

func fail(reason CloseReason, format string, args ...any) *failure {
	return &failure{reason, fmt.Errorf(format, args...)}
}

// readFrame reads the next request into the connection's buffer. Memory grows
// with the bytes that have come, and not with what the frame announces, but for a client
// whose last frame was kept: that much is believed, keptFrame at most, and counted.
func (c *Conn) readFrame() ([]byte, *failure) {
	c.release()
	if f := c.await(); f != nil {
		return nil, f
	}
	size, f := c.frameSize()
	if f != nil {
		return nil, f
	}
	frame, err := c.readGrowing(c.frame[:0], size)
	c.frame = frame
	c.goOn()
	switch {
	case errors.Is(err, errNoFrameMemory):
		return nil, &failure{ReasonNoFrameMemory, err}
	case err != nil:
		return nil, c.readFailure(len(frame)+lengthBytes, err)
	}
	return frame, nil
}

var errNoFrameMemory = errors.New("too many large requests are being read or handled")

// await waits for the first byte of the next request, and gives the rest of it
// FrameTime unless that is there already.
func (c *Conn) await() *failure {
	c.begun = time.Time{}
	if c.r.Buffered() == 0 {
		if err := c.awaitByte(); err != nil {
			return c.readFailure(0, err)
		}
	}
	if !c.requestWaits() {
		c.begun = time.Now()
		c.allow(0)
	}
	return nil
}

// awaitByte waits for as long as a connection may be idle. The memory that it
// keeps for its next request is given up before.
func (c *Conn) awaitByte() error {
	now := time.Now()
	if c.keepsMuch() {
		c.reading.until(now.Add(keptTime))
		_, err := c.r.Peek(1)
		if !errors.Is(err, os.ErrDeadlineExceeded) || c.server.ctx.Err() != nil {
			return err
		}
		if c.flushBefore(); c.broken != nil {
			return c.broken // it had no time to read, and so none to write before
		}
		c.giveUp()
	}
	limit := time.Time{}
	if idle := c.server.Limits.IdleTimeout; idle > 0 {
		limit = now.Add(idle)
	}
	c.reading.until(limit)
	_, err := c.r.Peek(1)
	return err
}

// allow gives the frame that is being read the time for n bytes of it.
func (c *Conn) allow(n int) {
	if !c.begun.IsZero() {
		c.reading.until(c.begun.Add(FrameTime + time.Duration(n)*time.Second/SlowestRate))
	}
}

// keepsMuch says whether the connection keeps buffers that others could use.
func (c *Conn) keepsMuch() bool {
	return c.frameHeld > 0 || c.outHeld > 0 || cap(c.batches) > smallProduce
}

// giveUp lets all buffers go that are kept for the next request.
func (c *Conn) giveUp() {
	c.frame, c.batches, c.out, c.apart, c.list, c.apartBytes, c.decoder, c.produce = nil, nil, nil, nil, nil, 0, decoder{}, produceAnswer{}
	c.hold(c.server.frames, &c.frameHeld, 0)
	c.hold(c.server.answers, &c.outHeld, 0)
}

// hold changes what the connection holds of a budget to less than it does.
func (c *Conn) hold(b *budget, held *int64, n int64) {
	if *held > n {
		b.give(c, *held-n)
		*held = n
	}
}

// giveFrame gives the memory of the frame away, if n bytes are nearly all of it.
func (c *Conn) giveFrame(n int) bool {
	if len(c.frame) < n || cap(c.frame)-n > n/claimShare {
		return false
	}
	c.given, c.frame = len(c.frame), nil
	c.hold(c.server.frames, &c.frameHeld, 0)
	return true
}

// release gives back what the last request took, before anybody waits for the
// next one, which may never come.
func (c *Conn) release() {
	c.hold(c.server.frames, &c.costHeld, 0)
	if cap(c.frame) > keptFrame || c.frameHeld > 0 && c.server.frames.short() {
		c.frame = nil
		c.hold(c.server.frames, &c.frameHeld, 0)
	}
	clear(c.batches) // they alias the frame
	c.decoder.forget()
	c.request = Request{}
	c.produce.forget()
	if c.batches = c.batches[:0]; cap(c.batches) > keptBatches {
		c.batches = nil
	}
}

// admit asks for the memory that it takes to decode and answer a request.
func (c *Conn) admit(cost int64) bool {
	c.flushIfShort()
	if !c.server.frames.take(c.ctx, c, cost) {
		return false
	}
	c.costHeld += cost
	return true
}

// flushIfShort writes the answers that are held back if there may be a wait for memory.
func (c *Conn) flushIfShort() {
	if c.server.frames.short() {
		c.flushBefore()
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
	if c.ahead = readAhead; size >= largeFrame {
		c.ahead = readShort
	}
	return int(size), nil
}

// readFailure says why no whole frame could be read. A client that goes away
// between two frames is no failure of anybody's.
func (c *Conn) readFailure(got int, err error) *failure {
	switch {
	case c.server.ctx.Err() != nil:
		return fail(ReasonShutdown, "the broker shuts down")
	case errors.Is(err, os.ErrDeadlineExceeded) && c.begun.IsZero():
		return fail(ReasonIdle, "it sent nothing for %v", c.server.Limits.IdleTimeout)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fail(ReasonSlowRequest, "%d bytes of a frame came in %v", got, time.Since(c.begun).Round(time.Second))
	case got == 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.ECONNRESET)):
		return &failure{ReasonClientClosed, err}
	}
	return &failure{ReasonReadFailed, fmt.Errorf("after %d bytes of a frame: %w", got, err)}
}

// readGrowing reads size bytes behind buf, and doubles buf only when it is full. A
// connection whose frames are kept sends more of that size, most likely.
func (c *Conn) readGrowing(buf []byte, size int) ([]byte, error) {
	for len(buf) < size {
		if len(buf) == cap(buf) {
			grown, ok := c.grow(buf, min(size, max(2*cap(buf), firstRead, min(2*c.given, keptFrame))))
			if !ok {
				return buf, errNoFrameMemory
			}
			buf = grown
		}
		c.allow(min(size, cap(buf)))
		n, err := c.readFull(buf[len(buf):min(size, cap(buf))])
		buf = buf[:len(buf)+n]
		if err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// readFull fills p. Much of it is read past the connection's buffer: what goes
// through that is copied once more.
func (c *Conn) readFull(p []byte) (int, error) {
	n := min(c.r.Buffered(), len(p))
	if len(p)-n < largeFrame {
		return io.ReadFull(c.r, p)
	}
	io.ReadFull(c.r, p[:n]) //nolint:errcheck // it is there
	m, err := io.ReadFull(timedReader{c}, p[n:])
	return n + m, err
}

// grow moves buf to a larger buffer. While both are there, both are counted.
func (c *Conn) grow(buf []byte, capacity int) ([]byte, bool) {
	held := int64(0)
	if capacity > firstRead {
		held = int64(capacity)
		c.flushIfShort()
		if !c.server.frames.take(c.ctx, c, held) {
			return nil, false
		}
		c.stall()
	}
	grown := make([]byte, len(buf), capacity)
	copy(grown, buf)
	c.hold(c.server.frames, &c.frameHeld, 0)
	c.frameHeld = held
	return grown, true
}
