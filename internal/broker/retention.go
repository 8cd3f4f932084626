package broker

import (
	"maps"
	"slices"
	"time"
)

// Retention is what a topic's own retention.bytes and retention.ms ask for, if its
// cleanup.policy names delete. A topic that does not say keeps everything: a test
// broker throws nothing away that nobody asked it to.
//
// Whole batches go, from the start of the log: those beyond the bytes when
// something is appended, those too old when somebody appends, reads or asks for
// offsets, and all of them before a batch is refused because the memory is full. A
// batch is as old as its greatest timestamp; one without a timestamp stays.
//
// Differences from Apache Kafka: Kafka lets whole segments go, some minutes later.

// retains says whether the topic's records go some day.
func (s *settings) retains() bool {
	return s.delete && (s.retentionBytes >= 0 || s.retentionMillis >= 0)
}

// retainLocked lets go of what the topic's settings do not keep.
func (p *partition) retainLocked() {
	s := p.topic.settings.Load()
	if !s.retains() {
		return
	}
	before := p.log.Size()
	if s.retentionBytes >= 0 {
		p.log.TrimToSize(s.retentionBytes)
	}
	if s.retentionMillis >= 0 {
		p.log.TrimBefore(time.Now().UnixMilli() - s.retentionMillis)
	}
	p.gaveLocked(before)
}

// gaveLocked returns the memory of what was trimmed since the log had this size,
// and forgets what is known of it.
func (p *partition) gaveLocked(before int64) {
	if !p.deleted { // else all of it was given back
		p.memory.give(before - p.log.Size())
	}
	p.forgetLocked()
}

func (p *partition) retain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retainLocked()
}

// reclaim lets go, in all topics, of what they do not keep, and says whether that
// gave memory back.
func (b *Broker) reclaim() bool {
	b.mu.RLock()
	retaining := slices.DeleteFunc(slices.Collect(maps.Values(b.topics)), func(t *topic) bool { return !t.settings.Load().retains() })
	b.mu.RUnlock()
	before := b.memory.used.Load()
	for _, t := range retaining {
		for _, p := range t.all() {
			p.retain()
		}
	}
	return b.memory.used.Load() < before
}
