package clients

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
)

// A mishap is a fault on the third of a client's records.
type mishap struct{ place, verb string }

// mishapRecords is how many records a client sends, one after the other;
// mishapAt is the number, from 0, of the one that meets the fault.
const mishapRecords, mishapAt = 6, 2

// errorCodes are what a client is told, those to try again first.
var errorCodes = []string{
	"NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "KAFKA_STORAGE_ERROR", "NOT_ENOUGH_REPLICAS",
	"NOT_ENOUGH_REPLICAS_AFTER_APPEND", "UNKNOWN_TOPIC_OR_PARTITION", "CORRUPT_MESSAGE",
	"OUT_OF_ORDER_SEQUENCE_NUMBER", "DUPLICATE_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID",
	"INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "UNKNOWN_SERVER_ERROR", "MESSAGE_TOO_LARGE", "INVALID_RECORD",
}

// mishaps are all faults, each with the topic that meets it.
func mishaps() (all []mishap) {
	for _, place := range []string{"before", "after"} {
		all = append(all, mishap{place, "disconnect"})
		for _, code := range errorCodes {
			all = append(all, mishap{place, "error " + code})
		}
	}
	return all
}

// column is the word for the fault in the page.
func (m mishap) row() string {
	if m.verb == "disconnect" {
		return m.verb
	}
	return m.verb[len("error "):]
}

func (m mishap) topic() string { return m.place + "-" + m.row() }

// meetErrors has it meet every mishap, each with a producer and a topic of its own.
func (c *client) meetErrors(t *testing.T, p *page, b *fencepost.Broker) {
	mode := "idempotent"
	if c.without == "idempotence" {
		mode = "plain"
	}
	var jobs []string
	for _, m := range mishaps() {
		makeTopic(t, b, m.topic(), fmt.Sprintf("%s %s produce topic=%s nth=%d", m.verb, m.place, m.topic(), mishapAt+1))
		jobs = append(jobs, fmt.Sprintf("%s,%d,none,1,%s", m.topic(), mishapRecords, mode))
	}
	outcomes := c.outcomes(t, b.Addr(), jobs)
	for _, m := range mishaps() {
		reaction := reactionTo(eventsOn(b, m.topic()), outcomes[m.topic()])
		if worse := worseThanTold(verdictOn(t, b, m.topic()), outcomes[m.topic()]); worse != "" {
			reaction += ", **" + worse + "**"
		}
		p.set(t, m.place, m.row(), c.name, reaction)
	}
}

// reactionTo says in a few words what a client did about the fault that one of its
// batches met.
func reactionTo(events []journal.Event, outcomes []told) string {
	at := slices.IndexFunc(events, func(e journal.Event) bool { return len(e.Rules) > 0 })
	if at < 0 || len(outcomes) <= mishapAt {
		return "hangs"
	}
	isToldError := func(o told) bool { return o.Error != "" }
	rest, next := outcomes[mishapAt+1:], "nothing"
	if at+1 < len(events) {
		next = sentAgain(events[at], events[at+1])
	}
	switch {
	case outcomes[mishapAt].Error == "" && (len(events) == len(outcomes) || next == "next sequence"):
		return "taken for success"
	case outcomes[mishapAt].Error == "":
		return next
	case !slices.ContainsFunc(rest, func(o told) bool { return o.Error == "" }):
		return "told, dead"
	case slices.ContainsFunc(rest, isToldError):
		return "told twice"
	}
	return "told, " + next
}

// worseThanTold names what a verdict found that the application does not know: a
// record that is missing or written more than once though it was told nothing else.
func worseThanTold(v journal.TopicVerdict, outcomes []told) string {
	refused := 0
	for _, o := range outcomes {
		if o.Error != "" {
			refused++
		}
	}
	switch {
	case v.Totals.Swallowed > 0:
		return "swallowed"
	case v.Totals.Duplicated > 0:
		return "duplicated"
	case v.Totals.Missing > refused:
		return "missing"
	}
	return ""
}
