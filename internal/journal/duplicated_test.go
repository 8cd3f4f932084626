package journal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
)

func TestDuplicated_text(t *testing.T) {
	dup := func(records int, first, last string, places ...Range) Duplicated {
		return Duplicated{Records: records, First: first, Last: last, Places: places, Why: "why"}
	}
	at := func(partition int32, first, last int64) Range {
		return Range{Partition: partition, FirstOffset: first, LastOffset: last}
	}
	for _, tt := range []struct {
		name    string
		d       Duplicated
		several bool
		want    string
	}{
		{"one record", dup(1, `key "o-41"`, "", at(0, 41, 41), at(0, 57, 57)), false,
			`offsets 41 and 57 hold one record, key "o-41": why`},
		{"one record in a topic of several partitions", dup(1, `key "o-41"`, "", at(2, 41, 41), at(2, 57, 57)), true,
			`offsets 41 and 57 of partition 2 hold one record, key "o-41": why`},
		{"one record in two partitions", dup(1, `key "o-41"`, "", at(0, 41, 41), at(1, 57, 57)), true,
			`partition 0 offset 41 and partition 1 offset 57 hold one record, key "o-41": why`},
		{"three copies", dup(1, `value "x"`, "", at(0, 41, 41), at(0, 57, 57), at(0, 80, 80)), false,
			`offsets 41, 57 and 80 hold one record, value "x": why`},
		{"several records", dup(5, `key "o-41"`, `key "o-45"`, at(0, 41, 45), at(0, 57, 61)), false,
			`offsets 41 to 45 and 57 to 61 hold the same 5 records, keys "o-41" to "o-45": why`},
		{"several records in one partition of several", dup(5, `key "o-41"`, `key "o-45"`, at(2, 41, 45), at(2, 57, 61)), true,
			`offsets 41 to 45 and 57 to 61 of partition 2 hold the same 5 records, keys "o-41" to "o-45": why`},
		{"several records in two partitions", dup(5, `key "o-41"`, `key "o-45"`, at(0, 41, 45), at(1, 57, 61)), true,
			`partition 0 offsets 41 to 45 and partition 1 offsets 57 to 61 hold the same 5 records, keys "o-41" to "o-45": why`},
		{"several records of one key", dup(2, `key "o"`, `key "o"`, at(0, 1, 2), at(0, 3, 4)), false,
			`offsets 1 to 2 and 3 to 4 hold the same 2 records, key "o": why`},
		{"a key and a value", dup(2, `key "o"`, `value "p"`, at(0, 1, 2), at(0, 3, 4)), false,
			`offsets 1 to 2 and 3 to 4 hold the same 2 records, key "o" to value "p": why`},
		{"a header", dup(2, `header id "a"`, `header id "b"`, at(0, 1, 2), at(0, 3, 4)), false,
			`offsets 1 to 2 and 3 to 4 hold the same 2 records, header id "a" to "b": why`},
		{"nothing to name it by", dup(1, "", "", at(0, 1, 1), at(0, 3, 3)), false,
			`offsets 1 and 3 hold one record: why`},
		{"more copies than are told apart", Duplicated{Records: 1, Beyond: 9, Places: []Range{at(0, 1, 1), at(0, 3, 3)}, Why: "why"}, false,
			`offsets 1, 3 and 9 more hold one record: why`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.d.say(tt.several); tt.d.Text != tt.want {
				t.Errorf("%s\nwant %s", tt.d.Text, tt.want)
			}
		})
	}
}

func TestDuplicated_across_partitions(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", once(anyProduce))
	p := s.peer("app")
	p.sendTo("orders", 0, plain(numbered(0, 3)...).raw())
	p.sendTo("orders", 1, plain("x=v").raw())
	p.sendTo("orders", 1, plain(numbered(0, 3)...).at(5000).raw())
	s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  partition 0 offsets 0 to 2 and partition 1 offsets 1 to 3 hold the same 3 records, keys "o-0" to "o-2": sent again without idempotence after its ack was lost
              caused by fault "drop after produce"`)
}

func TestDuplicated_names_each_rule_once_beneath_what_it_caused(t *testing.T) {
	s := newSetup(t, Options{})
	first := func(n int64) func(*wire.Request) bool {
		return both(attempt(1), func(r *wire.Request) bool { return r.Batches[0].Header.FirstTimestamp == n })
	}
	s.on("drop after produce", first(1))
	s.on("disconnect after produce", func(r *wire.Request) bool { return first(2)(r) || first(3)(r) })
	p := s.peer("app")
	for i := range int64(3) {
		p.send(plain(fmt.Sprintf("o-%d=v", i)).at(i + 1))
		p.send(plain(fmt.Sprintf("o-%d=v", i)).at(i + 1))
	}
	s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 0 and 1 hold one record, key "o-0": sent again without idempotence after its ack was lost
              caused by fault "drop after produce"
  duplicated  offsets 2 and 3 hold one record, key "o-1": sent again without idempotence after its ack was lost
  duplicated  offsets 4 and 5 hold one record, key "o-2": sent again without idempotence after its ack was lost
              caused by fault "disconnect after produce"`)
}

func TestDuplicated_prints_twenty_lines(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", func(r *wire.Request) bool { return attempt(1)(r) })
	p := s.peer("app")
	for i := range int64(51) {
		p.send(plain(fmt.Sprintf("o-%d=v", i)).at(i))
		p.send(plain(fmt.Sprintf("o-%d=v", i)).at(i))
	}
	v := s.verdict()
	lines := strings.Split(strings.TrimSpace(v.String()), "\n")
	if len(lines) != 1+20+1+1 || lines[len(lines)-1] != "              and 31 more" || len(v.Duplicated) != 51 {
		t.Errorf("%d findings in %d lines, the last %q", len(v.Duplicated), len(lines), lines[len(lines)-1])
	}
}

func TestDuplicated_by_a_producer_that_sends_again_with_its_next_sequence(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", once(anyProduce))
	p := s.peer("homemade")
	p.send(by(1000, 0, "o-0=v"))
	p.send(by(1000, 1, "o-0=v"))
	s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 0 and 1 hold one record, key "o-0": sent again with a new sequence after its ack was lost
              caused by fault "drop after produce"`)
}

func TestDuplicated_by_another_producer(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", once(anyProduce))
	p := s.peer("app")
	p.send(plain("o-0=v"))
	p.send(by(1000, 0, "o-0=v"))
	s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 0 and 1 hold one record, key "o-0": sent again by another producer after its ack was lost
              caused by fault "drop after produce"`)
}

// Copies that the broker stamped anew have different timestamps, and the
// application writes equal records: the bytes that were sent are certain.
func TestDuplicated_is_certain_if_the_same_bytes_were_accepted_twice(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", func(r *wire.Request) bool { return attempt(1)(r) && r.Batches[0].Header.FirstTimestamp == 3 })
	p := s.peer("app")
	s.journal.next = s.stamping(100)
	for i := range int64(5) {
		if b := plain("tick").at(i); p.send(b) == nil {
			p.send(b)
		}
	}
	s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 3 and 4 hold one record, value "tick": sent again without idempotence after its ack was lost
              caused by fault "drop after produce"`)
}

// The application writes equal records, and each is sent twice.
func TestDuplicated_of_equal_records_are_told_apart(t *testing.T) {
	for _, stamped := range []bool{false, true} {
		t.Run(fmt.Sprintf("stamped by the broker: %v", stamped), func(t *testing.T) {
			s := newSetup(t, Options{})
			if stamped {
				s.journal.next = s.stamping(100)
			}
			s.on("drop after produce", attempt(1))
			p := s.peer("app")
			for i := range int64(3) {
				p.send(plain("tick").at(i))
				p.send(plain("tick").at(i))
			}
			s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 0 and 1 hold one record, value "tick": sent again without idempotence after its ack was lost
  duplicated  offsets 2 and 3 hold one record, value "tick": sent again without idempotence after its ack was lost
  duplicated  offsets 4 and 5 hold one record, value "tick": sent again without idempotence after its ack was lost
              caused by fault "drop after produce"`)
		})
	}
}
