package histories

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fencepostmq/fencepost/internal/journal"
)

// checkVerdict holds the journal's verdict against what the witness and the log
// say. Where records were deleted, the verdict has to say that it did not look at
// them.
func (w *world) checkVerdict() {
	v, err := w.journal.VerdictOf(context.Background(), topic)
	if err != nil {
		w.add("the verdict: %v", err)
		return
	}
	w.wantLimits(&v)
	if v.ExactlyOnce != (v.Totals == journal.Totals{}) {
		w.add("the verdict says exactly once %v with findings %+v", v.ExactlyOnce, v.Totals)
	}
	if v.Totals.InHand > 0 {
		w.add("the verdict has %d batches in hand, and no connection is open", v.Totals.InHand)
	}
	if w.trimmed() {
		return
	}
	w.compareDuplicated(&v)
	w.compareMissing(&v)
	w.compareUnconfirmed(&v)
	w.compareSwallowed(&v)
}

// wantLimits wants a limit said for each partition that lost records, if any of
// its records had to be read.
func (w *world) wantLimits(v *journal.TopicVerdict) {
	for n, view := range w.last {
		said := slices.ContainsFunc(v.Limits, func(l string) bool {
			return strings.HasPrefix(l, fmt.Sprintf("partition %d begins at offset %d:", n, view.start))
		})
		if view.start == 0 && said {
			w.add("the verdict says that records of partition %d were deleted, and none were", n)
		}
		if view.start > 0 && !said && v.Totals != (journal.Totals{}) && w.delivered(n) {
			w.add("the verdict does not say that partition %d begins at offset %d", n, view.start)
		}
	}
}

func (w *world) delivered(n int32) bool {
	return slices.ContainsFunc(w.witness.deliveries, func(d *delivery) bool { return d.partition == n })
}

// A standing is what the witness knows of the batch at an offset.
type standing struct {
	confirmed bool // a client was told that it stands there
	notDue    bool
	faulted   bool
}

// standings are those of all batches that the broker said to have stored.
func (w *world) standings() map[position]standing {
	all := map[position]standing{}
	for _, d := range w.witness.deliveries {
		if d.stored {
			s := all[at(d.partition, d.base)]
			s.confirmed = s.confirmed || d.confirmed && !w.swallows(d)
			s.notDue = s.notDue || d.notDue
			s.faulted = s.faulted || d.faulted
			all[at(d.partition, d.base)] = s
		}
	}
	return all
}

// swallows says whether a delivery was taken for a replay of other records: then
// what its client was told is of no worth.
func (w *world) swallows(d *delivery) bool {
	v := w.last[d.partition]
	b := v.holding(d.base)
	return b != nil && b.key() != d.key
}

// overtaken says where a replay of other records was done before the first copy,
// whose answer a rule held back. The journal takes the replay for what stands
// there, and its finding, if any, is not compared.
func (w *world) overtaken() map[position]bool {
	first := map[position]*delivery{}
	for _, d := range w.witness.deliveries {
		if place := at(d.partition, d.base); d.stored && (first[place] == nil || d.noted < first[place].noted) {
			first[place] = d
		}
	}
	all := map[position]bool{}
	for place, d := range first {
		if w.swallows(d) {
			all[place] = true
		}
	}
	return all
}

// places lists where each record stands.
func (w *world) places() map[string][]position {
	all := map[string][]position{}
	for n := range w.plan.partitions {
		v := w.last[n]
		for offset := v.start; offset < v.end; offset++ {
			if value, ok := v.valueAt(w, offset); ok {
				all[value] = append(all[value], at(n, offset))
			}
		}
	}
	return all
}

// compareDuplicated wants all that is reported to be there twice, and all of
// which that is certain to be reported: a copy that no client was told of, and
// behind it at most one that one was.
func (w *world) compareDuplicated(v *journal.TopicVerdict) {
	w.reported = map[position]bool{}
	for _, d := range v.Duplicated {
		for i := range int64(d.Records) {
			w.wantSame(&d, i)
		}
	}
	standings := w.standings()
	for value, places := range w.places() {
		if len(places) > 1 && w.certain(places, standings) && !w.reported[places[0]] {
			w.add("record %q stands at %v, of which no client was told the first, and the verdict does not say so", value, places)
		}
	}
}

// wantSame wants the ith record of a finding to be the same in all places.
func (w *world) wantSame(d *journal.Duplicated, i int64) {
	values := map[string]bool{}
	for _, r := range d.Places {
		value, ok := w.last[r.Partition].valueAt(w, r.FirstOffset+i)
		values[value] = true
		w.reported[at(r.Partition, r.FirstOffset+i)] = true
		if !ok {
			w.add("the verdict names an offset that is not there: %s", d.Text)
		}
	}
	if len(values) > 1 || len(d.Places) < 2 {
		w.add("the verdict calls %v one record: %s", slices.Collect(maps.Keys(values)), d.Text)
	}
}

// certain says whether copies are certain to be found: the first was never
// confirmed, and at most one other was.
func (w *world) certain(places []position, standings map[position]standing) bool {
	firm := 0
	for i, p := range places {
		v := w.last[p.partition]
		s := standings[at(p.partition, v.holding(p.offset).base)]
		if s.notDue || i == 0 && s.confirmed {
			return false
		}
		if s.confirmed {
			firm++
		}
	}
	return firm == 1
}

// A sending is a record under the sequence that it was sent with.
type sending struct {
	value    string
	by       writer
	sequence int32
}

// compareMissing wants the verdict to miss as many records as were delivered and
// stand nowhere. A record that came in two epochs, or by two producers, is missed
// once for each: the broker cannot know that an application wrote it once.
func (w *world) compareMissing(v *journal.TopicVerdict) {
	places, missing, swallowed := w.places(), map[sending]bool{}, map[sending]bool{}
	for _, d := range w.witness.deliveries {
		s := w.ledger.known(d.key)
		for i := range s.records {
			one := s.sending(i)
			if d.stored && w.swallows(d) {
				swallowed[one] = true
			}
			if len(places[one.value]) == 0 {
				missing[one] = true
			}
		}
	}
	maps.DeleteFunc(missing, func(one sending, _ bool) bool { return swallowed[one] })
	got := 0
	for _, m := range v.Missing {
		got += m.Records
	}
	if got != len(missing) {
		w.add("the verdict misses %d records, and %d were delivered and stand nowhere:\n%s", got, len(missing), v)
	}
}

// sending is the ith record of a batch.
func (s *sent) sending(i int) sending {
	one := sending{s.records[i].value, s.by, -1}
	if s.by.id >= 0 {
		one.sequence = s.sequence + int32(i)
	}
	return one
}

// compareUnconfirmed wants exactly those batches unconfirmed that stand in the
// log, of which no client was told, and which are not reported as copies.
func (w *world) compareUnconfirmed(v *journal.TopicVerdict) {
	got := map[position]bool{}
	for _, u := range v.Unconfirmed {
		for offset := u.FirstOffset; offset <= u.LastOffset; offset++ {
			got[at(u.Partition, offset)] = true
		}
	}
	standings, overtaken := w.standings(), w.overtaken()
	for n, view := range w.last {
		for _, b := range view.batches {
			if overtaken[at(n, b.base)] {
				continue
			}
			s := standings[at(n, b.base)]
			want := !s.confirmed && !s.notDue && !w.allReported(b)
			if got[at(n, b.base)] != want {
				w.add("partition %d offset %d, of %s: the verdict says unconfirmed %v, and that is %v:\n%s", n, b.base, w.clientOf(b.key()), got[at(n, b.base)], want, v)
			}
		}
	}
}

// allReported says whether all records of a batch are reported to stand twice.
func (w *world) allReported(b stored) bool {
	for offset := b.base; offset < b.end(); offset++ {
		if !w.reported[at(b.partition, offset)] {
			return false
		}
	}
	return true
}

// compareSwallowed wants exactly those replays swallowed that held other records
// than what stands in the log.
func (w *world) compareSwallowed(v *journal.TopicVerdict) {
	got := map[position]bool{}
	for _, s := range v.Swallowed {
		got[at(s.Partition, s.FirstOffset)] = true
	}
	want := maps.Clone(w.swallowed)
	for place := range w.overtaken() {
		delete(want, place)
		delete(got, place)
	}
	if !maps.Equal(got, want) {
		w.add("the verdict says that replays were swallowed at %v, and they were at %v:\n%s", got, want, v)
	}
}
