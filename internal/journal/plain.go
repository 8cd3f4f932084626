package journal

import "github.com/fencepostmq/fencepost/internal/wire"

// plainKept is how many batches without a producer id are remembered, those of
// all partitions together; the one that came first for the first time is
// forgotten first. Each takes 60 bytes.
const plainKept = 65_536

// A plainKey is what the deliveries of one batch without a producer id have in
// common: its checksum and number of records.
type plainKey struct {
	partition *partition
	crc       uint32
	records   int32
}

func plainKeyOf(p *partition, b *wire.Batch) plainKey {
	return plainKey{p, uint32(b.Header.CRC), b.Header.NumRecords}
}

// hash cannot be foreseen by a client: that of the partition is seeded.
func (k plainKey) hash() uint64 {
	return mix(mix(k.partition.hash, uint64(k.crc)), uint64(k.records))
}

// A plainDelivery counts how often one batch without a producer id came, and
// notes where it was accepted last. The zero value is none.
type plainDelivery struct {
	plainKey
	older      int32 // with the same head: a place in ring plus 1, 0 for none
	attempts   int32
	stored     bool
	answer     Answer // when it was accepted last, if stored
	baseOffset int64  // where it was accepted last, if stored
	connection int64  // over which it was accepted last, if stored
	doubt      *doubt // of an earlier copy
}

// plainDeliveries are the newest batches without a producer id, in a ring and,
// to find them, in a hash table of which each head begins a chain.
type plainDeliveries struct {
	ring      []plainDelivery // grows up to plainKept
	heads     []int32         // places in ring plus 1, 0 for none; the length is a power of two
	oldest    int             // place in ring, once that is full
	forgotten uint64
}

// plainRoom is how many batches there is room for at first.
const plainRoom = 1 << 10

// find is nil if the batch is not remembered. What it gives is valid until the
// next attempt.
func (d *plainDeliveries) find(k plainKey) *plainDelivery {
	if len(d.heads) == 0 {
		return nil
	}
	for i := *d.head(k); i > 0; i = d.ring[i-1].older {
		if d.ring[i-1].plainKey == k {
			return &d.ring[i-1]
		}
	}
	return nil
}

func (d *plainDeliveries) head(k plainKey) *int32 {
	return &d.heads[k.hash()&uint64(len(d.heads)-1)]
}

// attempt counts a delivery and says which one of its batch it is.
func (d *plainDeliveries) attempt(k plainKey) int {
	known := d.find(k)
	if known == nil {
		known = d.add(k)
	}
	known.attempts++
	return int(known.attempts)
}

// add remembers a batch, in the place of the oldest if need be.
func (d *plainDeliveries) add(k plainKey) *plainDelivery {
	i := len(d.ring)
	if i < plainKept {
		if i == len(d.heads) {
			d.grow()
		}
		d.ring = append(d.ring, plainDelivery{})
	} else {
		i = d.oldest
		d.oldest = (i + 1) % plainKept
		if d.ring[i].partition != nil {
			d.remove(i)
			d.forgotten++
		}
	}
	d.ring[i].plainKey = k
	d.link(i)
	return &d.ring[i]
}

// grow doubles the room.
func (d *plainDeliveries) grow() {
	room := max(plainRoom, 2*len(d.heads))
	d.heads = make([]int32, room)
	d.ring = append(make([]plainDelivery, 0, room), d.ring...)
	for i := range d.ring {
		if d.ring[i].partition != nil {
			d.link(i)
		}
	}
}

// link makes the batch at a place the first of its chain.
func (d *plainDeliveries) link(i int) {
	head := d.head(d.ring[i].plainKey)
	d.ring[i].older = *head
	*head = int32(i) + 1
}

// remove leaves a place empty.
func (d *plainDeliveries) remove(i int) {
	at := d.head(d.ring[i].plainKey)
	for *at != int32(i)+1 {
		at = &d.ring[*at-1].older
	}
	*at = d.ring[i].older
	d.ring[i] = plainDelivery{}
}

// forgetTopic drops the batches of a topic that was deleted.
func (d *plainDeliveries) forgetTopic(t *topic) {
	for i := range d.ring {
		if p := d.ring[i].partition; p != nil && p.topic == t {
			d.remove(i)
		}
	}
}
