package broker

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/fencepostmq/fencepost/internal/log"
	"github.com/fencepostmq/fencepost/internal/txn"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// partitionTxns is what a partition knows of transactions: enough to tell a
// reader of committed records what it may see.
type partitionTxns struct {
	open    map[int64]int64      // first offset of its open transaction, by producer id
	marked  map[int64]lastMarker // the newest marker, by producer id
	aborted []abortedTxn         // in the order of their markers
}

// A lastMarker is the newest marker of a producer.
type lastMarker struct{ offset, timestamp int64 }

// An abortedTxn is a transaction whose records a reader of committed records
// leaves out.
type abortedTxn struct {
	producerID  int64
	first, last int64 // offsets of its first record and of its marker
}

// mark writes the marker that ends a transaction. Its room was taken when the
// partition was added: without it, what is there could not be read.
func (p *partition) mark(by txn.Producer, commit bool) {
	p.mu.Lock()
	defer p.memory.giveMember()
	if p.deleted {
		p.mu.Unlock()
		return
	}
	m := wire.Marker(by.ID, by.Epoch, commit, time.Now().UnixMilli())
	p.memory.force(len(m.Raw))
	offset := p.log.Append(m.Raw, leaderEpoch, log.Meta{Records: 1, MaxTimestamp: m.MaxTimestamp})
	before := p.producers.Len()
	p.producers.Mark(by.ID, by.Epoch)
	p.countProducersLocked(before)
	if p.txns.marked == nil {
		p.txns.marked = map[int64]lastMarker{}
	}
	p.txns.marked[by.ID] = lastMarker{offset, m.MaxTimestamp}
	if first, open := p.txns.open[by.ID]; open && !commit {
		p.txns.aborted = append(p.txns.aborted, abortedTxn{by.ID, first, offset})
	}
	delete(p.txns.open, by.ID)
	wake := p.takeWaitingLocked(true)
	p.mu.Unlock()
	notify(wake)
}

// writes says whether a producer has an open transaction here.
func (p *partition) writes(producerID int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, open := p.txns.open[producerID]
	return open
}

// beganLocked notes that a producer wrote in a transaction.
func (p *partition) beganLocked(producerID, offset int64) {
	if _, open := p.txns.open[producerID]; open {
		return
	}
	if p.txns.open == nil {
		p.txns.open = map[int64]int64{}
	}
	p.txns.open[producerID] = offset
}

// stableLocked is the last stable offset: before it, every transaction has ended.
// Where the log was cut inside of an open transaction, it is the first offset of the
// batch that the log starts in, as in Kafka, and may lie below the start.
func (p *partition) stableLocked() int64 {
	if len(p.txns.open) == 0 {
		return p.log.End()
	}
	first := slices.Min(slices.Collect(maps.Values(p.txns.open)))
	if start := p.log.Start(); first < start {
		return baseOffsetOf(p.log.Batch(start), p.log.End())
	}
	return first
}

// baseOffsetOf is the first offset of a batch, or another if there is none.
func baseOffsetOf(batch []byte, otherwise int64) int64 {
	if batch == nil {
		return otherwise
	}
	return int64(binary.BigEndian.Uint64(batch))
}

// reach is the offsets that a reader of this isolation level may see: from start
// up to, and not including, end.
func (p *partition) reach(isolation int8) (start, end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retainLocked()
	return p.log.Start(), p.reachLocked(isolation)
}

func (p *partition) reachLocked(isolation int8) int64 {
	if isolation == readCommitted {
		return p.stableLocked()
	}
	return p.log.End()
}

// abortedLocked lists the aborted transactions that have a record or their
// marker in the offsets from from up to, and not including, to.
func (p *partition) abortedLocked(from, to int64) []kmsg.FetchResponseTopicPartitionAbortedTransaction {
	all := []kmsg.FetchResponseTopicPartitionAbortedTransaction{} // never null, for a reader of committed records
	for _, a := range p.txns.aborted {
		if a.last >= from && a.first < to {
			told := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			told.ProducerID, told.FirstOffset = a.producerID, a.first
			all = append(all, told)
		}
	}
	return all
}

// forgetLocked lets go of aborted transactions that nobody can read any more.
func (p *partition) forgetLocked() {
	start, gone := p.log.Start(), 0
	for gone < len(p.txns.aborted) && p.txns.aborted[gone].last < start {
		gone++
	}
	p.txns.aborted = p.txns.aborted[gone:] // an append lets go of what lies before
}
