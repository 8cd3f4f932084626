package producer_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fencepostmq/fencepost/internal/producer"
)

// A model is the lesson told naively: it keeps every batch that was ever
// accepted and finds epoch, window and expected sequence by reading the history
// again. It shares no arithmetic with the package.
type model struct {
	accept  bool
	history []entry
	end     int64
}

// An entry is one accepted batch and where it stands.
type entry struct {
	batch      producer.Batch
	baseOffset int64
}

// of is all that was accepted from one producer, oldest first.
func (m *model) of(id int64) []entry {
	var mine []entry
	for _, e := range m.history {
		if e.batch.ProducerID == id {
			mine = append(mine, e)
		}
	}
	return mine
}

// judge is the four rules.
func (m *model) judge(b producer.Batch) producer.Outcome {
	mine := m.of(b.ProducerID)
	if len(mine) == 0 {
		return mustBegin(b, m.accept)
	}
	newest := mine[len(mine)-1]
	if b.Epoch < newest.batch.Epoch {
		return producer.Outcome{Kind: producer.Fenced, Epoch: newest.batch.Epoch}
	}
	if b.Epoch > newest.batch.Epoch {
		return mustBegin(b, false)
	}
	for _, e := range window(mine, b.Epoch) {
		if e.batch.First == b.First && sequenceAfter(e.batch) == sequenceAfter(b) {
			return producer.Outcome{Kind: producer.Duplicate, BaseOffset: e.baseOffset, Timestamp: timestampAt(e.baseOffset)}
		}
	}
	if want := sequenceAfter(newest.batch); uint64(b.First) != want {
		return producer.Outcome{Kind: producer.OutOfOrder, Expected: int32(want), Got: b.First}
	}
	return producer.Outcome{Kind: producer.Accepted}
}

func mustBegin(b producer.Batch, anywhere bool) producer.Outcome {
	if b.First == 0 || anywhere {
		return producer.Outcome{Kind: producer.Accepted}
	}
	return producer.Outcome{Kind: producer.OutOfOrder, Expected: 0, Got: b.First}
}

// window is the last five of a producer's batches that have its newest epoch.
func window(mine []entry, epoch int16) []entry {
	var same []entry
	for _, e := range mine {
		if e.batch.Epoch == epoch {
			same = append(same, e)
		}
	}
	return same[max(0, len(same)-5):]
}

// sequenceAfter is the sequence that follows a batch.
func sequenceAfter(b producer.Batch) uint64 {
	return (uint64(b.First) + uint64(b.Records)) % (1 << 31)
}

func (m *model) append(b producer.Batch) entry {
	e := entry{batch: b, baseOffset: m.end}
	m.history = append(m.history, e)
	m.end += int64(b.Records)
	return e
}

// all is what the history says of the producers, by id.
func (m *model) all() []producer.Info {
	newest := map[int64]entry{}
	for _, e := range m.history {
		newest[e.batch.ProducerID] = e
	}
	var infos []producer.Info
	for _, id := range slices.Sorted(maps.Keys(newest)) {
		e := newest[id]
		infos = append(infos, producer.Info{
			ProducerID:    id,
			Epoch:         e.batch.Epoch,
			LastSequence:  int32((sequenceAfter(e.batch) + 1<<31 - 1) % (1 << 31)),
			LastTimestamp: timestampAt(e.baseOffset),
			BaseOffset:    e.baseOffset,
			LastOffset:    e.baseOffset + int64(e.batch.Records) - 1,
		})
	}
	return infos
}

// draw is a batch that a producer, a confused producer or a zombie might send.
func (m *model) draw(t *rapid.T) producer.Batch {
	id := rapid.Int64Range(0, 2).Draw(t, "producer")
	mine := m.of(id)
	if len(mine) == 0 {
		return stranger(t, id)
	}
	newest := mine[len(mine)-1].batch
	next := newest
	next.First, next.Records = int32(sequenceAfter(newest)), records(t)
	earlier := rapid.SampledFrom(mine).Draw(t, "earlier").batch

	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "next":
		return next
	case "replay":
		return earlier
	case "gap":
		next.First = shift(next.First, rapid.Int64Range(-9, 9).Draw(t, "gap"))
		return next
	case "other last":
		earlier.Records = records(t)
		return earlier
	case "other first":
		return regroup(earlier, rapid.Int64Range(-3, int64(earlier.Records)-1).Draw(t, "skip"), earlier)
	case "regrouped":
		i := rapid.IntRange(0, len(mine)-1).Draw(t, "from")
		j := rapid.IntRange(i, len(mine)-1).Draw(t, "to")
		return regroup(mine[i].batch, 0, mine[j].batch)
	case "bump":
		next.Epoch += rapid.Int16Range(1, 2).Draw(t, "by")
		next.First = 0
		return next
	case "bad bump":
		next.Epoch++
		return next
	case "zombie":
		earlier.Epoch = max(0, newest.Epoch-rapid.Int16Range(0, 2).Draw(t, "behind"))
		return earlier
	default:
		panic(kind)
	}
}

// kinds of batches. Those that go on stand here more often, so that windows
// fill.
var kinds = []string{
	"next", "next", "next", "next", "next", "next", "replay", "replay", "replay",
	"gap", "other last", "other first", "regrouped", "bump", "bad bump", "zombie",
}

// stranger is a first batch, often near the wrap.
func stranger(t *rapid.T, id int64) producer.Batch {
	return producer.Batch{
		ProducerID: id,
		Epoch:      rapid.Int16Range(0, 2).Draw(t, "epoch"),
		First: rapid.OneOf(
			rapid.Just(int32(0)),
			rapid.Int32Range(highest-12, highest),
			rapid.Int32Range(0, highest),
		).Draw(t, "first"),
		Records: records(t),
	}
}

// records is a count: small nearly always, now and then so large that a few
// batches go round all sequences.
func records(t *rapid.T) int32 {
	if rapid.IntRange(0, 19).Draw(t, "size") == 19 {
		return rapid.Int32Range(1<<29, highest).Draw(t, "many records")
	}
	return rapid.Int32Range(1, 5).Draw(t, "records")
}

// shift moves a sequence by a number that may be negative.
func shift(sequence int32, by int64) int32 {
	return int32(uint64(int64(sequence)+by+1<<31) % (1 << 31))
}

// regroup is one batch from skip records after the beginning of first, or
// before it if negative, to the end of last. Where that is nothing, or all
// sequences, it is last.
func regroup(first producer.Batch, skip int64, last producer.Batch) producer.Batch {
	b := last
	b.First = shift(first.First, skip)
	count := (sequenceAfter(last) + 1<<31 - uint64(b.First)) % (1 << 31)
	if count == 0 {
		return last
	}
	b.Records = int32(count)
	return b
}

// TestProducers_agree_with_a_model_that_keeps_the_whole_history compares, after
// each batch, the outcome, what All shows, and what would become of every batch
// in the history if it came again.
func TestProducers_agree_with_a_model_that_keeps_the_whole_history(t *testing.T) {
	for _, policy := range []producer.Policy{producer.Refuse, producer.Accept} {
		t.Run(policy.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := &model{accept: policy == producer.Accept}
				p := producer.New(policy)
				for range rapid.IntRange(1, 60).Draw(t, "batches") {
					compareStep(t, m, p, m.draw(t))
				}
			})
		})
	}
}

func compareStep(t *rapid.T, m *model, p *producer.Producers, b producer.Batch) {
	want := m.judge(b)
	compareOutcome(t, "at first", b, want, p.Check(b))
	compareOutcome(t, "asked again", b, want, p.Check(b))
	if want.Kind == producer.Accepted {
		e := m.append(b)
		p.Record(b, e.baseOffset, timestampAt(e.baseOffset))
	}
	if diff := cmp.Diff(m.all(), slices.Collect(p.All())); diff != "" {
		t.Fatalf("after %+v, %v: All() (-want +got):\n%s", b, want, diff)
	}
	if got, want := p.Len(), len(m.all()); got != want {
		t.Fatalf("after %+v: Len() = %d, want %d", b, got, want)
	}
	for _, e := range m.history {
		compareOutcome(t, fmt.Sprintf("sent again after %+v", b), e.batch, m.judge(e.batch), p.Check(e.batch))
	}
}

func compareOutcome(t *rapid.T, when string, b producer.Batch, want, got producer.Outcome) {
	if got != want {
		t.Fatalf("%+v %s: %+v, want %+v", b, when, got, want)
	}
}
