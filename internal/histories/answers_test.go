package histories

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// answer takes an answer to the oldest request in flight.
func (p *producer) answer(frame []byte) {
	f := p.flight[0]
	p.flight = p.flight[1:]
	resp, correlation, err := decode(f.req, frame)
	if err != nil || correlation != f.correlation {
		p.add("%s: the answer to request %d has correlation id %d (%v)", p.plan.name, f.correlation, correlation, err)
		p.hangUp()
		return
	}
	for _, one := range f.parcels {
		one.inFlight = false
		told := partitionOf(resp, one.partition)
		if told == nil {
			p.add("%s: an answer says nothing of partition %d", p.plan.name, one.partition)
			continue
		}
		p.settleParcel(one, told)
	}
	p.unmute()
}

// settleParcel does what a client does after an answer.
func (p *producer) settleParcel(one *parcel, told *kmsg.ProduceResponseTopicPartition) {
	if told.ErrorCode == 0 {
		p.acknowledged(one, told.BaseOffset)
		return
	}
	oldest := p.queues[one.partition][0] == one
	err := kerr.ErrorForCode(told.ErrorCode)
	ofLesson := err == kerr.OutOfOrderSequenceNumber || err == kerr.InvalidProducerEpoch
	switch {
	case kerr.IsRetriable(err), err == kerr.OutOfOrderSequenceNumber && !oldest, ofLesson && p.broken:
		p.muted[one.partition] = true
	case ofLesson && p.plan.kind == idempotent:
		p.doubtLesson(one, told)
		p.broken = true
	default:
		p.giveUp(one)
	}
}

// doubtLesson reports a refusal that no rule made up: a client that keeps to the
// protocol is never told that its oldest batch is out of order or fenced.
func (p *producer) doubtLesson(one *parcel, told *kmsg.ProduceResponseTopicPartition) {
	if p.plan.hasty || p.plan.version < 8 { // before 8 an answer does not tell whether a rule made it up
		return
	}
	if told.ErrorMessage == nil || !strings.HasPrefix(*told.ErrorMessage, "fault: ") {
		p.add("%s: its oldest batch, partition %d sequence %d epoch %d, was told %v", p.plan.name, one.partition, one.sequence, p.by.epoch, kerr.ErrorForCode(told.ErrorCode))
	}
}

func (p *producer) acknowledged(one *parcel, base int64) {
	p.ledger.promise(ack{sent: one.note, key: keyOf(one.raw), base: base, careless: p.plan.kind == careless})
	p.acked = append(p.acked, one.records...)
	if one.op != nil {
		p.ledger.end(one.op, base)
	}
	p.remove(one)
	if p.random.IntN(6) == 0 {
		p.work.Go(func() { p.readBack(one, base) })
	}
}

// giveUp tells the application that a batch failed. An idempotent producer goes
// on in a new epoch; a careless one gives the sequence to its next record.
func (p *producer) giveUp(one *parcel) {
	p.remove(one)
	switch p.plan.kind {
	case idempotent:
		p.broken = true
	case careless:
		p.next[one.partition] = one.sequence
	}
}

func (p *producer) remove(one *parcel) {
	q := p.queues[one.partition]
	i := slices.Index(q, one)
	p.queues[one.partition] = slices.Delete(q, i, i+1)
}

// unmute lets partitions send again of which nothing is in flight: what failed
// comes first then.
func (p *producer) unmute() {
	for n, q := range p.queues {
		if !slices.ContainsFunc(q, func(one *parcel) bool { return one.inFlight }) {
			p.muted[n] = false
		}
	}
}

// readBack fetches what was acknowledged over a connection of its own: it has to
// be there.
func (p *producer) readBack(one *parcel, base int64) {
	l := p.dial(uncut)
	if l == nil {
		return
	}
	defer l.close()
	_, floor := p.ledger.bounds(one.partition)
	req := fetching(1<<20, at(one.partition, base))
	resp, ok := l.ask(req, p.plan.name, p.plan.patience).(*kmsg.FetchResponse)
	if !ok || resp.ErrorCode != 0 {
		return // a rule had a hand in it
	}
	told := &resp.Topics[0].Partitions[0]
	got := p.look(told, base, floor)
	switch {
	case told.ErrorCode == kerr.OffsetOutOfRange.Code && p.world.plan.trims == 0:
		p.add("%s: offset %d of partition %d was acknowledged, and then was out of range", p.plan.name, base, one.partition)
	case told.ErrorCode != 0:
	case len(got) == 0:
		p.add("%s: offset %d of partition %d was acknowledged, and then a fetch found nothing there", p.plan.name, base, one.partition)
	case got[0].key() != keyOf(one.raw) && p.plan.kind != careless:
		p.add("%s: offset %d of partition %d was acknowledged, and then a fetch found another batch there", p.plan.name, base, one.partition)
	}
}
