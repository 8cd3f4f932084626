package journal

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fencepostmq/fencepost/internal/wire"
)

const (
	// labelBytes is how much of a key or value is shown.
	labelBytes = 40
	// eventColumns is how long the line of an event may be.
	eventColumns = 120
)

// count is a number and its noun.
func count[N int | int32 | uint64](n N, one, many string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", one)
	}
	return fmt.Sprintf("%d %s", n, many)
}

// span is "offset 41" or "offsets 41 to 45".
func span[N int32 | int64](noun string, first, last N) string {
	if first == last {
		return fmt.Sprintf("%s %d", noun, first)
	}
	return fmt.Sprintf("%ss %d to %d", noun, first, last)
}

// list is "a", "a and b" or "a, b and c".
func list(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " and " + items[last]
}

// quote shows the beginning of a key or value.
func quote(b []byte) string {
	if len(b) <= labelBytes {
		return strconv.Quote(string(b))
	}
	cut := labelBytes
	for cut > labelBytes-utf8.UTFMax && !utf8.RuneStart(b[cut]) {
		cut--
	}
	return strconv.Quote(string(b[:cut])) + "…"
}

// labelOf names a record: by its identity or, without one, by its key or else
// its value, as if the key is empty. A record that has none of them has no name.
func labelOf(id Identity, r *wire.Record) string {
	switch {
	case id.part == identityHeader:
		return "header " + id.header + " " + quote(id.of(r))
	case id.part == identityKey && r.Key != nil, id.part == identityNone && len(r.Key) > 0:
		return "key " + quote(r.Key)
	case r.Value != nil:
		return "value " + quote(r.Value)
	case id.part == identityNone && r.Key != nil:
		return "key " + quote(r.Key)
	}
	return ""
}

// labels is "key "a"", or "keys "a" to "b"".
func labels(first, last string) string {
	noun, from, _ := strings.Cut(first, ` "`)
	other, to, ok := strings.Cut(last, ` "`)
	switch {
	case !ok || first == last:
		return first
	case noun != other:
		return first + " to " + last
	case strings.HasPrefix(noun, "header "):
		return fmt.Sprintf(`%s "%s to "%s`, noun, from, to)
	}
	return fmt.Sprintf(`%ss "%s to "%s`, noun, from, to)
}

// comma puts a label behind something else, if there is one.
func comma(label string) string {
	if label == "" {
		return ""
	}
	return ", " + label
}

// parenthesis puts a remark behind something else, if there is one.
func parenthesis(remark string) string {
	if remark == "" {
		return ""
	}
	return " (" + remark + ")"
}

// client names who sent a batch.
func client(name string) string {
	if name == "" {
		return "a client without a name"
	}
	return fmt.Sprintf("client %q", name)
}

// rule is the fault rules that fired on a delivery, as one.
func (e *Event) rule() string { return strings.Join(e.Rules, "; ") }

// String is the event in one line of at most 120 columns: who sent what, what
// was done, what was told, and the rule.
func (e Event) String() string {
	line := fmt.Sprintf("#%d %s/%d %s", e.Number, e.Client, e.Connection, e.what())
	if told := e.ToldText(); told != "" {
		line += "; " + told
	}
	if len(e.Rules) > 0 {
		line += " (" + e.rule() + ")"
	}
	return shorten(line, eventColumns)
}

func shorten(line string, columns int) string {
	if utf8.RuneCountInString(line) <= columns {
		return line
	}
	return string([]rune(line)[:columns-1]) + "…"
}

// what is the subject of an event and what was done.
func (e *Event) what() string {
	if e.Kind == KindRequest {
		return e.API + ": " + e.DoneText()
	}
	at := wire.TopicPartition{Topic: e.Topic, Partition: e.Partition}
	subject := count(e.Records, "record", "records") + " without producer"
	if e.ProducerID >= 0 {
		subject = fmt.Sprintf("producer %d epoch %d %s", e.ProducerID, e.Epoch, span("sequence", e.FirstSequence, e.LastSequence))
	}
	if e.Attempt > 1 {
		subject += fmt.Sprintf(" attempt %d", e.Attempt)
	}
	return fmt.Sprintf("%s %s: %s", at, subject, e.DoneText())
}

// DoneText is what was done in the words of the lesson.
func (e *Event) DoneText() string {
	switch d := &e.Done; d.Outcome {
	case NotAsked:
		if e.Told.Answer == Answered {
			return "refused before the broker"
		}
		return "lost before the broker"
	case Accepted:
		return fmt.Sprintf("accepted at offset %d", d.BaseOffset)
	case Duplicate:
		return fmt.Sprintf("duplicate of base offset %d", d.BaseOffset)
	case Handled:
		return "carried out"
	case OutOfOrder, Fenced:
		return d.Reason
	default:
		return "refused: " + d.Reason
	}
}

// ToldText is what the client was told, in words.
func (e *Event) ToldText() string {
	switch e.Told.Answer {
	case Closed:
		return "connection closed"
	case Lost:
		return "answer lost"
	case NotDue:
		return "no answer due"
	}
	if e.Told.Code == 0 && (e.Done.Outcome.Stored() || e.Kind == KindRequest) {
		return "acknowledged"
	}
	return "told " + e.Told.Error
}
