package broker

import (
	"context"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Fetch sessions (KIP-227), Fetch versions 7 to 18: a client names its partitions
// once, and from then on only what changes; it is told only what changed.
//
// A session is a matter between a client and whoever stands in front. Behind
// Sessions every Fetch names all of its partitions and no session: a fault rule
// meets each partition that is read, and an error that it tells for one reaches
// the client like any other.
//
// A partition is told if it has records, if its high watermark or its log start
// moved, if it has an error, or if the answer before had one or there was none.
// Session epoch 0 makes a session and -1 ends one. A session that a client does
// not name with the epoch that is due, or in the wrong kind of version, is
// answered by an error and no topics, which sends the client back to epoch 0.
// A session that is left without partitions ends. Sessions belong to the broker:
// any connection may go on with one.
//
// Differences from Apache Kafka: a request that a fault rule loses on its way
// leaves the session's epoch as it was. There is a limit on the partitions of a
// session, and on the memory of all. The ids of Kafka's last shard (2147483640
// and above), which make it answer UNKNOWN_SERVER_ERROR, are merely unknown.

const (
	initialEpoch = 0  // asks for a session
	finalEpoch   = -1 // ends one, and asks for none
)

// Sessions is the Handler that keeps fetch sessions in front of another one,
// which sees whole requests only.
type Sessions struct {
	next      wire.Handler
	topicName func(id [16]byte) string
	cache     *sessionCache
}

// Sessions keeps the broker's fetch sessions in front of next, at whose end
// the broker stands. It is called once.
func (b *Broker) Sessions(next wire.Handler) *Sessions {
	return &Sessions{next: next, topicName: b.TopicName, cache: newSessionCache(b.options.Seed)}
}

// Handle makes a Fetch of a session whole, and its answer short. Everything else
// passes.
func (s *Sessions) Handle(ctx context.Context, req *wire.Request) wire.Reply {
	r, ok := req.Body.(*kmsg.FetchRequest)
	switch {
	case !ok, r.SessionID == 0 && r.SessionEpoch == finalEpoch:
		return s.next.Handle(ctx, req)
	case r.SessionEpoch == finalEpoch:
		return s.end(ctx, req, r)
	case r.SessionEpoch == initialEpoch:
		return s.begin(ctx, req, r)
	}
	return s.goOn(ctx, req, r)
}

// whole hands on a request that asks for these partitions, and for no session.
func (s *Sessions) whole(ctx context.Context, req *wire.Request, r *kmsg.FetchRequest, topics []kmsg.FetchRequestTopic) wire.Reply {
	body, passed := *r, *req
	body.SessionID, body.SessionEpoch, body.Topics, body.ForgottenTopics = 0, finalEpoch, topics, nil
	passed.Body = &body
	return s.next.Handle(ctx, &passed)
}

// arrived says whether anybody behind saw the request: one that was lost on its
// way was neither done nor answered.
func arrived(reply *wire.Reply) bool { return reply.Done != nil || reply.Told != nil }

// end answers a request that ends a session.
func (s *Sessions) end(ctx context.Context, req *wire.Request, r *kmsg.FetchRequest) wire.Reply {
	reply := s.whole(ctx, req, r, r.Topics)
	if arrived(&reply) {
		s.cache.remove(r.SessionID)
	}
	return reply
}

// begin answers a request that begins a session in place of the one it names.
// Where there is no room for it, or the whole answer is an error, session 0 is
// told, which is none.
func (s *Sessions) begin(ctx context.Context, req *wire.Request, r *kmsg.FetchRequest) wire.Reply {
	begun := newSession(r)
	reply := s.whole(ctx, req, r, begun.topics(s.topicName))
	if !arrived(&reply) {
		return reply
	}
	s.cache.remove(r.SessionID)
	if told, ok := reply.Told.(*kmsg.FetchResponse); ok && told.ErrorCode == 0 {
		begun.told(told)
		told.SessionID = s.cache.add(begun, time.Now())
	}
	return reply
}

// goOn answers a request that goes on with a session.
func (s *Sessions) goOn(ctx context.Context, req *wire.Request, r *kmsg.FetchRequest) wire.Reply {
	going, topics, err := s.cache.advance(r, s.topicName, time.Now())
	switch {
	case err != nil:
		return s.refuse(ctx, req, r, err)
	case going == nil: // it ended, as nothing is left in it
		return s.whole(ctx, req, r, r.Topics)
	}
	reply := s.whole(ctx, req, r, topics)
	if !arrived(&reply) {
		s.cache.takeBack(going, r.SessionEpoch)
		return reply
	}
	s.shorten(going, r, &reply)
	return reply
}

// refuse answers a request whose session is in error. It is handed on without a
// partition, so that a rule which loses, delays or refuses any Fetch applies.
func (s *Sessions) refuse(ctx context.Context, req *wire.Request, r *kmsg.FetchRequest, err *kerr.Error) wire.Reply {
	reply := s.whole(ctx, req, r, nil)
	if told, ok := reply.Told.(*kmsg.FetchResponse); ok && told.ErrorCode == 0 {
		told.ErrorCode = err.Code
	}
	return reply
}

// shorten leaves out of an answer what the client need not be told. An error of
// the whole answer stays as it is: the client begins a new session after it.
func (s *Sessions) shorten(going *session, r *kmsg.FetchRequest, reply *wire.Reply) {
	told, ok := reply.Told.(*kmsg.FetchResponse)
	if !ok || told.ErrorCode != 0 {
		return
	}
	short := s.cache.shorten(going, r, told)
	if reply.Done == reply.Told {
		reply.Done = short
	}
	reply.Told = short
}
