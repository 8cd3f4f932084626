package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// firstMadeUp is the first producer id of those that are made up where a work has many
// producers. Brokers give out lower ones for as long as a run takes.
const firstMadeUp = 1 << 40

// A load is the lanes of a work to one broker.
type load struct {
	work  work
	topic string
	lanes []*lane
	ends  []int64 // of each partition's log
}

// openLoad connects a work's lanes.
func openLoad(ctx context.Context, t *target, w work, topic string, meant time.Duration) (*load, error) {
	l := &load{work: w, topic: topic, ends: make([]int64, w.topicPartitions())}
	for i := range w.conns {
		c, err := dial(ctx, t.address, meant)
		if err != nil {
			l.close()
			return nil, err
		}
		f, err := newFrame(w, topic)
		if err != nil {
			l.close()
			return nil, err
		}
		l.lanes = append(l.lanes, newLane(c, f, w, topic, t.fixed))
		if err := l.addSources(i, t.fixed); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

// addSources gives lane i its partitions and producers.
func (l *load) addSources(i int, fixed bool) (err error) {
	w, lane := l.work, l.lanes[i]
	id, epoch := int64(firstMadeUp+i*w.producers), int16(0)
	if !fixed && w.producers == 1 {
		if id, epoch, err = lane.conn.producerID(); err != nil {
			return err
		}
	}
	for n := range max(w.partitions, w.producers) {
		p := i*w.partitions + n%w.partitions
		lane.sources = append(lane.sources, source{
			partition: int32(p), producer: id + int64(n%w.producers), epoch: epoch, end: &l.ends[p],
		})
	}
	return nil
}

func (l *load) close() {
	for _, lane := range l.lanes {
		lane.conn.Close()
	}
}

// reconnect goes on over new connections with the same producers.
func (l *load) reconnect(ctx context.Context, address string, meant time.Duration) error {
	for _, lane := range l.lanes {
		lane.conn.Close()
		c, err := dial(ctx, address, meant)
		if err != nil {
			return err
		}
		lane.conn = c
	}
	return nil
}

// run drives all lanes at once, each up to the limit.
func (l *load) run(ctx context.Context, until limit) (tally, error) {
	var mu sync.Mutex // guards total and failed
	var total tally
	var failed []error
	var work sync.WaitGroup
	start := time.Now()
	for _, lane := range l.lanes {
		work.Go(func() {
			t, err := lane.run(ctx, until)
			mu.Lock()
			defer mu.Unlock()
			total.add(t)
			failed = append(failed, err)
		})
	}
	work.Wait()
	total.took = time.Since(start)
	return total, errors.Join(failed...)
}

// warm meets every source once.
func (l *load) warm(ctx context.Context) error {
	_, err := l.run(ctx, limit{batches: int64(len(l.lanes[0].sources))})
	if err != nil {
		return fmt.Errorf("before the clock starts: %w", err)
	}
	return nil
}
