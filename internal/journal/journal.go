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
// What a connection throws away once it is dark for requests never comes to a
// handler (wire.LoseRequests). The journal does not see it: such a batch counts
// as no delivery, and if it is never sent again no verdict misses it.
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
	followers map[*follower]struct{}
}

// notes is all that a journal remembers, and what Reset throws away.
type notes struct {
	events    record
	topics    map[string]*topic
	lastTopic *topic // that was asked for last; most batches are for the same as the one before
	producers recency
	plain     plainDeliveries
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
// first counts the delivery of each batch, which the fault rules match on.
func (j *Journal) Handle(ctx context.Context, req *wire.Request) wire.Reply {
	if req.Internal {
		return j.next.Handle(ctx, req)
	}
	if produce, ok := req.Body.(*kmsg.ProduceRequest); ok {
		return j.produce(ctx, req, produce)
	}
	reply := j.next.Handle(ctx, req)
	if deleted, ok := reply.Done.(*kmsg.DeleteTopicsResponse); ok {
		j.forget(deleted)
	}
	if len(reply.Fired) > 0 {
		j.noteRequest(req, &reply)
	}
	return reply
}

func (j *Journal) produce(ctx context.Context, req *wire.Request, produce *kmsg.ProduceRequest) wire.Reply {
	j.countAttempts(req)
	reply := j.next.Handle(ctx, req)
	if open := j.note(req, produce, &reply); len(open) > 0 {
		j.file(open)
	}
	return reply
}

// countAttempts writes into each batch how often it was delivered by now.
func (j *Journal) countAttempts(req *wire.Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range req.Batches {
		b := &req.Batches[i]
		b.Attempt = 1
		if b.Err != nil {
			continue
		}
		if p := j.partitionLocked(b.Topic, b.Partition); p != nil {
			b.Attempt = j.attemptLocked(p, b)
		}
	}
}

// forget drops what is known of topics that were deleted: if they are made again
// their offsets begin anew.
func (j *Journal) forget(deleted *kmsg.DeleteTopicsResponse) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range deleted.Topics {
		if t := &deleted.Topics[i]; t.ErrorCode == 0 && t.Topic != nil {
			j.notes.forgetTopic(*t.Topic)
		}
	}
}
