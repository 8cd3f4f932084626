package broker

import (
	"sync"

	"github.com/fencepostmq/fencepost/internal/log"
	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
)

// A partition is a log and the memory of the producers that wrote it.
type partition struct {
	mu        sync.Mutex // guards what follows: log and producers must never disagree
	log       log.Log
	producers *producer.Producers
	waiting   map[chan struct{}]struct{} // fetches that wait for records
	deleted   bool                       // what is still written goes nowhere

	memory *memory // of the whole broker
}

func newPartition(unknown producer.Policy, m *memory) *partition {
	return &partition{producers: producer.New(unknown), memory: m}
}

// A placed batch is what became of a batch that was sound.
type placed struct {
	producer.Outcome
	offset  int64    // base offset, of the first copy for a duplicate; -1 if refused
	start   int64    // log start offset
	refused *refusal // the lesson accepted it, and it could not be kept
}

// append judges a batch and, if it is accepted, writes it. A refused batch
// changes nothing.
func (p *partition) append(c *wire.CheckedBatch) placed {
	p.mu.Lock()
	at := p.appendLocked(c)
	wake := p.takeWaitingLocked(at.offset >= 0 && at.Kind == producer.Accepted)
	p.mu.Unlock()
	notify(wake)
	return at
}

func (p *partition) appendLocked(c *wire.CheckedBatch) placed {
	at := placed{offset: -1}
	batch := producer.Batch{ProducerID: c.ProducerID, Epoch: c.ProducerEpoch, First: c.FirstSequence, Records: c.NumRecords}
	if c.ProducerID >= 0 {
		at.Outcome = p.producers.Check(batch)
	}
	switch at.Kind {
	case producer.Accepted:
		if at.refused = p.noRoomLocked(c); at.refused != nil {
			break
		}
		at.offset = p.log.Append(c.Raw, leaderEpoch, log.Meta{
			Records: c.NumRecords, MaxTimestamp: c.MaxTimestamp, MaxTimestampDelta: c.MaxTimestampDelta,
		})
		if c.ProducerID >= 0 {
			p.rememberLocked(batch, at.offset, c.MaxTimestamp)
		}
	case producer.Duplicate:
		at.offset = at.BaseOffset
	}
	at.start = p.log.Start()
	return at
}

// noRoomLocked says why a batch cannot be kept, nil if it can.
func (p *partition) noRoomLocked(c *wire.CheckedBatch) *refusal {
	if p.deleted {
		return refuse(kerr.UnknownTopicOrPartition, "the topic was deleted")
	}
	if r := p.noProducerLocked(c.ProducerID); r != nil {
		return r
	}
	if !p.memory.take(len(c.Raw)) {
		return refuse(kerr.KafkaStorageError, "the memory that this broker has for records is full")
	}
	return nil
}

// offsets are the log's ends. The high watermark and the last stable offset are
// the end: there is one replica, and there are no transactions.
func (p *partition) offsets() (start, end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Start(), p.log.End()
}

// A view is what a read found.
type view struct {
	start, end int64
	records    []byte // the log's own memory: read only
	more       bool   // maxBytes was not reached, and neither was the log's end
	err        error  // log.ErrOutOfRange
}

// read reads from an offset on.
func (p *partition) read(offset int64, maxBytes int) view {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := view{start: p.log.Start(), end: p.log.End()}
	v.records, v.err = p.log.Read(offset, maxBytes)
	if n := len(v.records); n > 0 && n < maxBytes {
		newest := p.log.Batch(v.end - 1)
		v.more = &v.records[n-1] != &newest[len(newest)-1]
	}
	return v
}

// trim moves the log's start and tells where it is then.
func (p *partition) trim(offset int64) (start int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if offset == -1 {
		offset = p.log.End()
	}
	before := p.log.Size()
	if err := p.log.Trim(offset); err != nil {
		return 0, err
	}
	if !p.deleted { // else all of it was given back
		p.memory.give(before - p.log.Size())
	}
	return p.log.Start(), nil
}

// delete gives the partition's memory back and wakes who waits for records.
func (p *partition) delete() {
	p.mu.Lock()
	if !p.deleted {
		p.deleted = true
		p.memory.give(p.log.Size())
		p.memory.forget(p.producers.Len())
	}
	wake := p.takeWaitingLocked(true)
	p.mu.Unlock()
	notify(wake)
}

// wait registers ch, which has room for one, to be told of the next records.
func (p *partition) wait(ch chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = map[chan struct{}]struct{}{}
	}
	p.waiting[ch] = struct{}{}
}

func (p *partition) leave(ch chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, ch)
}

func (p *partition) takeWaitingLocked(any bool) []chan struct{} {
	if !any || len(p.waiting) == 0 {
		return nil
	}
	all := make([]chan struct{}, 0, len(p.waiting))
	for ch := range p.waiting {
		all = append(all, ch)
	}
	return all
}

func notify(all []chan struct{}) {
	for _, ch := range all {
		select {
		case ch <- struct{}{}:
		default: // it has been told already
		}
	}
}
