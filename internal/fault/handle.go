package fault

import (
	"context"
	"slices"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// keptUnits is the largest request, in units, whose memory is kept for the next.
const keptUnits = 1024

// Handle passes a request on to the next handler, unless a rule before it says
// otherwise, and its answer back, unless a rule after it does.
func (s *Set) Handle(ctx context.Context, req *wire.Request) wire.Reply {
	t := s.table.Load()
	if t == nil || req.Internal {
		return s.next.Handle(ctx, req)
	}
	api := req.Body.Key()
	if 0 <= api && int(api) < len(s.requests) {
		s.requests[api].Add(1)
	}
	if !t.concerns(api) {
		return s.next.Handle(ctx, req)
	}
	return s.before(ctx, req)
}

// before applies the rules of that place, and hands on what they leave.
func (s *Set) before(ctx context.Context, req *wire.Request) wire.Reply {
	act := s.choose(Before, req, wire.Reply{})
	if act == nil {
		return s.forward(ctx, req)
	}
	wait(ctx, req.Conn, act.rule.Delay)
	var reply wire.Reply
	if act.rule.Delay > 0 && ctx.Err() != nil { // nothing more is begun
		return wire.Reply{Fate: wire.Close, Reason: wire.ReasonShutdown, Fired: []wire.Firing{act.firing()}}
	}
	switch act.rule.Verb {
	case Pass:
		reply = s.forward(ctx, req)
	case Drop:
		reply.Fate = wire.LoseRequests
	case Disconnect:
		reply.Fate, reply.Reason = wire.Close, wire.ReasonFault
	case Error:
		reply = s.refuse(ctx, req, act)
	}
	reply.Fired = slices.Concat([]wire.Firing{act.firing()}, reply.Fired)
	return reply
}

// forward lets the next handler work, and applies the rules after it.
func (s *Set) forward(ctx context.Context, req *wire.Request) wire.Reply {
	reply := s.next.Handle(ctx, req)
	act := s.choose(After, req, reply)
	if act == nil {
		return reply
	}
	wait(ctx, req.Conn, act.rule.Delay)
	switch act.rule.Verb {
	case Pass:
		if act.rule.Delay > 0 && req.Conn.Gone() {
			reply.Told, reply.Fate, reply.Reason = nil, wire.Close, wire.ReasonClientClosed
		}
	case Drop:
		reply.Told, reply.Fate, reply.Reason = nil, wire.LoseAnswers, wire.ReasonNone
	case Disconnect:
		reply.Told, reply.Fate, reply.Reason = nil, wire.Close, wire.ReasonFault
	case Error:
		reply.Told = act.lie(req, reply.Told)
	}
	reply.Fired = append(reply.Fired, act.firing())
	return reply
}

// choose finds the first rule that fires on a request, nil for none. Later ones
// that match it count it as lost to that one.
func (s *Set) choose(place Place, req *wire.Request, reply wire.Reply) *action {
	api := req.Body.Key()
	if len(s.table.Load().at(api, place)) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rules := s.table.Load().at(api, place) // once more: they may have changed
	units := s.unitsLocked(rules, req, reply.Done)
	var first *active
	for _, a := range rules {
		switch {
		case !a.judge(units):
		case first != nil:
			a.lost++
		case a.due():
			if why := a.rule.silence(req, reply); why != answered {
				a.unable[why]++
				continue
			}
			a.fire()
			first = a
		}
	}
	if first == nil {
		return nil
	}
	return first.action(units)
}

// unitsLocked are the units of a request, valid until the lock is given back.
func (s *Set) unitsLocked(rules []*active, req *wire.Request, done kmsg.Response) []unit {
	if cap(s.units) > keptUnits {
		s.units = nil
	}
	s.units = appendUnits(s.units[:0], req)
	if slices.ContainsFunc(rules, func(a *active) bool { return len(a.rule.Offset) > 0 }) {
		addOffsets(s.units, req, done)
	}
	return s.units
}

// refuse answers for the part of a request that a rule takes out of it, and
// hands on the rest. A client that waits for no answer to a Produce is told by
// closing the connection, as Kafka does.
func (s *Set) refuse(ctx context.Context, req *wire.Request, act *action) wire.Reply {
	refused, rest := req, (*wire.Request)(nil)
	if act.parts != nil {
		refused, rest = wire.Split(req, act.takes())
	}
	var reply wire.Reply
	if rest != nil {
		reply = s.forward(ctx, rest)
	}
	open := reply.Fate == wire.Send || reply.Fate == wire.Silent
	switch {
	case open && !wantsAnswer(req):
		reply.Told, reply.Fate, reply.Reason = nil, wire.Close, wire.ReasonRefusedAcks0
	case reply.Fate == wire.Send && act.parts == nil:
		reply.Told = act.answer(refused)
	case reply.Fate == wire.Send && rest == nil:
		reply.Told = wire.Merge(act.frame(req), act.answer(refused))
	case reply.Fate == wire.Send:
		reply.Told = wire.Merge(reply.Told, act.answer(refused))
	}
	return reply
}

// lie is an answer with the rule's error in place of what it says of the part
// that the rule matched.
func (act *action) lie(req *wire.Request, told kmsg.Response) kmsg.Response {
	if act.parts == nil {
		return act.answer(req)
	}
	takes := act.takes()
	matched, _ := wire.Split(req, takes)
	return wire.Merge(wire.Without(told, takes), act.answer(matched))
}

// answer tells the rule's error for everything that a request asks.
func (act *action) answer(req *wire.Request) kmsg.Response {
	return wire.ErrorAnswer(req.Body, act.rule.Code, "fault: "+act.text)
}

// frame is an answer to a request without any partition in it and without an
// error of its own: a rule about partitions tells its error for these alone,
// whether or not they are all that was asked.
func (act *action) frame(req *wire.Request) kmsg.Response {
	return wire.Without(wire.ErrorAnswer(req.Body, 0, ""), func(wire.TopicPartition) bool { return true })
}

// takes says which partitions the action applies to. A topic that was asked for
// as a whole is so with all partitions that an answer lists for it.
func (act *action) takes() func(wire.TopicPartition) bool {
	set := make(map[wire.TopicPartition]bool, len(act.parts))
	for _, tp := range act.parts {
		set[tp] = true
	}
	return func(tp wire.TopicPartition) bool {
		return set[tp] || set[wire.TopicPartition{Topic: tp.Topic, Partition: -1}]
	}
}

func (act *action) firing() wire.Firing {
	return wire.Firing{Rule: act.text, Name: act.rule.Name, Partitions: act.parts}
}

// A silence is why there is no answer that a rule could change.
type silence uint8

const (
	answered   silence = iota
	acksZero           // the client wants none
	goneDark           // none reaches the client any more
	unanswered         // the next handler gave none
	silences
)

// silence says why a rule cannot act on a request. Only an error after it needs
// an answer; everything else can be done without one.
func (r *Rule) silence(req *wire.Request, reply wire.Reply) silence {
	switch {
	case r.Verb != Error || r.Place != After:
		return answered
	case !wantsAnswer(req):
		return acksZero
	case req.Conn.Muted():
		return goneDark
	case reply.Told == nil || reply.Fate != wire.Send:
		return unanswered
	}
	return answered
}

// wantsAnswer says whether the client waits for an answer: always, but for a
// Produce with acks=0.
func wantsAnswer(req *wire.Request) bool {
	produce, ok := req.Body.(*kmsg.ProduceRequest)
	return !ok || produce.Acks != 0
}

// wait waits, unless the server shuts down. Answers to earlier requests of the
// connection do not wait with it.
func wait(ctx context.Context, conn *wire.Conn, d time.Duration) {
	if d <= 0 {
		return
	}
	conn.Flush()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
