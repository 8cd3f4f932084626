package journal

import (
	"errors"
	"fmt"
	"time"

	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/fencepostmq/fencepost/internal/wire"
)

// An Event is one delivery of a batch, or a request of another API on which a
// fault rule fired.
type Event struct {
	Number     uint64    `json:"number"` // counts from 1
	Time       time.Time `json:"time"`   // of the reply
	Kind       Kind      `json:"kind"`
	API        string    `json:"api"`        // as Kafka's protocol page spells it
	Connection int64     `json:"connection"` // counts from 1
	Client     string    `json:"client"`     // the client id, "" for none

	// The following are about a batch. Of a request of another API they are empty
	// or -1, and a batch without a producer has producer, epoch and sequences -1.
	Topic         string `json:"topic,omitempty"`
	Partition     int32  `json:"partition"`
	ProducerID    int64  `json:"producer_id"`
	Epoch         int16  `json:"epoch"`
	FirstSequence int32  `json:"first_sequence"`
	LastSequence  int32  `json:"last_sequence"`
	Records       int32  `json:"records"` // as the batch says of itself; 0 if it cannot be read
	Attempt       int    `json:"attempt"` // deliveries of this batch by now; 1 is the first

	Done  Done     `json:"done"`
	Told  Told     `json:"told"`
	Rules []string `json:"rules,omitempty"` // the fault rules that fired, in canonical form

	// Lost is set by Subscribe: how many events the reader missed right before
	// this one.
	Lost uint64 `json:"lost,omitempty"`
}

// A Kind says what an event is about.
type Kind uint8

const (
	// KindBatch is one delivery of one batch of a Produce.
	KindBatch Kind = iota
	// KindRequest is a request of another API on which a fault rule fired.
	KindRequest
)

var kindNames = []string{"batch", "request"}

// String is "batch" or "request".
func (k Kind) String() string { return nameOf(kindNames, int(k)) }

// MarshalText is String, for JSON.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (k *Kind) UnmarshalText(text []byte) error { return parseName(k, kindNames, text) }

// An Outcome is what the broker did with a batch, or with a request of another
// API.
type Outcome uint8

const (
	// NotAsked is a batch or request that never came to the broker: it was lost on
	// the way, or a rule refused it.
	NotAsked Outcome = iota
	// Accepted is a batch that was appended.
	Accepted
	// Duplicate is a replay: nothing was appended, and the answer was the first
	// copy's base offset.
	Duplicate
	// OutOfOrder is OUT_OF_ORDER_SEQUENCE_NUMBER.
	OutOfOrder
	// Fenced is INVALID_PRODUCER_EPOCH.
	Fenced
	// Refused is any other error.
	Refused
	// Handled is a request of another API that was carried out.
	Handled
)

var outcomeNames = []string{"not_asked", "accepted", "duplicate", "out_of_order", "fenced", "refused", "handled"}

// String is the name in snake case.
func (o Outcome) String() string { return nameOf(outcomeNames, int(o)) }

// MarshalText is String, for JSON.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (o *Outcome) UnmarshalText(text []byte) error { return parseName(o, outcomeNames, text) }

// Stored says whether the batch stands in the log.
func (o Outcome) Stored() bool { return o == Accepted || o == Duplicate }

// Done is what the broker did.
type Done struct {
	Outcome    Outcome `json:"outcome"`
	BaseOffset int64   `json:"base_offset"` // -1 unless accepted or a duplicate
	// Reason is why the batch was not accepted: the answer's error message, or
	// the error's name where the answer has none.
	Reason string `json:"reason,omitempty"`
}

// An Answer says whether the client learned anything.
type Answer uint8

const (
	// Answered is an answer that was sent to the client.
	Answered Answer = iota
	// Closed is a connection that was closed instead: by a rule, by the broker, or
	// by the client, which was gone when its answer was due.
	Closed
	// Lost is an answer that was lost while the connection stayed open.
	Lost
	// NotDue is the fate of a Produce with acks=0: nobody waits for an answer.
	NotDue
)

var answerNames = []string{"answered", "closed", "lost", "not_due"}

// String is the name in snake case.
func (a Answer) String() string { return nameOf(answerNames, int(a)) }

// MarshalText is String, for JSON.
func (a Answer) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (a *Answer) UnmarshalText(text []byte) error { return parseName(a, answerNames, text) }

// Told is what the client was told.
type Told struct {
	Answer     Answer `json:"answer"`
	Code       int16  `json:"code"`            // Kafka's error code; 0 unless answered
	Error      string `json:"error,omitempty"` // its name: NONE for 0, "" unless answered
	BaseOffset int64  `json:"base_offset"`     // -1 unless an answer named one
}

// Confirmed says whether the client was told that its batch is stored.
func (t Told) Confirmed() bool { return t.Answer == Answered && t.Code == 0 }

// Silent says whether an answer was due that never reached the client.
func (t Told) Silent() bool { return t.Answer == Closed || t.Answer == Lost }

// settled says whether the client knows all that it asked to know.
func (t Told) settled() bool { return t.Confirmed() || t.Answer == NotDue }

// plain says whether there is nothing to remember about the event.
func (e *Event) plain() bool {
	return e.Done.Outcome == Accepted && e.Attempt <= 1 && e.Told.settled() && len(e.Rules) == 0
}

// setBatch fills in what the batch says of itself.
func (e *Event) setBatch(b *wire.Batch) {
	e.Topic, e.Partition, e.Attempt = b.Topic, b.Partition, b.Attempt
	e.ProducerID, e.Epoch, e.FirstSequence, e.LastSequence = -1, -1, -1, -1
	if b.Err != nil {
		return
	}
	h := &b.Header
	e.Records = h.NumRecords
	if h.ProducerID >= 0 {
		e.ProducerID, e.Epoch = h.ProducerID, h.ProducerEpoch
		e.FirstSequence, e.LastSequence = h.FirstSequence, lastSequence(h.FirstSequence, h.NumRecords)
	}
}

// lastSequence is producer.Last for batches as they came from a client, which
// may say that they have no records.
func lastSequence(first, records int32) int32 { return producer.Last(first, max(records, 1)) }

// errorName is Kafka's name of an error code.
func errorName(code int16) string {
	if name, ok := wire.ErrorName(code); ok {
		return name
	}
	return fmt.Sprintf("error %d", code)
}

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown (%d)", i)
}

var errUnknownName = errors.New("unknown name")

func parseName[T ~uint8](to *T, names []string, text []byte) error {
	for i, name := range names {
		if name == string(text) {
			*to = T(i)
			return nil
		}
	}
	return fmt.Errorf("%w %q", errUnknownName, text)
}
