package journal

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
)

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
	s.on("drop before produce", func(r *wire.Request) bool { return r.Batches[0].Header.FirstTimestamp%2 == 0 })
	p := s.peer("app")
	for i := range int64(5) {
		p.send(plain(fmt.Sprint("tick", i/3)).at(i))
	}
	s.wantVerdict(`
orders is not exactly once (seed 0)
  missing     a batch of 1 record from client "app" was lost before the broker (drop before produce) and never sent again
  missing     a batch of 1 record from client "app" was lost before the broker (drop before produce) and never sent again`)
}

func TestMissing_malformed_batch_is_not_one_of_producer_0(t *testing.T) {
	s := newSetup(t, Options{})
	p := s.peer("app")
	p.send(by(0, 0, "a"))
	p.sendTo("orders", 0, []byte("no batch"))
	if v := s.verdict(); v.Totals.Missing != 1 {
		t.Errorf("%s", v)
	}
}

func TestMissing_refusals_are_over_with_a_duplicate(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop before produce", attempt(2))
	p := s.peer("app")
	p.send(by(1000, 0, "a"))
	p.send(by(1000, 0, "a").repacked())
	if used := s.journal.notes.used.refusals; used != 1 {
		t.Fatalf("%d refusals", used)
	}
	p.send(by(1000, 0, "a").repacked())
	if n := len(s.journal.notes.topics["orders"].partitions[0].refusals); n != 0 {
		t.Errorf("%d refusals left", n)
	}
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
