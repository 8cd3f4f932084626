package clients

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/twmb/franz-go/pkg/kgo"
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
		log := readBack(t, b.Addr(), m.topic())
		reaction := m.reaction(eventsOn(b, m.topic()), copiesOf(log), outcomes[m.topic()])
		if worse := worseThanTold(verdictOn(t, b, m.topic()), log, outcomes[m.topic()]); worse != "" {
			reaction += ", **" + worse + "**"
		}
		p.set(t, m.place, m.row(), c.name, reaction)
	}
}

// copiesOf counts how often each key stands in a log.
func copiesOf(log []*kgo.Record) map[string]int {
	copies := map[string]int{}
	for _, r := range log {
		copies[string(r.Key)]++
	}
	return copies
}

// reaction says in a few words what a client did about the fault that one of its
// batches met, and what it was told of the records behind.
func (m mishap) reaction(events []journal.Event, copies map[string]int, outcomes []told) string {
	at := slices.IndexFunc(events, func(e journal.Event) bool { return len(e.Rules) > 0 })
	if at < 0 || len(outcomes) <= mishapAt {
		return "ends"
	}
	next, rest := delivered(events[at], events[at+1:]), afterwards(outcomes[mishapAt+1:])
	once := 1 // copies of a record that was sent again and not taken for a replay
	if m.place == "after" {
		once = 2
	}
	switch {
	case outcomes[mishapAt].Error == "" && (next == "same" || copies[key(mishapAt)] >= once):
		return next + rest
	case outcomes[mishapAt].Error == "":
		return "taken for success" + rest
	case rest != "":
		return "told" + rest
	case next == "same": // it is another record's
		return "told, sequence reused"
	}
	return "told, " + next
}

// afterwards says what became of the records behind the one that met a fault, ""
// if all are written.
func afterwards(rest []told) string {
	failed := 0
	for _, o := range rest {
		if o.Error != "" {
			failed++
		}
	}
	switch {
	case failed == mishapRecords-mishapAt-1:
		return ", dead"
	case len(rest) < mishapRecords-mishapAt-1:
		return ", ends"
	case failed > 0:
		return fmt.Sprintf(", %d more fail", failed)
	}
	return ""
}

// worseThanTold names what the application does not know of its records: that one
// is missing though it was acknowledged, or stands in the log twice.
func worseThanTold(v journal.TopicVerdict, log []*kgo.Record, outcomes []told) string {
	copies := copiesOf(log)
	missing := slices.ContainsFunc(outcomes, func(o told) bool { return o.Error == "" && copies[key(o.N)] == 0 })
	switch {
	case v.Totals.Swallowed > 0:
		return "swallowed"
	case missing:
		return "missing"
	case len(log) > len(copies):
		return "duplicated"
	}
	return ""
}
