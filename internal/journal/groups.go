package journal

import (
	"cmp"
	"slices"
)

// firmKept is how many confirmed copies of a record are kept: with two, an
// application writes equal records on purpose, and further ones tell no more.
const firmKept = 2

// doubtsTried is how many batches in doubt that hold equal records are asked
// one by one whether a copy of theirs was sent again.
const doubtsTried = 64

// groups collects equal records of a topic, for the records of batches in doubt.
// Records are equal if their ranked content is.
type groups struct {
	chains map[uint64]chain
	firm   map[uint64]uint8  // confirmed copies kept, by content and timestamp
	again  map[location]bool // batches that are certain to be copies
	links  []link
}

// A chain is the copies of one record.
type chain struct {
	last int32 // link, from which the others are reached; 0 for none
	firm uint8 // confirmed copies, up to firmKept
}

type link struct {
	place
	before int32 // link, 0 for none
}

func newGroups() groups {
	return groups{
		chains: make(map[uint64]chain),
		firm:   make(map[uint64]uint8),
		again:  make(map[location]bool),
		links:  make([]link, 1), // 0 is none
	}
}

func (g *groups) empty() bool { return len(g.chains) == 0 }

// learn makes room for the copies of a record in doubt.
func (g *groups) learn(content uint64, timestamp int64) {
	g.chains[content] = chain{}
	g.firm[dated(content, timestamp)] = 0
}

func (g *groups) has(content uint64) bool {
	_, ok := g.chains[content]
	return ok
}

// add keeps a copy, unless it is one more that is confirmed.
func (g *groups) add(content uint64, p place) {
	c, ok := g.chains[content]
	if !ok || p.doubt == nil && !g.keepFirm(&c, content, p) {
		return
	}
	g.links = append(g.links, link{place: p, before: c.last})
	c.last = int32(len(g.links) - 1)
	g.chains[content] = c
}

func (g *groups) keepFirm(c *chain, content uint64, p place) bool {
	print := dated(content, p.time)
	same, asked := g.firm[print]
	keep := c.firm < firmKept || asked && same < firmKept || g.again[location{p.partition, p.base}]
	c.firm = min(c.firm+1, firmKept)
	if asked {
		g.firm[print] = min(same+1, firmKept)
	}
	return keep
}

// judge lists the records that were sent again.
func (g *groups) judge() (found []copies) {
	for _, c := range g.chains {
		if c.last == 0 || g.links[c.last].before == 0 {
			continue
		}
		var places []place
		for i := c.last; i != 0; i = g.links[i].before {
			places = append(places, g.links[i].place)
		}
		slices.SortFunc(places, comparePlaces)
		found = append(found, judge(places)...)
	}
	return found
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.offset, b.offset))
}

// judge decides which of the places that hold equal records hold the same one.
// Where at most one of them is confirmed, the others can only be copies that the
// client knew nothing of. Where more are, the application writes equal records,
// and only those of one timestamp, which a client's retry keeps, can be copies.
func judge(places []place) (found []copies) {
	n := tally(places)
	if n.unconfirmed > 0 && n.firm+n.late <= 1 {
		if c, ok := resentOf(places, false); ok {
			return []copies{c}
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.time, b.time) })
	for rest := places; len(rest) > 0; {
		same := 1
		for same < len(rest) && rest[same].time == rest[0].time {
			same++
		}
		n := tally(rest[:same])
		if same > 1 && n.unconfirmed+n.late > 0 && n.firm <= 1 {
			if c, ok := resentOf(rest[:same], true); ok {
				found = append(found, c)
			}
		}
		rest = rest[same:]
	}
	return append(found, certain(places, found)...)
}

// certain finds the copies whose batches were the same, byte for byte, though
// equal records are many and a broker's own timestamps differ.
func certain(places []place, known []copies) (found []copies) {
	if !slices.ContainsFunc(places, func(p place) bool { return p.doubt != nil && len(p.doubt.again) > 0 }) {
		return nil
	}
	batches := make(map[location]place) // each holds one of the places
	for _, p := range places {
		batches[location{p.partition, p.base}] = p
	}
	for _, c := range known {
		for _, p := range c.places {
			delete(batches, location{p.partition, p.base})
		}
	}
	for _, u := range byEvent(places) {
		if _, ok := batches[location{u.partition, u.base}]; !ok {
			continue
		}
		c := copies{}
		c.add(u)
		for _, base := range u.doubt.again {
			if p, ok := batches[location{u.partition, base}]; ok {
				c.add(p)
			}
		}
		if len(c.places) > 1 {
			slices.SortFunc(c.places, comparePlaces)
			c.explain()
			found = append(found, c)
		}
	}
	return found
}

// standings counts the copies of a record by what the client knows of them.
type standings struct{ unconfirmed, late, firm int }

func tally(places []place) (n standings) {
	for i := range places {
		switch d := places[i].doubt; {
		case d == nil:
			n.firm++
		case d.kind == unconfirmed:
			n.unconfirmed++
		default:
			n.late++
		}
	}
	return n
}

// resentOf finds the first copy in doubt that was sent again, and its copies, in
// the order of the log: events may have been noted in another one.
func resentOf(places []place, sameTime bool) (copies, bool) {
	tried := 0
	for _, u := range places {
		if u.doubt == nil || u.doubt.kind != unconfirmed && !sameTime {
			continue
		}
		if tried++; tried > doubtsTried {
			break
		}
		c := copies{}
		for i := range places {
			if places[i] == u || u.sentAgainAt(&places[i], sameTime) {
				c.add(places[i])
			}
		}
		if len(c.places) > 1 {
			c.explain()
			return c, true
		}
	}
	return copies{}, false
}

// byEvent lists the places in doubt in time order.
func byEvent(places []place) (doubtful []place) {
	for i := range places {
		if places[i].doubt != nil {
			doubtful = append(doubtful, places[i])
		}
	}
	slices.SortStableFunc(doubtful, func(a, b place) int { return cmp.Compare(a.doubt.event.Number, b.doubt.event.Number) })
	return doubtful
}

// sentAgainAt says whether p, which holds an equal record, is a copy of u that
// was sent because the client did not know of u.
func (u *place) sentAgainAt(p *place, sameTime bool) bool {
	switch {
	case u.sameBytes(p):
		return true // and the first to be noted may stand behind the other
	case u.partition == p.partition && p.offset < u.offset:
		// An answer that is late because the request was held up: the copy that
		// was sent meanwhile stands first.
		return u.doubt.kind == late && sameTime && !u.sameProducer(p)
	case u.sameProducer(p) && u.sequence == p.sequence:
		return true // and the broker did not recognize it
	case u.doubt.toldError():
		return true // and the application tried again
	case u.pipelined(p):
		return sameTime && !u.sameProducer(p)
	case u.sameProducer(p):
		// A producer that sends again keeps the sequence, unless it is at fault.
		return sameTime && u.doubt.kind == unconfirmed
	}
	return true
}

// sameBytes says whether the batch of u, without a producer id, was accepted
// again as that of p.
func (u *place) sameBytes(p *place) bool {
	return u.partition == p.partition && slices.Contains(u.doubt.again, p.base)
}

// pipelined says whether both were sent over one connection which answered
// neither: most likely one behind the other, and not one instead of the other.
func (u *place) pipelined(p *place) bool {
	return p.doubt != nil && p.doubt.event.Connection == u.doubt.event.Connection && p.doubt.told.Silent() && u.doubt.told.Silent()
}

// sameProducer says whether both were written by one producer in one epoch.
func (u *place) sameProducer(p *place) bool {
	return u.producer >= 0 && u.producer == p.producer && u.epoch == p.epoch
}

// toldError says whether the client was told an error though the batch is stored.
func (d *doubt) toldError() bool { return d.told.Answer == Answered && d.told.Code != 0 }
