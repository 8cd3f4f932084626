// Package producer is one partition's memory of its idempotent producers. It
// judges whether a batch is new, a replay, out of order, or fenced, so that a
// record whose acknowledgement was lost is written once.
//
// The invariant: a refused batch changes nothing. Check decides and touches
// nothing; Record is called afterwards, for an accepted batch that the log has.
//
// The package knows no log, no Kafka error code, no clock and no lock. Whoever
// owns the partition calls it under the lock that also guards the log, since
// the two must never disagree. It trusts what the batch says of itself.
package producer

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// Window is how many accepted batches are remembered per producer and
// partition. It equals the most requests that an idempotent producer keeps in
// flight on one connection (KAFKA-5494; in Kafka
// ProducerStateEntry.NUM_BATCHES_TO_RETAIN).
const Window = 5

// A Policy says what happens to a first batch that does not begin at sequence 0
// from a producer without state.
type Policy uint8

const (
	// Refuse answers that it is out of order: records before it are missing.
	Refuse Policy = iota
	// Accept takes it, as Apache Kafka 2.5 to 4.4 does (KIP-360).
	Accept
)

// ParsePolicy reads "refuse" or "accept", exactly so written.
func ParsePolicy(s string) (Policy, error) {
	for _, p := range []Policy{Refuse, Accept} {
		if s == p.String() {
			return p, nil
		}
	}
	return Refuse, fmt.Errorf("unknown producer policy %q: want %s or %s", s, Refuse, Accept)
}

// String is what ParsePolicy reads.
func (p Policy) String() string {
	switch p {
	case Refuse:
		return "refuse"
	case Accept:
		return "accept"
	}
	return fmt.Sprintf("policy %d", uint8(p))
}

// A Batch is what an idempotent producer says of a batch. ProducerID, Epoch and
// First are at least 0 and Records is at least 1; the caller turns away
// everything else first. About a batch outside these ranges nothing is promised
// but that it does not panic.
type Batch struct {
	ProducerID int64
	Epoch      int16
	First      int32 // sequence of the first record
	Records    int32 // how many records; each takes one sequence and one offset
}

// Last is the sequence of the batch's last record.
func (b Batch) Last() int32 { return Last(b.First, b.Records) }

// Producers is one partition's memory of its producers. New makes one. It is
// not safe for concurrent use.
type Producers struct {
	policy Policy
	known  map[int64]*state // by producer id
}

// New is the memory of a partition that no producer has written to.
func New(p Policy) *Producers {
	return &Producers{policy: p, known: make(map[int64]*state)}
}

// Check decides what a batch is and changes nothing. The rules are tried in
// this order:
//
//  1. A producer without state begins at sequence 0, else the batch is
//     OutOfOrder. With Accept it begins anywhere.
//  2. An older epoch than the remembered one is Fenced, also when the batch is a
//     replay.
//  3. A newer epoch begins at sequence 0, else the batch is OutOfOrder.
//  4. In the same epoch a remembered batch with exactly this first and last
//     sequence makes it a Duplicate. Otherwise it begins right after the newest
//     remembered batch, else it is OutOfOrder.
//
// In Kafka this is ProducerStateEntry.findDuplicateBatch and
// ProducerAppendInfo.checkProducerEpoch and checkSequence.
func (p *Producers) Check(b Batch) Outcome {
	expected := int32(0)
	switch s := p.known[b.ProducerID]; {
	case s == nil && p.policy == Accept: // rule 1
		expected = b.First
	case s == nil: // rule 1
	case b.Epoch < s.epoch: // rule 2
		return Outcome{Kind: Fenced, Epoch: s.epoch}
	case b.Epoch == s.epoch: // rule 4; a newer epoch, rule 3, is none of these
		if i := s.find(b); i >= 0 {
			return Outcome{Kind: Duplicate, BaseOffset: s.places[i].baseOffset, Timestamp: s.places[i].timestamp}
		}
		expected = s.expected()
	}
	if b.First != expected {
		return Outcome{Kind: OutOfOrder, Expected: expected, Got: b.First}
	}
	return Outcome{Kind: Accepted}
}

// Record remembers a batch that Check accepted and the log has since taken.
// baseOffset is the offset of its first record. timestamp means nothing here; a
// Duplicate and Info give it back. The first batch of a newer epoch empties the
// producer's window before it enters.
func (p *Producers) Record(b Batch, baseOffset, timestamp int64) {
	s := p.known[b.ProducerID]
	if s == nil {
		s = &state{epoch: b.Epoch}
		p.known[b.ProducerID] = s
	}
	if s.epoch != b.Epoch {
		*s = state{epoch: b.Epoch}
	}
	s.remember(span{b.First, b.Records}, place{baseOffset, timestamp})
}

// Mark remembers that a producer's transaction ended under this epoch, which is
// not older than the remembered one. A producer that was not known, or has a
// newer epoch by it, has an empty window then: its next batch begins at sequence
// 0 (KIP-890).
func (p *Producers) Mark(producerID int64, epoch int16) {
	if s := p.known[producerID]; s == nil || s.epoch != epoch {
		p.known[producerID] = &state{epoch: epoch}
	}
}

// Knows says whether a producer is remembered.
func (p *Producers) Knows(id int64) bool { return p.known[id] != nil }

// Len is how many producers are remembered.
func (p *Producers) Len() int { return len(p.known) }

// An Info is what is remembered of one producer, as DescribeProducers (KIP-664)
// shows it.
type Info struct {
	ProducerID    int64
	Epoch         int16
	LastSequence  int32 // of the newest batch; -1 if the window is empty, and what follows means nothing
	LastTimestamp int64 // of the newest batch, as it was given to Record
	BaseOffset    int64 // offset of the first record of the newest batch
	LastOffset    int64 // offset of the last record of the newest batch
}

// All goes through the remembered producers in order of producer id. Record is
// not to be called before the walk ends.
func (p *Producers) All() iter.Seq[Info] {
	return func(yield func(Info) bool) {
		for _, id := range slices.Sorted(maps.Keys(p.known)) {
			if !yield(p.known[id].info(id)) {
				return
			}
		}
	}
}

// A state is what is remembered of one producer: an epoch and the newest
// batches accepted under it; there may be none after a Mark. The window
// is a ring. It stands in two arrays, so that what every Check reads lies in
// one cache line.
type state struct {
	epoch  int16
	next   uint8        // slot that the next batch takes
	spans  [Window]span // a slot without records is free
	places [Window]place
}

// A span is the sequences of a batch. Two are equal exactly if their first and
// last sequences are.
type span struct{ first, records int32 }

func (s span) last() int32 { return Last(s.first, s.records) }

// A place is where and when a batch was stored.
type place struct{ baseOffset, timestamp int64 }

// find is the slot that remembers this batch, -1 if none does.
func (s *state) find(b Batch) int {
	return slices.Index(s.spans[:], span{b.First, b.Records})
}

// expected is the sequence that the next batch begins with.
func (s *state) expected() int32 {
	newest := s.spans[s.newest()]
	if newest.records == 0 {
		return 0
	}
	return Next(newest.last())
}

// newest is the slot of the batch that was accepted last.
func (s *state) newest() int { return int(s.next+Window-1) % Window }

func (s *state) remember(sequences span, stored place) {
	s.spans[s.next], s.places[s.next] = sequences, stored
	s.next = (s.next + 1) % Window
}

func (s *state) info(id int64) Info {
	sequences, stored := s.spans[s.newest()], s.places[s.newest()]
	if sequences.records == 0 {
		return Info{ProducerID: id, Epoch: s.epoch, LastSequence: -1}
	}
	return Info{
		ProducerID:    id,
		Epoch:         s.epoch,
		LastSequence:  sequences.last(),
		LastTimestamp: stored.timestamp,
		BaseOffset:    stored.baseOffset,
		LastOffset:    stored.baseOffset + int64(sequences.records) - 1,
	}
}
