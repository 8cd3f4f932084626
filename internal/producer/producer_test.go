package producer_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fencepostmq/fencepost/internal/producer"
)

// Producer ids.
const (
	a = int64(1000)
	b = int64(1001)
)

// A step sends one batch. Accepted batches are wanted as "accepted 3", with the
// base offset that the log gave them.
type step struct {
	producer int64
	epoch    int16
	first    int32
	records  int32
	want     string
}

func (s step) batch() producer.Batch {
	return producer.Batch{ProducerID: s.producer, Epoch: s.epoch, First: s.first, Records: s.records}
}

// A partition is a memory of producers and the end of a log that has no bytes.
type partition struct {
	*producer.Producers
	end int64
}

func newPartition(p producer.Policy) *partition { return &partition{Producers: producer.New(p)} }

// produce checks and, if accepted, appends and records. The timestamp that it
// records tells the copies of a batch apart.
func (p *partition) produce(batch producer.Batch) string {
	outcome := p.Check(batch)
	if outcome.Kind != producer.Accepted {
		return outcome.String()
	}
	base := p.end
	p.end += int64(batch.Records)
	p.Record(batch, base, timestampAt(base))
	return fmt.Sprintf("%v %d", outcome, base)
}

// timestampAt is the timestamp of whatever was appended at this offset.
func timestampAt(baseOffset int64) int64 { return 1_700_000_000_000 + baseOffset }

// play sends each step and compares the outcome. A refused batch must leave the
// end of the log and all that is known as they were.
func play(t *testing.T, p *partition, steps []step) {
	t.Helper()
	for i, s := range steps {
		end, known := p.end, slices.Collect(p.All())
		got := p.produce(s.batch())
		if got != s.want {
			t.Fatalf("step %d, %+v: %s, want %s", i, s.batch(), got, s.want)
		}
		if p.end != end {
			continue
		}
		if diff := cmp.Diff(known, slices.Collect(p.All())); diff != "" {
			t.Fatalf("step %d, %+v: refused, yet it changed what is known:\n%s", i, s.batch(), diff)
		}
	}
}

// A story is a list of steps under a sentence that says what they show.
type story struct {
	name  string
	steps []step
}

func tell(t *testing.T, policy producer.Policy, stories []story) {
	t.Helper()
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) { play(t, newPartition(policy), s.steps) })
	}
}

func TestWorkedTrace(t *testing.T) {
	play(t, newPartition(producer.Refuse), []step{
		{a, 0, 0, 3, "accepted 0"},
		{a, 0, 3, 2, "accepted 3"},
		{a, 0, 3, 2, "duplicate of base offset 3"},
		{a, 0, 7, 1, "out of order: expected 5, got 7"},
		{a, 1, 7, 1, "out of order: expected 0, got 7"},
		{a, 1, 0, 1, "accepted 5"},
		{a, 0, 5, 1, "fenced by epoch 1"},
	})
}

func TestRule1_producer_without_state(t *testing.T) {
	tell(t, producer.Refuse, []story{
		{"begins at 0", []step{{a, 0, 0, 3, "accepted 0"}}},
		{"begins at 0 in any epoch", []step{{a, 7, 0, 3, "accepted 0"}}},
		{"is refused one too late", []step{{a, 0, 1, 1, "out of order: expected 0, got 1"}}},
		{"is refused at the highest sequence", []step{{a, 0, highest, 1, "out of order: expected 0, got 2147483647"}}},
		{"is refused in a later epoch too", []step{{a, 3, 5, 1, "out of order: expected 0, got 5"}}},
		{"stays without state when refused", []step{
			{a, 5, 5, 1, "out of order: expected 0, got 5"},
			{a, 5, 6, 1, "out of order: expected 0, got 6"},
			{a, 0, 0, 1, "accepted 0"}, // epoch 5 does not fence it
		}},
		{"is not helped by a producer that has state", []step{
			{a, 0, 0, 3, "accepted 0"},
			{b, 0, 3, 1, "out of order: expected 0, got 3"},
			{b, 0, 0, 1, "accepted 3"},
		}},
	})
}

func TestRule1_under_accept(t *testing.T) {
	tell(t, producer.Accept, []story{
		{"begins anywhere", []step{
			{a, 0, 41, 2, "accepted 0"},
			{a, 0, 43, 1, "accepted 2"},
		}},
		{"begins at 0 as well", []step{{a, 0, 0, 1, "accepted 0"}}},
		{"is remembered from where it began", []step{
			{a, 0, 41, 2, "accepted 0"},
			{a, 0, 41, 2, "duplicate of base offset 0"},
			{a, 0, 44, 1, "out of order: expected 43, got 44"},
			{a, 0, 40, 1, "out of order: expected 43, got 40"},
		}},
		{"says nothing about a newer epoch", []step{
			{a, 0, 41, 2, "accepted 0"},
			{a, 1, 43, 1, "out of order: expected 0, got 43"},
			{a, 1, 0, 1, "accepted 2"},
		}},
		{"is asked of each producer once", []step{
			{a, 0, 41, 1, "accepted 0"},
			{b, 0, 7, 1, "accepted 1"},
			{a, 0, 8, 1, "out of order: expected 42, got 8"},
		}},
	})
}

func TestRule2_older_epoch(t *testing.T) {
	tell(t, producer.Refuse, []story{
		{"is fenced when it goes on", []step{
			{a, 0, 0, 3, "accepted 0"},
			{a, 1, 0, 1, "accepted 3"},
			{a, 0, 3, 1, "fenced by epoch 1"},
		}},
		{"is fenced when it goes on where the newer epoch stands", []step{
			{a, 0, 0, 3, "accepted 0"},
			{a, 1, 0, 3, "accepted 3"},
			{a, 0, 3, 1, "fenced by epoch 1"},
		}},
		{"is fenced when it begins anew", []step{
			{a, 2, 0, 3, "accepted 0"},
			{a, 1, 0, 1, "fenced by epoch 2"},
		}},
		{"is fenced when it replays what was accepted under it", []step{
			{a, 0, 0, 3, "accepted 0"},
			{a, 1, 0, 1, "accepted 3"},
			{a, 0, 0, 3, "fenced by epoch 1"},
		}},
		{"is fenced when its sequences are those of a newer epoch's batch", []step{
			{a, 1, 0, 3, "accepted 0"},
			{a, 0, 0, 3, "fenced by epoch 1"},
		}},
		{"is fenced by the highest epoch", []step{
			{a, math.MaxInt16, 0, 1, "accepted 0"},
			{a, math.MaxInt16 - 1, 0, 1, "fenced by epoch 32767"},
		}},
		{"fences no other producer", []step{
			{a, 1, 0, 1, "accepted 0"},
			{b, 0, 0, 1, "accepted 1"},
		}},
	})
}

func TestRule3_newer_epoch(t *testing.T) {
	tell(t, producer.Refuse, []story{
		{"begins at 0", []step{
			{a, 0, 0, 3, "accepted 0"},
			{a, 1, 0, 1, "accepted 3"},
			{a, 1, 1, 1, "accepted 4"},
		}},
		{"may skip epochs", []step{
			{a, 0, 0, 3, "accepted 0"},
			{a, 9, 0, 1, "accepted 3"},
		}},
		{"does not go on where the old one stood", []step{
			{a, 0, 0, 3, "accepted 0"},
			{a, 1, 3, 1, "out of order: expected 0, got 3"},
		}},
		{"is no replay of the old epoch's batch", []step{
			{a, 0, 0, 3, "accepted 0"},
			{a, 0, 3, 2, "accepted 3"},
			{a, 1, 3, 2, "out of order: expected 0, got 3"},
			{a, 1, 0, 3, "accepted 5"},
			{a, 1, 0, 3, "duplicate of base offset 5"},
		}},
		{"begins with an empty window", []step{
			{a, 0, 0, 3, "accepted 0"},
			{a, 0, 3, 2, "accepted 3"},
			{a, 1, 0, 1, "accepted 5"},
			{a, 1, 3, 2, "out of order: expected 1, got 3"},
			{a, 1, 0, 3, "out of order: expected 1, got 0"},
		}},
		{"does not fence when refused", []step{
			{a, 0, 0, 3, "accepted 0"},
			{a, 1, 7, 1, "out of order: expected 0, got 7"},
			{a, 0, 3, 1, "accepted 3"},
		}},
		{"keeps the old window when refused", []step{
			{a, 0, 0, 3, "accepted 0"},
			{a, 0, 3, 2, "accepted 3"},
			{a, 1, 7, 1, "out of order: expected 0, got 7"},
			{a, 0, 0, 3, "duplicate of base offset 0"},
			{a, 0, 3, 2, "duplicate of base offset 3"},
		}},
	})
}

func TestRule4_same_epoch(t *testing.T) {
	tell(t, producer.Refuse, []story{
		{"goes on after the newest batch", []step{
			{a, 0, 0, 3, "accepted 0"},
			{a, 0, 3, 2, "accepted 3"},
			{a, 0, 5, 1, "accepted 5"},
		}},
		{"answers every remembered batch as a duplicate", []step{
			{a, 0, 0, 1, "accepted 0"},
			{a, 0, 1, 2, "accepted 1"},
			{a, 0, 3, 1, "accepted 3"},
			{a, 0, 4, 3, "accepted 4"},
			{a, 0, 7, 1, "accepted 7"},
			{a, 0, 0, 1, "duplicate of base offset 0"},
			{a, 0, 1, 2, "duplicate of base offset 1"},
			{a, 0, 3, 1, "duplicate of base offset 3"},
			{a, 0, 4, 3, "duplicate of base offset 4"},
			{a, 0, 7, 1, "duplicate of base offset 7"},
		}},
		{"refuses a gap of one record", []step{
			{a, 0, 0, 3, "accepted 0"},
			{a, 0, 4, 1, "out of order: expected 3, got 4"},
		}},
		{"refuses a beginning anew", []step{
			{a, 0, 0, 3, "accepted 0"},
			{a, 0, 3, 2, "accepted 3"},
			{a, 0, 0, 2, "out of order: expected 5, got 0"},
		}},
		{"takes the batch that a gap left out", []step{
			{a, 0, 0, 3, "accepted 0"},
			{a, 0, 4, 1, "out of order: expected 3, got 4"},
			{a, 0, 3, 1, "accepted 3"},
			{a, 0, 4, 1, "accepted 4"},
		}},
	})
}

func TestWrap(t *testing.T) {
	tell(t, producer.Accept, []story{
		{"comes after a batch that ends exactly at the highest sequence", []step{
			{a, 0, highest - 2, 3, "accepted 0"},
			{a, 0, 0, 1, "accepted 3"},
			{a, 0, 1, 1, "accepted 4"},
		}},
		{"comes after a single record at the highest sequence", []step{
			{a, 0, highest, 1, "accepted 0"},
			{a, 0, 1, 1, "out of order: expected 0, got 1"},
			{a, 0, highest, 1, "duplicate of base offset 0"},
			{a, 0, 0, 1, "accepted 1"},
		}},
		{"comes within a batch that straddles it", []step{
			{a, 0, highest - 1, 4, "accepted 0"},
			{a, 0, 0, 1, "out of order: expected 2, got 0"},
			{a, 0, 2, 1, "accepted 4"},
		}},
		{"leaves a replay that straddles a duplicate", []step{
			{a, 0, highest - 1, 4, "accepted 0"},
			{a, 0, 2, 1, "accepted 4"},
			{a, 0, highest - 1, 4, "duplicate of base offset 0"},
		}},
		{"tells batches apart that straddle by different counts", []step{
			{a, 0, highest - 1, 4, "accepted 0"},
			{a, 0, highest - 1, 3, "out of order: expected 2, got 2147483646"},
			{a, 0, highest - 1, 5, "out of order: expected 2, got 2147483646"},
			{a, 0, highest - 1, 2, "out of order: expected 2, got 2147483646"},
		}},
		{"keeps the window on both sides", []step{
			{a, 0, highest - 3, 2, "accepted 0"},
			{a, 0, highest - 1, 2, "accepted 2"},
			{a, 0, 0, 2, "accepted 4"},
			{a, 0, highest - 3, 2, "duplicate of base offset 0"},
			{a, 0, highest - 1, 2, "duplicate of base offset 2"},
			{a, 0, 0, 2, "duplicate of base offset 4"},
			{a, 0, 2, 1, "accepted 6"},
		}},
		{"does not make the highest sequence the one before a beginning", []step{
			{a, 0, 0, 1, "accepted 0"},
			{a, 0, highest, 1, "out of order: expected 1, got 2147483647"},
		}},
	})
}

func TestCheck_gives_the_evidence_of_its_kind_and_no_other(t *testing.T) {
	p := newPartition(producer.Refuse)
	play(t, p, []step{{b, 3, 0, 3, "accepted 0"}, {a, 3, 0, 3, "accepted 3"}, {a, 3, 3, 2, "accepted 6"}})
	for _, tt := range []struct {
		name  string
		batch producer.Batch
		want  producer.Outcome
	}{
		{"accepted", producer.Batch{ProducerID: a, Epoch: 3, First: 5, Records: 1}, producer.Outcome{Kind: producer.Accepted}},
		{"duplicate", producer.Batch{ProducerID: a, Epoch: 3, First: 0, Records: 3},
			producer.Outcome{Kind: producer.Duplicate, BaseOffset: 3, Timestamp: timestampAt(3)}},
		{"out of order", producer.Batch{ProducerID: a, Epoch: 3, First: 7, Records: 1},
			producer.Outcome{Kind: producer.OutOfOrder, Expected: 5, Got: 7}},
		{"fenced", producer.Batch{ProducerID: a, Epoch: 2, First: 7, Records: 1},
			producer.Outcome{Kind: producer.Fenced, Epoch: 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, p.Check(tt.batch)); diff != "" {
				t.Errorf("Check(%+v) (-want +got):\n%s", tt.batch, diff)
			}
		})
	}
}

func TestAll_shows_the_newest_batch_of_each_producer_by_id(t *testing.T) {
	p := newPartition(producer.Accept)
	play(t, p, []step{
		{b, 0, highest - 1, 4, "accepted 0"},
		{7, 2, 0, 1, "accepted 4"},
		{a, 0, 0, 3, "accepted 5"},
		{a, 1, 0, 2, "accepted 8"},
		{a, 1, 2, 5, "accepted 10"},
		{a, 1, 0, 2, "duplicate of base offset 8"},
		{math.MaxInt64, 0, 0, 1, "accepted 15"},
	})
	want := []producer.Info{
		{ProducerID: 7, Epoch: 2, LastSequence: 0, LastTimestamp: timestampAt(4), BaseOffset: 4, LastOffset: 4},
		{ProducerID: a, Epoch: 1, LastSequence: 6, LastTimestamp: timestampAt(10), BaseOffset: 10, LastOffset: 14},
		{ProducerID: b, Epoch: 0, LastSequence: 1, LastTimestamp: timestampAt(0), BaseOffset: 0, LastOffset: 3},
		{ProducerID: math.MaxInt64, LastTimestamp: timestampAt(15), BaseOffset: 15, LastOffset: 15},
	}
	if diff := cmp.Diff(want, slices.Collect(p.All())); diff != "" {
		t.Errorf("All() (-want +got):\n%s", diff)
	}
	if p.Len() != len(want) {
		t.Errorf("Len() = %d, want %d", p.Len(), len(want))
	}
}

func TestAll_ends_when_the_caller_has_enough(t *testing.T) {
	p := newPartition(producer.Refuse)
	play(t, p, []step{{a, 0, 0, 1, "accepted 0"}, {b, 0, 0, 1, "accepted 1"}})
	var seen []int64
	for info := range p.All() {
		seen = append(seen, info.ProducerID)
		break
	}
	if diff := cmp.Diff([]int64{a}, seen); diff != "" {
		t.Errorf("producers seen (-want +got):\n%s", diff)
	}
}

func TestNew_knows_nobody(t *testing.T) {
	p := producer.New(producer.Refuse)
	if p.Len() != 0 || slices.Collect(p.All()) != nil {
		t.Errorf("knows %v", slices.Collect(p.All()))
	}
}

// TestBatch_outside_its_ranges_does_not_panic asks about numbers that the caller
// should have turned away.
func TestBatch_outside_its_ranges_does_not_panic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := producer.New(producer.Policy(rapid.Uint8Max(2).Draw(t, "policy")))
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			batch := producer.Batch{
				ProducerID: rapid.Int64Range(-2, 2).Draw(t, "producer"),
				Epoch:      rapid.Int16().Draw(t, "epoch"),
				First:      rapid.Int32().Draw(t, "first"),
				Records:    rapid.Int32().Draw(t, "records"),
			}
			_ = p.Check(batch).String()
			p.Record(batch, rapid.Int64().Draw(t, "base offset"), rapid.Int64().Draw(t, "timestamp"))
			_ = producer.Contains(batch.First, batch.Records, rapid.Int32().Draw(t, "sequence"))
			_ = slices.Collect(p.All())
		}
	})
}

func TestProducers_Mark(t *testing.T) {
	batch := func(epoch int16, first int32) producer.Batch {
		return producer.Batch{ProducerID: 7, Epoch: epoch, First: first, Records: 2}
	}
	for name, c := range map[string]struct {
		epoch int16
		batch producer.Batch
		want  producer.Outcome
	}{
		"of the same epoch keeps the window":              {1, batch(1, 0), producer.Outcome{Kind: producer.Duplicate, BaseOffset: 40, Timestamp: 9}},
		"of the same epoch lets the sequences go on":      {1, batch(1, 2), producer.Outcome{Kind: producer.Accepted}},
		"of a newer epoch empties the window":             {2, batch(2, 2), producer.Outcome{Kind: producer.OutOfOrder, Got: 2}},
		"of a newer epoch begins at sequence 0":           {2, batch(2, 0), producer.Outcome{Kind: producer.Accepted}},
		"of a newer epoch fences the one before":          {2, batch(1, 2), producer.Outcome{Kind: producer.Fenced, Epoch: 2}},
		"of a newer epoch fences a replay of the one too": {2, batch(1, 0), producer.Outcome{Kind: producer.Fenced, Epoch: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			p := producer.New(producer.Refuse)
			p.Record(batch(1, 0), 40, 9)
			p.Mark(7, c.epoch)
			if got := p.Check(c.batch); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestProducers_Mark_of_a_producer_that_never_wrote(t *testing.T) {
	p := producer.New(producer.Refuse)
	p.Mark(7, 3)
	var known []producer.Info
	for info := range p.All() {
		known = append(known, info)
	}
	if want := []producer.Info{{ProducerID: 7, Epoch: 3, LastSequence: -1}}; !slices.Equal(known, want) {
		t.Errorf("%+v, want %+v", known, want)
	}
	if got := p.Check(producer.Batch{ProducerID: 7, Epoch: 3, First: 5, Records: 1}); got.Kind != producer.OutOfOrder {
		t.Errorf("its first batch may begin anywhere: %+v", got)
	}
}
