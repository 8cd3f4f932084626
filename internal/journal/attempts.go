package journal

import (
	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/fencepostmq/fencepost/internal/wire"
)

// Two deliveries are of the same batch if producer, epoch, first sequence and
// number of records are the same; without a producer id, if checksum and number
// of records are.
const (
	// deliveriesKept is how many batches of a producer in one partition are
	// remembered to count their deliveries. Idempotent clients have five in
	// flight; the room above is for clients that do not keep to it.
	deliveriesKept = 32

	// plainSets times plainWays is how many batches without a producer id are
	// remembered per partition. A checksum chooses the set that it is kept in.
	plainSets = 16
	plainWays = 8
)

// A delivery counts how often one batch came. The zero value is none.
type delivery struct {
	first, records int32
	epoch          int16
	attempts       int32
}

// deliveries are the newest batches that a producer sent to one partition.
type deliveries struct {
	ring   [deliveriesKept]delivery
	newest int // place in ring

	// next is the sequence after the newest delivery, in epoch, and inRow says how
	// many of the newest deliveries followed one another. Once that is the whole
	// ring, the delivery that follows them cannot be in it.
	next  int32
	epoch int16
	inRow int
}

// attempt counts a delivery and says which one of its batch it is.
func (d *deliveries) attempt(epoch int16, first, records int32) int {
	follows := first == d.next && epoch == d.epoch
	if !follows || d.inRow < len(d.ring) {
		if known := d.find(epoch, first, records); known != nil {
			known.attempts++
			return int(known.attempts)
		}
	}
	d.push(delivery{first: first, records: records, epoch: epoch, attempts: 1}, follows)
	return 1
}

func (d *deliveries) find(epoch int16, first, records int32) *delivery {
	for i := range d.ring {
		k := &d.ring[i]
		if k.first == first && k.records == records && k.epoch == epoch && k.attempts > 0 {
			return k
		}
	}
	return nil
}

func (d *deliveries) push(n delivery, follows bool) {
	d.newest = (d.newest + 1) % len(d.ring)
	d.ring[d.newest] = n
	d.next, d.epoch = producer.Next(lastSequence(n.first, n.records)), n.epoch
	if follows {
		d.inRow++
	} else {
		d.inRow = 1
	}
}

// A plainDelivery counts how often one batch without a producer id came, and
// notes where it was accepted last. The zero value is none.
type plainDelivery struct {
	crc        uint32
	records    int32
	attempts   int32
	stored     bool
	baseOffset int64  // where it was accepted last, if stored
	connection int64  // over which it was accepted last, if stored
	doubt      *doubt // of an earlier copy
}

// plainDeliveries are the newest batches without a producer id in a partition.
type plainDeliveries struct {
	ways [plainSets][plainWays]plainDelivery
	turn [plainSets]uint8 // the oldest of each set
}

func (d *plainDeliveries) find(crc uint32, records int32) *plainDelivery {
	set := &d.ways[crc%plainSets]
	for i := range set {
		if k := &set[i]; k.crc == crc && k.records == records && k.attempts > 0 {
			return k
		}
	}
	return nil
}

func (d *plainDeliveries) attempt(crc uint32, records int32) int {
	known := d.find(crc, records)
	if known == nil {
		set := crc % plainSets
		known = &d.ways[set][d.turn[set]]
		d.turn[set] = (d.turn[set] + 1) % plainWays
		*known = plainDelivery{crc: crc, records: records}
	}
	known.attempts++
	return int(known.attempts)
}

// attemptLocked counts the delivery of a batch to p.
func (j *Journal) attemptLocked(p *partition, b *wire.Batch) int {
	h := &b.Header
	if h.ProducerID < 0 {
		if p.plain == nil {
			p.plain = new(plainDeliveries)
		}
		return p.plain.attempt(uint32(h.CRC), h.NumRecords)
	}
	return j.notes.producer(p, h.ProducerID).attempt(h.ProducerEpoch, h.FirstSequence, h.NumRecords)
}
