package broker

import (
	"context"
	"slices"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Fetch, versions 4 to 18 (sessions from 7, topic ids from 13).
//
// The first batch of the first partition that has data comes whole whatever the
// limits say. What follows is cut at them, in the middle of a batch if need be,
// but a partition whose first batch does not fit is not begun.
//
// A fetch that finds fewer than min bytes waits for more, up to max wait; an
// error in one of its partitions, or its topic being deleted, ends the wait. An
// unknown partition does not, as long as a known one stands beside it. A reader of
// committed records sees none from the last stable offset on, and waits there.
//
// What is known is answered first, in the order of the request, and what is
// unknown behind it. A partition that is named twice counts as it is named last.
// One that asks from beyond the end and says with an epoch of this log what it
// fetched last (version 12 on) is told where that epoch ends.
//
// Requests that come here name all of their partitions: what a session leaves
// out is filled in before, by Sessions.
//
// Differences from Apache Kafka: in a topic with retention an answer takes 1 MiB from
// several pieces of memory at most, where Kafka's ends with the segment of the log. Both
// count as enough for whoever waits. An isolation level that there is not is
// INVALID_REQUEST, where Kafka fails (UNKNOWN_SERVER_ERROR).

// maxFetch is the most bytes of records in one answer, as Kafka's
// fetch.max.bytes has it by default (55 MiB).
const maxFetch = 55 << 20

func (b *Broker) fetch(ctx context.Context, req *wire.Request, r *kmsg.FetchRequest) kmsg.Response {
	if unknownIsolation(r.IsolationLevel) {
		return wire.ErrorAnswer(r, kerr.InvalidRequest.Code, "")
	}
	f := b.read(r)
	if f.complete() {
		return f.answer(req)
	}
	req.Conn.Flush()
	timer := time.NewTimer(time.Duration(r.MaxWaitMillis) * time.Millisecond)
	defer timer.Stop()
	ch := make(chan struct{}, 1)
	waitOn := f.partitions()
	for _, p := range waitOn {
		p.wait(ch)
		defer p.leave(ch)
	}
	for {
		// It reads once more after it registered: records that came in between
		// woke nobody.
		f = b.read(r)
		if f.complete() || !slices.Equal(f.partitions(), waitOn) {
			return f.answer(req) // or a topic was deleted, and what is waited for never comes
		}
		select {
		case <-ch:
		case <-timer.C:
			return f.answer(req)
		case <-ctx.Done():
			return f.answer(req)
		}
	}
}

// complete says that there is nothing to wait for.
func (f *fetching) complete() bool {
	return f.failed || f.more || max(f.bytes, f.available) >= f.enough() || len(f.records) == 0 || f.request.MaxWaitMillis <= 0
}

// enough is the bytes that need not wait: no more than may come at all, as Kafka
// has it (KafkaApis.handleFetchRequest).
func (f *fetching) enough() int { return min(int(f.request.MinBytes), f.limit()) }

// limit is the most bytes of records in the answer.
func (f *fetching) limit() int { return min(int(f.request.MaxBytes), maxFetch) }

// partitions lists those that are read.
func (f *fetching) partitions() []*partition {
	all := make([]*partition, len(f.records))
	for i := range all {
		all[i] = f.targets[i].partition
	}
	return all
}
