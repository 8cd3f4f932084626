package broker

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// together runs do on so many connections at once.
func together(n *node, connections int, do func(i int, c *client)) {
	var work sync.WaitGroup
	ready := make(chan struct{})
	for i := range connections {
		c := n.dial()
		work.Go(func() {
			<-ready
			do(i, c)
		})
	}
	close(ready)
	work.Wait()
}

// tryProduce sends one batch outside of the test's own goroutine.
func (c *client) tryProduce(topic string, partition int32, batch []byte) (told kmsg.ProduceResponseTopicPartition, ok bool) {
	resp, err := c.try(c.producing(produceVersion, -1, entry{topic, partition, batch}))
	if err != nil {
		c.t.Error(err)
		return told, false
	}
	return resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0], true
}

func TestProduce_ManyReplaysAtOnceAreAppendedOnce(t *testing.T) {
	n, c := startWith(t, "there")
	for round := range int32(20) {
		batch := by(7, 0, 3*round, 3).at(1000, 1000, 1000).bytes()
		var first atomic.Int64
		together(n, 8, func(_ int, c *client) {
			told, ok := c.tryProduce("there", 0, batch)
			if !ok {
				return
			}
			if told.ErrorCode != 0 || told.BaseOffset != int64(3*round) {
				t.Errorf("told %s and base offset %d instead of %d", codeName(told.ErrorCode), told.BaseOffset, 3*round)
			}
			if told.LogAppendTime == -1 { // a duplicate is told a time
				first.Add(1)
			}
		})
		want(t, "how many were told that they came first", first.Load(), 1)
		want(t, "end", c.end("there", 0), int64(3*round+3))
	}
}

func TestProduce_ManyBatchesForOneSequenceAtOnceOneWins(t *testing.T) {
	n, c := startWith(t, "there")
	var accepted atomic.Int64
	together(n, 8, func(i int, c *client) {
		told, ok := c.tryProduce("there", 0, by(7, 0, 0, i+1).bytes()) // each of another length
		switch {
		case !ok:
		case told.ErrorCode == 0:
			accepted.Add(1)
		case codeName(told.ErrorCode) != ooo || told.BaseOffset != -1:
			t.Errorf("told %s and base offset %d", codeName(told.ErrorCode), told.BaseOffset)
		}
	})
	want(t, "accepted", accepted.Load(), 1)
	want(t, "batches", len(offsetsIn(c.everything("there", 0, 0))), 1)
}

func TestProduce_ManyProducersAtOnceEachInOrder(t *testing.T) {
	n, c := startWith(t, "there")
	const producers, batches = 8, 50
	together(n, producers, func(id int, c *client) {
		last := int64(-1)
		for i := range int32(batches) {
			batch := by(int64(id), 0, 2*i, 2).bytes()
			told, ok := c.tryProduce("there", 0, batch)
			if !ok || told.ErrorCode != 0 || told.BaseOffset <= last {
				t.Errorf("producer %d, sequence %d: told %s and base offset %d after %d", id, 2*i, codeName(told.ErrorCode), told.BaseOffset, last)
				return
			}
			last = told.BaseOffset
			if again, ok := c.tryProduce("there", 0, batch); ok && again.BaseOffset != last {
				t.Errorf("producer %d, sequence %d: stored at %d and replayed at %d", id, 2*i, last, again.BaseOffset)
			}
		}
	})
	want(t, "end", c.end("there", 0), 2*producers*batches)
	want(t, "batches", len(offsetsIn(c.everything("there", 0, 0))), producers*batches)
}
