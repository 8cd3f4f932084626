package broker

import (
	"context"
	"slices"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Fetch, versions 4 to 17 (topic ids from 13).
//
// The first batch of the first partition that has data comes whole whatever the
// limits say; what follows is cut at them, in the middle of a batch if need be.
// A fetch that finds fewer than min bytes waits for more, up to max wait; an
// error in one of its partitions, or its topic being deleted, ends the wait.
//
// Differences from Apache Kafka: no fetch sessions (KIP-227); every request is
// answered with session id 0, which tells the client so, also one with an epoch
// that goes on with a session. A partition that is named twice is answered twice.

// maxFetch is the most bytes of records in one answer, as Kafka's
// fetch.max.bytes has it by default (55 MiB).
const maxFetch = 55 << 20

func (b *Broker) fetch(ctx context.Context, conn *wire.Conn, r *kmsg.FetchRequest) kmsg.Response {
	if r.SessionID != 0 {
		resp := r.ResponseKind().(*kmsg.FetchResponse)
		resp.ErrorCode = kerr.FetchSessionIDNotFound.Code
		return resp
	}
	ch := make(chan struct{}, 1)
	waitOn := b.fetched(r)
	defer func() {
		for _, p := range waitOn {
			p.leave(ch)
		}
	}()
	var timer <-chan time.Time
	for {
		// Register first and read then: records that come in between wake us.
		if timer != nil {
			for _, p := range waitOn {
				p.wait(ch)
			}
		}
		f := fetching{broker: b, request: r, left: min(int(r.MaxBytes), maxFetch)}
		enough := min(int(r.MinBytes), f.left) // as Kafka has it: more can never come
		resp := f.read()
		if f.failed || f.more || f.bytes >= enough || len(waitOn) == 0 || r.MaxWaitMillis <= 0 {
			return resp
		}
		if !slices.Equal(b.fetched(r), waitOn) {
			return resp // a topic was deleted, and what is waited for never comes
		}
		if timer == nil {
			conn.Flush()
			t := time.NewTimer(time.Duration(r.MaxWaitMillis) * time.Millisecond)
			defer t.Stop()
			timer = t.C
			continue
		}
		select {
		case <-ch:
		case <-timer:
			return resp
		case <-ctx.Done():
			return resp
		}
	}
}

// fetched lists the partitions that a request asks for and that exist.
func (b *Broker) fetched(r *kmsg.FetchRequest) (all []*partition) {
	for i := range r.Topics {
		t, _ := b.topicFor(r.Topics[i].Topic, r.Topics[i].TopicID, r.Version >= 13)
		for j := range r.Topics[i].Partitions {
			if p := t.partition(r.Topics[i].Partitions[j].Partition); p != nil {
				all = append(all, p)
			}
		}
	}
	return all
}

// fetching is one pass over what a Fetch asks for.
type fetching struct {
	broker  *Broker
	request *kmsg.FetchRequest
	left    int  // bytes that may still be added
	bytes   int  // bytes of records so far
	failed  bool // an answer that is not worth waiting for
	more    bool // records lie behind those that were read, though no limit cut them
}

func (f *fetching) read() *kmsg.FetchResponse {
	resp := f.request.ResponseKind().(*kmsg.FetchResponse)
	resp.Topics = make([]kmsg.FetchResponseTopic, 0, len(f.request.Topics))
	for i := range f.request.Topics {
		resp.Topics = append(resp.Topics, f.topic(&f.request.Topics[i]))
	}
	return resp
}

func (f *fetching) topic(asked *kmsg.FetchRequestTopic) (told kmsg.FetchResponseTopic) {
	told.Topic, told.TopicID = asked.Topic, asked.TopicID
	told.Partitions = make([]kmsg.FetchResponseTopicPartition, len(asked.Partitions))
	t, unknown := f.broker.topicFor(asked.Topic, asked.TopicID, f.request.Version >= 13)
	for i := range asked.Partitions {
		p := &told.Partitions[i]
		p.Default()
		p.Partition = asked.Partitions[i].Partition
		p.HighWatermark, p.LastStableOffset, p.LogStartOffset = -1, -1, -1
		p.RecordBatches = []byte{} // never null: clients do not expect it
		switch from := t.partition(p.Partition); {
		case t == nil:
			p.ErrorCode = unknown.Code
		case from == nil:
			p.ErrorCode = kerr.UnknownTopicOrPartition.Code
		default:
			f.partition(from, &asked.Partitions[i], p)
		}
	}
	return told
}

func (f *fetching) partition(from *partition, asked *kmsg.FetchRequestTopicPartition, told *kmsg.FetchResponseTopicPartition) {
	if asked.CurrentLeaderEpoch > leaderEpoch {
		told.ErrorCode = kerr.UnknownLeaderEpoch.Code
		f.failed = true
		return
	}
	limit := min(int(asked.PartitionMaxBytes), f.left)
	v := from.read(asked.FetchOffset, limit)
	if v.err != nil {
		told.ErrorCode = kerr.OffsetOutOfRange.Code
		f.failed = true
		return
	}
	told.HighWatermark, told.LastStableOffset, told.LogStartOffset = v.end, v.end, v.start
	if f.request.IsolationLevel == 1 {
		told.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
	}
	if f.bytes > 0 { // only the first batch of all comes whole
		v.records = v.records[:min(len(v.records), max(limit, 0))]
	}
	if len(v.records) > 0 {
		told.RecordBatches = v.records
	}
	f.more = f.more || v.more
	f.bytes += len(v.records)
	f.left -= len(v.records)
}
