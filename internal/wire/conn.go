package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
)

const (
	readAhead   = 64 << 10         // bytes of requests that are read before they are handled
	readShort   = 4 << 10          // the same behind a large request: what is read ahead of another one is copied
	writeBehind = 64 << 10         // bytes of answers that are held back while there is more to be read
	holdBack    = time.Millisecond // how long they are
	keptApart   = 1000             // most entries that a connection keeps for the records of its next answers
)

// A Conn is one connection of a client.
type Conn struct {
	ID     int64  // counts from 1
	Remote string // the client's address
	// Host and Port are what the client is told as this broker's address.
	Host string
	Port int32

	server  *Server
	ctx     context.Context // of its requests; ends with the server's, or when it is cut off
	cancel  context.CancelFunc
	c       net.Conn
	raw     syscall.RawConn // of c; nil if it has none
	r       *bufio.Reader
	ahead   int // most bytes that r takes at a time
	reading deadline
	writing deadline
	begun   time.Time // when the first byte of a frame was there of which more has to come, else zero

	// What it holds of the server's budgets, in bytes.
	frameHeld int64 // for frame
	costHeld  int64 // for the decoded request and its answer
	outHeld   int64 // for out

	stalled atomic.Int64  // since when the client keeps memory that others may need, in ns since 1970; 0 if it does not
	cutFor  atomic.Uint32 // the CloseReason for which it was cut off from outside

	frame   []byte // the request that is being handled; nil if its memory was given away
	given   int    // bytes of the last frame whose memory was given away
	decoder decoder
	request Request       // what the handlers are told of it
	produce produceAnswer // to it, if it is a Produce
	key     int16         // of its API
	listing bool          // it has one of the places for requests that list much
	batches []Batch       // of that request
	out     []byte        // answers that are not written yet, but for what is written from where it is:
	apart   []apart       // in the order of out

	apartBytes int
	list       net.Buffers        // of out and apart, while they are written
	piece      net.Buffers        // of list, what is still to be written of it
	lent       map[*byte][][]byte // see LendRecords
	answered   int                // bytes of the answers to the request that is handled
	heldSince  time.Time          // when the first of the answers came that are not written yet

	broken error    // why answers could not be written
	muted  bool     // answers are lost
	deaf   bool     // requests are lost, too
	lostBy []Firing // the rules that made it deaf
}

// Muted says whether the connection has gone dark for answers: whatever the
// handlers reply from now on, the client is not told.
func (c *Conn) Muted() bool { return c.muted }

// Flush writes the answers that are held back while a request is handled, as there was
// more to be read when they were given. A handler that is about to wait calls it first,
// so that no earlier answer waits with it; nobody else may. That it failed ends the
// connection later.
func (c *Conn) Flush() {
	c.leaveListing()
	c.flushBefore()
	if c.key == int16(kmsg.Fetch) && c.frameHeld+c.costHeld > 0 {
		c.stall() // nothing is lost if it is cut while it waits for records
	}
}

// flushBefore writes the answers that are held back before the connection waits. That
// it failed ends the connection later. A client that keeps memory that others may need
// has not made progress by that.
func (c *Conn) flushBefore() {
	since := c.stalled.Load()
	if err := c.flush(); err != nil {
		c.broken = err
	}
	if since != 0 && c.cutFor.Load() == 0 {
		c.stalled.Store(since)
	}
}

// holdsBack says whether the answers that are not written wait for what comes next,
// behind a request of so many bytes: if some of that has been read, or may well be there.
// To look costs little beside a large request, and much beside a small one. A client that
// never stops sending is answered all the same.
func (c *Conn) holdsBack(size int) bool {
	if c.pending() == 0 {
		return true
	}
	if c.pending() >= writeBehind || size < largeFrame && c.r.Buffered() == 0 {
		return false
	}
	now := time.Now()
	if c.heldSince.IsZero() {
		c.heldSince = now
	}
	return now.Sub(c.heldSince) < holdBack
}

// glance is how long Gone looks for the end of a connection.
const glance = time.Millisecond

// Gone says whether the client has closed the connection, so that no answer can
// reach it. A handler that has waited asks before it answers; nobody else may. A
// client that has more requests under way than are read ahead is not seen to go.
func (c *Conn) Gone() bool {
	if c.c == nil {
		return false
	}
	// Told directly: once the server is closed there is no other time left, and a
	// read that has none sees nothing.
	limit := time.Now().Add(glance)
	c.reading.limit, c.reading.told = limit, limit
	c.c.SetReadDeadline(limit) //nolint:errcheck // then the peek fails, and says so
	for c.ahead = readAhead; c.r.Buffered() < c.r.Size(); {
		if _, err := c.r.Peek(c.r.Buffered() + 1); err != nil {
			return !errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
	return false
}

// serve reads requests, handles one after the other, and writes their answers in
// that order, until something ends the connection. Answers are held back as long as
// there is more to be read: one write for several of them is less work for both sides.
func (c *Conn) serve(ctx context.Context) {
	f := c.loop(ctx)
	if err := c.flush(); err != nil && f.reason != ReasonShutdown {
		f = writeFailure(err)
	}
	if why := CloseReason(c.cutFor.Load()); why != ReasonNone {
		f = fail(why, "others needed the memory that it held, and it made no progress for %v", StallTime)
	}
	c.c.Close()
	c.cancel()
	c.release()
	c.giveUp()
	log := c.server.log.Info
	if f.reason.ordinary() {
		log = c.server.log.Debug
	}
	log("connection closed", zap.Int64("connection", c.ID), zap.String("client", c.Remote),
		zap.Stringer("reason", f.reason), zap.NamedError("detail", f.err))
}

func (c *Conn) loop(ctx context.Context) *failure {
	for {
		frame, f := c.readFrame()
		if c.broken != nil {
			return writeFailure(c.broken)
		}
		if f != nil {
			return f
		}
		if f := c.handle(ctx, frame); f != nil {
			return f
		}
		if c.broken != nil {
			return writeFailure(c.broken)
		}
		if !c.holdsBack(len(frame)) || ctx.Err() != nil {
			if err := c.flush(); err != nil {
				return writeFailure(err)
			}
		}
		if ctx.Err() != nil {
			return fail(ReasonShutdown, "the broker shuts down")
		}
	}
}

// writeFailure says why an answer could not be written. A client that left
// before it is everyday life.
func writeFailure(err error) *failure {
	switch {
	case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
		return &failure{ReasonClientClosed, err}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fail(ReasonSlowReader, "it took none of %d bytes in %v", writePiece, WriteTime)
	}
	return &failure{ReasonWriteFailed, err}
}

// requestWaits says whether a whole further request has been read already.
func (c *Conn) requestWaits() bool {
	n := c.r.Buffered()
	if n < 4 {
		return false
	}
	size, _ := c.r.Peek(4)
	return uint64(binary.BigEndian.Uint32(size)) <= uint64(n-4)
}

func (c *Conn) flush() error {
	if c.pending() == 0 {
		return nil
	}
	err := c.write(c.buffers())
	c.goOn()
	clear(c.apart)
	clear(c.list)
	c.piece = nil
	c.apart, c.apartBytes, c.heldSince = c.apart[:0], 0, time.Time{}
	if cap(c.apart) > keptApart {
		c.apart, c.list = nil, nil
	}
	if c.out = c.out[:0]; cap(c.out) > keptAnswer || c.outHeld > 0 && c.server.answers.short() {
		c.out = nil
	}
	c.hold(c.server.answers, &c.outHeld, outCost(cap(c.out)))
	return err
}

// handle answers one request.
func (c *Conn) handle(ctx context.Context, frame []byte) (f *failure) {
	if c.deaf {
		c.lose(ctx, frame)
		return nil
	}
	h, body, f := c.decoder.decode(frame, c.admit)
	if f != nil {
		return f
	}
	if body == nil {
		return c.answer(h, versionsUnsupported())
	}
	FillTopicNames(body, c.server.topicName)
	c.key = h.key
	c.enterListing(body)
	defer c.leaveListing()
	defer c.recoverBug(h, &f)
	before := c.clock()
	c.answered = 0
	c.request.Conn, c.request.Client, c.request.Body, c.request.Batches, c.request.answer = c, h.client, body, c.batchesOf(body), &c.produce
	reply := c.server.handler.Handle(ctx, &c.request)
	c.goOn()
	f = c.apply(h, reply)
	c.returnLent()
	if c.server.Observe != nil {
		api, _ := Lookup(h.key)
		c.server.Observe(api.Name, time.Since(before), len(frame), c.answered)
	}
	return f
}

// returnLent forgets records that were lent to an answer, which has been given or never
// is.
func (c *Conn) returnLent() {
	if len(c.lent) > keptApart {
		c.lent = nil
	}
	clear(c.lent)
}

// lose lets a request that is lost on its way be noted. Only a Produce leaves a
// trace: what else is lost changes nothing.
func (c *Conn) lose(ctx context.Context, frame []byte) {
	h, body, f := c.decoder.decode(frame, c.admit)
	produce, ok := body.(*kmsg.ProduceRequest)
	if f != nil || !ok {
		return
	}
	FillTopicNames(produce, c.server.topicName)
	defer c.recoverBug(h, &f)
	c.server.handler.Handle(ctx, &Request{Conn: c, Client: h.client, Body: produce, Batches: c.batchesOf(produce), Lost: true, LostBy: c.lostBy})
}

// clock reads the time if anybody wants to know how long things take.
func (c *Conn) clock() (now time.Time) {
	if c.server.Observe != nil {
		now = time.Now()
	}
	return now
}

// recoverBug turns a panic into a closed connection, so that a bug met by one
// client leaves the others alone.
func (c *Conn) recoverBug(h header, f **failure) {
	if p := recover(); p != nil {
		c.server.log.Error("a request made this broker fail; please report it", zap.Any("panic", p),
			zap.Int16("api", h.key), zap.Int16("version", h.version), zap.ByteString("stack", debug.Stack()))
		*f = fail(ReasonInternal, "panic: %v", p)
	}
}

// apply does to the connection what the reply says.
func (c *Conn) apply(h header, reply Reply) *failure {
	switch reply.Fate {
	case Send:
		if reply.Told != nil {
			return c.answer(h, reply.Told)
		}
	case LoseRequests:
		c.muted, c.deaf, c.lostBy = true, true, reply.Fired
	case LoseAnswers:
		c.muted = true
	case Close:
		return fail(reply.Reason, "%s", reply.Reason)
	case Silent:
	}
	return nil
}

// batchesOf lists the batches of a Produce request.
func (c *Conn) batchesOf(body kmsg.Request) []Batch {
	produce, ok := body.(*kmsg.ProduceRequest)
	if !ok {
		return nil
	}
	c.batches = AppendBatches(c.batches[:0], produce)
	return c.batches
}

// AppendBatches appends a Batch for each partition of a Produce request.
func AppendBatches(to []Batch, produce *kmsg.ProduceRequest) []Batch {
	for i := range produce.Topics {
		t := &produce.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			b := Batch{Topic: t.Topic, Partition: p.Partition, Raw: p.Records}
			if h, err := ParseBatchHeader(p.Records); err != nil {
				b.Err = err
			} else {
				b.Header = h
			}
			to = append(to, b)
		}
	}
	return to
}
