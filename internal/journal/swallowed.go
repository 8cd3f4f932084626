package journal

import (
	"context"
	"fmt"
	"strings"
)

// comparison is what a replay with another checksum holds beside what is stored.
type comparison struct {
	read         int // records of the stored batch
	differ       int // of them
	firstDiffers bool
	firstStored  string // label of the first
}

// findSwallowed compares the replays whose checksum was another one with what is
// stored.
func (q *inquiry) findSwallowed(ctx context.Context) error {
	var found []Swallowed
	known := make(map[swallowedKey]int) // places in found
	for _, r := range q.replays {
		if r.prints == nil {
			continue // said already
		}
		c, err := q.compareReplay(ctx, r)
		if err != nil {
			return err
		}
		switch {
		case c.differ > 0:
			found = addSwallowed(found, known, r, &c)
		case c.read == len(r.prints):
			q.same[r] = true
		default:
			q.limit("a replay of offset %d in partition %d could not be compared with what is stored", r.event.Done.BaseOffset, r.event.Partition)
		}
	}
	v := &q.verdict
	v.Totals.Swallowed = len(found)
	v.Swallowed = found[:min(len(found), findingsKept)]
	for i := range v.Swallowed {
		v.Swallowed[i].say(v.several)
	}
	return nil
}

func (q *inquiry) compareReplay(ctx context.Context, r *replay) (c comparison, err error) {
	err = q.readBatch(ctx, r.event.location(), int64(len(r.prints)), func(v *visit) error {
		c.read++
		i := v.record.Offset - r.event.Done.BaseOffset
		differs := q.printer.content(&v.record) != r.prints[i].content
		if i == 0 {
			c.firstDiffers, c.firstStored = differs, labelOf(IdentityNone, &v.record)
		}
		if differs {
			c.differ++
		}
		return nil
	})
	if err != nil {
		err = q.unreadable(err, true)
	}
	return c, err
}

// A swallowedKey is what replays of the same records have in common, however
// they were compressed.
type swallowedKey struct {
	at      location
	content uint64
}

func (r *replay) key() swallowedKey {
	k := swallowedKey{at: r.event.location()}
	for _, p := range r.prints {
		k.content = mix(k.content, p.content)
	}
	return k
}

// addSwallowed adds a finding, unless the same records were swallowed before;
// then the delivery that was acknowledged counts.
func addSwallowed(found []Swallowed, known map[swallowedKey]int, r *replay, c *comparison) []Swallowed {
	s := Swallowed{
		BatchRange: rangeOf(&r.event), FirstOffset: r.event.Done.BaseOffset, LastOffset: r.event.Done.BaseOffset + int64(len(r.prints)) - 1,
		Records: c.differ, Told: r.event.Told, Evidence: []Event{r.event},
	}
	if c.firstDiffers {
		s.Sent, s.Stored = r.label, c.firstStored
	}
	key := r.key()
	i, ok := known[key]
	if !ok {
		known[key] = len(found)
		return append(found, s)
	}
	if !found[i].Told.Confirmed() {
		found[i] = s
	}
	return found
}

func (s *Swallowed) say(several bool) {
	where := span("offset", s.FirstOffset, s.LastOffset)
	if several {
		where += fmt.Sprintf(" of partition %d", s.Partition)
	}
	told := "acknowledged as " + where
	if !s.Told.Confirmed() {
		told = "taken for a replay of " + where
	}
	what := "another record" + comma(s.Sent)
	stands := ""
	if s.Stored != "" {
		stands = ", where " + s.Stored + " stands"
	}
	if s.BatchRecords > 1 {
		what = fmt.Sprintf("%d of %d records changed", s.Records, s.BatchRecords)
		if s.Sent != "" {
			what += ", the first now " + s.Sent
			stands = strings.Replace(stands, "where ", "where first ", 1)
		}
	}
	s.Text = fmt.Sprintf("%s of producer %d came again with %s: %s%s, and not written",
		span("sequence", s.FirstSequence, s.LastSequence), s.ProducerID, what, told, stands)
}
