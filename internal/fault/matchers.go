package fault

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepostmq/fencepost/internal/producer"
)

// A matcher is one of the things that a rule can ask for.
type matcher struct {
	key    string // as a sentence spells it
	asked  func(*Rule) bool
	passes func(*Rule, *unit) bool

	// What a rule that never fired says: what it asks for, and what it saw.
	sight func(*unit) sight
	spans bool // too many different values to list: said from lowest to highest
	asks  func(*Rule) string
	saw   func(api int16, s sight) string
}

// The places of the matchers in the order in which units are judged, and in
// which a rule that never fired says what it saw.
const (
	clientMatcher = iota
	topicMatcher
	partitionMatcher
	producerMatcher
	attemptMatcher
	sequenceMatcher
	offsetMatcher
	matcherCount
)

var matchers = [matcherCount]matcher{
	clientMatcher: {
		key:    "client",
		asked:  func(r *Rule) bool { return len(r.Client) > 0 },
		passes: func(r *Rule, u *unit) bool { return matchesAny(r.Client, u.client) },
		sight:  func(u *unit) sight { return sight{text: clip(u.client)} },
		asks:   func(r *Rule) string { return "from client " + quoted(r.Client) },
		saw:    sawClient,
	},
	topicMatcher: {
		key:    "topic",
		asked:  func(r *Rule) bool { return len(r.Topic) > 0 },
		passes: func(r *Rule, u *unit) bool { return u.topic != "" && matchesAny(r.Topic, u.topic) },
		sight:  func(u *unit) sight { return sight{text: clip(u.topic), none: u.topic == ""} },
		asks:   func(r *Rule) string { return preposition(r.API) + " " + quoted(r.Topic) },
		saw:    sawTopic,
	},
	partitionMatcher: {
		key:    "partition",
		asked:  func(r *Rule) bool { return len(r.Partition) > 0 },
		passes: func(r *Rule, u *unit) bool { return r.Partition.has(int64(u.partition)) },
		sight:  sightOfPartition,
		asks:   func(r *Rule) string { return preposition(r.API) + " partition " + r.Partition.English() },
		saw: func(api int16, s sight) string {
			return s.or("naming no partition", preposition(api)+" partition")
		},
	},
	producerMatcher: {
		key:    "producer",
		asked:  func(r *Rule) bool { return len(r.Producer) > 0 },
		passes: func(r *Rule, u *unit) bool { return r.Producer.has(u.producer) },
		sight:  func(u *unit) sight { return number(u.producer) },
		asks:   func(r *Rule) string { return producers(r.Producer) },
		saw:    sawProducer,
	},
	attemptMatcher: {
		key:    "attempt",
		asked:  func(r *Rule) bool { return len(r.Attempt) > 0 },
		passes: func(r *Rule, u *unit) bool { return r.Attempt.has(u.attempt) },
		sight:  func(u *unit) sight { return number(u.attempt) },
		asks:   func(r *Rule) string { return "with attempt " + r.Attempt.English() },
		saw:    func(_ int16, s sight) string { return s.or("whose attempts nobody counts", "with attempt") },
	},
	sequenceMatcher: {
		key:    "sequence",
		asked:  func(r *Rule) bool { return len(r.Sequence) > 0 },
		passes: func(r *Rule, u *unit) bool { return u.first != none && slices.ContainsFunc(r.Sequence, u.holds) },
		sight:  sequencesOf,
		spans:  true,
		asks:   func(r *Rule) string { return "holding sequence " + r.Sequence.English() },
		saw:    func(_ int16, s sight) string { return s.or("without sequences", "holding sequence") },
	},
	offsetMatcher: {
		key:    "offset",
		asked:  func(r *Rule) bool { return len(r.Offset) > 0 },
		passes: func(r *Rule, u *unit) bool { return !u.noOffset && r.Offset.overlaps(u.offset) },
		sight:  func(u *unit) sight { return sight{low: u.offset.First, high: u.offset.Last, none: u.noOffset} },
		spans:  true,
		asks:   func(r *Rule) string { return offsetWords(r.API) + " offset " + r.Offset.English() },
		saw:    sawOffset,
	},
}

// reached is the first matcher that a unit does not pass, matcherCount for one
// that passes all.
func (r *Rule) reached(u *unit) int {
	for i := range matchers {
		if matchers[i].asked(r) && !matchers[i].passes(r, u) {
			return i
		}
	}
	return matcherCount
}

// matches says whether a unit is what the rule asks for.
func (r *Rule) matches(u *unit) bool { return r.reached(u) == matcherCount }

// A sight is one value that was seen where another one was asked for.
type sight struct {
	none bool   // there was no value
	text string // of a client or topic
	low  int64  // of anything else
	high int64
}

// clip cuts a name that a client chose to the length of the longest topic name,
// so that what a rule remembers and prints is bounded.
func clip(name string) string {
	if len(name) <= maxTopicName {
		return name
	}
	return strings.ToValidUTF8(name[:maxTopicName], "") + "..."
}

// number is a sight of a number that may be none.
func number(n int64) sight {
	if n == none {
		return sight{none: true}
	}
	return sight{low: n, high: n}
}

func sightOfPartition(u *unit) sight {
	if u.partition < 0 {
		return sight{none: true}
	}
	return number(int64(u.partition))
}

// sequencesOf is a sight of the sequences that a batch holds, up to the highest
// there is where it straddles the wrap.
func sequencesOf(u *unit) sight {
	if u.first == none {
		return sight{none: true}
	}
	last := int64(producer.Last(int32(u.first), u.records))
	if last < u.first {
		last = math.MaxInt32
	}
	return sight{low: u.first, high: last}
}

// or says a sight of numbers behind words that lead to it: with attempt 1,
// holding sequence 0 to 9.
func (s sight) or(nothing, leading string) string {
	if s.none {
		return nothing
	}
	return leading + " " + Ranges{{s.low, s.high}}.English()
}

func sawClient(_ int16, s sight) string {
	if s.text == "" {
		return "from a client without an id"
	}
	return "from " + strconv.Quote(s.text)
}

func sawTopic(api int16, s sight) string {
	switch {
	case !s.none:
		return preposition(api) + " " + strconv.Quote(s.text)
	case isProduce(api):
		return "to a topic that nobody knows"
	}
	return "naming no topic"
}

func sawProducer(api int16, s sight) string {
	if !s.none && s.low < 0 {
		return "without a producer id"
	}
	return s.or("that cannot be read", "by producer")
}

func sawOffset(api int16, s sight) string {
	if isProduce(api) {
		return s.or("whose records were not appended", offsetWords(api)+" offset")
	}
	return s.or("asking for no offset", offsetWords(api)+" offset")
}
