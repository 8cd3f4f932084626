package journal

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// The failure text as it was designed, word for word. An answer that a network
// loses names no rule.
func TestVerdict_text(t *testing.T) {
	s := newSetup(t, Options{Seed: 42})
	s.rules = append(s.rules, &rule{match: once(sequence(41)), do: loseAnswer})
	p := s.peer("app")
	for i := range int32(57) {
		p.send(by(1000, i, fmt.Sprintf("o-%d=v", i)))
	}
	p.send(by(1001, 0, "o-41=v"))
	p.send(by(1000, 57, "o-57=v"))
	p.send(by(1000, 63, "o-63=v"))
	if got, want := s.verdict().String(), `orders is not exactly once (seed 42)
  duplicated  offsets 41 and 57 hold one record, key "o-41": sent again with a new producer id after its ack was lost
  missing     sequence 63 of producer 1000 was refused (out of order: expected 58) and never accepted
`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

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

func TestEvidence(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", once(sequence(0)))
	s.on("drop before produce", once(sequence(1)))
	p := s.peer("app")
	p.send(by(1000, 0, "o-0=v"))
	p.send(by(1000, 1, "o-1=v"))
	p.send(by(1000, 2, "o-2=v"))
	p.send(by(1000, 2, "o-2=v"))
	p.send(by(1001, 0, "o-0=v"))
	v := s.verdict()
	numbers := func(events []Event) (n []uint64) {
		for _, e := range events {
			n = append(n, e.Number)
		}
		return n
	}
	if got := numbers(v.Duplicated[0].Evidence); !slices.Equal(got, []uint64{1, 5}) {
		t.Errorf("evidence of the duplicate: %v", got)
	}
	if got := numbers(v.Missing[0].Evidence); !slices.Equal(got, []uint64{2}) {
		t.Errorf("evidence of the first missing batch: %v", got)
	}
	if got := numbers(v.Missing[1].Evidence); !slices.Equal(got, []uint64{3, 4}) {
		t.Errorf("evidence of the second missing batch: %v", got)
	}
	if v.Missing[0].Rule != "drop before produce" || v.Missing[1].Attempts != 2 {
		t.Errorf("missing %+v", v.Missing)
	}
}

func TestMissing_is_not_what_came_later(t *testing.T) {
	refuse := func(t *testing.T, rule string) (*setup, *peer) {
		s := newSetup(t, Options{})
		s.on(rule, once(anyProduce))
		return s, s.peer("app")
	}
	for _, rule := range []string{"drop before produce", "error NOT_LEADER_OR_FOLLOWER before produce"} {
		t.Run(rule, func(t *testing.T) {
			t.Run("the same batch", func(t *testing.T) {
				s, p := refuse(t, rule)
				p.send(by(1000, 0, "o-0=v"))
				p.send(by(1000, 0, "o-0=v"))
				s.wantVerdict("orders is exactly once: 1 record in 1 batch")
				if s.broker.fetches > 0 {
					t.Error("the log was read")
				}
			})
			t.Run("the same batch, without a producer id", func(t *testing.T) {
				s, p := refuse(t, rule)
				p.send(plain("o-0=v"))
				p.send(plain("o-0=v"))
				s.wantVerdict("orders is exactly once: 1 record in 1 batch")
			})
			t.Run("compressed anew", func(t *testing.T) {
				s, p := refuse(t, rule)
				p.send(by(1000, 0, "o-0=v"))
				p.send(by(1000, 0, "o-0=v").repacked())
				s.wantVerdict("orders is exactly once: 1 record in 1 batch")
			})
			t.Run("to another partition", func(t *testing.T) {
				s, p := refuse(t, rule)
				p.send(plain("o-0=v"))
				p.sendTo("orders", 1, plain("o-0=v").at(5000).raw())
				s.wantVerdict("orders is exactly once: 1 record in 1 batch")
			})
			t.Run("but not to another topic", func(t *testing.T) {
				s, p := refuse(t, rule)
				p.send(plain("o-0=v"))
				p.sendTo("audit", 0, plain("o-0=v").raw())
				if s.verdict().ExactlyOnce {
					t.Error("exactly once")
				}
			})
			t.Run("after three tries of the application", func(t *testing.T) {
				s := newSetup(t, Options{})
				n := 0
				s.on(rule, func(*wire.Request) bool { n++; return n < 3 })
				p := s.peer("app")
				for i := range int64(3) {
					p.send(plain("o-0=v").at(i))
				}
				s.wantVerdict("orders is exactly once: 1 record in 1 batch")
			})
		})
	}
}

func TestMissing_is_not_what_stood_in_the_log_before(t *testing.T) {
	t.Run("a replay from outside the window", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("app")
		for i := range int32(2 * windowKept) {
			p.send(by(1000, i, fmt.Sprintf("o-%d=v", i)))
		}
		if told := p.send(by(1000, 0, "o-0=v")); told.ErrorCode == 0 {
			t.Fatal("the window is larger than it was")
		}
		s.wantVerdict(fmt.Sprintf("orders is exactly once: %d records in %d batches", 2*windowKept, 2*windowKept))
	})
	t.Run("a replay of a fenced producer", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("app")
		p.send(by(1000, 0, "o-0=v"))
		p.send(by(1000, 0, "o-1=v").inEpoch(1))
		p.send(by(1000, 0, "o-0=v"))
		s.wantVerdict("orders is exactly once: 2 records in 2 batches")
		if s.broker.fetches > 0 {
			t.Error("the log was read though the batch was remembered")
		}
	})
	t.Run("a replay that a rule refused", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", both(attempt(1), sequence(0)))
		s.on("error NOT_LEADER_OR_FOLLOWER before produce", both(attempt(2), sequence(0)))
		p := s.peer("app")
		for range 3 {
			p.send(by(1000, 0, "o-0=v"))
		}
		s.wantVerdict("orders is exactly once: 1 record in 1 batch, 1 acknowledgement lost, 1 replay answered with the first offset")
	})
	t.Run("a copy that was lost of a batch whose ack was lost", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", once(anyProduce))
		s.on("drop before produce", func(r *wire.Request) bool { return true })
		p := s.peer("app")
		p.send(by(1000, 0, "o-0=v"))
		p.send(by(1001, 0, "o-0=v").at(5000))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  unconfirmed offset 0 holds sequence 0 of producer 1000, but no answer ever told client "app" (drop after produce)`)
	})
}

func TestMissing_counts_equal_records_of_a_batch(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop before produce", once(anyProduce))
	p := s.peer("app")
	p.send(by(1000, 0, "tick", "tick", "tick"))
	p.send(by(1000, 0, "tick", "tick"))
	s.wantVerdict(`
orders is not exactly once (seed 0)
  missing     1 record of sequences 0 to 2 of producer 1000 was lost before the broker (drop before produce) and never sent again`)
}

// Of three equal records that a producer writes in one millisecond, the second
// is lost, and the third is refused for that.
func TestMissing_is_not_found_in_another_record_of_the_same_producer(t *testing.T) {
	for _, fault := range []string{"", "drop after produce"} {
		s := newSetup(t, Options{})
		s.on("drop before produce", sequence(1))
		if fault != "" {
			s.on(fault, once(sequence(0)))
		}
		p := s.peer("app")
		for i := range int32(3) {
			p.send(by(1000, i, "tick"))
		}
		if v := s.verdict(); v.Totals.Missing != 2 || v.Totals.Duplicated != 0 {
			t.Errorf("%s", v)
		}
	}
}

// An equal record that was written before is no copy.
func TestMissing_is_not_found_in_what_was_written_before(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop before produce", once(sequence(1)))
	p := s.peer("app")
	p.send(by(1000, 0, "tick").at(1))
	p.send(by(1000, 1, "tick").at(2))
	s.wantVerdict(`
orders is not exactly once (seed 0)
  missing     sequence 1 of producer 1000 was lost before the broker (drop before produce) and never sent again`)
}

func TestMissing_text(t *testing.T) {
	t.Run("fenced", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("zombie")
		p.send(by(1000, 0, "o-0=v").inEpoch(1))
		p.send(by(1000, 0, "o-1=v"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  missing     sequence 0 of producer 1000 was refused (fenced by epoch 1) and never accepted`)
	})
	t.Run("lost, and refused when sent again", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop before produce", once(sequence(1)))
		p := s.peer("app")
		p.send(by(1000, 1, "o-1=v"))
		p.send(by(1000, 1, "o-1=v"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  missing     sequence 1 of producer 1000 was refused (out of order: expected 0) and never accepted`)
	})
	t.Run("in one partition of several, and across the wrap", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("app")
		p.sendTo("orders", 0, by(1000, 0, "o-0=v").raw())
		p.sendTo("orders", 1, by(1000, math.MaxInt32, "a=v", "b=v").raw())
		p.sendTo("orders", 1, by(1000, 1, "c=v").raw())
		s.wantVerdict(`
orders is not exactly once (seed 0)
  missing     sequences 2147483647 to 1 of producer 1000 in partition 1 were refused (out of order: expected 0) and never accepted`)
	})
	t.Run("malformed", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("")
		corrupt := by(1000, 0, "o-0=v").raw()
		corrupt[len(corrupt)-1]++
		p.sendTo("orders", 0, []byte("no batch"))
		p.sendTo("orders", 0, []byte("no batch"))
		p.sendTo("orders", 0, corrupt)
		const refused = `
orders is not exactly once (seed 0)
  missing     a malformed batch from a client without a name was refused (the record set ends after 8 bytes, inside the header of a batch) and never accepted
  missing     sequence 0 of producer 1000 was refused (the batch says that its CRC-32C is`
		if got := s.verdict().String(); !strings.HasPrefix(got, strings.TrimSpace(refused)) || strings.Count(got, "\n") != 3 {
			t.Errorf("%s\nwant%s", got, refused)
		}
		p.send(by(1000, 0, "o-0=v"))
		if got := s.verdict(); got.Totals.Missing != 1 {
			t.Errorf("after the batch was accepted: %s", got)
		}
	})
	t.Run("records that cannot be read", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("app")
		raw := by(1000, 0, "o-0=v").raw()
		raw[61] = 0xff // the length of the first record
		p.sendTo("orders", 0, raw)
		if v := s.verdict(); v.Totals.Missing != 1 || !strings.HasPrefix(v.Missing[0].Text, "sequence 0 of producer 1000 was refused (") {
			t.Errorf("%s", v)
		}
		p.send(by(1000, 0, "o-0=v", "o-1=v"))
		s.wantVerdict("orders is exactly once: 2 records in 1 batch")
	})
}

func TestUnconfirmed(t *testing.T) {
	t.Run("batches in a row are one line", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", func(r *wire.Request) bool { return r.Batches[0].Header.FirstSequence < 6 })
		p := s.peer("app")
		for i := range int32(4) {
			p.send(by(1000, 2*i, numbered(int(2*i), 2)...))
		}
		s.wantVerdict(`
orders is not exactly once (seed 0)
  unconfirmed offsets 0 to 5 hold sequences 0 to 5 of producer 1000, but no answer ever told client "app" (drop after produce)`)
	})
	t.Run("without a producer id, in one partition of several", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", func(r *wire.Request) bool { return r.Batches[0].Partition == 2 })
		p := s.peer("app")
		p.sendTo("orders", 2, plain("a=v", "b=v").raw())
		s.wantVerdict(`
orders is not exactly once (seed 0)
  unconfirmed offsets 0 to 1 of partition 2 hold a batch, but no answer ever told client "app" (drop after produce)`)
	})
	t.Run("is over with a replay that is confirmed, however it was compressed", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", attempt(1))
		p := s.peer("app")
		p.send(by(1000, 0, "o-0=v"))
		p.send(by(1000, 0, "o-0=v").repacked())
		s.wantVerdict("orders is exactly once: 1 record in 1 batch, 1 acknowledgement lost, 1 replay answered with the first offset")
	})
	t.Run("is not over with a replay whose answer was lost as well", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", anyProduce)
		p := s.peer("app")
		p.send(by(1000, 0, "o-0=v"))
		p.send(by(1000, 0, "o-0=v"))
		p.send(by(1000, 0, "o-0=v").repacked())
		s.wantVerdict(`
orders is not exactly once (seed 0)
  unconfirmed offset 0 holds sequence 0 of producer 1000, but no answer ever told client "app" (drop after produce)`)
	})
	t.Run("says the last that was told", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", attempt(1))
		s.on("error REQUEST_TIMED_OUT after produce", attempt(2))
		p := s.peer("app")
		p.send(by(1000, 0, "o-0=v"))
		p.send(by(1000, 0, "o-0=v"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  unconfirmed offset 0 holds sequence 0 of producer 1000, but client "app" was told REQUEST_TIMED_OUT (drop after produce)`)
	})
}

func TestSwallowed(t *testing.T) {
	t.Run("some records of several", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("app")
		p.send(by(1000, 0, "a=1", "b=1", "c=1"))
		p.send(by(1000, 0, "a=1", "b=2", "c=2"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  swallowed   sequences 0 to 2 of producer 1000 came again with 2 of 3 records changed: acknowledged as offsets 0 to 2, and not written`)
	})
	t.Run("the first of several, in one partition of several", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("app")
		p.sendTo("orders", 1, by(1000, 0, "a=1", "b=1").raw())
		p.sendTo("orders", 1, by(1000, 0, "c=1", "b=1").raw())
		s.wantVerdict(`
orders is not exactly once (seed 0)
  swallowed   sequences 0 to 1 of producer 1000 came again with 1 of 2 records changed, the first now key "c": acknowledged as offsets 0 to 1 of partition 1, where first key "a" stands, and not written`)
	})
	t.Run("without an answer", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", attempt(2))
		p := s.peer("app")
		p.send(by(1000, 0, "a=1"))
		p.send(by(1000, 0, "b=1"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  swallowed   sequence 0 of producer 1000 came again with another record, key "b": taken for a replay of offset 0, where key "a" stands, and not written`)
		p.send(by(1000, 0, "b=1")) // now acknowledged
		s.wantVerdict(`
orders is not exactly once (seed 0)
  swallowed   sequence 0 of producer 1000 came again with another record, key "b": acknowledged as offset 0, where key "a" stands, and not written`)
		p.send(by(1000, 0, "b=1").repacked()) // the same records: the same finding
		if v := s.verdict(); v.Totals.Swallowed != 1 {
			t.Errorf("%s", v)
		}
	})
	t.Run("and lost before or after that", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop before produce", func(r *wire.Request) bool { return attempt(2)(r) || attempt(4)(r) })
		p := s.peer("app")
		p.send(by(1000, 0, "a=1"))
		p.send(by(1000, 0, "b=1"))
		p.send(by(1000, 0, "b=1").repacked())
		p.send(by(1000, 0, "b=1").repacked())
		s.wantVerdict(`
orders is not exactly once (seed 0)
  swallowed   sequence 0 of producer 1000 came again with another record, key "b": acknowledged as offset 0, where key "a" stands, and not written`)
	})
	t.Run("but not the same records with other bytes", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("app")
		p.send(by(1000, 0, "a=1"))
		p.send(by(1000, 0, "a=1").repacked())
		p.send(by(1000, 0, "a=1").at(9000))
		s.wantVerdict("orders is exactly once: 1 record in 1 batch, 2 replays answered with the first offset")
	})
}

func TestVerdict_as_JSON(t *testing.T) {
	s := newSetup(t, Options{Seed: 7, Identity: IdentityHeader("id")})
	s.on("drop after produce", once(anyProduce))
	s.peer("app").send(by(1000, 0, "a=1"))
	v, err := s.journal.Verdict(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v.Topics[0].Unconfirmed[0].Evidence = []Event{}
	got, err := json.MarshalIndent(v, "", " ")
	const want = `{
 "seed": 7,
 "identity": "header=id",
 "exactly_once": false,
 "topics": [
  {
   "topic": "orders",
   "seed": 7,
   "exactly_once": false,
   "counts": {
    "records": 1,
    "batches": 1,
    "duplicates": 0,
    "out_of_order": 0,
    "fenced": 0,
    "refused": 0,
    "not_asked": 0,
    "replayed": 0,
    "acks_lost": 1,
    "acks_false": 0,
    "acks_not_due": 0,
    "producers": 1
   },
   "totals": {
    "duplicated": 0,
    "missing": 0,
    "unconfirmed": 1,
    "swallowed": 0
   },
   "unconfirmed": [
    {
     "text": "offset 0 holds sequence 0 of producer 1000, but no answer ever told client \"app\" (drop after produce)",
     "partition": 0,
     "client": "app",
     "connection": 1,
     "producer_id": 1000,
     "epoch": 0,
     "first_sequence": 0,
     "last_sequence": 0,
     "batch_records": 1,
     "attempts": 1,
     "first_offset": 0,
     "last_offset": 0,
     "told": {
      "answer": "lost",
      "code": 0,
      "base_offset": -1
     },
     "rule": "drop after produce",
     "evidence": []
    }
   ],
   "without_identity": 1,
   "note": "1 record has no header \"id\""
  }
 ]
}`
	if err != nil || string(got) != want {
		t.Errorf("%s\nwant %s (%v)", got, want, err)
	}
}

func TestVerdict_of_a_topic_that_nothing_came_for(t *testing.T) {
	newSetup(t, Options{}).wantVerdict("orders is exactly once: no batch came for it")
}

func TestVerdict_counts(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", both(sequence(0), attempt(1)))
	s.on("error REQUEST_TIMED_OUT after produce", both(sequence(2), attempt(1)))
	s.on("error REQUEST_TIMED_OUT before produce", both(sequence(3), attempt(1)))
	p := s.peer("app")
	p.send(by(1000, 0, "a", "b"))
	p.send(by(1000, 0, "a", "b"))
	p.send(by(1000, 2, "c"))
	p.send(by(1000, 2, "c"))
	p.send(by(1000, 3, "d"))
	p.send(by(1000, 9, "e"))
	p.send(by(1001, 0, "f").inEpoch(1))
	p.send(by(1001, 0, "g"))
	p.sendTo("orders", 1, []byte("x"))
	p.acks = 0
	p.send(plain("h"))
	want := Counts{
		Records: 5, Batches: 4, Duplicates: 2, OutOfOrder: 1, Fenced: 1, Refused: 1, NotAsked: 1,
		Replayed: 2, AcksLost: 2, AcksFalse: 1, AcksNotDue: 1, Producers: 2,
	}
	if got := s.journal.Counts()["orders"]; got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	const text = "5 records in 4 batches, 2 acknowledgements lost, 1 acknowledgement replaced by an error, " +
		"2 replays answered with the first offset, 1 batch asked for no acknowledgement"
	if got := want.summary(); got != text {
		t.Errorf("%s\nwant %s", got, text)
	}
}

func TestLabels_are_cut(t *testing.T) {
	for _, tt := range []struct{ key, want string }{
		{"short", `key "short"`},
		{strings.Repeat("x", 40), `key "` + strings.Repeat("x", 40) + `"`},
		{strings.Repeat("x", 41), `key "` + strings.Repeat("x", 40) + `"…`},
		{strings.Repeat("x", 39) + "é!", `key "` + strings.Repeat("x", 39) + `"…`},
		{"\x00\xff\"", `key "\x00\xff\""`},
		{"", `key ""`},
	} {
		if got := labelOf(IdentityNone, &wire.Record{Key: []byte(tt.key)}); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.key, got, tt.want)
		}
	}
	if got := labelOf(IdentityNone, &wire.Record{}); got != "" {
		t.Errorf("a record without key and value: %q", got)
	}
}
