package journal

import "github.com/fencepostmq/fencepost/internal/producer"

const (
	// producersKept is how many producers are remembered, counted once for each
	// partition that they write to; the one that sent nothing for longest is
	// forgotten first. Each takes about 800 bytes.
	producersKept = 32_768

	// windowKept is how many accepted batches of a producer are remembered per
	// partition. A broker takes replays of the last producer.Window for
	// duplicates; answers of several connections may be noted in another order
	// than they were given in, hence more.
	windowKept = producer.Window + 3
)

// A sender is what is remembered of one producer in one partition.
type sender struct {
	deliveries
	partition *partition
	id        int64

	window   [windowKept]storedBatch // a ring of accepted batches
	accepted int                     // batches ever put into the window

	older, newer *sender // in order of last use
}

// A storedBatch is one accepted batch of a producer.
type storedBatch struct {
	first, last int32
	epoch       int16
	crc         uint32
	baseOffset  int64
}

// accept remembers a batch in the place of the oldest.
func (s *sender) accept(b storedBatch) {
	s.window[s.accepted%windowKept] = b
	s.accepted++
}

// stored finds the batch with these sequences, nil if it is not remembered.
func (s *sender) stored(epoch int16, first, last int32) *storedBatch {
	for i := range min(s.accepted, windowKept) {
		if b := &s.window[i]; b.first == first && b.last == last && b.epoch == epoch {
			return b
		}
	}
	return nil
}

// begins says whether a batch with this first sequence is remembered.
func (s *sender) begins(epoch int16, first int32) bool {
	for i := range min(s.accepted, windowKept) {
		if b := &s.window[i]; b.first == first && b.epoch == epoch {
			return true
		}
	}
	return false
}

// recency is the order in which senders were last used.
type recency struct {
	oldest, newest *sender
	count          int
}

func (r *recency) remove(s *sender) {
	if s.older != nil {
		s.older.newer = s.newer
	} else {
		r.oldest = s.newer
	}
	if s.newer != nil {
		s.newer.older = s.older
	} else {
		r.newest = s.older
	}
	s.older, s.newer = nil, nil
	r.count--
}

func (r *recency) add(s *sender) {
	s.older = r.newest
	if r.newest != nil {
		r.newest.newer = s
	} else {
		r.oldest = s
	}
	r.newest = s
	r.count++
}

// use makes s the newest.
func (r *recency) use(s *sender) {
	if r.newest != s {
		r.remove(s)
		r.add(s)
	}
}

// producer is what is remembered of a producer in p. A producer that is new
// there takes the place of the one that sent nothing for longest if need be.
func (n *notes) producer(p *partition, id int64) *sender {
	if s := p.senders[id]; s != nil {
		n.producers.use(s)
		return s
	}
	if n.producers.count >= producersKept {
		oldest := n.producers.oldest
		n.producers.remove(oldest)
		delete(oldest.partition.senders, oldest.id)
		n.limits.producersForgotten++
	}
	s := &sender{partition: p, id: id}
	p.senders[id] = s
	p.topic.countProducer(id)
	n.producers.add(s)
	return s
}
