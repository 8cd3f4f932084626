package producer_test

import (
	"fmt"
	"testing"

	"github.com/fencepostmq/fencepost/internal/producer"
)

// many is the number of producers that the goal of 100 ns is set for.
const many = 100_000

// BenchmarkCheckAndRecord judges and records the next batch of one producer
// after the other. With all of 100,000 producers active, each is out of every
// cache when its turn comes: BenchmarkMemory says what that alone costs.
func BenchmarkCheckAndRecord(b *testing.B) {
	for _, bb := range []struct{ producers, active int64 }{
		{1, 1},
		{many, 100},
		{many, many},
	} {
		b.Run(fmt.Sprintf("producers=%d/active=%d", bb.producers, bb.active), func(b *testing.B) {
			c := newCrowd(bb.producers)
			c.active = bb.active
			b.ReportAllocs()
			for b.Loop() {
				if c.known.Check(c.next).Kind != producer.Accepted {
					b.Fatal("not accepted: ", c.next)
				}
				c.record()
			}
		})
	}
}

// BenchmarkMemory waits for one word out of 128 bytes, which is what is
// remembered of a producer, in an array of 100,000 such places in scattered
// order: no memory of so many producers answers faster when nothing overlaps
// the wait.
func BenchmarkMemory(b *testing.B) {
	places := make([][16]int64, many)
	for i := range places {
		places[i][0] = (int64(i) + stride) % many
	}
	at := int64(0)
	for b.Loop() {
		at = places[at][0]
	}
}

// BenchmarkCheck_duplicate judges a replay of the newest batch of a full
// window, the last one that is looked at.
func BenchmarkCheck_duplicate(b *testing.B) {
	c := newCrowd(1)
	replay := c.next
	replay.First -= replay.Records
	b.ReportAllocs()
	for b.Loop() {
		if c.known.Check(replay).Kind != producer.Duplicate {
			b.Fatal("not a duplicate: ", replay)
		}
	}
}

func TestCheckAndRecord_of_a_known_producer_do_not_allocate(t *testing.T) {
	for _, producers := range []int64{1, many} {
		t.Run(fmt.Sprintf("producers=%d", producers), func(t *testing.T) {
			c := newCrowd(producers)
			allocs := testing.AllocsPerRun(1000, func() { oneOfEach(t, c) })
			if allocs != 0 {
				t.Errorf("%v allocations, want none", allocs)
			}
		})
	}
}

// oneOfEach brings about every kind of outcome and records what is accepted.
func oneOfEach(t *testing.T, c *crowd) {
	check := func(b producer.Batch, want producer.Kind) {
		if got := c.known.Check(b).Kind; got != want {
			t.Fatalf("%+v: kind %d, want %d", b, got, want)
		}
	}
	old := c.next
	check(old, producer.Accepted)
	c.known.Record(old, 0, 0)
	check(old, producer.Duplicate)
	gap := old
	gap.First++
	check(gap, producer.OutOfOrder)

	bumped := old
	bumped.First, bumped.Epoch = 0, old.Epoch+1
	check(bumped, producer.Accepted)
	c.known.Record(bumped, 0, 0)
	check(old, producer.Fenced)

	c.next = bumped
	c.next.First = producer.Next(bumped.Last())
}

// A crowd is a memory in which many producers filled their windows, and the
// batch that comes next.
type crowd struct {
	known  *producer.Producers
	next   producer.Batch
	active int64 // producers that still send: those with an id below it
}

func newCrowd(producers int64) *crowd {
	c := &crowd{
		known:  producer.New(producer.Refuse),
		next:   producer.Batch{Records: 100},
		active: producers,
	}
	for range producers * producer.Window {
		c.record()
	}
	return c
}

// stride leads from one producer to the next, far from it in memory. It is a
// prime that divides no number of producers used here, so that a round meets
// every one.
const stride = 61_657

// record records the batch and turns to the next producer, after a round of all
// of them to the next sequence.
func (c *crowd) record() {
	c.known.Record(c.next, 0, 0)
	c.next.ProducerID = (c.next.ProducerID + stride) % c.active
	if c.next.ProducerID == 0 {
		c.next.First = producer.Next(c.next.Last())
	}
}
