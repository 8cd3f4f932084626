package journal

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (s *setup) wantWhole(want string) {
	s.t.Helper()
	v, err := s.journal.Verdict(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(v.String())); diff != "" {
		s.t.Errorf("verdict (-want +got):\n%s", diff)
	}
	if v.ExactlyOnce == strings.Contains(want, "not exactly once") {
		s.t.Errorf("exactly once: %v", v.ExactlyOnce)
	}
}

const resentAndDeleted = `
orders (deleted) is not exactly once (seed 42)
  duplicated  offsets 0 and 1 hold one record, key "o-0": sent again without idempotence after its ack was lost
              caused by fault "disconnect after produce"
`

// resend writes a record twice.
func resend(t *testing.T) (*setup, *peer) {
	s := newSetup(t, Options{Seed: 42})
	s.on("disconnect after produce", once(anyProduce))
	p := s.peer("c")
	p.send(plain("o-0=v"))
	p = p.reconnect()
	p.send(plain("o-0=v"))
	return s, p
}

func TestDeleted_a_topic_keeps_its_findings(t *testing.T) {
	s, p := resend(t)
	p.sendTo("audit", 0, by(1000, 0, "v").raw())
	p.handle(deleteOrders())
	s.wantWhole("audit is exactly once: 1 record in 1 batch" + resentAndDeleted)
	s.wantVerdict(resentAndDeleted)
	if v := s.verdict(); len(v.Duplicated) != 1 || len(v.Duplicated[0].Evidence) != 2 {
		t.Errorf("without evidence: %+v", v.Duplicated)
	}
	if got := strings.Join(s.journal.Topics(), " "); got != "audit orders" {
		t.Errorf("topics %q", got)
	}
	s.journal.Reset()
	s.wantWhole("no batch was produced")
}

func TestDeleted_a_topic_that_is_made_again_is_another_one(t *testing.T) {
	s, p := resend(t)
	p.handle(deleteOrders())
	p.send(plain("o-0=v"))
	s.wantWhole(resentAndDeleted + "orders is exactly once: 1 record in 1 batch")
	s.wantVerdict(`
orders is not exactly once (seed 42)
  note        an earlier topic of this name, deleted by now, is not exactly once: see the verdict on all topics`)
	p.handle(deleteOrders())
	p.send(plain("o-0=v"))
	s.wantWhole(resentAndDeleted + `orders (deleted) is exactly once: 1 record in 1 batch
orders is exactly once: 1 record in 1 batch`)
}

func TestDeleted_that_was_refused_keeps_nothing(t *testing.T) {
	s, p := resend(t)
	next := s.journal.next
	s.journal.next = wire.HandlerFunc(func(ctx context.Context, req *wire.Request) wire.Reply {
		if _, ok := req.Body.(*kmsg.DeleteTopicsRequest); !ok {
			return next.Handle(ctx, req)
		}
		resp := kmsg.NewPtrDeleteTopicsResponse()
		name := "orders"
		resp.Topics = []kmsg.DeleteTopicsResponseTopic{{Topic: &name, ErrorCode: 29}, {}}
		return wire.Reply{Done: resp, Told: resp}
	})
	p.handle(deleteOrders())
	s.wantWhole(strings.Replace(resentAndDeleted, " (deleted)", "", 1))
}

func TestDeleted_by_name_or_id_in_newer_versions(t *testing.T) {
	name := "orders"
	for kind, asked := range map[string]kmsg.DeleteTopicsRequestTopic{"name": {Topic: &name}, "id": {TopicID: [16]byte{1}}} {
		t.Run(kind, func(t *testing.T) {
			s, p := resend(t)
			next := s.journal.next
			s.journal.next = wire.HandlerFunc(func(ctx context.Context, req *wire.Request) wire.Reply {
				if _, ok := req.Body.(*kmsg.DeleteTopicsRequest); ok {
					req = &wire.Request{Conn: req.Conn, Body: deleteOrders()}
				}
				return next.Handle(ctx, req)
			})
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.Version, req.Topics = 6, []kmsg.DeleteTopicsRequestTopic{asked}
			p.handle(req)
			s.wantWhole(resentAndDeleted)
		})
	}
}

func TestDeleted_while_batches_come_says_that_they_were_not_looked_at(t *testing.T) {
	s := newSetup(t, Options{})
	next := s.journal.next
	late := s.peer("late")
	s.journal.next = wire.HandlerFunc(func(ctx context.Context, req *wire.Request) wire.Reply {
		if _, ok := req.Body.(*kmsg.DeleteTopicsRequest); ok {
			late.send(plain("o-1=v"))
		}
		return next.Handle(ctx, req)
	})
	p := s.peer("c")
	p.send(plain("o-0=v"))
	p.handle(deleteOrders())
	s.wantWhole(`
orders (deleted) is exactly once: 2 records in 2 batches
  limit       batches that came while the topic was being deleted were not looked at`)
}

// A batch that is held back while its topic is deleted and made anew belongs to
// the first of them.
func TestDeleted_while_a_batch_is_in_hand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, Options{})
		release := s.hold(fromConnection(1))
		p := s.peer("x")
		p.inHand("orders", 0, by(1000, 0, "v").raw())
		p = p.reconnect()
		p.handle(deleteOrders())
		const gone = `
orders (deleted) is not exactly once (seed 0)
  in hand     sequence 0 of producer 1000 from client "x" was still being handled: the topic was deleted meanwhile
`
		s.wantWhole(gone)
		p.send(by(1000, 0, "w"))
		s.wantWhole(gone + "orders is exactly once: 1 record in 1 batch")
		release()
		s.wantWhole(gone + "orders is exactly once: 1 record in 1 batch")
		if got := len(s.eventLines()); got != 2 {
			t.Errorf("%d events, want 2", got)
		}
	})
}

func TestDeleted_a_replay_in_hand_is_not_booked_into_the_new_topic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, Options{})
		release := s.hold(fromConnection(1))
		held := s.peer("x")
		p := held.reconnect()
		p.send(by(1000, 0, "v"))
		held.inHand("orders", 0, by(1000, 0, "v").raw())
		p.handle(deleteOrders())
		p.send(by(1000, 0, "w"))
		release()
		s.wantWhole(`
orders (deleted) is exactly once: 1 record in 1 batch
orders is exactly once: 1 record in 1 batch`)
	})
}

func TestDeleted_topics_are_kept_up_to_a_limit(t *testing.T) {
	var d deletedTopics
	verdict := func(i int, good bool) TopicVerdict {
		return TopicVerdict{Topic: fmt.Sprintf("t-%d", i), ExactlyOnce: good}
	}
	for i := range deletedKept {
		d.keep(verdict(i, i < 2))
	}
	d.keep(verdict(deletedKept, true))
	d.keep(verdict(deletedKept+1, false))
	d.keep(verdict(deletedKept+2, false))
	if len(d.kept) != deletedKept || d.kept[0].Topic != "t-2" || d.good != 3 || d.bad != 0 {
		t.Errorf("%d kept from %s on; beyond: %d good, %d bad", len(d.kept), d.kept[0].Topic, d.good, d.bad)
	}
	d.keep(verdict(deletedKept+3, false))
	d.kept = d.kept[:0]
	v := Verdict{ExactlyOnce: true}
	d.addTo(&v)
	want := []string{
		"3 topics that were deleted, exactly once, beyond 1000 at a time are not listed",
		"1 topic that was deleted, not exactly once, beyond 1000 at a time are not listed",
	}
	if diff := cmp.Diff(want, v.Limits); diff != "" || v.ExactlyOnce {
		t.Errorf("exactly once: %v; limits (-want +got):\n%s", v.ExactlyOnce, diff)
	}
}

func TestDeleted_topics_keep_the_first_findings_only(t *testing.T) {
	s := newSetup(t, Options{})
	p := s.peer("c")
	p.send(plain("kept"))
	s.on("drop before produce", anyProduce)
	for i := range deletedFindingsKept + 5 {
		p.send(plain(fmt.Sprint(i)))
	}
	p.handle(deleteOrders())
	v := s.verdict()
	if len(v.Missing) != deletedFindingsKept || v.Totals.Missing != deletedFindingsKept+5 || !strings.Contains(v.String(), "and 5 more") {
		t.Errorf("%s", v)
	}
}
