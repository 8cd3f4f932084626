package kafka

import (
	"fmt"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// An operation is one request of a drawn sequence.
type operation struct {
	words   string
	request func(s *scene) kmsg.Request
}

// drawnProducers are the producers of a sequence. Partitions are new to them each
// time.
var drawnProducers = []string{"a", "b", "c"}

// A drawer draws operations that mean something: it keeps what it sent, so that it
// can replay and go on. It does not know what the brokers made of that.
type drawer struct {
	*rapid.T
	ground
	sent map[string][]sent // by partition and producer
	size map[int32]int64   // records sent to a partition
}

// A sent batch is what was sent as sound.
type sent struct {
	epoch int16
	first int32
	n     int
}

// next is the sequence behind a batch; after 2147483647 comes 0.
func (b sent) next() int32 { return int32((int64(b.first) + int64(b.n)) & math.MaxInt32) }

// drawOperations draws a sequence of up to mostOperations.
func drawOperations(rt *rapid.T, at ground) (ops []operation) {
	d := &drawer{T: rt, ground: at, sent: map[string][]sent{}, size: map[int32]int64{}}
	n := rapid.IntRange(1, mostOperations).Draw(rt, "operations")
	for range n {
		partition := at.from + rapid.Int32Range(0, partitionsPerCheck-1).Draw(rt, "partition")
		ops = append(ops, d.draw(partition))
	}
	return ops
}

// moves are the kinds of operations, each as often as its weight says.
var moves = []struct {
	weight int
	draw   func(d *drawer, partition int32) operation
}{
	{45, (*drawer).goOn},
	{20, (*drawer).replay},
	{4, (*drawer).replayOther},
	{6, (*drawer).elsewhere},
	{5, (*drawer).bump},
	{4, (*drawer).stale},
	{9, (*drawer).malformed},
	{4, (*drawer).plain},
	{3, (*drawer).trim},
}

// weighted has the index of each move as often as its weight says, well mixed: what
// stands early is drawn more often.
var weighted = func() (all []int) {
	total := 0
	for _, m := range moves {
		total += m.weight
	}
	due := make([]int, len(moves))
	for range total {
		for i, m := range moves {
			due[i] += m.weight
		}
		most := slices.Index(due, slices.Max(due))
		due[most] -= total
		all = append(all, most)
	}
	return all
}()

func (d *drawer) draw(partition int32) operation {
	return moves[rapid.SampledFrom(weighted).Draw(d.T, "move")].draw(d, partition)
}

func (d *drawer) producer() string { return rapid.SampledFrom(drawnProducers).Draw(d.T, "producer") }

// newest is the newest batch of a producer in a partition. A producer begins
// somewhere: near the end of the range, now and then.
func (d *drawer) newest(partition int32, producer string) sent {
	all := d.sent[key(partition, producer)]
	if len(all) == 0 {
		return sent{first: rapid.SampledFrom([]int32{0, 0, 0, 0, 7, math.MaxInt32 - 2, math.MaxInt32 - 9}).Draw(d.T, "first sequence")}
	}
	return all[len(all)-1]
}

func key(partition int32, producer string) string { return fmt.Sprint(partition, producer) }

// send is a batch that was sound, as far as the drawer knows.
func (d *drawer) send(partition int32, producer string, s sent) operation {
	d.sent[key(partition, producer)] = append(d.sent[key(partition, producer)], s)
	d.size[partition] += int64(s.n)
	return d.operation(partition, d.dressed(by(producer, s.first, s.n).in(s.epoch)))
}

// dressed compresses now and then.
func (d *drawer) dressed(b batch) batch {
	c := rapid.SampledFrom([]codec{{}, {}, {}, {}, gzipCodec, snappyCodec, lz4Codec, zstdCodec}).Draw(d.T, "codec")
	if c.compress == nil {
		return b
	}
	return b.with(c)
}

func (d *drawer) operation(partition int32, batches ...batch) operation {
	p := production{version: usualVersion, acks: -1, deliveries: []delivery{toPlace(place{d.topic, partition}, batches...)}}
	return operation{p.step().words, p.request}
}

func (d *drawer) records() int { return rapid.IntRange(1, 4).Draw(d.T, "records") }

// goOn is the next batch of a producer.
func (d *drawer) goOn(partition int32) operation {
	who := d.producer()
	before := d.newest(partition, who)
	return d.send(partition, who, sent{before.epoch, before.next(), d.records()})
}

// replay is one of the newest batches again, a little further back than a window
// reaches.
func (d *drawer) replay(partition int32) operation {
	who := d.producer()
	all := d.sent[key(partition, who)]
	if len(all) == 0 {
		return d.goOn(partition)
	}
	const back = 7
	b := all[len(all)-1-rapid.IntRange(0, min(len(all)-1, back)).Draw(d.T, "batches back")]
	return d.operation(partition, by(who, b.first, b.n).in(b.epoch))
}

// replayOther is one of them again with other records.
func (d *drawer) replayOther(partition int32) operation {
	who := d.producer()
	b := d.newest(partition, who)
	return d.operation(partition, d.dressed(by(who, b.first, max(b.n, 1)).in(b.epoch).of("other records")))
}

// elsewhere is a batch near the newest one: a gap, or a part of what was sent.
func (d *drawer) elsewhere(partition int32) operation {
	who := d.producer()
	b := d.newest(partition, who)
	first := int32((int64(b.first) + int64(rapid.IntRange(-5, 9).Draw(d.T, "away"))) & math.MaxInt32)
	return d.operation(partition, by(who, first, d.records()).in(b.epoch))
}

// bump is a batch of a newer epoch, at 0 most of the time.
func (d *drawer) bump(partition int32) operation {
	who := d.producer()
	b := d.newest(partition, who)
	s := sent{b.epoch + rapid.Int16Range(1, 2).Draw(d.T, "epochs"), rapid.SampledFrom([]int32{0, 0, 0, b.next(), 3}).Draw(d.T, "sequence"), d.records()}
	if s.first == 0 {
		return d.send(partition, who, s)
	}
	return d.operation(partition, by(who, s.first, s.n).in(s.epoch))
}

// stale is a batch of an older epoch, if there is any.
func (d *drawer) stale(partition int32) operation {
	who := d.producer()
	b := d.newest(partition, who)
	return d.operation(partition, by(who, b.next(), d.records()).in(max(b.epoch-1, 0)))
}

// plain is a batch that belongs to no producer.
func (d *drawer) plain(partition int32) operation {
	n := d.records()
	d.size[partition] += int64(n)
	return d.operation(partition, d.dressed(plain(n)))
}

// trim deletes records, now and then more than there are.
func (d *drawer) trim(partition int32) operation {
	offset := rapid.Int64Range(-1, d.size[partition]+1).Draw(d.T, "offset")
	st := func(*scene) kmsg.Request { return trimOf(2, trimmed{fmt.Sprintf("%s-%d", d.topic, partition), offset}) }
	return operation{fmt.Sprintf("DeleteRecords %s-%d up to %d", d.topic, partition, offset), st}
}

// lies are ways in which a drawn batch is malformed: those that both brokers refuse
// with one code.
var lies = []func(b batch) batch{
	func(b batch) batch { return b.damaged("checksum wrong", flip(crcAt)) },
	func(b batch) batch { return b.damaged("magic 9", putting(magicAt, 9)) },
	func(b batch) batch { return b.damaged("length 4", length(4)) },
	func(b batch) batch { return b.damaged("cut by 3", cutBy(3)) },
	func(b batch) batch { return b.damaged("length more by 1000", longer(1000)) },
	func(b batch) batch { return b.saying("9 records said", numRecords(9)) },
	func(b batch) batch { return b.saying("delta 9", lastDelta(9)) },
	func(b batch) batch { return b.saying("base offset 5", firstOffset(5)) },
	func(b batch) batch { return b.saying("control", attributes(0x20)) },
	func(b batch) batch {
		return b.saying("sequence -3", func(h *kmsg.RecordBatch) { h.FirstSequence = -3 })
	},
}

// malformed is a batch that would be next but for one lie, or two in one record set.
func (d *drawer) malformed(partition int32) operation {
	who := d.producer()
	before := d.newest(partition, who)
	b := by(who, before.next(), d.records()).in(before.epoch)
	lie := rapid.IntRange(0, len(lies)).Draw(d.T, "lie")
	if lie == len(lies) {
		return d.operation(partition, b, plain(1))
	}
	return d.operation(partition, lies[lie](b))
}

// inspect asks where the logs begin and end, and for their producers.
func (g ground) inspect() (ops []operation) {
	for i := range int32(partitionsPerCheck) {
		at := fmt.Sprintf("%s-%d", g.topic, g.from+i)
		ops = append(ops,
			operation{"start of " + at, func(s *scene) kmsg.Request { return listing(s, 7, []offsetAsked{byTime(at, -2)}) }},
			operation{"end of " + at, func(s *scene) kmsg.Request { return listing(s, 7, []offsetAsked{byTime(at, -1)}) }},
			operation{"producers of " + at, func(*scene) kmsg.Request { return producersOf(at) }})
	}
	return ops
}
