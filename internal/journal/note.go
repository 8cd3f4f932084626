package journal

import (
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// note notes what became of a Produce, which then is in hand no more, unless something
// of it is still to be filed.
func (j *Journal) note(h *held, produce *kmsg.ProduceRequest, reply *wire.Reply) (later []open, left bool) {
	req := h.req
	answer := answerOf(req, produce.Acks, reply)
	didAll, toldAll := answersIn(reply.Done), answersIn(reply.Told)
	now := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range req.Batches {
		b := &req.Batches[i]
		e := Event{Time: now, API: produceName, Connection: req.Conn.ID, Client: req.Client}
		e.setBatch(b)
		e.Done = done(didAll.find(b.Topic, b.Partition), b)
		e.Told = toldBy(answer, toldAll.find(b.Topic, b.Partition))
		e.Rules = rulesOn(reply.Fired, wire.TopicPartition{Topic: b.Topic, Partition: b.Partition})
		if h.batches[i].deleted {
			j.addLocked(&e) // it is nowhere; and a new topic of that name is another one
			continue
		}
		o := j.bookLocked(b, &e)
		if o != nil {
			later = append(later, *o)
		}
		h.batches[i].settled = o == nil
		j.breatheLocked(i)
	}
	if len(later) > 0 {
		return later, false
	}
	j.hand.drop(h)
	return nil, true
}

// bookLocked enters an event, and what follows from it, into the books.
func (j *Journal) bookLocked(b *wire.Batch, e *Event) (later *open) {
	n, p := j.notes, j.partitionLocked(b.Topic, b.Partition)
	if p == nil {
		n.countUnfollowed(b)
		j.addLocked(e)
		return nil
	}
	var first uint32 // the checksum of the first copy
	if e.Done.Outcome == Accepted {
		if crc, ok := p.firstCopy(b, e); ok {
			e.Done.Outcome, first = Duplicate, crc
		}
	}
	j.addLocked(e)
	p.topic.count(e)
	if e.Attempt > 1 && e.ProducerID >= 0 && e.Done.Outcome.Stored() {
		j.hand.settle(b)
	}
	switch e.Done.Outcome {
	case Accepted:
		n.accepted(p, b, e)
	case Duplicate:
		later = n.duplicate(p, b, e, first)
	default:
		later = n.refused(p, b, e)
	}
	return later
}

func (n *notes) countUnfollowed(b *wire.Batch) {
	if b.Topic == "" {
		n.limits.unknownTopic++
	} else {
		n.limits.batchesUnfollowed++
	}
}

func (t *topic) count(e *Event) {
	c := &t.counts
	switch e.Done.Outcome {
	case Accepted:
		c.Batches++
		c.Records += uint64(max(e.Records, 0))
	case Duplicate:
		c.Duplicates++
		if e.Told.Confirmed() {
			c.Replayed++
		}
	case OutOfOrder:
		c.OutOfOrder++
	case Fenced:
		c.Fenced++
	case Refused:
		c.Refused++
	case NotAsked:
		c.NotAsked++
	}
	switch stored := e.Done.Outcome.Stored(); {
	case e.Told.Answer == NotDue:
		c.AcksNotDue++
	case stored && e.Told.Silent():
		c.AcksLost++
	case stored && !e.Told.Confirmed():
		c.AcksFalse++
	}
}

// firstCopy finds the batch of which b, answered without an error, is a replay:
// the one with the same producer, epoch, sequences and base offset. One that is
// remembered no longer is known by its base offset alone, and taken to have had
// the same bytes. It may also be that b came first, and was noted last because a
// fault held its answer back: the batch counts once all the same.
func (p *partition) firstCopy(b *wire.Batch, e *Event) (crc uint32, ok bool) {
	if e.ProducerID < 0 {
		return 0, false
	}
	if s := p.senders[e.ProducerID]; s != nil {
		if stored := s.stored(e.Epoch, e.FirstSequence, e.LastSequence); stored != nil && stored.baseOffset == e.Done.BaseOffset {
			return stored.crc, true
		}
	}
	if d := p.doubts[e.Done.BaseOffset]; d != nil {
		return d.crc, d.event.sameBatch(e)
	}
	return uint32(b.Header.CRC), p.noted.has(e.Done.BaseOffset)
}

func (e *Event) sameBatch(o *Event) bool {
	return e.ProducerID == o.ProducerID && e.Epoch == o.Epoch &&
		e.FirstSequence == o.FirstSequence && e.LastSequence == o.LastSequence
}

// accepted books a batch that was appended.
func (n *notes) accepted(p *partition, b *wire.Batch, e *Event) {
	p.noted.add(e.Done.BaseOffset, e.Done.BaseOffset+int64(e.Records))
	p.topic.ends = nil
	n.settle(p, b)
	var d *doubt
	crc := uint32(b.Header.CRC)
	transactional := isTransactional(&b.Header)
	p.topic.transactional = p.topic.transactional || transactional
	if kind, ok := doubtOf(e); ok {
		d = n.doubt(p, doubt{kind: kind, event: *e, told: e.Told, crc: crc, transactional: transactional})
	}
	if e.ProducerID < 0 {
		n.acceptedPlain(p, b, e, d)
		return
	}
	n.producer(p, e.ProducerID).accept(storedBatch{
		first: e.FirstSequence, last: e.LastSequence, epoch: e.Epoch, crc: crc, baseOffset: e.Done.BaseOffset,
	})
}

// acceptedPlain looks whether a batch without a producer id was accepted before.
// That is certain if the first copy is in doubt. If it was confirmed and the
// second one came over the same connection, an application wrote two equal
// batches within a millisecond; over another connection, it was sent again.
func (n *notes) acceptedPlain(p *partition, b *wire.Batch, e *Event, d *doubt) {
	if b.Err != nil {
		return
	}
	k := n.plain.find(plainKeyOf(p, b))
	if k == nil {
		return
	}
	if k.doubt == nil && k.stored && k.connection != e.Connection {
		earlier := n.events.acceptance(e, k)
		k.doubt = n.doubt(p, doubt{kind: resent, event: earlier, told: earlier.Told, crc: k.crc})
	}
	if k.doubt != nil && len(k.doubt.again) < againKept {
		k.doubt.again = append(k.doubt.again, e.Done.BaseOffset)
	}
	if k.doubt == nil {
		k.doubt = d
	}
	k.stored, k.answer, k.baseOffset, k.connection = true, e.Told.Answer, e.Done.BaseOffset, e.Connection
}

// duplicate books a replay.
func (n *notes) duplicate(p *partition, b *wire.Batch, e *Event, first uint32) *open {
	n.settle(p, b)
	crc, base := uint32(b.Header.CRC), e.Done.BaseOffset
	if crc == first {
		if d := p.doubts[base]; d != nil && e.Told.Answer == Answered {
			d.told = e.Told
		}
		if e.Told.Confirmed() {
			n.confirm(p, base)
		}
		return nil
	}
	if known := p.replays[replayKey{base, crc}]; known != nil {
		p.repeat(known, e)
		return nil
	}
	return &open{notes: n, partition: p, batch: b, replay: &replay{event: *e}}
}

// repeat notes a further delivery of a replay. It counts once its client is told
// that it is stored.
func (p *partition) repeat(r *replay, e *Event) {
	if !r.event.Told.Confirmed() && e.Told.Confirmed() {
		r.event = *e
		p.confirmedBy(r)
	}
}

// confirmedBy notes that a client learned of a batch by a replay with another
// checksum. Whether that counts depends on the records, which are compared when
// the verdict is drawn.
func (p *partition) confirmedBy(r *replay) {
	if d := p.doubts[r.event.Done.BaseOffset]; d != nil {
		d.replays = append(d.replays, r)
	}
}
