package journal

import (
	"context"
	"fmt"

	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// scanBytes is how much is asked for at a time when a partition is read from
	// end to end.
	scanBytes = 16 << 20

	// peekBytes is how much is asked for to read a single batch: as good as
	// nothing, since the first batch comes whole whatever the limit is.
	peekBytes = 1

	// Versions that name topics, and no ids.
	fetchVersion       = 12
	listOffsetsVersion = 4

	earliest = -2 // the timestamp that asks ListOffsets for the first offset
)

// A reader reads a topic back with Fetch requests down the chain.
type reader struct {
	next  wire.Handler
	topic string

	// trimmed is told where a partition begins whose records went away while it was
	// read, as retention makes them; nil tells nobody.
	trimmed func(partition int32, start int64)
}

// A readError says that a partition, or a part of it, cannot be read.
type readError struct {
	partition int32
	problem   string
}

func (e *readError) Error() string {
	return fmt.Sprintf("partition %d cannot be read: %s", e.partition, e.problem)
}

// A visit is a record that is read, and the batch that it stands in. It is valid
// until the next one.
type visit struct {
	partition int32
	batch     kmsg.RecordBatch
	record    wire.Record
}

// sequence is the record's own, of a batch that has a producer id.
func (v *visit) sequence() int32 {
	return producer.Last(v.batch.FirstSequence, int32(v.record.Offset-v.batch.FirstOffset)+1)
}

// ask sends a request down the chain, marked so that no fault applies to it.
func (r *reader) ask(ctx context.Context, body kmsg.Request) kmsg.Response {
	return r.next.Handle(ctx, &wire.Request{Conn: &wire.Conn{}, Client: "fencepost", Body: body, Internal: true}).Done
}

// fetch reads from an offset on, at least one whole batch if there is one.
func (r *reader) fetch(ctx context.Context, partition int32, offset int64, bytes int32) (*kmsg.FetchResponseTopicPartition, error) {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.SessionEpoch = fetchVersion, -1, -1
	req.MaxBytes, req.MinBytes, req.MaxWaitMillis = bytes, 0, 0
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, bytes
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = r.topic, []kmsg.FetchRequestTopicPartition{p}
	req.Topics = []kmsg.FetchRequestTopic{t}
	resp, ok := r.ask(ctx, req).(*kmsg.FetchResponse)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !ok:
		return nil, &readError{partition, "there was no answer to a Fetch"}
	case resp.ErrorCode != 0:
		return nil, &readError{partition, errorName(resp.ErrorCode)}
	case len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1:
		return nil, &readError{partition, "the answer to a Fetch does not name it"}
	}
	return &resp.Topics[0].Partitions[0], nil
}

// bounds are the log's start and its high watermark.
func (r *reader) bounds(ctx context.Context, partition int32) (start, end int64, err error) {
	p, err := r.fetch(ctx, partition, 0, peekBytes)
	if err == nil && p.ErrorCode == kerr.OffsetOutOfRange.Code {
		if start, err = r.start(ctx, partition); err == nil {
			p, err = r.fetch(ctx, partition, start, peekBytes)
		}
	}
	switch {
	case err != nil:
		return 0, 0, err
	case p.ErrorCode != 0:
		return 0, 0, &readError{partition, errorName(p.ErrorCode)}
	}
	return max(start, p.LogStartOffset), p.HighWatermark, nil
}

// start asks for the first offset, which a Fetch that missed it need not tell.
func (r *reader) start(ctx context.Context, partition int32) (int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = listOffsetsVersion, -1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, earliest
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = r.topic, []kmsg.ListOffsetsRequestTopicPartition{p}
	req.Topics = []kmsg.ListOffsetsRequestTopic{t}
	resp, ok := r.ask(ctx, req).(*kmsg.ListOffsetsResponse)
	if !ok || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, &readError{partition, "its first offset is not known"}
	}
	told := &resp.Topics[0].Partitions[0]
	if told.ErrorCode != 0 {
		return 0, &readError{partition, errorName(told.ErrorCode)}
	}
	return told.Offset, nil
}

// each visits the records with offsets from up to, and not including, to. bytes
// is how much is asked for at a time.
func (r *reader) each(ctx context.Context, partition int32, from, to int64, bytes int32, yield func(*visit) error) error {
	w := walk{visit: visit{partition: partition}, next: from, to: to, yield: yield}
	w.batch = func(raw []byte) error {
		if w.visit.batch.Attributes&controlBatch != 0 {
			return nil
		}
		return w.records(raw)
	}
	return r.walk(ctx, &w, bytes)
}

// eachBatch visits the batches with offsets from up to, and not including, to, those
// of the broker's own among them. They are valid until yield returns.
func (r *reader) eachBatch(ctx context.Context, partition int32, from, to int64, yield func(b *kmsg.RecordBatch, raw []byte) error) error {
	w := walk{visit: visit{partition: partition}, next: from, to: to}
	w.batch = func(raw []byte) error { return yield(&w.visit.batch, raw) }
	return r.walk(ctx, &w, scanBytes)
}

func (r *reader) walk(ctx context.Context, w *walk, bytes int32) error {
	partition := w.visit.partition
	for w.next < w.to {
		asked := w.next
		p, err := r.fetch(ctx, partition, asked, bytes)
		switch {
		case err != nil:
			return err
		case p.ErrorCode == kerr.OffsetOutOfRange.Code:
			if w.next, err = r.skip(ctx, partition, asked); err != nil {
				return err
			}
			continue
		case p.ErrorCode != 0:
			return &readError{partition, errorName(p.ErrorCode)}
		}
		if err := w.batches(p.RecordBatches); err != nil {
			return err
		}
		if w.next <= asked {
			return &readError{partition, fmt.Sprintf("nothing whole came from offset %d on", asked)}
		}
	}
	return nil
}

// skip is where to read on if an offset is out of range: at the partition's start,
// if that has gone beyond it.
func (r *reader) skip(ctx context.Context, partition int32, offset int64) (int64, error) {
	start, err := r.start(ctx, partition)
	switch {
	case err != nil:
		return 0, err
	case start <= offset:
		return 0, &readError{partition, errorName(kerr.OffsetOutOfRange.Code)}
	}
	if r.trimmed != nil {
		r.trimmed(partition, start)
	}
	return start, nil
}

// A walk goes over the batches of a partition, and over their records.
type walk struct {
	visit    visit
	next, to int64              // the offset that is wanted next, and where to end
	batch    func([]byte) error // is given each batch whole, when it is in visit
	yield    func(*visit) error // is given each record, by records
}

// Parts of a record batch that kmsg does not name.
const (
	batchPrefix  = 12   // bytes of base offset and length, which the length does not count
	controlBatch = 0x20 // the bit of the attributes that marks batches of the broker's own
)

// batches visits the batches in raw, of which the last may be cut off.
func (w *walk) batches(raw []byte) error {
	b := &w.visit.batch
	for len(raw) > 0 && w.next < w.to {
		if b.ReadFrom(raw) != nil {
			return nil
		}
		size := batchPrefix + int(b.Length)
		if err := w.batch(raw[:size]); err != nil {
			return err
		}
		w.next = max(w.next, b.FirstOffset+int64(b.LastOffsetDelta)+1)
		raw = raw[size:]
	}
	return nil
}

func (w *walk) records(batch []byte) error {
	var stopped error
	err := wire.EachRecord(batch, wire.MaxDecompressed, func(r wire.Record) error {
		if r.Offset < w.next || r.Offset >= w.to {
			return nil
		}
		w.visit.record = r
		stopped = w.yield(&w.visit)
		return stopped
	})
	if err != nil && stopped == nil {
		return &readError{w.visit.partition, fmt.Sprintf("the batch at offset %d is not sound: %v", w.visit.batch.FirstOffset, err)}
	}
	return stopped
}
