// Package journal notes every batch that arrives, what the broker did with it,
// what the client was told and which fault rule had a hand in it, and draws the
// verdict from its notes: whether every record was written exactly once.
//
// A Journal is the outermost wire.Handler of the chain: it sees each delivery
// before any fault does, and afterwards both what was done and what was told.
//
// Two things always hold. Memory is bounded: a batch that was accepted at its
// first delivery and confirmed costs a counter, a place in a ring of recent
// events and a place in its producer's window; whatever is out of the ordinary
// is kept up to a stated limit, and a limit that was reached is said in the
// verdict. And records are never compared on the way of a Produce: the verdict
// reads them back with Fetch requests when it is asked for.
//
// A Produce counts from when it arrives: while it is in hand a verdict waits for
// it, and says so if that takes too long. What comes over a connection that a
// rule made dark for requests is noted as lost, and passed on to nobody.
//
// The package does not know partitions, logs or fault rules. It sees requests,
// replies and what they say, so the same journal can stand in front of a Kafka
// cluster of any size.
package journal

import (
	"context"
	"sync"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Defaults of Options.
const (
	// DefaultRing is how many of the newest events are kept, plain ones included.
	DefaultRing = 1000
	// DefaultKept is how many events that are out of the ordinary are kept.
	DefaultKept = 10_000
)

// Options say how a Journal works. The zero value is ready to use.
type Options struct {
	Seed     uint64   // of the fault rules; the verdict names it
	Identity Identity // what makes two records the same one
	RingSize int      // newest events that are kept; below 1: DefaultRing
	Kept     int      // events out of the ordinary that are kept; below 1: DefaultKept
}

// A Journal is a wire.Handler that notes what passes. Its methods may be called
// from any goroutine.
type Journal struct {
	next    wire.Handler
	options Options

	// mu guards all that follows. It is not held while next works, while records
	// are hashed or read back, or across a send that could block.
	mu        sync.Mutex
	identity  Identity
	notes     *notes
	hand      hand
	followers map[*follower]struct{}
}

// notes is all that a journal remembers, and what Reset throws away.
type notes struct {
	events    record
	topics    map[string]*topic
	lastTopic *topic // that was asked for last; most batches are for the same as the one before
	producers recency
	plain     plainDeliveries
	deleted   deletedTopics
	limits    limits
	used      usage
}

// New makes a journal that stands in front of next.
func New(next wire.Handler, o Options) *Journal {
	if o.RingSize < 1 {
		o.RingSize = DefaultRing
	}
	if o.Kept < 1 {
		o.Kept = DefaultKept
	}
	return &Journal{
		next:      next,
		options:   o,
		identity:  o.Identity,
		notes:     newNotes(o),
		followers: make(map[*follower]struct{}),
	}
}

func newNotes(o Options) *notes {
	return &notes{
		events: newRecord(o.RingSize, o.Kept),
		topics: make(map[string]*topic),
	}
}

// Reset forgets everything that was noted, as between two tests. Followers stay,
// and see events numbered from 1 again. A request that is being handled at the
// time is noted when it is done.
func (j *Journal) Reset() {
	fresh := newNotes(j.options)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.notes = fresh
}

// SetIdentity changes what makes two records the same one, for the verdicts
// that are drawn from now on.
func (j *Journal) SetIdentity(id Identity) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.identity = id
}

// Handle passes the request on and notes what became of it. In a Produce it
// first counts the delivery of each batch, which the fault rules match on. Before
// topics are deleted the verdicts on them are drawn.
func (j *Journal) Handle(ctx context.Context, req *wire.Request) wire.Reply {
	if req.Internal {
		return j.next.Handle(ctx, req)
	}
	if produce, ok := req.Body.(*kmsg.ProduceRequest); ok {
		return j.produce(ctx, req, produce)
	}
	var drafts map[string]draft
	if deletion, ok := req.Body.(*kmsg.DeleteTopicsRequest); ok {
		drafts = j.drawBefore(ctx, deletion)
	}
	reply := j.next.Handle(ctx, req)
	if deleted, ok := reply.Done.(*kmsg.DeleteTopicsResponse); ok {
		j.forget(deleted, drafts)
	}
	if len(reply.Fired) > 0 {
		j.noteRequest(req, &reply)
	}
	return reply
}

func (j *Journal) produce(ctx context.Context, req *wire.Request, produce *kmsg.ProduceRequest) wire.Reply {
	h, left := j.arrive(req, produce.Acks), false
	defer func() {
		if !left {
			j.leaveHand(h)
		}
	}()
	var reply wire.Reply
	if req.Lost {
		reply = lost(req)
	} else {
		reply = j.next.Handle(ctx, req)
	}
	var later []open
	if later, left = j.note(h, produce, &reply); !left {
		j.file(later)
	}
	return reply
}

// lost is what becomes of a request that a rule keeps from arriving. The rule may
// have fired on a partition, but what it did to the connection is for all.
func lost(req *wire.Request) wire.Reply {
	reply := wire.Reply{Fate: wire.LoseRequests}
	for _, f := range req.LostBy {
		f.Partitions = nil
		reply.Fired = append(reply.Fired, f)
	}
	return reply
}

// arrive takes a Produce in hand, and writes into each batch how often it was
// delivered by now.
func (j *Journal) arrive(req *wire.Request, acks int16) *held {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.hand.take(req, acks)
	for i := range req.Batches {
		b := &req.Batches[i]
		b.Attempt = 1
		if b.Err == nil {
			if p := j.partitionLocked(b.Topic, b.Partition); p != nil {
				b.Attempt = j.attemptLocked(p, b)
			}
		}
		h.batches = append(h.batches, heldBatch{settled: b.Attempt > 1 && j.standsLocked(b)})
		j.breatheLocked(i)
	}
	return h
}

// breath is how many batches of one request are noted in one go.
const breath = 100

// breatheLocked lets others have the lock after the i-th batch of a request now
// and then: a request may have very many, and nobody is to wait for all of them.
func (j *Journal) breatheLocked(i int) {
	if i%breath == breath-1 {
		j.mu.Unlock()
		j.mu.Lock()
	}
}

func (j *Journal) leaveHand(h *held) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.hand.drop(h)
}
