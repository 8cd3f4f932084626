package journal

import (
	"cmp"
	"slices"
)

// evidence finds events of a topic by what they are about.
type evidence struct {
	byPlace map[location][]*Event // stored batches, by base offset
	byBatch map[batchID][]*Event  // all deliveries
}

// A batchID is what the deliveries of one batch have in common, as far as an
// event tells.
type batchID struct {
	partition   int32
	producer    int64
	epoch       int16
	first, last int32
}

func (e *Event) batchID() batchID {
	return batchID{e.Partition, e.ProducerID, e.Epoch, e.FirstSequence, e.LastSequence}
}

func newEvidence(topic string, events []Event) *evidence {
	k := &evidence{byPlace: make(map[location][]*Event), byBatch: make(map[batchID][]*Event)}
	for i := range events {
		e := &events[i]
		if e.Topic != topic || e.Kind != KindBatch {
			continue
		}
		if e.Done.Outcome.Stored() {
			k.byPlace[e.location()] = append(k.byPlace[e.location()], e)
		}
		if e.ProducerID >= 0 {
			k.byBatch[e.batchID()] = append(k.byBatch[e.batchID()], e)
		}
	}
	return k
}

// at adds what happened to the batch at this place.
func (k *evidence) at(to []Event, place location) []Event {
	return merge(to, k.byPlace[place])
}

// of adds the other deliveries of the batches that are there already.
func (k *evidence) of(to []Event) []Event {
	for _, e := range slices.Clone(to) {
		to = merge(to, k.byBatch[e.batchID()])
	}
	return to
}

// merge adds events that are not there yet, in time order, as far as there is
// room.
func merge(to []Event, events []*Event) []Event {
	for _, e := range events {
		if len(to) < evidenceKept && !slices.ContainsFunc(to, func(o Event) bool { return o.Number == e.Number }) {
			to = append(to, *e)
		}
	}
	slices.SortFunc(to, func(a, b Event) int { return cmp.Compare(a.Number, b.Number) })
	return to
}
