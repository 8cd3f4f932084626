package journal

import "github.com/fencepostmq/fencepost/internal/wire"

// open is a batch whose records have to be hashed before it is filed, which is
// not done under the lock. One of refusal and replay is set.
type open struct {
	notes     *notes
	partition *partition
	batch     *wire.Batch
	refusal   *refusal
	replay    *replay
}

// refused books a batch that was not accepted.
func (n *notes) refused(p *partition, b *wire.Batch, e *Event) *open {
	for _, known := range p.refusals[refusalKeyOf(b)] {
		if known.same(b) {
			known.last = *e
			return nil
		}
	}
	return &open{notes: n, partition: p, batch: b, refusal: &refusal{
		partition: p.number, first: *e, last: *e,
		crc: uint32(b.Header.CRC), records: e.Records, ends: p.topic.endsNow(),
	}}
}

// file hashes the records of batches that are to be looked for in the log, and
// then keeps them.
func (j *Journal) file(later []open) {
	p := newPrinter()
	for i := range later {
		o := &later[i]
		prints, label, err := p.prints(o.batch.Raw)
		if err != nil {
			prints = nil
		}
		j.mu.Lock()
		if j.notes == o.notes && j.notes.follows(o.partition) {
			o.keepLocked(prints, label)
		}
		j.mu.Unlock()
	}
}

func (n *notes) follows(p *partition) bool {
	return n.topics[p.topic.name] == p.topic
}

func (o *open) keepLocked(prints []print, label string) {
	if o.refusal != nil {
		o.refusal.unreadable = prints == nil
		if o.stands() {
			return
		}
	}
	room, roomForPrints := o.notes.reserve(len(prints))
	switch {
	case !room:
		o.partition.topic.unfollowed.refusals++
		return
	case !roomForPrints:
		prints = nil
	}
	if o.refusal != nil {
		o.keepRefusal(prints, label)
	} else {
		o.keepReplay(prints, label)
	}
}

func (o *open) keepRefusal(prints []print, label string) {
	o.refusal.prints, o.refusal.label = prints, label
	key := refusalKeyOf(o.batch)
	o.partition.refusals[key] = append(o.partition.refusals[key], o.refusal)
}

func (o *open) keepReplay(prints []print, label string) {
	r := o.replay
	r.prints, r.label = prints, label
	o.partition.replays[replayKey{r.event.Done.BaseOffset, uint32(o.batch.Header.CRC)}] = r
	if r.event.Told.Confirmed() {
		o.partition.confirmedBy(r)
	}
}

// stands says whether the batch that was refused stands in the log all the same:
// it was accepted before, or meanwhile over another connection.
func (o *open) stands() bool {
	b := o.batch
	if b.Err != nil {
		return false
	}
	if o.notes.holds(o.partition, b) {
		return true
	}
	s := o.partition.senders[b.Header.ProducerID]
	return o.refusal.unreadable && s != nil && s.begins(b.Header.ProducerEpoch, b.Header.FirstSequence)
}

// holds says whether exactly this batch is known to stand in the log, or to have
// been taken for a replay of one that does.
func (n *notes) holds(p *partition, b *wire.Batch) bool {
	h := &b.Header
	if h.ProducerID < 0 {
		k := n.plain.find(plainKeyOf(p, b))
		return k != nil && k.stored
	}
	s := p.senders[h.ProducerID]
	if s == nil {
		return false
	}
	stored := s.stored(h.ProducerEpoch, h.FirstSequence, lastSequence(h.FirstSequence, h.NumRecords))
	return stored != nil && (stored.crc == uint32(h.CRC) || p.replays[replayKey{stored.baseOffset, uint32(h.CRC)}] != nil)
}
