package journal

import (
	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/fencepostmq/fencepost/internal/wire"
)

// deliveriesKept is how many batches of a producer in one partition are
// remembered to count their deliveries. Idempotent clients have five in flight;
// the room above is for clients that do not keep to it.
const deliveriesKept = 32

// A delivery counts how often one batch came. Two deliveries are of the same
// batch if producer, epoch, first sequence and number of records are the same.
// The zero value is none.
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

// attemptLocked counts the delivery of a batch to p.
func (j *Journal) attemptLocked(p *partition, b *wire.Batch) int {
	h := &b.Header
	if h.ProducerID < 0 {
		return j.notes.plain.attempt(plainKeyOf(p, b))
	}
	return j.notes.producer(p, h.ProducerID).attempt(h.ProducerEpoch, h.FirstSequence, h.NumRecords)
}
