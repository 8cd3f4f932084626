package journal

import (
	"fmt"
	"slices"
	"testing"
)

func TestPlainDeliveries_tell_batches_apart_by_partition_checksum_and_records(t *testing.T) {
	var d plainDeliveries
	p, o := new(partition), new(partition)
	for _, tt := range []struct {
		partition *partition
		crc       uint32
		records   int32
		want      int
	}{{p, 7, 1, 1}, {p, 7, 2, 1}, {p, 7, 1, 2}, {o, 7, 1, 1}, {p, 8, 1, 1}, {p, 7, 2, 2}, {o, 7, 1, 2}} {
		if got := d.attempt(plainKey{tt.partition, tt.crc, tt.records}); got != tt.want {
			t.Errorf("checksum %d, %d records: attempt %d, want %d", tt.crc, tt.records, got, tt.want)
		}
	}
}

func TestPlainDeliveries_forget_the_oldest(t *testing.T) {
	var d plainDeliveries
	p := new(partition)
	key := func(i int) plainKey { return plainKey{p, uint32(i), 1} }
	for i := range plainKept {
		d.attempt(key(i))
	}
	if got := d.attempt(key(0)); got != 2 || d.forgotten != 0 {
		t.Errorf("attempt %d of the oldest that is remembered; %d are forgotten", got, d.forgotten)
	}
	for i := range 3 {
		d.attempt(key(plainKept + i))
	}
	if d.forgotten != 3 || len(d.ring) != plainKept || cap(d.ring) != plainKept {
		t.Errorf("%d are forgotten, and %d are kept, with room for %d", d.forgotten, len(d.ring), cap(d.ring))
	}
	if got := d.attempt(key(3)); got != 2 {
		t.Errorf("attempt %d of one that is remembered", got)
	}
	if got := d.attempt(key(0)); got != 1 {
		t.Errorf("attempt %d of one that is forgotten", got)
	}
}

// Checksums that are as regular as they can be, and a number of partitions.
func TestPlainDeliveries_chains_are_short(t *testing.T) {
	for _, step := range []uint32{1, 2, 1 << 8, 1 << 16} {
		var d plainDeliveries
		partitions := make([]partition, 3)
		for i := range partitions {
			partitions[i].hash = mix(hashBytes([]byte("orders")), uint64(i))
		}
		for i := range uint32(plainKept) {
			d.attempt(plainKey{&partitions[i%3], i * step, int32(i >> 15)})
		}
		longest := 0
		for i := range d.heads {
			n := 0
			for at := d.heads[i]; at > 0; at = d.ring[at-1].older {
				n++
			}
			longest = max(longest, n)
		}
		if longest > 30 { // of a hash that spreads well, 12 is rare
			t.Errorf("steps of %d: the longest chain has %d batches", step, longest)
		}
	}
}

func TestPlainDeliveries_of_a_deleted_topic_are_not_forgotten_but_gone(t *testing.T) {
	s := newSetup(t, Options{})
	p := s.peer("app")
	for _, topic := range []string{"orders", "other"} {
		p.sendTo(topic, 0, plain("a").raw())
	}
	p.handle(deleteOrders())
	d := &s.journal.notes.plain
	other := s.journal.notes.topics["other"].partitions[0]
	if d.ring[0] != (plainDelivery{}) || d.ring[1].partition != other {
		t.Errorf("remembered: %+v", d.ring)
	}
	for i := range plainKept - 1 { // in the end in the place of the one that is gone
		d.attempt(plainKey{other, uint32(i), 1})
	}
	if d.forgotten != 0 || len(d.ring) != plainKept {
		t.Errorf("%d are forgotten, and %d places taken", d.forgotten, len(d.ring))
	}
	p.sendTo("orders", 0, plain("a").raw())
	if e := s.journal.Events(); e[len(e)-1].Attempt != 1 || d.forgotten != 1 {
		t.Errorf("the last event: %s; %d are forgotten", e[len(e)-1], d.forgotten)
	}
}

// A client whose connection breaks before it reads the answer: to the journal
// the batch is acknowledged.
func TestVerdict_batch_without_producer_id_that_comes_again_after_many_others(t *testing.T) {
	for _, others := range []int{0, 10, DefaultRing, 5000} {
		t.Run(fmt.Sprintf("after %d", others), func(t *testing.T) {
			s := newSetup(t, Options{})
			s.peer("app").send(plain("o=1", "o=2"))
			p := s.peer("app")
			for i := range others {
				p.sendTo("orders", int32(i%2), plain(fmt.Sprintf("v-%d=v", i)).raw())
			}
			again := p.send(plain("o=1", "o=2")).BaseOffset
			v := s.verdict()
			if len(v.Duplicated) != 1 || v.Duplicated[0].Records != 2 || v.Duplicated[0].Places[0].FirstOffset != 0 ||
				v.Duplicated[0].Places[1].FirstOffset != again || len(v.Limits) > 0 {
				t.Errorf("a batch stands at 0 and %d: %s", again, v)
			}
			if e := v.Duplicated[0].Evidence; len(e) != 2 || e[0].Connection != 1 || e[1].Connection != 2 {
				t.Errorf("evidence %v", e)
			}
		})
	}
}

func TestLimit_of_batches_without_a_producer_id(t *testing.T) {
	e := newEndless("orders", -1)
	j := New(e, Options{})
	for range plainKept {
		j.Handle(t.Context(), e.next())
	}
	for _, want := range [][]string{
		nil,
		{"batches without a producer id: the oldest one is no longer recognised if it is sent again"},
		{"batches without a producer id: the oldest 2 are no longer recognised if they are sent again"},
	} {
		v, err := j.VerdictOf(t.Context(), "orders")
		if err != nil || !slices.Equal(v.Limits, want) {
			t.Errorf("limits %q, want %q (%v)", v.Limits, want, err)
		}
		j.Handle(t.Context(), e.next())
	}
}
