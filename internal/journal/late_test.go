package journal

import (
	"context"
	"fmt"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
)

const heldBack = "delay 1h after produce"

// holdBack holds the first answer back until meanwhile is over, and then sends
// it or, if the client is gone, closes the connection.
func (s *setup) holdBack(gone bool, meanwhile func()) {
	s.rules = append(s.rules, &rule{heldBack, once(anyProduce), func(ctx context.Context, req *wire.Request, next wire.Handler) wire.Reply {
		reply := next.Handle(ctx, req)
		meanwhile()
		if gone {
			reply.Told, reply.Fate, reply.Reason = nil, wire.Close, wire.ReasonClientClosed
		}
		return reply
	}})
}

func TestLate_first_copy_of_a_replay_counts_once(t *testing.T) {
	const records = 3
	batchAt := func(i int) batch { return by(1000, int32(records*i), numbered(records*i, records)...) }
	for _, others := range []int{0, 1, windowKept, 100} {
		t.Run(fmt.Sprintf("after %d others", others), func(t *testing.T) {
			s := newSetup(t, Options{})
			again := s.peer("app")
			s.holdBack(true, func() {
				for i := range others + 1 {
					again.send(batchAt(i))
				}
			})
			s.peer("app").send(batchAt(0))
			want := Counts{Records: records * uint64(others+1), Batches: uint64(others + 1), Duplicates: 1, AcksLost: 1, Producers: 1}
			if v := s.verdict(); v.Counts != want || !v.ExactlyOnce {
				t.Errorf("counts %+v\nwant %+v\n%s", v.Counts, want, v)
			}
			events := s.journal.Events()
			if e := events[len(events)-1]; e.DoneText()+"; "+e.ToldText() != "duplicate of base offset 0; connection closed" {
				t.Errorf("the last event: %s", e)
			}
		})
	}
}

func TestLate_first_copy_confirms_a_replay_whose_own_ack_was_lost(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", attempt(2))
	again := s.peer("app")
	s.holdBack(false, func() {
		again.send(by(1000, 0, "o-0=v"))
		p := again.reconnect()
		for i := range int32(100) {
			p.send(by(1000, i+1, "v"))
		}
	})
	s.peer("app").send(by(1000, 0, "o-0=v"))
	s.wantVerdict("orders is exactly once: 101 records in 101 batches, 1 acknowledgement lost, 1 replay answered with the first offset")
}

// Nobody else wrote the batch whose answer is late: it is no duplicate.
func TestLate_batch_that_was_not_sent_again_is_accepted(t *testing.T) {
	for _, producer := range []int64{1000, -1} {
		s := newSetup(t, Options{})
		other := s.peer("other")
		s.holdBack(false, func() {
			for i := range int32(100) {
				other.send(by(1001, i, "v"))
			}
		})
		s.peer("app").send(by(producer, 0, "o-0=v", "o-1=v"))
		s.wantVerdict("orders is exactly once: 102 records in 101 batches")
	}
}

// An offset that another batch in doubt stands at was not noted for this one.
func TestLate_batch_of_a_log_that_began_anew_is_accepted(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", once(anyProduce))
	p := s.peer("app")
	p.send(by(1000, 0, "a=v"))
	clear(s.broker.partitions)
	p.send(by(1001, 0, "b=v"))
	if c := s.journal.Counts()["orders"]; c.Batches != 2 || c.Duplicates != 0 {
		t.Errorf("%+v", c)
	}
}

// Copies without a producer id, of which the one that stands first is noted
// last.
func TestLate_all_copies_are_named_in_order_of_offset(t *testing.T) {
	for _, tt := range []struct {
		name   string
		gone   bool
		copies func(p *peer, b batch)
		want   string
	}{
		{"one more", true, func(p *peer, b batch) { p.reconnect().send(b) },
			`offsets 0 to 1 and 2 to 3 hold the same 2 records, keys "o-0" to "o-1": sent again without idempotence after its ack was lost`},
		{"two more over two connections", true, func(p *peer, b batch) { p.reconnect().send(b); p.reconnect().send(b) },
			`offsets 0 to 1, 2 to 3 and 4 to 5 hold the same 2 records, keys "o-0" to "o-1": sent again without idempotence after its ack was lost`},
		{"two more over one connection", true, func(p *peer, b batch) { p = p.reconnect(); p.send(b); p.send(b) },
			`offsets 0 to 1, 2 to 3 and 4 to 5 hold the same 2 records, keys "o-0" to "o-1": sent again without idempotence after its ack was lost`},
		{"three more over three connections", true, func(p *peer, b batch) { p.reconnect().send(b); p.reconnect().send(b); p.reconnect().send(b) },
			`offsets 0 to 1, 2 to 3, 4 to 5 and 6 to 7 hold the same 2 records, keys "o-0" to "o-1": sent again without idempotence after its ack was lost`},
		{"the client still waits", false, func(p *peer, b batch) { p.reconnect().send(b); p.reconnect().send(b) },
			`offsets 0 to 1, 2 to 3 and 4 to 5 hold the same 2 records, keys "o-0" to "o-1": sent again without idempotence after its ack came late`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSetup(t, Options{})
			p, b := s.peer("app"), plain(numbered(0, 2)...)
			s.holdBack(tt.gone, func() { tt.copies(p, b) })
			p.send(b)
			s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  ` + tt.want + `
              caused by fault "` + heldBack + `"`)
		})
	}
}
