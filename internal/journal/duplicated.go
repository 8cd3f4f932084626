package journal

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// placesKept is how many copies of one record are told apart.
const placesKept = 8

// copies is one record that stands at several offsets, and why.
type copies struct {
	places []place // in the order of the log
	beyond int     // further places
	why    string
	rule   string
}

func (c *copies) add(p place) {
	if len(c.places) < placesKept {
		c.places = append(c.places, p)
	} else {
		c.beyond++
	}
}

// explain says why the record was written again: from the first copy in doubt
// and the one that followed, or from who wrote them if none is in doubt.
func (c *copies) explain() {
	u := c.firstInDoubt()
	if u == nil {
		c.why = writtenBy(&c.places[0], &c.places[1])
		return
	}
	other := &c.places[0]
	if other.location == u.location {
		other = &c.places[1]
	}
	c.rule = u.doubt.event.rule()
	c.why = u.resentHow(other) + " " + u.doubt.after()
}

// firstInDoubt is the copy in doubt that was written first: the one noted first
// or, if its answer was held back, one that stands before that in the partition.
func (c *copies) firstInDoubt() (first *place) {
	doubtful := byEvent(c.places)
	for i := range doubtful {
		if u := &doubtful[i]; first == nil || u.partition == first.partition && u.offset < first.offset {
			first = u
		}
	}
	return first
}

// resentHow says in which way p is not a retry that a broker recognizes.
func (u *place) resentHow(p *place) string {
	switch {
	case u.producer < 0 && p.producer < 0:
		return "sent again without idempotence"
	case u.producer < 0 || p.producer < 0:
		return "sent again by another producer"
	case u.producer != p.producer:
		return "sent again with a new producer id"
	case u.epoch != p.epoch:
		return "sent again with a new epoch"
	case u.sequence == p.sequence:
		return "sent again with the same sequence, and accepted again,"
	case u.doubt.toldError():
		return "sent again by the application"
	}
	return "sent again with a new sequence"
}

// after says what the client knew of a batch in doubt.
func (d *doubt) after() string {
	switch {
	case d.kind == resent && d.told.Answer == NotDue:
		return "over another connection, though no acknowledgement was asked for"
	case d.kind == resent:
		return "over another connection, though it was acknowledged"
	case d.kind == late:
		return "after its ack came late"
	case d.toldError():
		return "after it was told " + d.told.Error
	}
	return "after its ack was lost"
}

// acknowledgedEachTime is said of copies of which none is in doubt.
const acknowledgedEachTime = ", and acknowledged each time"

// writtenBy says who wrote two copies of which none is in doubt.
func writtenBy(a, b *place) string {
	switch {
	case a.producer < 0 && b.producer < 0:
		return "written twice without idempotence" + acknowledgedEachTime
	case a.producer < 0 || b.producer < 0:
		return "written with and without idempotence" + acknowledgedEachTime
	case a.producer != b.producer:
		return fmt.Sprintf("written by producers %d and %d"+acknowledgedEachTime, a.producer, b.producer)
	case a.epoch != b.epoch:
		return fmt.Sprintf("written by producer %d in epochs %d and %d"+acknowledgedEachTime, a.producer, a.epoch, b.epoch)
	}
	return fmt.Sprintf("written twice by producer %d"+acknowledgedEachTime, a.producer)
}

// reportDuplicated folds records that stand side by side in all their places
// into one finding.
func (q *inquiry) reportDuplicated(found []copies) {
	slices.SortFunc(found, func(a, b copies) int { return comparePlaces(a.places[0], b.places[0]) })
	v := &q.verdict
	for i := 0; i < len(found); {
		n := 1
		for i+n < len(found) && found[i+n].continues(&found[i+n-1]) {
			n++
		}
		v.Totals.Duplicated++
		if len(v.Duplicated) < findingsKept {
			v.Duplicated = append(v.Duplicated, duplicated(&found[i], n))
		}
		i += n
	}
}

// continues says whether c is the next record of the same batches as o.
func (c *copies) continues(o *copies) bool {
	if len(c.places) != len(o.places) || c.beyond != o.beyond || c.why != o.why || c.rule != o.rule {
		return false
	}
	for i := range c.places {
		a, b := &o.places[i], &c.places[i]
		if a.partition != b.partition || a.base != b.base || a.offset+1 != b.offset {
			return false
		}
	}
	return true
}

func duplicated(c *copies, records int) Duplicated {
	d := Duplicated{Records: records, Beyond: c.beyond, Why: c.why, Rule: c.rule, Evidence: []Event{}}
	for _, p := range c.places {
		d.Places = append(d.Places, Range{
			Partition: p.partition, FirstOffset: p.offset, LastOffset: p.offset + int64(records) - 1,
			ProducerID: p.producer, Epoch: p.epoch, base: p.base,
		})
		if p.doubt != nil {
			d.Evidence = merge(d.Evidence, []*Event{&p.doubt.event})
		}
	}
	return d
}

// say writes the line of a finding.
func (d *Duplicated) say(several bool) {
	held := "hold one record" + comma(d.First)
	if d.Records > 1 {
		held = fmt.Sprintf("hold the same %d records", d.Records) + comma(labels(d.First, d.Last))
	}
	d.Text = fmt.Sprintf("%s %s: %s", d.where(several), held, d.Why)
}

// where names the places of a duplicated record.
func (d *Duplicated) where(several bool) string {
	one := !slices.ContainsFunc(d.Places, func(r Range) bool { return r.Partition != d.Places[0].Partition })
	var places []string
	for i, r := range d.Places {
		offsets := span("offset", r.FirstOffset, r.LastOffset)
		switch {
		case !one:
			offsets = fmt.Sprintf("partition %d %s", r.Partition, offsets)
		case i > 0:
			_, offsets, _ = strings.Cut(offsets, " ")
		case d.Records == 1:
			offsets = strings.Replace(offsets, "offset", "offsets", 1)
		}
		places = append(places, offsets)
	}
	if d.Beyond > 0 {
		places = append(places, fmt.Sprintf("%d more", d.Beyond))
	}
	if one && several {
		return fmt.Sprintf("%s of partition %d", list(places), d.Places[0].Partition)
	}
	return list(places)
}

// readLabels reads the keys of the duplicated records, and then writes the
// lines.
func (q *inquiry) readLabels(ctx context.Context) error {
	for i := range q.verdict.Duplicated {
		d := &q.verdict.Duplicated[i]
		at := d.Places[0]
		err := q.readBatch(ctx, location{at.Partition, at.FirstOffset}, int64(d.Records), func(v *visit) error {
			switch v.record.Offset {
			case at.FirstOffset:
				d.First = labelOf(q.identity, &v.record)
			case at.LastOffset:
				d.Last = labelOf(q.identity, &v.record)
			}
			return nil
		})
		if err != nil {
			if err := q.unreadable(err, true); err != nil {
				return err
			}
		}
		d.say(q.verdict.several)
	}
	return nil
}
