package journal

import "slices"

// A record is the events that are kept: the newest ones, whatever they are, and
// apart from them those that are out of the ordinary.
type record struct {
	count   uint64  // events ever
	ring    []Event // the newest, at (number-1) modulo the length
	kept    []Event // out of the ordinary, in order
	most    int     // how many kept may hold
	dropped uint64  // events out of the ordinary that found kept full
}

func newRecord(ring, kept int) record {
	return record{ring: make([]Event, ring), most: kept}
}

// add numbers the event and keeps it.
func (r *record) add(e *Event) {
	r.count++
	e.Number = r.count
	*r.at(r.count) = *e
	switch {
	case e.plain():
	case len(r.kept) < r.most:
		r.kept = append(r.kept, *e)
	default:
		r.dropped++
	}
}

func (r *record) at(number uint64) *Event {
	return &r.ring[(number-1)%uint64(len(r.ring))]
}

// all lists the events that are kept, each once, in order.
func (r *record) all() []Event {
	oldest := r.count - min(r.count, uint64(len(r.ring))) + 1 // in the ring
	older, _ := slices.BinarySearchFunc(r.kept, oldest, func(e Event, n uint64) int {
		if e.Number < n {
			return -1
		}
		return 1
	})
	events := make([]Event, 0, uint64(older)+r.count-oldest+1)
	events = append(events, r.kept[:older]...)
	for n := oldest; n <= r.count; n++ {
		events = append(events, *r.at(n))
	}
	return events
}

// Events lists what is kept, in the order of the replies: the newest events, and
// of the older ones those that were out of the ordinary.
func (j *Journal) Events() []Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.notes.events.all()
}

// acceptance finds the event of the acceptance before again, which is of the
// same batch without a producer id. If it is kept no longer, an event says what
// is still known of it.
func (r *record) acceptance(again *Event, k *plainDelivery) Event {
	is := func(e *Event) bool {
		return e.Done.Outcome == Accepted && e.Done.BaseOffset == k.baseOffset && e.Partition == again.Partition && e.Topic == again.Topic
	}
	for i := range r.ring {
		if is(&r.ring[i]) {
			return r.ring[i]
		}
	}
	for i := range r.kept {
		if is(&r.kept[i]) {
			return r.kept[i]
		}
	}
	return Event{
		API: produceName, Connection: k.connection, Topic: again.Topic, Partition: again.Partition,
		ProducerID: -1, Epoch: -1, FirstSequence: -1, LastSequence: -1, Records: again.Records, Attempt: 1,
		Done: Done{Outcome: Accepted, BaseOffset: k.baseOffset}, Told: toldOf(k),
	}
}

// toldOf is what the client was told of a batch that is not in doubt.
func toldOf(k *plainDelivery) Told {
	if k.answer == NotDue {
		return Told{Answer: NotDue, BaseOffset: -1}
	}
	return Told{BaseOffset: k.baseOffset, Error: errorName(0)}
}
