// Package fault is the fault sentence: one line of text such as
//
//	disconnect after produce attempt=1 times=all
//
// read into a [Rule], and a [Set] of rules that applies them between a client
// and whoever does the work.
//
// Its invariant: a rule never changes what was done, only whether the worker is
// asked and what the client learns. Reply.Done is the worker's own word, always.
//
// It does not know topics, logs or producer state. It sees requests and answers,
// as a proxy in front of any Kafka cluster could, and treats every API alike:
// what it knows of Produce is that it carries batches and may want no answer.
package fault

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/fencepostmq/fencepost/internal/wire"
)

const (
	// MaxSentence is the longest sentence that is read, in bytes. It keeps a
	// hostile one from costing more than its own reading.
	MaxSentence = 4096

	// MaxDelay is the longest delay of one request. No client waits longer.
	MaxDelay = 24 * time.Hour

	// MaxName is the longest name of a rule, in bytes.
	MaxName = 100

	// All as Rule.Times lets a rule fire without end.
	All = math.MaxInt
)

// A Verb is what a rule does to a request or to its answer.
type Verb uint8

const (
	// Pass does nothing: the verb of a rule that only delays.
	Pass Verb = iota
	// Drop lets the path go dark: this request or answer and all later ones of
	// the connection are lost, and it stays open.
	Drop
	// Disconnect closes the connection.
	Disconnect
	// Error tells the client Rule.Code.
	Error
)

// delayWord is the verb that may stand before another one.
const delayWord = "delay"

var verbWords = []string{Drop: "drop", Disconnect: "disconnect", Error: "error"}

// String is the verb as a sentence spells it, "" for Pass.
func (v Verb) String() string { return wordAt(verbWords, int(v)) }

// A Place is the moment at which a rule acts.
type Place uint8

const (
	// Before is when the broker has done nothing yet.
	Before Place = iota
	// After is when the broker has done it all: only what the client learns is
	// changed.
	After
)

var placeWords = []string{Before: "before", After: "after"}

// String is the place as a sentence spells it.
func (p Place) String() string { return wordAt(placeWords, int(p)) }

// wordAt finds the word for a value; one that is none, of a rule made by hand,
// gets its number, which Parse refuses.
func wordAt(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return strconv.Itoa(i)
}

// A Rule is one fault sentence. [Parse] gives rules in their canonical form:
// lists sorted, ranges merged, what was not said filled in. A rule made by hand
// is brought into that form, and judged, by [Set.Add].
type Rule struct {
	Delay time.Duration // wait this long first; 0 for no wait
	Verb  Verb
	Code  int16 // what Error tells, a code of kerr other than 0
	Place Place
	API   int16 // the key of a served API

	// What a request must be like. An empty matcher matches everything. All of
	// them must hold for the same batch, or the same partition, of a request.
	Topic     []string // names with * and ?
	Partition Ranges
	Client    []string // client ids with * and ?
	Producer  Ranges   // producer ids; -1 is a batch or request without one
	Attempt   Ranges   // deliveries of a batch, counted from 1
	Sequence  Ranges   // held by the batch
	Offset    Ranges   // taken by the batch, or asked for by a Fetch

	// When to fire, counted in matching requests.
	Nth    int     // not before this match; 1 unless said
	Every  int     // only on each match that is a multiple of it; 1 unless said
	Times  int     // no more often than this; 1 unless said, or All
	Chance float64 // with this probability, 0 < Chance <= 1; 1 unless said

	Name string // to speak of the rule by; "" for none
}

// String is the canonical sentence. Parse reads it back as the same rule.
func (r Rule) String() string {
	var b strings.Builder
	b.WriteString(r.verbs())
	b.WriteString(" " + r.Place.String() + " " + r.api())
	for i := range keys {
		if value := keys[i].write(&r); value != "" {
			b.WriteString(" " + keys[i].name + "=" + value)
		}
	}
	return b.String()
}

// MarshalText is String, so that JSON and YAML show a rule as its sentence.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is Parse.
func (r *Rule) UnmarshalText(text []byte) error {
	rule, err := Parse(string(text))
	if err != nil {
		return err
	}
	*r = rule
	return nil
}

// verbs is the sentence up to the place.
func (r *Rule) verbs() string {
	var words []string
	if r.Delay > 0 {
		words = append(words, delayWord+" "+durationText(r.Delay))
	}
	switch r.Verb {
	case Pass:
	case Error:
		words = append(words, r.Verb.String()+" "+codeName(r.Code))
	default:
		words = append(words, r.Verb.String())
	}
	return strings.Join(words, ", ")
}

// durationText is a duration without the zeros that Go puts behind it (1m, not
// 1m0s), in letters that every keyboard has.
func durationText(d time.Duration) string {
	text := strings.Replace(d.String(), "µ", "u", 1)
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// api is the API as a sentence spells it.
func (r *Rule) api() string {
	api, ok := wire.Lookup(r.API)
	if !ok {
		return strconv.Itoa(int(r.API)) // a rule made by hand; Parse will refuse it
	}
	return api.SnakeName()
}

// A Range is the integers from First to Last, both included.
type Range struct{ First, Last int64 }

// contains says whether n is in the range.
func (r Range) contains(n int64) bool { return r.First <= n && n <= r.Last }

// overlaps says whether the two ranges have a number in common.
func (r Range) overlaps(o Range) bool { return r.First <= o.Last && o.First <= r.Last }

// String is the range as a sentence spells it: 3 or 3..5.
func (r Range) String() string {
	if r.First == r.Last {
		return strconv.FormatInt(r.First, 10)
	}
	return strconv.FormatInt(r.First, 10) + ".." + strconv.FormatInt(r.Last, 10)
}

// Ranges is a set of integers.
type Ranges []Range

// String is the set as a sentence spells it: 0,3..5.
func (rs Ranges) String() string {
	words := make([]string, len(rs))
	for i, r := range rs {
		words[i] = r.String()
	}
	return strings.Join(words, ",")
}

// overlaps says whether any number of o is in the set.
func (rs Ranges) overlaps(o Range) bool {
	return slices.ContainsFunc(rs, o.overlaps)
}

// canonical sorts the ranges and joins those that touch.
func (rs Ranges) canonical() Ranges {
	slices.SortFunc(rs, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	var joined Ranges
	for _, r := range rs {
		end := len(joined) - 1
		// Last+1 would overflow at the highest number; First-1 cannot, since an
		// earlier range begins no later.
		if end >= 0 && (r.First <= joined[end].Last || r.First-1 == joined[end].Last) {
			joined[end].Last = max(joined[end].Last, r.Last)
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// globs is a list of names with * and ?, as a sentence spells it.
func globs(names []string) string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = quoteIfNeeded(name)
	}
	return strings.Join(words, ",")
}

// quoteIfNeeded quotes what could not be read back as one word.
func quoteIfNeeded(word string) string {
	plain := word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return endsWord(r) || r == unicode.ReplacementChar || !strconv.IsPrint(r)
	})
	if plain {
		return word
	}
	return strconv.Quote(word)
}
