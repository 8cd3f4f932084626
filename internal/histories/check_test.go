package histories

import (
	"maps"
	"slices"

	lesson "github.com/fencepostmq/fencepost/internal/producer"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// check holds the log as it stands against all that anybody was promised.
func (w *world) check() {
	w.last = w.views()
	for _, n := range slices.Sorted(maps.Keys(w.last)) {
		v := w.last[n]
		w.checkWhole(n, v)
		w.checkSequences(n, v)
		w.checkCopies(n, v)
	}
	w.checkPromises()
	w.checkSeen()
	w.checkProducers()
	w.checkVerdict()
	for n, v := range w.last {
		w.checkMemory(n, v)
		w.checkReplays(n, v)
	}
}

func (w *world) views() map[int32]logView {
	all := map[int32]logView{}
	for n := range w.plan.partitions {
		all[n] = w.read(n)
	}
	return all
}

// holding finds the batch that holds an offset, nil if there is none.
func (v *logView) holding(offset int64) *stored {
	for i := range v.batches {
		if b := &v.batches[i]; b.base <= offset && offset < b.end() {
			return b
		}
	}
	return nil
}

// valueAt is the record at an offset, if it can be read.
func (v logView) valueAt(w *world, offset int64) (string, bool) {
	b := v.holding(offset)
	if b == nil {
		return "", false
	}
	s := w.ledger.known(b.key())
	if s == nil {
		return "", false
	}
	return s.records[offset-b.base].value, true
}

// checkWhole wants no gap between offsets, nothing that was never sent, and no
// end below one that somebody was told.
func (w *world) checkWhole(n int32, v logView) {
	start, end := w.ledger.bounds(n)
	if v.end < end || v.start < start {
		w.add("partition %d holds offsets %d to %d, after somebody was told that it begins at %d and ends at %d", n, v.start, v.end, start, end)
	}
	for i, b := range v.batches {
		s := w.ledger.known(b.key())
		switch {
		case s == nil:
			w.add("partition %d offset %d holds a batch that nobody sent", n, b.base)
		case s.partition != n:
			w.add("partition %d offset %d holds a batch that was sent to partition %d", n, b.base, s.partition)
		case i > 0 && b.base != v.batches[i-1].end():
			w.add("partition %d: a batch at offset %d follows one that ends before %d", n, b.base, v.batches[i-1].end())
		}
	}
	if len(v.batches) > 0 && v.batches[len(v.batches)-1].end() != v.end {
		w.add("partition %d ends at %d, and its last batch before %d", n, v.end, v.batches[len(v.batches)-1].end())
	}
}

// checkSequences wants the batches of every producer and epoch in the log once
// and in order, without a gap, and no older epoch behind a newer one.
func (w *world) checkSequences(n int32, v logView) {
	newest := map[int64]int16{}
	next := map[writer]int32{}
	for _, b := range v.batches {
		by := b.writer()
		if by.id < 0 {
			continue
		}
		want, known := next[by]
		if !known && v.start > 0 {
			want = b.sequence() // those before it may have been deleted
		}
		if b.sequence() != want {
			w.add("partition %d offset %d: producer %d epoch %d goes on with sequence %d instead of %d", n, b.base, by.id, by.epoch, b.sequence(), want)
		}
		if by.epoch < newest[by.id] {
			w.add("partition %d offset %d: producer %d wrote in epoch %d after epoch %d", n, b.base, by.id, by.epoch, newest[by.id])
		}
		newest[by.id] = max(newest[by.id], by.epoch)
		next[by] = b.sequence() + b.header().NumRecords
	}
}

// checkCopies wants every batch as often in the log as the broker said that it
// stored one: once if it has a producer id.
func (w *world) checkCopies(n int32, v logView) {
	copies, accepted := map[string]int{}, map[string]map[int64]bool{}
	for _, b := range v.batches {
		copies[b.key()]++
	}
	for _, d := range w.witness.deliveries {
		if d.stored && d.partition == n {
			if accepted[d.key] == nil {
				accepted[d.key] = map[int64]bool{}
			}
			accepted[d.key][d.base] = true
		}
	}
	for key, times := range copies {
		if said := len(accepted[key]); times > said {
			w.add("partition %d holds a batch of %s %d times, and the broker said so of %d", n, w.clientOf(key), times, said)
		}
	}
}

func (w *world) clientOf(key string) string {
	if s := w.ledger.known(key); s != nil {
		return s.client
	}
	return "nobody"
}

// checkPromises wants what was acknowledged in the log, at the offset that was
// told and with the bytes that were sent; and so whatever the broker said to have
// stored, though the answer was lost.
func (w *world) checkPromises() {
	w.swallowed = map[position]bool{}
	for _, a := range w.ledger.acks {
		w.checkPromise(a.key, a.partition, a.base, a.careless, "was acknowledged")
	}
	for _, d := range w.witness.deliveries {
		if s := w.ledger.known(d.key); d.stored && s != nil {
			w.checkPromise(d.key, d.partition, d.base, w.isCareless(s.client), "was stored")
		}
	}
}

func (w *world) isCareless(client string) bool {
	return slices.ContainsFunc(w.plan.producers, func(p producerPlan) bool { return p.name == client && p.kind == careless })
}

func (w *world) checkPromise(key string, n int32, base int64, careless bool, what string) {
	v, client := w.last[n], w.clientOf(key)
	if base < v.start {
		if seen, ok := w.ledger.seen[at(n, base)]; ok && seen != key && !careless {
			w.add("partition %d offset %d: a batch of %s %s there, and a reader saw another one before it was deleted", n, base, client, what)
		}
		return
	}
	switch b := v.holding(base); {
	case b == nil:
		w.add("partition %d offset %d: a batch of %s %s there, and the log ends at %d", n, base, client, what, v.end)
	case b.base != base || b.key() != key && !careless:
		w.add("partition %d offset %d: a batch of %s %s there, and another one stands in its place", n, base, client, what)
	case b.key() != key:
		w.swallowed[at(n, base)] = true
	}
}

// checkSeen wants what readers saw to stand where they saw it.
func (w *world) checkSeen() {
	for place, key := range w.ledger.seen {
		v := w.last[place.partition]
		if b := v.holding(place.offset); place.offset >= v.start && (b == nil || b.key() != key) {
			w.add("partition %d offset %d: a reader saw a batch there that does not stand there", place.partition, place.offset)
		}
	}
}

// checkProducers wants every producer to be done, and the records of those that
// never lost their memory in the log once at most, and once if acknowledged.
func (w *world) checkProducers() {
	times := map[string]int{}
	for _, v := range w.last {
		for _, b := range v.batches {
			if s := w.ledger.known(b.key()); s != nil {
				for _, r := range s.records {
					times[r.value]++
				}
			}
		}
	}
	for _, p := range w.ledger.producers {
		if !p.finished && !w.closed() {
			w.add("%s is not done a minute after the last fault", p.plan.name)
		}
		if p.plan.kind != idempotent || p.bumps > 0 || p.reborn {
			continue
		}
		for _, r := range p.acked {
			if n := times[r.value]; n != 1 && !w.trimmed() {
				w.add("%s: record %q was acknowledged, and stands in the log %d times", p.plan.name, r.value, n)
			}
		}
	}
}

func (w *world) trimmed() bool {
	for _, v := range w.last {
		if v.start > 0 {
			return true
		}
	}
	return false
}

// checkMemory wants the broker to remember of each producer what the log holds of
// it last.
func (w *world) checkMemory(n int32, v logView) {
	newest := map[int64]stored{}
	for _, b := range v.batches {
		if b.writer().id >= 0 {
			newest[b.writer().id] = b
		}
	}
	resp := w.ask(describing(n)).(*kmsg.DescribeProducersResponse)
	known := map[int64]bool{}
	for _, p := range resp.Topics[0].Partitions[0].ActiveProducers {
		known[p.ProducerID] = true
		b, ok := newest[p.ProducerID]
		if !ok {
			if v.start == 0 {
				w.add("partition %d: producer %d is remembered, and wrote nothing", n, p.ProducerID)
			}
			continue
		}
		last := lesson.Last(b.sequence(), b.header().NumRecords)
		if p.ProducerEpoch != int32(b.writer().epoch) || p.LastSequence != last {
			w.add("partition %d: producer %d is remembered in epoch %d up to sequence %d, and in the log its last is epoch %d sequence %d",
				n, p.ProducerID, p.ProducerEpoch, p.LastSequence, b.writer().epoch, last)
		}
	}
	for id := range newest {
		if !known[id] {
			w.add("partition %d: producer %d wrote, and is not remembered", n, id)
		}
	}
}

// checkReplays sends again what stands in the log: the last five batches of a
// producer are known with their offsets, older ones and gaps are out of order,
// older epochs are fenced, and nothing of it changes the log.
func (w *world) checkReplays(n int32, v logView) {
	of := map[int64][]stored{}
	for _, b := range v.batches {
		if id := b.writer().id; id >= 0 {
			of[id] = append(of[id], b)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(of)) {
		all := of[id]
		last := all[len(all)-1]
		for i, b := range all {
			w.replay(n, b, windowed(all[i:], last))
		}
		gap := encode(last.writer(), lesson.Last(last.sequence(), last.header().NumRecords+2), []record{{"a gap", 0}})
		w.replay(n, stored{n, -1, gap}, kerr.OutOfOrderSequenceNumber)
	}
	if now := w.read(n); now.end != v.end || now.start != v.start {
		w.add("partition %d held offsets %d to %d, and after replays %d to %d", n, v.start, v.end, now.start, now.end)
	}
}

// windowed says what a replay of the first of some batches of a producer, up to
// its last one, has to be told.
func windowed(behind []stored, last stored) *kerr.Error {
	switch {
	case behind[0].writer().epoch < last.writer().epoch:
		return kerr.InvalidProducerEpoch
	case len(behind) > lesson.Window:
		return kerr.OutOfOrderSequenceNumber
	}
	return nil
}

// replay sends a batch past all faults and looks at the answer.
func (w *world) replay(n int32, b stored, want *kerr.Error) {
	req := producing(fetchVersion, -1, map[int32][]byte{n: slices.Clone(b.raw)}, []int32{n})
	copy(req.Topics[0].Partitions[0].Records, make([]byte, lengthAt)) // a client's base offset is 0
	told := partitionOf(w.ask(req), n)
	switch {
	case told == nil:
		w.add("partition %d: a replay was not answered", n)
	case want != nil && told.ErrorCode != want.Code:
		w.add("partition %d: sequence %d of producer %d came again, and was told %v instead of %s", n, b.sequence(), b.writer().id, kerr.ErrorForCode(told.ErrorCode), want.Message)
	case want == nil && (told.ErrorCode != 0 || told.BaseOffset != b.base):
		w.add("partition %d: the batch at offset %d came again, and was told offset %d (%v)", n, b.base, told.BaseOffset, kerr.ErrorForCode(told.ErrorCode))
	}
}
