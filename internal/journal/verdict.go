package journal

import (
	"fmt"
	"strings"
)

const (
	// findingsKept is how many findings of one kind the verdict on a topic holds.
	// The totals count all.
	findingsKept = 1000

	// linesShown is how many findings of one kind are printed.
	linesShown = 20

	// evidenceKept is how many events a finding carries.
	evidenceKept = 8
)

// A Verdict says of every topic whether its records were written exactly once.
type Verdict struct {
	Seed        uint64         `json:"seed"`
	Identity    Identity       `json:"identity"`
	ExactlyOnce bool           `json:"exactly_once"` // every topic is
	Topics      []TopicVerdict `json:"topics"`       // in order of their names; of one name, those deleted first
	// Limits says what could not be taken into account, and so what the verdict
	// does not cover.
	Limits []string `json:"limits,omitempty"`
}

func (v *Verdict) limit(format string, args ...any) {
	v.Limits = append(v.Limits, fmt.Sprintf(format, args...))
}

// A TopicVerdict is the verdict on one topic: exactly once if nothing is found.
type TopicVerdict struct {
	Topic       string `json:"topic"`
	Seed        uint64 `json:"seed"`
	Deleted     bool   `json:"deleted,omitempty"` // the verdict was drawn right before; findings are the first 20 of a kind
	ExactlyOnce bool   `json:"exactly_once"`
	Counts      Counts `json:"counts"`
	Totals      Totals `json:"totals"`

	// Of each kind the first 1000 findings, in the order of the log or, for what
	// is not in the log, of time.
	Duplicated  []Duplicated  `json:"duplicated,omitempty"`
	Missing     []Missing     `json:"missing,omitempty"`
	Unconfirmed []Unconfirmed `json:"unconfirmed,omitempty"`
	Swallowed   []Swallowed   `json:"swallowed,omitempty"`
	InHand      []InHand      `json:"in_hand,omitempty"`

	// Aborted and Open count the records in the log of transactions that were
	// aborted, and of those that are open: readers of committed records do not see
	// them. The aborted ones are not judged.
	Aborted uint64 `json:"aborted,omitempty"`
	Open    uint64 `json:"open,omitempty"`

	// WithoutIdentity counts the records in the log that do not have the identity
	// that was asked for; Note says so in words.
	WithoutIdentity uint64   `json:"without_identity,omitempty"`
	Note            string   `json:"note,omitempty"`
	Limits          []string `json:"limits,omitempty"` // as in Verdict

	several bool // the topic has several partitions, and texts name them
}

// Totals counts the findings of each kind, as many lines as they would take.
type Totals struct {
	Duplicated  int `json:"duplicated"`
	Missing     int `json:"missing"`
	Unconfirmed int `json:"unconfirmed"`
	Swallowed   int `json:"swallowed"`
	InHand      int `json:"in_hand"`
}

// Duplicated is a record, or a row of records, that stands in the log more than
// once.
type Duplicated struct {
	Text     string  `json:"text"`
	Records  int     `json:"records"`
	Places   []Range `json:"places"`           // of each copy, the first 8
	Beyond   int     `json:"beyond,omitempty"` // further copies
	First    string  `json:"first,omitempty"`  // the key, value or identity of the first record: key "o-41"
	Last     string  `json:"last,omitempty"`   // of the last record, if there are several
	Why      string  `json:"why"`
	Rule     string  `json:"rule,omitempty"` // the fault rule that caused it
	Evidence []Event `json:"evidence"`
}

// A Range is a row of records in the log.
type Range struct {
	Partition   int32 `json:"partition"`
	FirstOffset int64 `json:"first_offset"`
	LastOffset  int64 `json:"last_offset"`
	ProducerID  int64 `json:"producer_id"` // -1 for none
	Epoch       int16 `json:"epoch"`

	base int64 // of the batch
}

// Missing is a batch, or a row of them, that was delivered and does not stand in
// the log.
type Missing struct {
	Text    string `json:"text"`
	Records int    `json:"records"` // that are missing
	BatchRange
	Outcome  Outcome `json:"outcome"`
	Reason   string  `json:"reason,omitempty"`
	Rule     string  `json:"rule,omitempty"`  // the fault rule that caused it
	First    string  `json:"first,omitempty"` // the key or value of the first record
	Evidence []Event `json:"evidence"`
}

// Unconfirmed is a batch, or a row of them, that stands in the log though no
// answer ever told the client.
type Unconfirmed struct {
	Text string `json:"text"`
	BatchRange
	FirstOffset int64   `json:"first_offset"`
	LastOffset  int64   `json:"last_offset"`
	Told        Told    `json:"told"`           // the last that the client was told
	Rule        string  `json:"rule,omitempty"` // the fault rule that caused it
	Evidence    []Event `json:"evidence"`
}

// Swallowed is a batch that was taken for a replay, though it held other records
// than those that are stored.
type Swallowed struct {
	Text string `json:"text"`
	BatchRange
	FirstOffset int64   `json:"first_offset"`
	LastOffset  int64   `json:"last_offset"`
	Records     int     `json:"records"` // that differ
	Sent        string  `json:"sent,omitempty"`
	Stored      string  `json:"stored,omitempty"`
	Told        Told    `json:"told"`
	Evidence    []Event `json:"evidence"`
}

// A BatchRange says which batches a finding is about.
type BatchRange struct {
	Partition     int32  `json:"partition"`
	Client        string `json:"client"`
	Connection    int64  `json:"connection"` // of the first delivery
	ProducerID    int64  `json:"producer_id"`
	Epoch         int16  `json:"epoch"`
	FirstSequence int32  `json:"first_sequence"`
	LastSequence  int32  `json:"last_sequence"`
	BatchRecords  int32  `json:"batch_records"`
	Attempts      int    `json:"attempts"`
}

func rangeOf(e *Event) BatchRange {
	return BatchRange{
		Partition: e.Partition, Client: e.Client, Connection: e.Connection, ProducerID: e.ProducerID, Epoch: e.Epoch,
		FirstSequence: e.FirstSequence, LastSequence: e.LastSequence, BatchRecords: e.Records, Attempts: e.Attempt,
	}
}

// String is the verdict on each topic, and what it does not cover.
func (v Verdict) String() string {
	var b strings.Builder
	for i := range v.Topics {
		b.WriteString(v.Topics[i].String())
	}
	if len(v.Topics) == 0 {
		b.WriteString("no batch was produced\n")
	}
	for _, l := range v.Limits {
		fmt.Fprintf(&b, "limit: %s\n", l)
	}
	return b.String()
}

// String is one line for a topic that is exactly once; else a line for each of
// the first 20 findings of a kind, and beneath it the rule that caused it. Records
// of aborted and open transactions have a line each.
func (v TopicVerdict) String() string {
	var b strings.Builder
	name := v.Topic
	if v.Deleted {
		name += " (deleted)"
	}
	switch {
	case !v.ExactlyOnce:
		fmt.Fprintf(&b, "%s is not exactly once (seed %d)\n", name, v.Seed)
	case v.Counts == Counts{}:
		fmt.Fprintf(&b, "%s is exactly once: no batch came for it\n", name)
	default:
		fmt.Fprintf(&b, "%s is exactly once: %s\n", name, v.Counts.summary())
	}
	writeFindings(&b, "duplicated", v.Totals.Duplicated, v.Duplicated)
	writeFindings(&b, "missing", v.Totals.Missing, v.Missing)
	writeFindings(&b, "unconfirmed", v.Totals.Unconfirmed, v.Unconfirmed)
	writeFindings(&b, "swallowed", v.Totals.Swallowed, v.Swallowed)
	writeFindings(&b, "in hand", v.Totals.InHand, v.InHand)
	if v.Aborted > 0 {
		fmt.Fprintf(&b, "  %-11s %s of aborted transactions left out: readers of committed records do not see them\n", "aborted", count(v.Aborted, "record", "records"))
	}
	if v.Open > 0 {
		fmt.Fprintf(&b, "  %-11s %s of transactions that are still open: readers of committed records do not see them yet\n", "open", count(v.Open, "record", "records"))
	}
	if v.Note != "" {
		fmt.Fprintf(&b, "  %-11s %s\n", "note", v.Note)
	}
	for _, l := range v.Limits {
		fmt.Fprintf(&b, "  %-11s %s\n", "limit", l)
	}
	return b.String()
}

// A finding is one line of a verdict.
type finding interface {
	text() string
	cause() string // a fault rule that the text does not name, "" for none
}

func (d Duplicated) text() string   { return d.Text }
func (d Duplicated) cause() string  { return d.Rule }
func (m Missing) text() string      { return m.Text }
func (m Missing) cause() string     { return "" }
func (u Unconfirmed) text() string  { return u.Text }
func (u Unconfirmed) cause() string { return "" }
func (s Swallowed) text() string    { return s.Text }
func (s Swallowed) cause() string   { return "" }
func (h InHand) text() string       { return h.Text }
func (h InHand) cause() string      { return "" }

// writeFindings writes a line for each of the first findings. A rule that caused
// several in a row is named once, beneath the last of them.
func writeFindings[F finding](b *strings.Builder, kind string, total int, found []F) {
	shown := found[:min(len(found), linesShown)]
	for i, f := range shown {
		fmt.Fprintf(b, "  %-11s %s\n", kind, f.text())
		if f.cause() != "" && (i+1 == len(shown) || shown[i+1].cause() != f.cause()) {
			fmt.Fprintf(b, "  %-11s caused by fault %q\n", "", f.cause())
		}
	}
	if more := total - len(shown); more > 0 {
		fmt.Fprintf(b, "  %-11s and %d more\n", "", more)
	}
}

// summary is what happened to the batches of a topic that is exactly once.
func (c Counts) summary() string {
	parts := []string{fmt.Sprintf("%s in %s", count(c.Records, "record", "records"), count(c.Batches, "batch", "batches"))}
	if c.AcksLost > 0 {
		parts = append(parts, count(c.AcksLost, "acknowledgement lost", "acknowledgements lost"))
	}
	if c.AcksFalse > 0 {
		parts = append(parts, count(c.AcksFalse, "acknowledgement replaced by an error", "acknowledgements replaced by an error"))
	}
	if c.Replayed > 0 {
		parts = append(parts, count(c.Replayed, "replay answered with the first offset", "replays answered with the first offset"))
	}
	if c.AcksNotDue > 0 {
		parts = append(parts, count(c.AcksNotDue, "batch asked for no acknowledgement", "batches asked for no acknowledgement"))
	}
	return strings.Join(parts, ", ")
}

// addEvidence adds to each finding the events that are kept of its batches.
func (v *TopicVerdict) addEvidence(events []Event) {
	k := newEvidence(v.Topic, events)
	for i := range v.Duplicated {
		f := &v.Duplicated[i]
		for _, p := range f.Places {
			f.Evidence = k.at(f.Evidence, location{p.Partition, p.base})
		}
	}
	for i := range v.Missing {
		f := &v.Missing[i]
		f.Evidence = k.of(f.Evidence)
	}
	for i := range v.Unconfirmed {
		f := &v.Unconfirmed[i]
		f.Evidence = k.of(k.at(f.Evidence, location{f.Partition, f.FirstOffset}))
	}
	for i := range v.Swallowed {
		f := &v.Swallowed[i]
		f.Evidence = k.at(f.Evidence, location{f.Partition, f.FirstOffset})
	}
}
