package journal

import (
	"fmt"
)

// reportUnconfirmed reports the batches in the log of which no answer told,
// unless all their records are reported as written twice, or their transaction was
// aborted.
func (q *inquiry) reportUnconfirmed(found []copies) {
	explained := make(map[*doubt]int32)
	for _, c := range found {
		for _, p := range c.places {
			if p.doubt != nil {
				explained[p.doubt]++
			}
		}
	}
	var rows []Unconfirmed
	for _, d := range q.doubts {
		if d.kind == unconfirmed && explained[d] < d.event.Records && !q.abandoned(d) {
			rows = append(rows, d.finding())
		}
	}
	v := &q.verdict
	v.Unconfirmed, v.Totals.Unconfirmed = fold(rows, (*Unconfirmed).extend)
	for i := range v.Unconfirmed {
		v.Unconfirmed[i].say(v.several)
	}
}

// abandoned says whether a batch is part of a transaction that was aborted.
func (q *inquiry) abandoned(d *doubt) bool {
	end, known := q.endings[d.event.Partition].of(d.event.ProducerID, d.event.Done.BaseOffset)
	return d.transactional && known && end.aborted
}

func (d *doubt) finding() Unconfirmed {
	e := &d.event
	return Unconfirmed{
		BatchRange: rangeOf(e), FirstOffset: e.Done.BaseOffset, LastOffset: e.Done.BaseOffset + int64(e.Records) - 1,
		Told: d.told, Rule: e.rule(), Evidence: []Event{*e},
	}
}

// extend adds a batch that follows in the log and of which as little was told.
func (u *Unconfirmed) extend(o *Unconfirmed) bool {
	if u.ProducerID < 0 || u.LastOffset+1 != o.FirstOffset || u.Rule != o.Rule ||
		u.Told.Answer != o.Told.Answer || u.Told.Code != o.Told.Code || !u.BatchRange.extend(&o.BatchRange) {
		return false
	}
	u.LastOffset = o.LastOffset
	u.Evidence = merge(u.Evidence, []*Event{&o.Evidence[0]})
	return true
}

func (u *Unconfirmed) say(several bool) {
	where, hold := span("offset", u.FirstOffset, u.LastOffset), "hold"
	if u.FirstOffset == u.LastOffset {
		hold = "holds"
	}
	if several {
		where += fmt.Sprintf(" of partition %d", u.Partition)
	}
	what := "a batch"
	if u.ProducerID >= 0 {
		what = fmt.Sprintf("%s of producer %d", span("sequence", u.FirstSequence, u.LastSequence), u.ProducerID)
	}
	told := "no answer ever told " + client(u.Client)
	if u.Told.Answer == Answered {
		told = fmt.Sprintf("%s was told %s", client(u.Client), u.Told.Error)
	}
	u.Text = fmt.Sprintf("%s %s %s, but %s%s", where, hold, what, told, parenthesis(u.Rule))
}
