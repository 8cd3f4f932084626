package broker

import (
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListOffsets, versions 1 to 11.
//
// Earliest (-2, and -4 for the earliest local one), latest (-1), the record of
// the greatest timestamp (-3), the first record at or after a time, also inside
// a compressed batch. The last tiered offset (-5) and the first that waits to be
// (-6) are answered -1: nothing is tiered here. A partition that is named twice is
// told once, INVALID_REQUEST, and a topic once with all its partitions. Who asks,
// a consumer or a replica, makes no difference.
//
// Differences from Apache Kafka: an isolation level that there is not is
// INVALID_REQUEST, where Kafka says UNKNOWN_SERVER_ERROR.

// The timestamps that mean something else (ListOffsetsRequest), each with the
// version that brought it.
const (
	latestOffset       = -1
	earliestOffset     = -2
	maxTimestampOffset = -3 // version 7, KIP-734
	earliestLocal      = -4 // version 8, KIP-405
	latestTiered       = -5 // version 9, KIP-1005
	earliestPending    = -6 // version 11, KIP-1023
)

var sinceVersion = map[int64]int16{
	latestOffset: 0, earliestOffset: 0, maxTimestampOffset: 7, earliestLocal: 8, latestTiered: 9, earliestPending: 11,
}

// The isolation levels: whether a reader sees records of open transactions.
const (
	readUncommitted = 0
	readCommitted   = 1
)

func unknownIsolation(level int8) bool { return level != readUncommitted && level != readCommitted }

func (b *Broker) listOffsets(r *kmsg.ListOffsetsRequest) kmsg.Response {
	if unknownIsolation(r.IsolationLevel) {
		return wire.ErrorAnswer(r, kerr.InvalidRequest.Code, "")
	}
	resp := r.ResponseKind().(*kmsg.ListOffsetsResponse)
	times := map[wire.TopicPartition]int{}
	for tp := range wire.Partitions(r) {
		times[tp]++
	}
	at := map[string]int{}
	for i := range r.Topics {
		asked := &r.Topics[i]
		t := b.lookup(asked.Topic)
		for j := range asked.Partitions {
			p := &asked.Partitions[j]
			tp := wire.TopicPartition{Topic: asked.Topic, Partition: p.Partition}
			n := times[tp]
			if n == 0 {
				continue // it was told
			}
			delete(times, tp)
			told := topicOf(&resp.Topics, at, kmsg.ListOffsetsResponseTopic{Topic: asked.Topic}, asked.Topic)
			told.Partitions = append(told.Partitions, listed(t.partition(p.Partition), p, r, n > 1))
		}
	}
	return resp
}

func listed(from *partition, asked *kmsg.ListOffsetsRequestTopicPartition, r *kmsg.ListOffsetsRequest, twice bool) kmsg.ListOffsetsResponseTopicPartition {
	p := kmsg.NewListOffsetsResponseTopicPartition()
	p.Partition = asked.Partition
	p.Timestamp, p.Offset, p.LeaderEpoch = -1, -1, -1
	if err := notListed(from, asked, r.Version, twice); err != nil {
		p.ErrorCode = err.Code
		return p
	}
	from.list(asked.Timestamp, r.IsolationLevel, &p)
	return p
}

// notListed says why there is no offset to tell, in the order in which Kafka
// looks; nil if there is one.
func notListed(from *partition, asked *kmsg.ListOffsetsRequestTopicPartition, version int16, twice bool) *kerr.Error {
	since, special := sinceVersion[asked.Timestamp]
	switch {
	case twice:
		return kerr.InvalidRequest
	case asked.Timestamp < 0 && (!special || version < since):
		return kerr.UnsupportedVersion
	case from == nil:
		return kerr.UnknownTopicOrPartition
	}
	return staleEpoch(asked.CurrentLeaderEpoch)
}

// topicOf finds the entry of a topic in an answer that has one for each. at says
// where those are that it has; another one is made of fresh.
func topicOf[T any](topics *[]T, at map[string]int, fresh T, name string) *T {
	i, known := at[name]
	if !known {
		i = len(*topics)
		at[name] = i
		*topics = append(*topics, fresh)
	}
	return &(*topics)[i]
}

// list finds an offset. A reader of committed records is told of none from the
// last stable offset on, but for the earliest, which is always told.
func (p *partition) list(timestamp int64, isolation int8, told *kmsg.ListOffsetsResponseTopicPartition) {
	found, always := true, false
	start, end := p.reach(isolation)
	switch timestamp {
	case latestOffset:
		told.Offset, always = end, true
	case earliestOffset, earliestLocal:
		told.Offset, always = start, true
	case latestTiered, earliestPending:
		found = false
	case maxTimestampOffset:
		told.Timestamp, told.Offset, found = p.maxTimestamp()
	default:
		told.Timestamp, told.Offset, found = p.atOrAfter(timestamp)
	}
	if !always && told.Offset >= end && isolation == readCommitted {
		told.Timestamp, told.Offset, found = -1, -1, false
	}
	if found {
		told.LeaderEpoch = leaderEpoch
	}
}

func (p *partition) maxTimestamp() (timestamp, offset int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if timestamp, offset, ok = p.log.MaxTimestamp(); !ok {
		return -1, -1, false
	}
	return timestamp, offset, true
}

// atOrAfter finds the first record of this time or later. Batches are looked
// into outside of the lock. The log finds the batch; only if its records of that
// time lie below the log's start does the search go on behind it.
func (p *partition) atOrAfter(timestamp int64) (ts, offset int64, ok bool) {
	p.mu.Lock()
	batch, start := p.log.AtOrAfter(timestamp), p.log.Start()
	p.mu.Unlock()
	for batch != nil {
		var next int64
		ts, offset, next = firstAtOrAfter(batch, timestamp, start)
		if offset >= 0 {
			return ts, offset, true
		}
		p.mu.Lock()
		batch = p.log.Batch(next)
		p.mu.Unlock()
	}
	return -1, -1, false
}

// firstAtOrAfter finds the first record of a batch that has this time or a later
// one and an offset from start on, offset -1 for none, and the offset behind the
// batch.
func firstAtOrAfter(batch []byte, timestamp, start int64) (ts, offset, next int64) {
	ts, offset = -1, -1
	wire.ScanRecords(batch, wire.MaxDecompressed, func(r wire.Record) error { //nolint:errcheck // it was sound when it was written
		next = r.Offset + 1
		if offset < 0 && r.Timestamp >= timestamp && r.Offset >= start {
			ts, offset = r.Timestamp, r.Offset
		}
		return nil
	})
	return ts, offset, next
}
