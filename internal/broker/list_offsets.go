package broker

import (
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListOffsets, versions 1 to 10.
//
// Earliest (-2, and -4 for the earliest local one), latest (-1), the record of
// the greatest timestamp (-3), the first record at or after a time, also inside
// a compressed batch. -5, the last tiered offset, is answered -1: nothing is
// tiered here. A partition that is named twice is told once, INVALID_REQUEST.

// The timestamps that mean something else (ListOffsetsRequest), each with the
// version that brought it.
const (
	latestOffset       = -1
	earliestOffset     = -2
	maxTimestampOffset = -3 // version 7, KIP-734
	earliestLocal      = -4 // version 8, KIP-405
	latestTiered       = -5 // version 9, KIP-1005
)

var sinceVersion = map[int64]int16{latestOffset: 0, earliestOffset: 0, maxTimestampOffset: 7, earliestLocal: 8, latestTiered: 9}

func (b *Broker) listOffsets(r *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.ListOffsetsResponse)
	times := map[wire.TopicPartition]int{}
	for tp := range wire.Partitions(r) {
		times[tp]++
	}
	for i := range r.Topics {
		asked := &r.Topics[i]
		t := b.lookup(asked.Topic)
		told := kmsg.ListOffsetsResponseTopic{Topic: asked.Topic}
		for j := range asked.Partitions {
			p := &asked.Partitions[j]
			tp := wire.TopicPartition{Topic: asked.Topic, Partition: p.Partition}
			if n := times[tp]; n > 0 {
				told.Partitions = append(told.Partitions, listed(t.partition(p.Partition), p, r.Version, n > 1))
			}
			delete(times, tp) // told once
		}
		resp.Topics = append(resp.Topics, told)
	}
	return resp
}

func listed(from *partition, asked *kmsg.ListOffsetsRequestTopicPartition, version int16, twice bool) kmsg.ListOffsetsResponseTopicPartition {
	p := kmsg.NewListOffsetsResponseTopicPartition()
	p.Partition = asked.Partition
	p.Timestamp, p.Offset, p.LeaderEpoch = -1, -1, -1
	since, special := sinceVersion[asked.Timestamp]
	switch {
	case twice:
		p.ErrorCode = kerr.InvalidRequest.Code
	case from == nil:
		p.ErrorCode = kerr.UnknownTopicOrPartition.Code
	case asked.CurrentLeaderEpoch > leaderEpoch:
		p.ErrorCode = kerr.UnknownLeaderEpoch.Code
	case asked.CurrentLeaderEpoch < -1:
		p.ErrorCode = kerr.FencedLeaderEpoch.Code
	case asked.Timestamp < 0 && (!special || version < since):
		p.ErrorCode = kerr.UnsupportedVersion.Code
	default:
		from.list(asked.Timestamp, &p)
	}
	return p
}

func (p *partition) list(timestamp int64, told *kmsg.ListOffsetsResponseTopicPartition) {
	found := true
	switch start, end := p.offsets(); timestamp {
	case latestOffset:
		told.Offset = end
	case earliestOffset, earliestLocal:
		told.Offset = start
	case latestTiered:
		found = false
	case maxTimestampOffset:
		told.Timestamp, told.Offset, found = p.maxTimestamp()
	default:
		told.Timestamp, told.Offset, found = p.atOrAfter(timestamp)
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
