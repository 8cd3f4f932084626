package journal

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// attempts sends batches one after the other and lists the attempt of each.
func attempts(s *setup, batches ...batch) (seen []int) {
	p := s.peer("client")
	for _, b := range batches {
		p.send(b)
		events := s.journal.Events()
		seen = append(seen, events[len(events)-1].Attempt)
	}
	return seen
}

func TestAttempt(t *testing.T) {
	one := func(first int32) batch { return by(1000, first, "v") }
	many := func(first, n int32) batch { return by(1000, first, make([]string, n)...) }
	for _, tt := range []struct {
		name    string
		batches []batch
		want    []int
	}{
		{"batches in order are each delivered once", []batch{one(0), one(1), one(2)}, []int{1, 1, 1}},
		{"a replay counts on", []batch{one(0), one(0), one(0)}, []int{1, 2, 3}},
		{"an older batch counts on", []batch{one(0), one(1), one(0), one(2), one(1)}, []int{1, 1, 2, 1, 2}},
		{"five sent again at once", []batch{one(0), one(1), one(2), one(3), one(4), one(0), one(1), one(2), one(3), one(4), one(5)},
			[]int{1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 1}},
		{"a gap is a new batch", []batch{one(0), one(7), one(1), one(7)}, []int{1, 1, 1, 2}},
		{"the same records in other batches are new batches", []batch{many(0, 3), many(0, 1), many(1, 2), many(0, 3), many(1, 2)}, []int{1, 1, 1, 2, 2}},
		{"a batch that follows a smaller one is not new for that", []batch{one(0), one(1), one(2), one(3), many(0, 3), one(3)}, []int{1, 1, 1, 1, 1, 2}},
		{"an epoch of its own", []batch{one(0), one(0).inEpoch(1), one(0).inEpoch(1), one(0)}, []int{1, 1, 2, 2}},
		{"other records with the same sequences are the same batch", []batch{by(1000, 0, "a"), by(1000, 0, "b")}, []int{1, 2}},
		{"another producer", []batch{one(0), by(1001, 0, "v")}, []int{1, 1}},
		{"across the wrap of sequences", []batch{one(math.MaxInt32), one(0), one(math.MaxInt32), many(math.MaxInt32, 2), one(1), many(math.MaxInt32, 2)},
			[]int{1, 1, 2, 1, 1, 2}},
		{"without a producer id the bytes count", []batch{plain("a"), plain("a"), plain("b"), plain("a").at(7), plain("a")}, []int{1, 2, 1, 1, 3}},
		{"the sequences of a batch without a producer id do not", []batch{by(-1, 0, "a"), by(-1, 1, "b"), by(-1, 0, "c")}, []int{1, 1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := attempts(newSetup(t, Options{}), tt.batches...); !slices.Equal(got, tt.want) {
				t.Errorf("attempts %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAttempt_counts_a_delivery_that_never_came_to_the_broker(t *testing.T) {
	for _, b := range []batch{by(1000, 0, "v"), plain("v")} {
		s := newSetup(t, Options{})
		s.on("drop before produce", func(r *wire.Request) bool { return r.Batches[0].Attempt < 3 })
		if got, want := attempts(s, b, b, b, b), []int{1, 2, 3, 4}; !slices.Equal(got, want) {
			t.Errorf("producer %d: attempts %v, want %v", b.producer, got, want)
		}
	}
}

func TestAttempt_of_each_partition_counts_by_itself(t *testing.T) {
	s := newSetup(t, Options{})
	p, b := s.peer("client"), by(1000, 0, "v")
	set := map[wire.TopicPartition][]byte{{Topic: "a"}: b.raw(), {Topic: "b"}: b.raw(), {Topic: "b", Partition: 1}: b.raw()}
	p.handle(produceRequest(-1, set))
	delete(set, wire.TopicPartition{Topic: "b"})
	p.handle(produceRequest(-1, set))
	var got []string
	for _, e := range s.journal.Events() {
		got = append(got, fmt.Sprintf("%s-%d %d", e.Topic, e.Partition, e.Attempt))
	}
	if want := []string{"a-0 1", "b-0 1", "b-1 1", "a-0 2", "b-1 2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAttempt_is_seen_by_what_stands_behind(t *testing.T) {
	s := newSetup(t, Options{})
	var seen []int
	s.journal.next = wire.HandlerFunc(func(_ context.Context, r *wire.Request) wire.Reply {
		seen = append(seen, r.Batches[0].Attempt)
		return wire.Reply{}
	})
	p := s.peer("client")
	for range 3 {
		p.send(by(1000, 0, "v"))
	}
	p.sendTo("orders", 0, []byte("no batch"))
	p.sendTo("orders", 0, []byte("no batch"))
	if want := []int{1, 2, 3, 1, 1}; !slices.Equal(seen, want) {
		t.Errorf("attempts %v, want %v", seen, want)
	}
}

// Far more batches than are remembered: the newest are still told apart.
func TestAttempt_after_many_batches(t *testing.T) {
	s := newSetup(t, Options{})
	var batches []batch
	var want []int
	for i := range int32(10 * deliveriesKept) {
		batches, want = append(batches, by(1000, i, "v")), append(want, 1)
	}
	replay := batches[len(batches)-deliveriesKept:]
	for range replay {
		want = append(want, 2)
	}
	batches = append(batches, replay...)
	if got := attempts(s, batches...); !slices.Equal(got, want) {
		t.Errorf("attempts %v, want %v", got, want)
	}
}

func TestProducers_are_forgotten_when_there_are_too_many(t *testing.T) {
	e := newEndless("orders", 0)
	j := New(e, Options{})
	ctx := t.Context()
	send := func(id int64) int {
		e.req.Batches[0].Header.ProducerID = id
		j.Handle(ctx, &e.req)
		return e.req.Batches[0].Attempt
	}
	for id := range int64(producersKept) {
		send(id)
	}
	if got := send(0); got != 2 {
		t.Errorf("attempt %d of a remembered producer's batch, want 2", got)
	}
	send(producersKept) // the place of producer 1, which sent nothing for longest
	if got := send(0); got != 3 {
		t.Errorf("attempt %d of a remembered producer's batch, want 3", got)
	}
	if got := send(1); got != 1 {
		t.Errorf("attempt %d of a forgotten producer's batch, want 1", got)
	}
	if n := j.notes.producers.count; n != producersKept {
		t.Errorf("%d producers are remembered, want %d", n, producersKept)
	}
	if n := len(j.notes.topics["orders"].partitions[0].senders); n != producersKept {
		t.Errorf("the partition remembers %d producers, want %d", n, producersKept)
	}
	v, err := j.Verdict(ctx)
	if want := "2 producers beyond 32768 at a time were forgotten: a replay of theirs may count as a new batch"; err != nil || !slices.Contains(v.Limits, want) {
		t.Errorf("limits %q, want %q", v.Limits, want)
	}
}
