package journal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fencepostmq/fencepost/internal/producer"
)

// reportMissing reports the refused batches that miss records in the log; left
// counts the missing records of each.
func (q *inquiry) reportMissing(left []int) {
	var found []Missing
	for i, r := range q.refusals {
		if left[i] > 0 && !q.swallowed(r) {
			found = append(found, missing(r, left[i]))
		}
	}
	v := &q.verdict
	v.Missing, v.Totals.Missing = fold(found, (*Missing).extend)
	for i := range v.Missing {
		v.Missing[i].say(v.several)
	}
}

// swallowed says whether the refused records came again and were taken for a
// replay of others: that is reported already.
func (q *inquiry) swallowed(r *refusal) bool {
	return slices.ContainsFunc(q.replays, func(p *replay) bool {
		return !q.same[p] && p.event.Partition == r.partition && p.event.sameBatch(&r.first) &&
			slices.EqualFunc(p.prints, r.prints, func(a, b print) bool { return a.content == b.content })
	})
}

// fold puts findings that follow one another into one, and keeps the first 1000.
func fold[F any](found []F, extend func(row, next *F) bool) (rows []F, total int) {
	for i := range found {
		if len(rows) > 0 && extend(&rows[len(rows)-1], &found[i]) {
			continue
		}
		rows = append(rows, found[i])
	}
	return rows[:min(len(rows), findingsKept)], len(rows)
}

func missing(r *refusal, records int) Missing {
	e := &r.last
	m := Missing{
		Records: records, BatchRange: rangeOf(e), Outcome: e.Done.Outcome, Rule: e.rule(), First: r.label,
		Reason: strings.TrimSuffix(e.Done.Reason, fmt.Sprintf(", got %d", e.FirstSequence)),
	}
	if e.Done.Outcome == NotAsked && e.Told.Answer == Answered {
		m.Outcome, m.Reason = Refused, cmp.Or(m.Rule, e.Told.Error)
	}
	m.Evidence = merge(merge(nil, []*Event{&r.first}), []*Event{e})
	return m
}

// whole says whether all records of the batch are missing.
func (m *Missing) whole() bool { return m.Records >= int(m.BatchRecords) }

// extend adds a batch that follows in sequence and was lost in the same way.
func (m *Missing) extend(o *Missing) bool {
	if m.ProducerID < 0 || !m.whole() || !o.whole() || m.Outcome != o.Outcome || m.Reason != o.Reason || m.Rule != o.Rule ||
		!m.BatchRange.extend(&o.BatchRange) {
		return false
	}
	m.Records += o.Records
	for i := range o.Evidence {
		m.Evidence = merge(m.Evidence, []*Event{&o.Evidence[i]})
	}
	return true
}

// extend adds the batches of o if they follow in sequence.
func (b *BatchRange) extend(o *BatchRange) bool {
	if b.Partition != o.Partition || b.Client != o.Client || b.ProducerID != o.ProducerID || b.Epoch != o.Epoch ||
		producer.Next(b.LastSequence) != o.FirstSequence {
		return false
	}
	b.LastSequence, b.BatchRecords = o.LastSequence, b.BatchRecords+o.BatchRecords
	b.Attempts = max(b.Attempts, o.Attempts)
	return true
}

func (m *Missing) say(several bool) {
	what, were := m.subject(several)
	switch {
	case m.Outcome == NotAsked:
		m.Text = fmt.Sprintf("%s %s lost before the broker%s and never sent again", what, were, parenthesis(m.Rule))
	default:
		m.Text = fmt.Sprintf("%s %s refused%s and never accepted", what, were, parenthesis(m.Reason))
	}
}

// subject names the batches, and gives the verb that goes with them.
func (b *BatchRange) subject(several bool) (what, were string) {
	were = "was"
	switch {
	case b.ProducerID >= 0:
		what = fmt.Sprintf("%s of producer %d", span("sequence", b.FirstSequence, b.LastSequence), b.ProducerID)
		if b.FirstSequence != b.LastSequence {
			were = "were"
		}
	case b.BatchRecords == 0:
		what = "a malformed batch from " + client(b.Client)
	default:
		what = fmt.Sprintf("a batch of %s from %s", count(b.BatchRecords, "record", "records"), client(b.Client))
	}
	if several {
		what += fmt.Sprintf(" in partition %d", b.Partition)
	}
	return what, were
}

// subject is what is missing, and its verb.
func (m *Missing) subject(several bool) (what, were string) {
	what, were = m.BatchRange.subject(several)
	if !m.whole() {
		what, were = fmt.Sprintf("%s of %s", count(m.Records, "record", "records"), what), "were"
		if m.Records == 1 {
			were = "was"
		}
	}
	return what, were
}
