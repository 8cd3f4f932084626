package broker

import (
	"context"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
)

// A meddler stands where fault rules do, and does to the next request what a
// test says.
type meddler struct {
	next wire.Handler
	do   func(next wire.Handler, req *wire.Request) wire.Reply // nil lets it pass
	saw  []string                                              // of the last request: its session, and what it asks for
}

func (m *meddler) Handle(ctx context.Context, req *wire.Request) wire.Reply {
	r := req.Body.(*kmsg.FetchRequest)
	m.saw = []string{toldOfRequest(r)}
	for tp := range wire.Partitions(r) {
		m.saw = append(m.saw, tp.String())
	}
	if do := m.do; do != nil {
		m.do = nil
		return do(m.next, req)
	}
	return m.next.Handle(ctx, req)
}

func toldOfRequest(r *kmsg.FetchRequest) string {
	if r.SessionID == 0 && r.SessionEpoch == finalEpoch && len(r.ForgottenTopics) == 0 {
		return "no session"
	}
	return "a session"
}

// startBetween runs a node with topic "a" of two partitions, of which the first
// has a record, and begins a session that has read it and asks for both.
func startBetween(t *testing.T) (*meddler, *sessionClient) {
	b := New(Options{})
	m := &meddler{next: b}
	n := &node{Broker: b, t: t, server: wire.NewServer(b.Sessions(m), b.TopicName, zap.NewNop())}
	t.Cleanup(n.stop)
	n.make("a", 2, nil)
	checked, bad := new(wire.Request).CheckBatch(plain(1).bytes(), wire.BatchRules{MaxBytes: 1000})
	if bad != nil {
		t.Fatal(bad)
	}
	n.at("a", 0).append(nil, checked)
	s := n.dial().session(13)
	s.wantNext([]place{from("a", 0, 1), from("a", 1, 0)}, "a-0 NONE 0..1", "a-1 NONE 0..0")
	return m, s
}

func TestSessions_WhoStandsBehindSeesWholeRequests(t *testing.T) {
	m, s := startBetween(t)
	whole := []string{"no session", "a-0", "a-1"}
	want(t, "the first", m.saw, whole)
	s.wantNext(nil)
	want(t, "one that names nothing", m.saw, whole)
	s.wantNext([]place{from("a", 1, 0)})
	want(t, "one that names one", m.saw, whole)
	s.forget("a", 0).wantNext(nil)
	want(t, "one that forgets one", m.saw, []string{"no session", "a-1"})
	s.epoch = finalEpoch
	s.next()
	want(t, "the last", m.saw, []string{"no session"})
	s.id, s.epoch = 5, 1
	s.next(from("a", 0, 0))
	want(t, "one of no session", m.saw, []string{"no session"})
}

// refusing answers with an error for one partition, and lets the others pass.
func refusing(partition int32, code int16) func(wire.Handler, *wire.Request) wire.Reply {
	return func(next wire.Handler, req *wire.Request) wire.Reply {
		in, out := wire.Split(req, func(tp wire.TopicPartition) bool { return tp.Partition == partition })
		reply := next.Handle(context.Background(), out)
		reply.Told = wire.Merge(reply.Told, wire.ErrorAnswer(in.Body, code, ""))
		reply.Told.(*kmsg.FetchResponse).ErrorCode = 0
		return reply
	}
}

func TestSessions_AnErrorFromBehindIsTold(t *testing.T) {
	m, s := startBetween(t)
	for range 2 {
		m.do = refusing(0, kerr.NotLeaderForPartition.Code)
		s.wantNext(nil, "a-0 NOT_LEADER_FOR_PARTITION")
	}
	s.wantNext(nil, "a-0 NONE 0..1") // and so is its end
	s.wantNext(nil)
	m.do = refusing(0, kerr.NotLeaderForPartition.Code)
	s.epoch = initialEpoch
	s.wantNext([]place{from("a", 0, 1), from("a", 1, 0)}, "a-1 NONE 0..0", "a-0 NOT_LEADER_FOR_PARTITION")
	s.wantNext(nil, "a-0 NONE 0..1")
}

func TestSessions_AnErrorOfTheWholeAnswerStays(t *testing.T) {
	m, s := startBetween(t)
	refuse := func(_ wire.Handler, req *wire.Request) wire.Reply {
		return wire.Reply{Told: wire.ErrorAnswer(req.Body, kerr.UnknownServerError.Code, "")}
	}
	whole := []string{"UNKNOWN_SERVER_ERROR 0", "a-0 UNKNOWN_SERVER_ERROR", "a-1 UNKNOWN_SERVER_ERROR"}
	m.do = refuse
	want(t, "going on", s.next(), whole)
	m.do, s.epoch = refuse, initialEpoch
	want(t, "beginning", s.next(from("a", 0, 1), from("a", 1, 0)), whole)
	m.do, s.id, s.epoch = refuse, 5, 1
	want(t, "of no session", s.next(), []string{"UNKNOWN_SERVER_ERROR 0"})
}

// lose keeps a request from arriving, on this connection and no other.
func lose(wire.Handler, *wire.Request) wire.Reply {
	return wire.Reply{Fate: wire.Close, Reason: wire.ReasonFault}
}

// loseAnswer does what a request asks, and lets nobody know.
func loseAnswer(next wire.Handler, req *wire.Request) wire.Reply {
	return wire.Reply{Done: next.Handle(context.Background(), req).Done, Fate: wire.Close, Reason: wire.ReasonFault}
}

func TestSessions_ARequestThatIsLost(t *testing.T) {
	m, s := startBetween(t)
	lost := func(places ...place) {
		m.do = lose
		s.send(s.request(places...))
		s.wantClosed()
		s.client = s.node.dial()
	}
	lost(from("a", 0, 0))
	s.wantNext([]place{from("a", 0, 0)}, "a-0 NONE 0..1 [0]") // the epoch is still due
	kept := *s
	s.epoch = initialEpoch
	lost(from("a", 0, 0))
	s.epoch = finalEpoch
	lost()
	kept.client = s.client
	kept.wantNext(nil, "a-0 NONE 0..1 [0]") // its end was lost, twice
}

func TestSessions_AnAnswerThatIsLost(t *testing.T) {
	m, s := startBetween(t)
	m.do = loseAnswer
	s.send(s.request(from("a", 0, 0)))
	s.wantClosed()
	s.client = s.node.dial()
	want(t, "the same epoch", s.next(from("a", 0, 0)), []string{"INVALID_FETCH_SESSION_EPOCH 0"})
	s.epoch++
	s.wantNext(nil, "a-0 NONE 0..1 [0]") // what it changed is changed

	m.do, s.epoch = loseAnswer, finalEpoch
	s.send(s.request())
	s.wantClosed()
	s.client, s.epoch = s.node.dial(), 3
	want(t, "after an end", s.next(), []string{"FETCH_SESSION_ID_NOT_FOUND 0"})
}

// An answer that says what is not so leaves what was done as it is, for those
// who watch.
func TestSessions_KeepWhatWasDoneApartFromWhatIsTold(t *testing.T) {
	b := New(Options{})
	if err := b.CreateTopic("a", 1, nil); err != nil {
		t.Fatal(err)
	}
	m := &meddler{next: b}
	sessions := b.Sessions(m)
	c := &client{t: t, node: &node{Broker: b, t: t}}
	s := c.session(12)
	handle := func(req kmsg.Request) wire.Reply {
		return sessions.Handle(t.Context(), &wire.Request{Conn: &wire.Conn{}, Body: req})
	}
	s.note(handle(s.request(from("a", 0, 0))).Told)
	reply := handle(s.request())
	if s.note(reply.Told); reply.Done != reply.Told {
		t.Error("what was done is not what was told, though nothing came between")
	}
	m.do = func(next wire.Handler, req *wire.Request) wire.Reply {
		done := next.Handle(context.Background(), req).Done
		return wire.Reply{Done: done, Told: wire.Merge(wire.Without(done, func(wire.TopicPartition) bool { return true }),
			wire.Without(wire.ErrorAnswer(req.Body, 5, ""), func(wire.TopicPartition) bool { return false }))}
	}
	reply = handle(s.request())
	want(t, "told", c.told(reply.Told), []string{"NONE s", "a-0 LEADER_NOT_AVAILABLE"})
	want(t, "done", c.told(reply.Done), []string{"NONE 0", "a-0 NONE 0..0"})
}
