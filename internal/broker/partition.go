package broker

import (
	"errors"
	"sync"
	"time"

	"github.com/fencepostmq/fencepost/internal/log"
	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A partition is a log and the memory of the producers that wrote it.
type partition struct {
	topic  *topic  // that it is of
	memory *memory // of the whole broker

	mu        sync.Mutex // guards what follows: log and producers must never disagree
	log       log.Log
	producers *producer.Producers
	txns      partitionTxns
	waiting   map[chan struct{}]struct{} // fetches that wait for records
	deleted   bool                       // what is still written goes nowhere
}

// newPartitions makes n empty partitions of a topic.
func (b *Broker) newPartitions(t *topic, n int) []*partition {
	all := make([]*partition, n)
	for i := range all {
		all[i] = &partition{topic: t, memory: &b.memory, producers: producer.New(b.options.UnknownProducer)}
	}
	return all
}

// A placed batch is what became of a batch that was sound.
type placed struct {
	producer.Outcome
	offset     int64    // base offset, of the first copy for a duplicate; -1 if refused
	start      int64    // log start offset
	appendTime int64    // the time that the broker gave the records, -1 if it gave none
	refused    *refusal // the lesson accepted it, and it could not be kept
}

// append judges a batch of a request and, if it is accepted, writes it. A refused
// batch changes nothing. The request is nil for a batch that came in none.
func (p *partition) append(req *wire.Request, c *wire.CheckedBatch) placed {
	at := p.appendOnce(req, c)
	if at.refused == memoryFull && p.memory.reclaim != nil && p.memory.reclaim() {
		at = p.appendOnce(req, c)
	}
	if at.refused == memoryFull {
		p.memory.full()
	}
	return at
}

func (p *partition) appendOnce(req *wire.Request, c *wire.CheckedBatch) placed {
	p.mu.Lock()
	at := p.appendLocked(req, c)
	wake := p.takeWaitingLocked(at.offset >= 0 && at.Kind == producer.Accepted)
	p.mu.Unlock()
	notify(wake)
	return at
}

func (p *partition) appendLocked(req *wire.Request, c *wire.CheckedBatch) placed {
	at := placed{offset: -1, appendTime: -1}
	if p.deleted {
		at.refused = refuse(kerr.UnknownTopicOrPartition, "the topic was deleted")
		return at
	}
	batch := producer.Batch{ProducerID: c.ProducerID, Epoch: c.ProducerEpoch, First: c.FirstSequence, Records: c.NumRecords}
	if c.ProducerID >= 0 {
		at.Outcome = p.producers.Check(batch)
	}
	switch at.Kind {
	case producer.Accepted:
		if at.refused = p.noPlaceLocked(c); at.refused == nil {
			p.writeLocked(req, c, batch, &at)
		}
	case producer.Duplicate:
		at.offset = at.BaseOffset
	}
	p.retainLocked()
	at.start = p.log.Start()
	return at
}

// writeLocked writes a batch that has a place, and remembers it.
func (p *partition) writeLocked(req *wire.Request, c *wire.CheckedBatch, batch producer.Batch, at *placed) {
	s := p.topic.settings.Load()
	retains := s.retains()
	p.log.Reuse(retains)
	if s.records.AppendTime { // under the lock, so that times never go down
		at.appendTime = time.Now().UnixMilli()
		c.StampAppendTime(at.appendTime)
	}
	add := p.log.Append
	if !retains && p.log.Adopts(len(c.Raw)) && req.Claim(c.Raw) {
		add = p.log.Adopt
	}
	at.offset = add(c.Raw, leaderEpoch, log.Meta{
		Records: c.NumRecords, MaxTimestamp: c.MaxTimestamp, MaxTimestampDelta: c.MaxTimestampDelta,
	})
	if c.ProducerID < 0 {
		return
	}
	p.rememberLocked(batch, at.offset, c.MaxTimestamp)
	if c.Transactional() {
		p.beganLocked(c.ProducerID, at.offset)
	}
}

// memoryFull is why a batch is refused that all of the broker's memory has no
// room for.
var memoryFull = refuse(kerr.KafkaStorageError, "the memory that this broker has for records is full")

// noPlaceLocked says why a batch that the lesson accepts cannot be written, nil
// if it can. Then its memory is taken.
func (p *partition) noPlaceLocked(c *wire.CheckedBatch) *refusal {
	if first, open := p.txns.open[c.ProducerID]; open && !c.Transactional() {
		return refuse(kerr.InvalidTxnState, "producer %d has a transaction open since offset %d, and this batch is not part of it", c.ProducerID, first)
	}
	if r := p.noProducerLocked(c.ProducerID); r != nil {
		return r
	}
	if !p.memory.take(len(c.Raw)) {
		return memoryFull
	}
	return nil
}

// offsets are the log's ends. The high watermark is the end: there is one replica.
func (p *partition) offsets() (start, end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retainLocked()
	return p.log.Start(), p.log.End()
}

// A view is what a read found.
type view struct {
	start, end int64
	stable     int64       // the last stable offset
	records    log.Stretch // the log's own memory: read only
	err        error       // log.ErrOutOfRange, or errDeleted

	// For a reader of committed records: what it has to leave out, and whether it
	// asks from beyond what it may see.
	aborted []kmsg.FetchResponseTopicPartitionAbortedTransaction
	beyond  bool
}

// errDeleted says that a topic was deleted while somebody was about to read it.
var errDeleted = errors.New("the topic was deleted")

// read reads what a reader of this isolation level may see, from an offset on.
func (p *partition) read(offset int64, maxBytes int, isolation int8) view {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deleted {
		return view{err: errDeleted}
	}
	p.retainLocked()
	v := view{start: p.log.Start(), end: p.log.End(), stable: p.stableLocked()}
	v.records, v.err = p.log.ReadAcross(offset, p.reachLocked(isolation), maxBytes)
	if isolation == readCommitted {
		v.aborted, v.beyond = p.abortedLocked(offset, v.readTo()), offset > v.stable
	}
	return v
}

// readTo is the offset up to which a reader has to know what was aborted: the end
// of the log, or of what it was given if a limit cut that.
func (v *view) readTo() int64 {
	if to := v.records.Until(); to > 0 && to < v.stable {
		return to
	}
	return v.end
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
	p.gaveLocked(before)
	return p.log.Start(), nil
}

// delete gives the partition's memory back and wakes who waits for records. What
// it held goes at once: an open transaction may keep the partition itself for long.
func (p *partition) delete() {
	p.mu.Lock()
	if !p.deleted {
		p.deleted = true
		p.memory.give(p.log.Size())
		p.memory.forget(p.producers.Len())
		p.log, p.producers, p.txns = log.Log{}, producer.New(producer.Refuse), partitionTxns{}
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
