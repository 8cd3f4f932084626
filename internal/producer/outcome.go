package producer

import "fmt"

// A Kind says which way a batch was judged.
type Kind uint8

const (
	// Accepted is a batch to append and then to Record.
	Accepted Kind = iota
	// Duplicate is a replay of a remembered batch: it is answered with the
	// offset of the first copy and not appended.
	Duplicate
	// OutOfOrder is a gap, an old sequence outside the window, or a first batch
	// that does not begin at 0.
	OutOfOrder
	// Fenced is a batch of an older epoch than the remembered one.
	Fenced
)

// An Outcome is what Check decided about one batch, with the evidence. Fields
// that the Kind does not name are zero.
type Outcome struct {
	Kind Kind

	BaseOffset int64 // Duplicate: the base offset of the first copy
	Timestamp  int64 // Duplicate: the timestamp of the first copy, as it was given to Record

	Expected int32 // OutOfOrder: the first sequence that would have been right
	Got      int32 // OutOfOrder: the first sequence that came

	Epoch int16 // Fenced: the remembered epoch
}

// String is the outcome in the words that users see. Nothing parses them.
func (o Outcome) String() string {
	switch o.Kind {
	case Accepted:
		return "accepted"
	case Duplicate:
		return fmt.Sprintf("duplicate of base offset %d", o.BaseOffset)
	case OutOfOrder:
		return fmt.Sprintf("out of order: expected %d, got %d", o.Expected, o.Got)
	case Fenced:
		return fmt.Sprintf("fenced by epoch %d", o.Epoch)
	}
	return fmt.Sprintf("outcome of unknown kind %d", o.Kind)
}
