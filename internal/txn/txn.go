// Package txn is the life of each transactional id: which producer it stands
// for, whether a transaction is open, and which partitions are in it.
//
// What always holds: a partition that is in an open transaction gets exactly one
// marker, and no producer of an older epoch changes anything.
//
// The package knows no log, no Kafka error code, no clock and no lock. Whoever
// owns a Table calls one of its methods at a time, and writes the markers that a
// method asks for before it calls the next.
package txn

import (
	"errors"
	"maps"
	"slices"
)

// LastEpoch is the last epoch that a producer id is given out with. One more is
// kept for the marker that ends a transaction of that epoch.
const LastEpoch = 32766

// A Producer is a producer id under one epoch.
type Producer struct {
	ID    int64
	Epoch int16
}

// nobody is no producer at all.
var nobody = Producer{-1, -1}

// A State is where a transactional id stands, as Kafka's TransactionState has
// it. The states in which Kafka prepares an end are never seen here: the markers
// are written at once.
type State uint8

// The states.
const (
	Empty          State = iota // a producer was given out, and did nothing yet
	Ongoing                     // a transaction is open
	CompleteCommit              // the last transaction was committed
	CompleteAbort               // the last transaction was aborted
)

// String is the state's name in DescribeTransactions and ListTransactions
// (KIP-664).
func (s State) String() string {
	return [...]string{"Empty", "Ongoing", "CompleteCommit", "CompleteAbort"}[s]
}

// The ways to be refused.
var (
	ErrUnknown  = errors.New("the transactional id does not stand for this producer id")
	ErrFenced   = errors.New("the transactional id has another epoch")
	ErrState    = errors.New("the transactional id is in no state for this")
	ErrNotAdded = errors.New("the partition is not in an open transaction of this producer")
)

// An Ending says which markers are to be written.
type Ending[P comparable] struct {
	Producer   Producer // whose markers they are; the epoch may be newer than that of the batches
	Commit     bool
	Partitions []P // in the order in which they were added
}

// An Entry is what is known of one transactional id.
type Entry[P comparable] struct {
	Producer   Producer
	State      State
	Timeout    int32 // milliseconds that a transaction may stay open
	Started    int64 // when the last transaction began, as it was given to Add; -1 in state Empty
	Partitions []P   // of the open transaction, in the order in which they were added

	within map[P]struct{} // the same, to be found at once: a request may add very many
	before Producer       // what the last bump replaced, so that a request whose answer was lost can be repeated
}

// A Table is all transactional ids. P names a partition.
type Table[P comparable] struct {
	known map[string]*Entry[P]
	newID func() int64
}

// NewTable makes a table without ids. newID draws producer ids.
func NewTable[P comparable](newID func() int64) *Table[P] {
	return &Table[P]{known: map[string]*Entry[P]{}, newID: newID}
}

// Lookup gives what is known of a transactional id, nil for nothing. It is valid
// until the next call.
func (t *Table[P]) Lookup(id string) *Entry[P] { return t.known[id] }

// IDs lists the known transactional ids, in order.
func (t *Table[P]) IDs() []string { return slices.Sorted(maps.Keys(t.known)) }

// Init gives out the producer of a transactional id (InitProducerId). A
// transaction that is open is aborted, as the ending says. claim is the producer
// that the client says it is, nil for a client that just started, which always
// gets a newer epoch and so fences whoever had the id before (KIP-98). A claim of
// the present producer gets the next epoch; one of the producer before the last
// bump asks again for an answer that was lost (KIP-360); any other is ErrFenced.
func (t *Table[P]) Init(id string, claim *Producer, timeout int32) (Producer, *Ending[P], error) {
	e := t.known[id]
	if e == nil {
		e = &Entry[P]{Producer: Producer{ID: t.newID()}, before: nobody}
		t.known[id] = e
		e.begin(timeout)
		return e.Producer, nil, nil
	}
	again := claim != nil && *claim == e.before && e.State != Ongoing
	if claim != nil && *claim != e.Producer && !again {
		return nobody, nil, ErrFenced
	}
	var ending *Ending[P]
	if e.State == Ongoing {
		ending = t.end(e, false, true)
	}
	if claim == nil || ending == nil && !again {
		t.bump(e)
	}
	if claim == nil {
		e.before = nobody
	}
	e.begin(timeout)
	return e.Producer, ending, nil
}

// begin makes an entry as good as new for its present producer.
func (e *Entry[P]) begin(timeout int32) {
	e.State, e.Timeout, e.Started = Empty, timeout, -1
	e.Partitions, e.within = nil, nil
}

// bump gives the next epoch, or when there is none left the next producer id,
// and says what marks the end of what went before.
func (t *Table[P]) bump(e *Entry[P]) (marker Producer) {
	e.before = e.Producer
	marker = Producer{e.Producer.ID, e.Producer.Epoch + 1}
	if e.Producer = marker; marker.Epoch > LastEpoch {
		e.Producer = Producer{ID: t.newID()}
	}
	return marker
}

// is judges whether a transactional id stands for a producer.
func (t *Table[P]) is(id string, p Producer) (*Entry[P], error) {
	e := t.known[id]
	switch {
	case e == nil || e.Producer.ID != p.ID:
		return nil, ErrUnknown
	case e.Producer.Epoch != p.Epoch:
		return nil, ErrFenced
	}
	return e, nil
}

// Missing lists which of these partitions Add would put into the transaction,
// each once, and says why it would not.
func (t *Table[P]) Missing(id string, p Producer, partitions ...P) (missing []P, err error) {
	e, err := t.is(id, p)
	if err != nil {
		return nil, err
	}
	seen := make(map[P]struct{}, len(partitions))
	for _, q := range partitions {
		_, again := seen[q]
		if !again && !e.has(q) {
			missing = append(missing, q)
		}
		seen[q] = struct{}{}
	}
	return missing, nil
}

// has says whether a partition is in the open transaction.
func (e *Entry[P]) has(partition P) bool {
	_, in := e.within[partition]
	return in
}

// Add puts partitions into the open transaction, and opens one if there is none.
func (t *Table[P]) Add(id string, p Producer, now int64, partitions ...P) error {
	e, err := t.is(id, p)
	if err != nil {
		return err
	}
	if e.State != Ongoing {
		e.State, e.Started = Ongoing, now
	}
	if e.within == nil {
		e.within = make(map[P]struct{}, len(partitions))
	}
	for _, q := range partitions {
		if !e.has(q) {
			e.Partitions = append(e.Partitions, q)
			e.within[q] = struct{}{}
		}
	}
	return nil
}

// Verify says why a producer may not write into a partition, nil if it may.
func (t *Table[P]) Verify(id string, p Producer, partition P) error {
	e, err := t.is(id, p)
	if err != nil {
		return err
	}
	if e.State != Ongoing || !e.has(partition) {
		return ErrNotAdded
	}
	return nil
}

// End commits or aborts the open transaction (EndTxn). With bump, as from
// version 5 on (KIP-890), the producer gets its next epoch with every end, also
// that of an abort of nothing, and the markers carry it; a client that missed the
// answer repeats the request with its old epoch. Without, an end that is over
// may be repeated. There is no ending if there are no markers to write.
func (t *Table[P]) End(id string, p Producer, commit, bump bool) (Producer, *Ending[P], error) {
	if e := t.known[id]; e != nil && bump && p == e.before && e.State.over() {
		return e.repeat(commit)
	}
	e, err := t.is(id, p)
	switch {
	case err != nil:
		return nobody, nil, err
	case e.State == Ongoing:
		ending := t.end(e, commit, bump)
		return e.Producer, ending, nil
	case bump && commit:
		return nobody, nil, ErrState
	case bump:
		t.end(e, false, true)
		return e.Producer, nil, nil
	}
	return e.repeat(commit)
}

// over says whether the last transaction has ended.
func (s State) over() bool { return s == CompleteCommit || s == CompleteAbort }

// repeat answers an end that is over already.
func (e *Entry[P]) repeat(commit bool) (Producer, *Ending[P], error) {
	if e.State != outcome(commit) {
		return nobody, nil, ErrState
	}
	return e.Producer, nil, nil
}

func outcome(commit bool) State {
	if commit {
		return CompleteCommit
	}
	return CompleteAbort
}

// end closes the transaction of an entry.
func (t *Table[P]) end(e *Entry[P], commit, bump bool) *Ending[P] {
	ending := &Ending[P]{Producer: e.Producer, Commit: commit, Partitions: e.Partitions}
	if bump {
		ending.Producer = t.bump(e)
	}
	e.State, e.Partitions, e.within = outcome(commit), nil, nil
	return ending
}

// Expire aborts a transaction that was open for too long, and fences its
// producer. It is nil if none is open any more, or another one than that which
// began at started under p.
func (t *Table[P]) Expire(id string, p Producer, started int64) *Ending[P] {
	e, err := t.is(id, p)
	if err != nil || e.State != Ongoing || e.Started != started {
		return nil
	}
	return t.end(e, false, true)
}
