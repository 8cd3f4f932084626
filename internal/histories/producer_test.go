package histories

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	lesson "github.com/fencepostmq/fencepost/internal/producer"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A producer is a client of the plan. Idempotent ones retry as the Java client
// does: batches of a partition go out in order, up to five requests are in
// flight, whatever was not answered is sent again in order and with the same
// bytes over the next connection, and after an error that is not retriable the
// epoch is raised and what is left begins at sequence 0.
type producer struct {
	*world
	plan   producerPlan
	random *rand.Rand
	by     writer          // its id is -1 for one that has none, or none yet
	next   map[int32]int32 // the sequence of the next new batch
	count  map[int32]int   // batches that have a sequence
	queues [][]*parcel     // what is not answered for, by partition and in order
	muted  []bool          // partitions that wait for what is in flight
	broken bool            // the epoch is raised once nothing is in flight
	link   *link
	flight []*flying // in the order of sending

	acked    []record // in any order
	bumps    int      // raised epochs
	reborn   bool     // it was killed, and this is its successor
	finished bool
}

// A parcel is a batch on its way.
type parcel struct {
	partition int32
	records   []record
	ordinal   int // counts the batches of a partition in one epoch
	sequence  int32
	raw       []byte // nil until it is first sent under the present epoch
	note      *sent
	inFlight  bool
	op        *operation
}

// A flying request is one that has not been answered.
type flying struct {
	req         *kmsg.ProduceRequest
	parcels     []*parcel
	correlation int32
	since       time.Time
}

func newProducer(w *world, p producerPlan) *producer {
	c := &producer{
		world: w, plan: p, random: w.plan.generator(p.name), by: plainWriter, next: map[int32]int32{}, count: map[int32]int{},
		queues: make([][]*parcel, w.plan.partitions), muted: make([]bool, w.plan.partitions),
	}
	var records []record
	for i := range p.records {
		records = append(records, record{fmt.Sprintf("%s-%d %0*d", p.name, i, c.random.IntN(40), 0), w.began.UnixMilli() + int64(i)})
	}
	for n := range records {
		partition := c.random.Int32N(w.plan.partitions)
		c.enqueue(partition, records[n:n+1])
	}
	return c
}

// enqueue puts records behind those that wait, into the last batch if it has
// room and was not sent.
func (p *producer) enqueue(partition int32, records []record) {
	for _, r := range records {
		q := p.queues[partition]
		if n := len(q); n > 0 && q[n-1].raw == nil && len(q[n-1].records) < p.plan.batch && p.random.IntN(3) > 0 {
			q[n-1].records = append(q[n-1].records, r)
			continue
		}
		p.queues[partition] = append(q, &parcel{partition: partition, records: []record{r}})
	}
}

func (p *producer) numbered() bool { return p.plan.kind != plain && p.plan.kind != unanswered }

func (p *producer) acks() int16 {
	if p.plan.kind == unanswered {
		return 0
	}
	return -1
}

// run sends everything, and ends when it is answered for, when the broker is
// closed, or when it has become too late.
func (p *producer) run() {
	defer p.hangUp()
	for !p.empty() && !p.late() {
		if p.plan.killed > 0 && time.Since(p.began) >= p.plan.killed {
			p.beReborn()
		}
		if p.link == nil && !p.open() {
			if p.closed() {
				return
			}
			pause(p.moment())
			continue
		}
		p.sendAll()
		p.await()
	}
	p.finished = p.empty()
	if p.plan.kind == unanswered {
		pause(time.Second) // what is written has still to be read
	}
}

func (p *producer) empty() bool {
	return !slices.ContainsFunc(p.queues, func(q []*parcel) bool { return len(q) > 0 })
}

// moment is a few milliseconds: short, so that clients meet at one instant.
func (p *producer) moment() time.Duration {
	return time.Duration(1+p.random.IntN(5)) * time.Millisecond
}

// open connects, and asks for a producer id if it has none.
func (p *producer) open() bool {
	chance := p.plan.cuts
	if p.fair() {
		chance = 0
	}
	if p.link = p.dial(drawCut(p.random, chance)); p.link == nil {
		return false
	}
	if !p.numbered() || p.by.id >= 0 {
		return true
	}
	resp, ok := p.link.ask(identifying(), p.plan.name, p.plan.patience).(*kmsg.InitProducerIDResponse)
	if !ok || resp.ErrorCode != 0 {
		p.hangUp()
		return false
	}
	p.by = writer{resp.ProducerID, resp.ProducerEpoch}
	return true
}

// hangUp closes the connection. Whatever was in flight may have arrived or not.
func (p *producer) hangUp() {
	if p.link != nil {
		p.link.close()
		p.link = nil
	}
	for _, f := range p.flight {
		for _, one := range f.parcels {
			one.inFlight = false
		}
	}
	p.flight = nil
	clear(p.muted)
}

// beReborn is the death of the process and the birth of the next: it has another
// producer id, and sends again what was not answered, or forgets it.
func (p *producer) beReborn() {
	p.hangUp()
	p.plan.killed, p.reborn, p.broken = 0, true, false
	p.by = plainWriter
	clear(p.next)
	clear(p.count)
	for n, q := range p.queues {
		p.queues[n] = nil
		for _, one := range q {
			if p.plan.resends || one.raw == nil {
				p.enqueue(int32(n), one.records)
			}
		}
	}
	pause(p.moment())
}

// bump raises the epoch as an idempotent producer does by itself (KIP-360): what
// is left begins at sequence 0.
func (p *producer) bump() {
	p.broken = false
	p.bumps++
	p.by.epoch++
	clear(p.next)
	clear(p.count)
	for _, q := range p.queues {
		for _, one := range q {
			one.raw = nil
		}
	}
}

// sendAll sends as much as may be in flight.
func (p *producer) sendAll() {
	if p.broken && len(p.flight) == 0 {
		p.bump()
	}
	for !p.broken && len(p.flight) < p.plan.inFlight {
		parcels := p.drain()
		if len(parcels) == 0 {
			return
		}
		p.transmit(parcels)
		if p.plan.kind == unanswered || p.random.IntN(4) == 0 {
			return
		}
	}
}

// drain takes the next batch of some partitions.
func (p *producer) drain() (parcels []*parcel) {
	for _, n := range p.random.Perm(len(p.queues)) {
		if p.muted[n] || len(parcels) > 0 && p.random.IntN(2) == 0 {
			continue
		}
		i := slices.IndexFunc(p.queues[n], func(one *parcel) bool { return !one.inFlight })
		if i >= 0 && !p.beyond(int32(n), p.queues[n][i]) {
			parcels = append(parcels, p.queues[n][i])
		}
	}
	return parcels
}

// beyond says whether a batch is further than a broker remembers from the oldest
// that is not answered for. Whoever sends it may hear of the oldest, should that
// have to be sent again, that it is out of order. The Java client is hasty so.
func (p *producer) beyond(n int32, one *parcel) bool {
	oldest := p.queues[n][0]
	return !p.plan.hasty && one.raw == nil && oldest.raw != nil && p.count[n]-oldest.ordinal >= lesson.Window
}

func (p *producer) transmit(parcels []*parcel) {
	batches, order := map[int32][]byte{}, []int32{}
	for _, one := range parcels {
		p.seal(one)
		one.inFlight = true
		batches[one.partition] = one.raw
		order = append(order, one.partition)
	}
	f := &flying{req: producing(p.plan.version, p.acks(), batches, order), parcels: parcels, since: time.Now()}
	f.correlation = p.link.send(f.req, p.plan.name)
	if p.plan.kind == unanswered {
		for _, one := range parcels {
			p.remove(one)
		}
		return
	}
	p.flight = append(p.flight, f)
}

// seal gives a batch its sequence and its bytes, which it keeps until the epoch
// is raised.
func (p *producer) seal(one *parcel) {
	if one.raw == nil {
		one.sequence = 0
		if p.numbered() {
			one.sequence = p.next[one.partition]
			p.next[one.partition] += int32(len(one.records))
			one.ordinal = p.count[one.partition]
			p.count[one.partition]++
		} else {
			one.sequence = -1
		}
		one.raw = encode(p.by, one.sequence, one.records)
		one.note = p.ledger.send(keyOf(one.raw), sent{partition: one.partition, records: one.records, by: p.by, sequence: one.sequence, client: p.plan.name})
		one.op = nil
	}
	if p.world.plan.record && (one.op == nil || !p.numbered()) {
		one.op = p.ledger.begin(one.note)
	}
}

// untilLost is how long the oldest request is waited for, or until the client is
// killed.
func (p *producer) untilLost() time.Duration {
	left := p.plan.patience - time.Since(p.flight[0].since)
	if p.plan.killed > 0 {
		left = min(left, p.plan.killed-time.Since(p.began))
	}
	return left
}

// await waits for an answer, for the end of the connection, or until the oldest
// request counts as lost.
func (p *producer) await() {
	if len(p.flight) == 0 {
		pause(p.moment())
		return
	}
	timer := time.NewTimer(p.untilLost())
	defer timer.Stop()
	select {
	case frame, ok := <-p.link.in:
		if !ok {
			p.hangUp()
			pause(p.moment())
			return
		}
		p.answer(frame)
	case <-timer.C:
		p.hangUp()
	}
}
