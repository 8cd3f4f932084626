package journal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// hold puts a rule in front of the others that holds back the answers to what
// match accepts until the function that it gives is called.
func (s *setup) hold(match func(*wire.Request) bool) (release func()) {
	released, next := make(chan struct{}), s.journal.next
	s.journal.next = wire.HandlerFunc(func(ctx context.Context, req *wire.Request) wire.Reply {
		if req.Internal || !match(req) {
			return next.Handle(ctx, req)
		}
		reply := s.broker.Handle(ctx, req)
		<-released
		reply.Fired = []wire.Firing{{Rule: "delay 1h after produce"}}
		return reply
	})
	return func() {
		close(released)
		synctest.Wait()
	}
}

// inHand sends a batch whose answer is held back.
func (p *peer) inHand(topic string, partition int32, raw []byte) {
	go p.sendTo(topic, partition, raw)
	synctest.Wait()
}

func fromConnection(id int64) func(*wire.Request) bool {
	return func(req *wire.Request) bool { return req.Conn.ID == id }
}

func TestInHand_a_batch_that_is_held_back_is_not_exactly_once(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, Options{Seed: 42})
		release := s.hold(anyProduce)
		s.peer("x").inHand("orders", 0, by(1000, 0, "o-0=v").raw())
		v, err := s.journal.Verdict(t.Context())
		if err != nil || v.ExactlyOnce || len(v.Topics) != 1 || v.Topics[0].Totals != (Totals{InHand: 1}) {
			t.Errorf("%+v, %v", v, err)
		}
		const want = "orders is not exactly once (seed 42)\n" +
			"  in hand     sequence 0 of producer 1000 from client \"x\" is still being handled: nobody was told yet\n"
		if got := v.String(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		s.wantVerdict(want)
		release()
		s.wantVerdict("orders is exactly once: 1 record in 1 batch")
	})
}

func TestInHand_names_each_kind_of_batch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, Options{})
		release := s.hold(anyProduce)
		s.peer("a").inHand("orders", 0, by(1000, 0, "v").raw())
		s.peer("a").inHand("orders", 0, by(1000, 1, "v", "w").raw())
		s.peer("b").inHand("orders", 1, plain("v", "w").raw())
		s.peer("").inHand("orders", 0, []byte("x"))
		unasked := s.peer("d")
		unasked.acks = 0
		unasked.inHand("orders", 0, by(1001, 0, "v").raw())
		s.peer("e").inHand("audit", 0, by(1001, 0, "v").raw())
		s.wantVerdict(`
orders is not exactly once (seed 0)
  in hand     sequences 0 to 2 of producer 1000 in partition 0 from client "a" are still being handled: nobody was told yet
  in hand     a batch of 2 records from client "b" in partition 1 is still being handled: nobody was told yet
  in hand     a malformed batch from a client without a name in partition 0 is still being handled: nobody was told yet
  in hand     sequence 0 of producer 1001 in partition 0 from client "d" is still being handled: what becomes of it is not known yet`)
		release()
	})
}

func TestInHand_shows_up_though_everything_else_was_forgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, Options{})
		release := s.hold(anyProduce)
		s.peer("x").inHand("orders", 0, by(1000, 0, "v").raw())
		s.journal.Reset()
		v, err := s.journal.Verdict(t.Context())
		if err != nil || v.ExactlyOnce || len(v.Topics) != 1 || v.Topics[0].Topic != "orders" {
			t.Errorf("%s, %v", v, err)
		}
		release()
	})
}

func TestInHand_a_verdict_waits_for_what_is_done_soon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, Options{})
		release := s.hold(sequence(0))
		s.peer("x").inHand("orders", 0, by(1000, 0, "v").raw())
		asked := time.Now()
		time.AfterFunc(handPatience/2, release)
		v, err := s.journal.Verdict(t.Context())
		if waited := time.Since(asked); err != nil || !v.ExactlyOnce || waited != handPatience/2 {
			t.Errorf("after %v: %s, %v", waited, v, err)
		}
	})
}

func TestInHand_a_verdict_waits_no_longer_than_its_context(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, Options{})
		release := s.hold(anyProduce)
		s.peer("x").inHand("orders", 0, by(1000, 0, "v").raw())
		asked := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), handPatience/10)
		defer cancel()
		_, err := s.journal.Verdict(ctx)
		if waited := time.Since(asked); !errors.Is(err, context.DeadlineExceeded) || waited != handPatience/10 {
			t.Errorf("after %v: %v", waited, err)
		}
		if _, err := s.journal.VerdictOf(ctx, "audit"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("of a topic without batches: %v", err)
		}
		release()
	})
}

func TestInHand_what_came_after_a_verdict_was_asked_for_does_not_count(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, Options{})
		release := s.hold(fromConnection(2))
		s.peer("x").send(by(1000, 0, "v"))
		asked := s.journal.awaitHand(t.Context(), nil)
		s.peer("x").inHand("orders", 0, by(1000, 1, "v").raw())
		if v, err := s.journal.verdictOf(t.Context(), "orders", asked); err != nil || !v.ExactlyOnce {
			t.Errorf("%s, %v", v, err)
		}
		release()
	})
}

// A client that waits no longer sends a batch again over another connection, and
// is told: that the first copy is still in hand changes nothing.
func TestInHand_a_batch_that_was_confirmed_by_a_replay_is_none(t *testing.T) {
	for name, more := range map[string]int{"soon after": 0, "after many other batches": 3 * windowKept} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSetup(t, Options{})
				release := s.hold(fromConnection(1))
				p := s.peer("x")
				p.inHand("orders", 0, by(1000, 0, "v").raw())
				p = p.reconnect()
				p.send(by(1000, 0, "v"))
				for i := range more {
					p.send(by(1000, int32(i+1), "v"))
				}
				if v := s.verdict(); !v.ExactlyOnce {
					t.Errorf("%s", v)
				}
				release()
				if v := s.verdict(); !v.ExactlyOnce || v.Counts.Batches != uint64(more+1) {
					t.Errorf("when it is done: %s", v)
				}
			})
		})
	}
	t.Run("but a replay with other records is", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSetup(t, Options{})
			release := s.hold(fromConnection(1))
			p := s.peer("x")
			p.inHand("orders", 0, by(1000, 0, "v").raw())
			p.reconnect().send(by(1000, 0, "w"))
			if v := s.verdict(); v.Totals.InHand != 1 {
				t.Errorf("%s", v)
			}
			release()
		})
	})
}

func TestInHand_a_handler_that_panics_leaves_nothing_in_hand(t *testing.T) {
	s := newSetup(t, Options{})
	s.journal.next = wire.HandlerFunc(func(context.Context, *wire.Request) wire.Reply { panic("a bug") })
	func() {
		defer func() { _ = recover() }()
		s.peer("x").send(by(1000, 0, "v"))
	}()
	if s.journal.hand.oldest != nil || s.journal.hand.newest != nil {
		t.Error("a request is still in hand")
	}
}

func TestHand_uses_its_entries_again(t *testing.T) {
	var h hand
	req := &wire.Request{}
	a, b, c := h.take(req, -1), h.take(req, -1), h.take(req, -1)
	for _, n := range []*held{b, a, c} {
		h.drop(n)
	}
	if h.oldest != nil || h.newest != nil {
		t.Error("it is not empty")
	}
	if n := testing.AllocsPerRun(10, func() {
		a, b := h.take(req, -1), h.take(req, -1)
		h.drop(a)
		h.drop(b)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A connection that went dark for requests: they are noted, and nothing is done.
func TestLost_requests_are_noted_and_not_passed_on(t *testing.T) {
	s := newSetup(t, Options{})
	p := s.peer("x")
	p.send(by(1000, 0, "o-0=v"))
	lose := func(b batch) {
		body := produceRequest(-1, map[wire.TopicPartition][]byte{{Topic: "orders"}: b.raw()})
		s.journal.Handle(t.Context(), &wire.Request{
			Conn: p.conn, Client: "x", Body: body, Batches: wire.AppendBatches(nil, body), Lost: true,
			LostBy: []wire.Firing{{Rule: "drop before produce nth=2", Partitions: []wire.TopicPartition{{Topic: "audit", Partition: 1}}}},
		})
	}
	lose(by(1000, 1, "o-1=v"))
	lose(by(1000, 2, "o-2=v"))
	if got := strings.Join(s.broker.contents(t, "orders", 0), " "); got != "v" {
		t.Errorf("the log holds %q", got)
	}
	s.wantVerdict(`
orders is not exactly once (seed 0)
  missing     sequences 1 to 2 of producer 1000 were lost before the broker (drop before produce nth=2) and never sent again`)
	p = p.reconnect()
	p.send(by(1000, 1, "o-1=v"))
	p.send(by(1000, 2, "o-2=v"))
	s.wantVerdict("orders is exactly once: 3 records in 3 batches")
	s.wantEvents(
		"#1 x/1 orders-0 producer 1000 epoch 0 sequence 0: accepted at offset 0; acknowledged",
		"#2 x/1 orders-0 producer 1000 epoch 0 sequence 1: lost before the broker; answer lost (drop before produce nth=2)",
		"#3 x/1 orders-0 producer 1000 epoch 0 sequence 2: lost before the broker; answer lost (drop before produce nth=2)",
		"#4 x/2 orders-0 producer 1000 epoch 0 sequence 1 attempt 2: accepted at offset 1; acknowledged",
		"#5 x/2 orders-0 producer 1000 epoch 0 sequence 2 attempt 2: accepted at offset 2; acknowledged",
	)
}
