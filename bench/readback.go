package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// fetchVersion is the version of Fetch that is sent: one that goes by topic names.
	fetchVersion = 11
	// fetchBytes is the most bytes that one Fetch asks for, 1 MiB, as consumers do
	// (max.partition.fetch.bytes).
	fetchBytes = 1 << 20
)

// A reader reads one partition from its start.
type reader struct {
	conn    *conn
	request *kmsg.FetchRequest
	asked   *kmsg.FetchRequestTopicPartition // within request
	fixed   bool                             // the same bytes come each time
}

func newReader(c *conn, topic string, partition int32, fixed bool) *reader {
	r := kmsg.NewPtrFetchRequest()
	r.Version, r.MinBytes, r.MaxBytes, r.SessionEpoch = fetchVersion, 1, 50<<20, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.LogStartOffset, p.PartitionMaxBytes = partition, -1, -1, fetchBytes
	r.Topics = []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	return &reader{conn: c, request: r, asked: &r.Topics[0].Partitions[0], fixed: fixed}
}

// read reads so many bytes of whole batches, or with fixed of whatever comes, and fails
// when there are fewer.
func (r *reader) read(want int64) (got int64, err error) {
	for got < want {
		records, err := r.fetch()
		if err != nil {
			return got, err
		}
		n := int64(len(records))
		if !r.fixed {
			if n, err = r.follow(records); err != nil {
				return got, err
			}
		}
		if n == 0 {
			return got, fmt.Errorf("partition %d ends at offset %d after %d of %d bytes", r.asked.Partition, r.asked.FetchOffset, got, want)
		}
		got += n
	}
	if got > want && !r.fixed {
		return got, fmt.Errorf("partition %d gave %d bytes, and %d were written", r.asked.Partition, got, want)
	}
	return got, nil
}

func (r *reader) fetch() ([]byte, error) {
	resp, err := r.conn.ask(r.request)
	if err != nil {
		return nil, err
	}
	f := resp.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(f.ErrorCode); err != nil {
		return nil, fmt.Errorf("reading back: %w", err)
	}
	if len(f.Topics) != 1 || len(f.Topics[0].Partitions) != 1 {
		return nil, errors.New("reading back: the answer names another number of partitions than one")
	}
	p := &f.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return nil, fmt.Errorf("reading back from offset %d: %w", r.asked.FetchOffset, err)
	}
	return p.RecordBatches, nil
}

// follow goes from batch to batch, checks that each begins where the one before ended,
// and counts their bytes. What is cut at the end is asked for again.
func (r *reader) follow(records []byte) (whole int64, err error) {
	for len(records) >= batchHeader {
		n := int(binary.BigEndian.Uint32(records[batchLengthAt:])) + batchPrefix
		if n > len(records) {
			break
		}
		offset := int64(binary.BigEndian.Uint64(records))
		if offset != r.asked.FetchOffset {
			return whole, fmt.Errorf("partition %d: a batch begins at offset %d, and %d was next", r.asked.Partition, offset, r.asked.FetchOffset)
		}
		r.asked.FetchOffset += int64(binary.BigEndian.Uint32(records[lastDeltaAt:])) + 1
		whole += int64(n)
		records = records[n:]
	}
	return whole, nil
}

// readBack reads all that was written, each partition over a connection of its own. A
// floor gives as much.
func (l *load) readBack(ctx context.Context, t *target, written int64) (tally, error) {
	var mu sync.Mutex // guards total and failed
	var total tally
	var failed []error
	var work sync.WaitGroup
	start := time.Now()
	for i := range l.ends {
		want := l.ends[i] / int64(l.work.records) * int64(len(l.lanes[0].frame.batch))
		if t.fixed {
			want = written / int64(len(l.ends))
		}
		work.Go(func() {
			got, err := l.readPartition(ctx, t, int32(i), want)
			mu.Lock()
			defer mu.Unlock()
			total.bytes += got
			failed = append(failed, err)
		})
	}
	work.Wait()
	total.took = time.Since(start)
	return total, errors.Join(failed...)
}

func (l *load) readPartition(ctx context.Context, t *target, partition int32, want int64) (int64, error) {
	c, err := dial(ctx, t.address, patience)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return newReader(c, l.topic, partition, t.fixed).read(want)
}
