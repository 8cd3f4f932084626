package journal

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// identities finds the identities of a topic that stand at more than one offset.
type identities struct {
	identity     Identity
	most         int // how many found may hold
	pass, passes uint64
	entries      []identityEntry // of this pass

	without uint64              // records without the identity
	beyond  uint64              // identities that stand more than once beyond most
	found   []copies            // in the order of their first places; places say no more than where
	details map[location]*place // each place in found
}

type identityEntry struct {
	print uint64
	location
}

// compareEntries leaves the rarer questions for last: it takes most of the time
// of a verdict.
func compareEntries(a, b identityEntry) int {
	switch {
	case a.print < b.print:
		return -1
	case a.print > b.print:
		return 1
	case a.partition != b.partition:
		return cmp.Compare(a.partition, b.partition)
	}
	return cmp.Compare(a.offset, b.offset)
}

func newIdentities(q *inquiry) *identities {
	records := int64(0)
	for _, b := range q.partitions {
		records += b.end - b.start
	}
	return &identities{
		identity: q.identity,
		most:     q.room.repeated,
		passes:   uint64(records/q.room.pass) + 1,
		entries:  make([]identityEntry, 0, min(records, q.room.pass)),
		details:  make(map[location]*place),
	}
}

// visit notes where an identity stands, if it belongs to this pass.
func (d *identities) visit(v *visit) error {
	id := d.identity.of(&v.record)
	if id == nil {
		if d.pass == 0 {
			d.without++
		}
		return nil
	}
	if print := maphash.Bytes(printSeed, id); print%d.passes == d.pass {
		d.entries = append(d.entries, identityEntry{print, location{v.partition, v.record.Offset}})
	}
	return nil
}

// nextPass ends a pass and says whether there is another one.
func (d *identities) nextPass() bool {
	slices.SortFunc(d.entries, compareEntries)
	for rest := d.entries; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].print == rest[0].print {
			n++
		}
		if n > 1 {
			d.repeated(rest[:n])
		}
		rest = rest[n:]
	}
	d.entries = d.entries[:0]
	d.pass++
	if d.pass < d.passes {
		return true
	}
	d.finish()
	return false
}

func (d *identities) repeated(entries []identityEntry) {
	if len(d.found) >= d.most {
		d.beyond++
		return
	}
	shown := min(len(entries), placesKept)
	c := copies{places: make([]place, 0, shown), beyond: len(entries) - shown}
	for _, e := range entries[:shown] {
		c.places = append(c.places, place{location: e.location})
	}
	d.found = append(d.found, c)
}

func (d *identities) finish() {
	d.entries = nil
	for i := range d.found {
		for k := range d.found[i].places {
			p := &d.found[i].places[k]
			d.details[p.location] = p
		}
	}
}
