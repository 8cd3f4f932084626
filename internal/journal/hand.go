package journal

import (
	"context"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// handPatience is how long a verdict waits for the Produce requests that were
// being handled when it was asked for. A batch that a fault holds back for longer
// is a finding.
const handPatience = time.Second

// A held is a Produce that is being handled. While it is in hand its request may
// be read under the journal's lock.
type held struct {
	ticket  uint64 // counts from 1, in the order of arrival
	req     *wire.Request
	acks    int16
	batches []heldBatch // one for each of the request's

	older, newer *held
}

// A heldBatch is what is known of a batch while it is being handled.
type heldBatch struct {
	settled bool // noted, or a copy of one that was noted as stored
	deleted bool // its topic was deleted since it arrived
}

// hand is the Produce requests that are being handled, in order of arrival.
type hand struct {
	oldest, newest *held
	last           uint64        // the newest ticket
	free           *held         // to be used again, a chain by older
	changed        chan struct{} // closed when a request is done; nil if nobody waits
}

// take enters a request; nothing is allocated if as many were in hand before.
func (h *hand) take(req *wire.Request, acks int16) *held {
	n := h.free
	if n == nil {
		n = &held{}
	} else {
		h.free = n.older
	}
	h.last++
	*n = held{ticket: h.last, req: req, acks: acks, batches: n.batches[:0], older: h.newest}
	if h.newest != nil {
		h.newest.newer = n
	} else {
		h.oldest = n
	}
	h.newest = n
	return n
}

// drop takes a request out again, and wakes who waits for it.
func (h *hand) drop(n *held) {
	if n.older != nil {
		n.older.newer = n.newer
	} else {
		h.oldest = n.newer
	}
	if n.newer != nil {
		n.newer.older = n.older
	} else {
		h.newest = n.older
	}
	n.req, n.older, n.newer = nil, h.free, nil
	h.free = n
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// watch gives a channel that is closed when the next request is done.
func (h *hand) watch() <-chan struct{} {
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed
}

// each visits the batches of the requests up to a ticket of which nothing is
// known yet, and which were not sent to a topic that was deleted since.
func (h *hand) each(upTo uint64, visit func(n *held, i int)) {
	for n := h.oldest; n != nil && n.ticket <= upTo; n = n.newer {
		for i := range n.batches {
			if b := &n.batches[i]; !b.settled && !b.deleted {
				visit(n, i)
			}
		}
	}
}

// settle notes of the other copies of a batch in hand that it stands in the log.
func (h *hand) settle(b *wire.Batch) {
	h.each(h.last, func(n *held, i int) {
		if sameBatch(&n.req.Batches[i], b) {
			n.batches[i].settled = true
		}
	})
}

// sameBatch says whether two batches with a producer id are copies of one.
func sameBatch(a, b *wire.Batch) bool {
	g, h := &a.Header, &b.Header
	return a.Err == nil && a.Partition == b.Partition && a.Topic == b.Topic && g.CRC == h.CRC &&
		g.ProducerID == h.ProducerID && g.ProducerEpoch == h.ProducerEpoch && g.FirstSequence == h.FirstSequence && g.NumRecords == h.NumRecords
}

// deleteTopic notes that the topic of these batches is gone, and counts those
// that came after a ticket.
func (h *hand) deleteTopic(name string, after uint64) (later int) {
	for n := h.oldest; n != nil; n = n.newer {
		for i := range n.batches {
			if n.req.Batches[i].Topic != name || n.batches[i].deleted {
				continue
			}
			n.batches[i].deleted = true
			if n.ticket > after {
				later++
			}
		}
	}
	return later
}

// awaitHand waits until the Produce requests that are in hand now are done, for
// a second at most and until ctx ends; those that concern none of the topics do
// not matter, unless topics is nil. What it gives is the newest of their tickets.
func (j *Journal) awaitHand(ctx context.Context, topics map[string]bool) (asked uint64) {
	ctx, cancel := context.WithTimeout(ctx, handPatience)
	defer cancel()
	j.mu.Lock()
	defer j.mu.Unlock()
	asked = j.hand.last
	for ctx.Err() == nil && j.hand.busy(asked, topics) {
		changed := j.hand.watch()
		j.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		j.mu.Lock()
	}
	return asked
}

func (h *hand) busy(upTo uint64, topics map[string]bool) (busy bool) {
	h.each(upTo, func(n *held, i int) {
		busy = busy || topics == nil || topics[n.req.Batches[i].Topic]
	})
	return busy
}

// topics lists the topics of the batches up to a ticket.
func (h *hand) topics(upTo uint64) map[string]bool {
	names := make(map[string]bool)
	h.each(upTo, func(n *held, i int) {
		if name := n.req.Batches[i].Topic; name != "" {
			names[name] = true
		}
	})
	return names
}

// inHandLocked lists the batches for a topic, up to a ticket, that are still
// being handled. One that is noted as stored already, from another copy, is none
// of them.
func (j *Journal) inHandLocked(name string, upTo uint64) (found []InHand) {
	j.hand.each(upTo, func(n *held, i int) {
		b := &n.req.Batches[i]
		if b.Topic != name || j.standsLocked(b) {
			return
		}
		e := Event{Connection: n.req.Conn.ID, Client: n.req.Client}
		e.setBatch(b)
		found = append(found, InHand{BatchRange: rangeOf(&e), acks: n.acks})
	})
	return found
}

// standsLocked says whether a batch with a producer id is noted as stored.
func (j *Journal) standsLocked(b *wire.Batch) bool {
	if b.Err != nil || b.Header.ProducerID < 0 {
		return false
	}
	t := j.notes.topic(b.Topic)
	if t == nil || t.partitions[b.Partition] == nil {
		return false
	}
	return j.notes.holds(t.partitions[b.Partition], b)
}
