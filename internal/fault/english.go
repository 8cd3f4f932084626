package fault

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// English says the rule in one plain sentence: when it acts, on what, how often,
// what it does, and what that means for the client.
func (r Rule) English() string {
	parts := []string{r.moment()}
	if len(r.Attempt) > 0 {
		parts = append(parts, "the "+eachRange(r.Attempt, ordinal)+" time a batch is delivered")
	}
	parts = append(parts, r.schedule()...)
	return strings.Join(parts, ", ") + ", " + r.action() + "."
}

// moment is the first part: After a Produce to topic orders was carried out.
func (r *Rule) moment() string {
	request := article(r.apiName()) + r.apiName() + r.object()
	if !isProduce(r.API) {
		request = article(r.apiName()) + r.apiName() + " request" + r.object()
	}
	if r.Place == Before {
		return "Before " + request + " is carried out"
	}
	return "After " + request + " was carried out"
}

func (r *Rule) apiName() string {
	api, _ := wire.Lookup(r.API)
	return api.Name
}

func article(noun string) string {
	if noun != "" && strings.ContainsRune("AEIOU", rune(noun[0])) {
		return "an "
	}
	return "a "
}

// object says what the request must be like, the attempt left out.
func (r *Rule) object() string {
	var b strings.Builder
	if where := r.where(); where != "" {
		b.WriteString(" " + preposition(r.API) + " " + where)
	}
	if len(r.Client) > 0 {
		b.WriteString(" from " + OrList(clientNames(r.Client)))
	}
	if len(r.Producer) > 0 {
		b.WriteString(" " + producers(r.Producer))
	}
	if len(r.Sequence) > 0 {
		b.WriteString(" holding sequence " + r.Sequence.English())
	}
	if len(r.Offset) > 0 {
		b.WriteString(" " + offsetWords(r.API) + " offset " + r.Offset.English())
	}
	return b.String()
}

// where is the partitions and topics: partition 0 of topic orders.
func (r *Rule) where() string {
	var parts []string
	if len(r.Partition) > 0 {
		parts = append(parts, "partition "+r.Partition.English())
	}
	if len(r.Topic) > 0 {
		parts = append(parts, "topic "+OrList(r.Topic))
	}
	return strings.Join(parts, " of ")
}

// preposition stands before the topic: a Produce goes to one, any other
// request asks for one.
func preposition(api int16) string {
	if isProduce(api) {
		return "to"
	}
	return "for"
}

func offsetWords(api int16) string {
	if isProduce(api) {
		return "whose records took"
	}
	return "asking for"
}

// clientNames says client ids so that none of them reads like the sentence's
// own words.
func clientNames(ids []string) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		switch {
		case id == "":
			names[i] = "a client without an id"
		case quoteIfNeeded(id) == id:
			names[i] = "client " + id
		default:
			names[i] = "client " + strconv.Quote(id)
		}
	}
	return names
}

func producers(ids Ranges) string {
	if len(ids) == 1 && ids[0] == (Range{-1, -1}) {
		return "without a producer id"
	}
	return "by producer " + ids.English()
}

// English is the set in words: 0 or 3 to 5.
func (rs Ranges) English() string {
	return eachRange(rs, func(n int64) string { return strconv.FormatInt(n, 10) })
}

// eachRange says ranges with a word for each number: first, third to fifth.
func eachRange(rs Ranges, word func(int64) string) string {
	var words []string
	for _, r := range rs {
		switch r.Last - r.First {
		case 0:
			words = append(words, word(r.First))
		case 1:
			words = append(words, word(r.First), word(r.Last))
		default:
			words = append(words, word(r.First)+" to "+word(r.Last))
		}
	}
	return OrList(words)
}

var ordinals = []string{1: "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}

// ordinal is the word for a place in a row: first, 11th, 22nd.
func ordinal(n int64) string {
	if 0 < n && n < int64(len(ordinals)) {
		return ordinals[n]
	}
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.FormatInt(n, 10) + suffix
}

// schedule says on which of the matching requests the rule fires.
func (r *Rule) schedule() []string {
	var parts []string
	switch {
	case r.Nth > 1 && r.Times == 1:
		parts = append(parts, "on the "+ordinal(int64(r.Nth))+" match only")
	case r.Nth > 1:
		parts = append(parts, "from the "+ordinal(int64(r.Nth))+" match on", r.often())
	case r.Every > 1 && r.Times == 1:
		parts = append(parts, "on the "+ordinal(int64(r.Every))+" match only")
	case r.Every > 1 && r.Times == All:
		parts = append(parts, "on every "+ordinal(int64(r.Every))+" match")
	case r.Every > 1:
		parts = append(parts, "on every "+ordinal(int64(r.Every))+" match", r.often())
	default:
		parts = append(parts, r.often())
	}
	if r.Chance < 1 {
		parts = append(parts, "with a chance of "+percentText(r.Chance))
	}
	return parts
}

// often says how many times the rule fires.
func (r *Rule) often() string {
	switch r.Times {
	case 1:
		return "once"
	case 2:
		return "twice"
	case All:
		return "every time"
	}
	return fmt.Sprintf("%d times", r.Times)
}

// percentText is a probability for people: 30%.
func percentText(p float64) string {
	return strconv.FormatFloat(p*100, 'g', 6, 64) + "%"
}

// action says what is done and, behind a colon, what comes of it.
func (r *Rule) action() string {
	if r.Verb == Pass {
		return fmt.Sprintf("wait %s: %s", durationText(r.Delay), r.lateness())
	}
	if r.Delay > 0 {
		return fmt.Sprintf("wait %s and then %s", durationText(r.Delay), r.deed())
	}
	return r.deed()
}

func (r *Rule) lateness() string {
	if r.Place == Before {
		return "the broker is slow"
	}
	return "the " + r.ack() + " is late"
}

// deed is what is done, the delay left out.
func (r *Rule) deed() string {
	switch {
	case r.Verb == Drop && r.Place == Before:
		return "go dark: this request and all later ones on the connection are lost, and it stays open"
	case r.Verb == Drop:
		return "go dark: the " + r.ack() + " and all later answers on the connection are lost, and it stays open"
	case r.Verb == Disconnect && r.Place == Before:
		return "close the connection: the request is lost"
	case r.Verb == Disconnect:
		return "close the connection without answering: the " + r.ack() + " is lost"
	case r.Place == Before:
		return "answer " + codeName(r.Code) + r.share() + " without asking the broker: " + r.honest()
	}
	return "answer " + codeName(r.Code) + r.share() + " all the same: a lie, for the broker has done it"
}

// share says that the rule may apply to a part of the request only.
func (r *Rule) share() string {
	if r.partial() {
		return " for what matches"
	}
	return ""
}

// honest says what a refusal means.
func (r *Rule) honest() string {
	nothing, done := "nothing", "done"
	if r.partial() {
		nothing = "nothing of it"
	}
	if isProduce(r.API) {
		done = "appended"
	}
	return "an honest refusal, " + nothing + " is " + done
}

// ack is what the answer is called.
func (r *Rule) ack() string {
	if isProduce(r.API) {
		return "acknowledgement"
	}
	return "answer"
}
