package wire

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A budget is memory that the connections of a server share. Where it runs short,
// whoever holds some and has made no progress for longest is cut, so that clients
// that do not read, or do not send what they announced, keep nobody else waiting.
type budget struct {
	limit int64
	cut   CloseReason // of those that are cut

	used atomic.Int64 // changed under mu

	mu    sync.Mutex // guards what follows
	held  map[*Conn]int64
	freed chan struct{} // closed when memory is given back; nil if nobody waits
}

func newBudget(limit int64, cut CloseReason) *budget {
	return &budget{limit: limit, cut: cut, held: map[*Conn]int64{}}
}

// take asks for n more bytes for a connection. It waits for others to give some
// back or to be cut, for twice StallTime at most, and says whether there is room.
func (b *budget) take(ctx context.Context, c *Conn, n int64) bool {
	if b.tryTake(c, n) {
		return true
	}
	if n > b.limit {
		return false
	}
	patience, cancel := context.WithTimeout(ctx, 2*StallTime)
	defer cancel()
	for {
		next, freed := b.cutStalled(c)
		if b.tryTake(c, n) {
			return true
		}
		timer := time.NewTimer(next)
		select {
		case <-freed:
		case <-timer.C:
		case <-patience.Done():
			timer.Stop()
			return b.tryTake(c, n)
		}
		timer.Stop()
	}
}

func (b *budget) tryTake(c *Conn, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used.Load()+n > b.limit {
		return false
	}
	b.used.Add(n)
	b.held[c] += n
	return true
}

// give returns n bytes of a connection.
func (b *budget) give(c *Conn, n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used.Add(-n)
	if b.held[c] -= n; b.held[c] == 0 {
		delete(b.held, c)
	}
	if b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}

// short says whether more than half is in use: nobody keeps a buffer for later.
func (b *budget) short() bool { return b.used.Load() > b.limit/2 }

// cutStalled cuts the connection that has stalled for longest, if that is long
// enough. It says when to look again, unless memory is given back before.
func (b *budget) cutStalled(asking *Conn) (next time.Duration, freed <-chan struct{}) {
	slowest, since, freed := b.slowest(asking)
	if slowest == nil {
		return StallTime, freed
	}
	if next = time.Until(since.Add(StallTime)); next > 0 {
		return next, freed
	}
	slowest.cutOff(b.cut)
	return StallTime, freed
}

// slowest is the connection that has stalled for longest, nil for none, and what
// is closed when memory is given back.
func (b *budget) slowest(asking *Conn) (slowest *Conn, since time.Time, freed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := int64(math.MaxInt64)
	for c := range b.held {
		if at := c.stalled.Load(); c != asking && at != 0 && at < first {
			slowest, first = c, at
		}
	}
	if b.freed == nil {
		b.freed = make(chan struct{})
	}
	return slowest, time.Unix(0, first), b.freed
}

// stall notes that the connection waits for its client, with memory in hand that
// others may need.
func (c *Conn) stall() { c.stalled.Store(time.Now().UnixNano()) }

// goOn ends a stall.
func (c *Conn) goOn() { c.stalled.Store(0) }

// cutOff closes the connection from outside, for a reason that its end is logged
// with. A handler that waits for something ends with its context.
func (c *Conn) cutOff(why CloseReason) {
	c.stalled.Store(0)
	c.cutFor.CompareAndSwap(0, uint32(why))
	c.cancel()
	c.c.Close()
}
