package broker

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A sessionClient goes on with one session, counting its epochs as clients do.
type sessionClient struct {
	*client
	version   int16
	id, epoch int32
	forgets   []place
}

func (c *client) session(version int16) *sessionClient {
	return &sessionClient{client: c, version: version}
}

// request is the next of the session, about these partitions.
func (s *sessionClient) request(places ...place) *kmsg.FetchRequest {
	req := s.fetching(s.version, places...)
	req.SessionID, req.SessionEpoch = s.id, s.epoch
	for _, at := range s.forgets {
		req.ForgottenTopics = append(req.ForgottenTopics, kmsg.FetchRequestForgottenTopic{
			Topic: at.topic, TopicID: s.idOf(at.topic), Partitions: []int32{at.partition},
		})
	}
	s.forgets = nil
	return req
}

// forget lets the next request forget a partition.
func (s *sessionClient) forget(topic string, partition int32) *sessionClient {
	s.forgets = append(s.forgets, place{topic: topic, partition: partition})
	return s
}

// next asks for what changes and gives the whole answer in words.
func (s *sessionClient) next(places ...place) []string {
	s.t.Helper()
	return s.note(s.ask(s.request(places...)))
}

// note takes over what an answer says of the session.
func (s *sessionClient) note(resp kmsg.Response) []string {
	r := resp.(*kmsg.FetchResponse)
	if r.ErrorCode == 0 {
		if s.id = r.SessionID; s.id != 0 {
			s.epoch++
		}
	}
	return s.told(resp)
}

// wantNext wants the next answer to say this of the partitions, and nothing else.
func (s *sessionClient) wantNext(places []place, told ...string) {
	s.t.Helper()
	want(s.t, "told", s.next(places...), append([]string{"NONE s"}, told...))
}

// inSessions runs a test with a session that goes by names and one that goes by
// ids. Topic "a" has records as threeBatches makes them, "b" has none.
func inSessions(t *testing.T, test func(t *testing.T, n *node, s *sessionClient)) {
	for name, version := range map[string]int16{"by name": 12, "by id": newest(t, kmsg.Fetch)} {
		t.Run(name, func(t *testing.T) {
			c := threeBatches(t)
			test(t, c.node, c.session(version))
		})
	}
}

func TestSessions_TellWhatChanged(t *testing.T) {
	inSessions(t, func(t *testing.T, n *node, s *sessionClient) {
		s.wantNext([]place{from("a", 0, 3), from("a", 1, 2), from("b", 0, 0)}, "a-0 NONE 0..6 [3]", "a-1 NONE 0..2", "b-0 NONE 0..0")
		s.wantNext(nil, "a-0 NONE 0..6 [3]") // what was not read comes again
		s.wantNext([]place{from("a", 0, 6)})
		s.wantNext(nil)
		s.store("a", 1, plain(1))
		s.wantNext(nil, "a-1 NONE 0..3 [2]")
		s.wantNext([]place{from("a", 1, 3)})
		s.trimTo("a", 1, 2)
		s.wantNext(nil, "a-1 NONE 2..3") // its start moved
		s.wantNext(nil)
	})
}

func TestSessions_TellErrorsEachTimeAndTheirEnd(t *testing.T) {
	inSessions(t, func(t *testing.T, n *node, s *sessionClient) {
		s.wantNext([]place{from("a", 0, 6), from("b", 0, 1)}, "a-0 NONE 0..6", "b-0 OFFSET_OUT_OF_RANGE")
		s.wantNext(nil, "b-0 OFFSET_OUT_OF_RANGE")
		s.wantNext(nil, "b-0 OFFSET_OUT_OF_RANGE")
		s.wantNext([]place{from("b", 0, 0)}, "b-0 NONE 0..0")
		s.wantNext(nil)
	})
}

func TestSessions_TellOnceWhatIsAdded(t *testing.T) {
	inSessions(t, func(t *testing.T, n *node, s *sessionClient) {
		s.wantNext([]place{from("a", 0, 6)}, "a-0 NONE 0..6")
		s.wantNext([]place{from("b", 1, 0)}, "b-1 NONE 0..0")
		s.wantNext([]place{from("b", 1, 0)})
		s.wantNext([]place{from("b", 7, 0)}, "b-7 UNKNOWN_TOPIC_OR_PARTITION")
	})
}

func TestSessions_SayNothingOfWhatIsForgotten(t *testing.T) {
	inSessions(t, func(t *testing.T, n *node, s *sessionClient) {
		s.wantNext([]place{from("a", 0, 3), from("a", 1, 0)}, "a-0 NONE 0..6 [3]", "a-1 NONE 0..2 [0 1]")
		s.forget("a", 0).forget("b", 0).wantNext(nil, "a-1 NONE 0..2 [0 1]")
		s.wantNext(nil, "a-1 NONE 0..2 [0 1]")
		s.wantNext([]place{from("a", 0, 6)}, "a-1 NONE 0..2 [0 1]", "a-0 NONE 0..6") // as if it had never been there
	})
}

func TestSessions_BeginWithAllThatIsNamedWhateverIsForgotten(t *testing.T) {
	inSessions(t, func(t *testing.T, n *node, s *sessionClient) {
		s.forget("a", 0).wantNext([]place{from("a", 0, 3)}, "a-0 NONE 0..6 [3]")
		s.wantNext(nil, "a-0 NONE 0..6 [3]")
	})
}

func TestSessions_EndWithoutPartitions(t *testing.T) {
	inSessions(t, func(t *testing.T, n *node, s *sessionClient) {
		s.wantNext([]place{from("a", 0, 3)}, "a-0 NONE 0..6 [3]")
		ended := *s
		want(t, "told", s.forget("a", 0).next(), []string{"NONE 0"})
		ended.epoch++
		want(t, "told", ended.next(), []string{"FETCH_SESSION_ID_NOT_FOUND 0"})

		s.epoch = 0
		s.wantNext([]place{from("a", 0, 3)}, "a-0 NONE 0..6 [3]")
		want(t, "what is named and forgotten is told once", s.forget("a", 0).next(from("a", 0, 3)), []string{"NONE 0", "a-0 NONE 0..6 [3]"})

		s.epoch = 0
		s.wantNext(nil) // one of nothing is made, and ends when it is asked for more of it
		want(t, "told", s.next(), []string{"NONE 0"})
	})
}

func TestSessions_Errors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(s *sessionClient)
		want  string
	}{
		{"an epoch too high", func(s *sessionClient) { s.epoch++ }, "INVALID_FETCH_SESSION_EPOCH 0"},
		{"an epoch too low", func(s *sessionClient) { s.epoch-- }, "INVALID_FETCH_SESSION_EPOCH 0"},
		{"an epoch below none", func(s *sessionClient) { s.epoch = -2 }, "INVALID_FETCH_SESSION_EPOCH 0"},
		{"another id", func(s *sessionClient) { s.id ^= 1 }, "FETCH_SESSION_ID_NOT_FOUND 0"},
		{"no id", func(s *sessionClient) { s.id = 0 }, "FETCH_SESSION_ID_NOT_FOUND 0"},
		{"no id and an epoch below none", func(s *sessionClient) { s.id, s.epoch = 0, -2 }, "FETCH_SESSION_ID_NOT_FOUND 0"},
		{"a negative id", func(s *sessionClient) { s.id = -s.id }, "FETCH_SESSION_ID_NOT_FOUND 0"},
		{"the highest id", func(s *sessionClient) { s.id = math.MaxInt32 }, "FETCH_SESSION_ID_NOT_FOUND 0"},
		{"names for ids and ids for names", func(s *sessionClient) { s.version = 25 - s.version }, "FETCH_SESSION_TOPIC_ID_ERROR 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, version := range []int16{12, 13} {
				c := threeBatches(t)
				s := c.session(version)
				s.wantNext([]place{from("a", 0, 3)}, "a-0 NONE 0..6 [3]")
				s.wantNext(nil, "a-0 NONE 0..6 [3]")
				spoilt := *s
				tt.spoil(&spoilt)
				want(t, "told", spoilt.next(from("b", 0, 0)), []string{tt.want})
				s.wantNext(nil, "a-0 NONE 0..6 [3]") // the session is as it was
			}
		})
	}
}

func TestSessions_AFullFetchEndsTheSessionThatItNames(t *testing.T) {
	for epoch, told := range map[int32]string{initialEpoch: "NONE s", finalEpoch: "NONE 0"} {
		inSessions(t, func(t *testing.T, n *node, s *sessionClient) {
			s.wantNext([]place{from("a", 0, 3)}, "a-0 NONE 0..6 [3]")
			old := *s
			s.epoch = epoch
			want(t, "told", s.next(from("a", 1, 2)), []string{told, "a-1 NONE 0..2"})
			want(t, "the old one", old.next(), []string{"FETCH_SESSION_ID_NOT_FOUND 0"})
			if epoch == initialEpoch && s.id == old.id {
				t.Error("the new session has the id of the old one")
			}
		})
	}
}

func TestSessions_WithoutOne(t *testing.T) {
	c := threeBatches(t)
	everyVersion(t, kmsg.Fetch, func(t *testing.T, version int16) {
		resp := c.ask(c.fetching(version, from("a", 0, 3))).(*kmsg.FetchResponse)
		want(t, "code, session and partitions", []int32{int32(resp.ErrorCode), resp.SessionID, int32(len(fetchedFrom(resp)))}, []int32{0, 0, 1})
	})
}

func TestSessions_AnyConnectionMayGoOn(t *testing.T) {
	inSessions(t, func(t *testing.T, n *node, s *sessionClient) {
		s.wantNext([]place{from("a", 0, 6), from("b", 0, 0)}, "a-0 NONE 0..6", "b-0 NONE 0..0")
		s.conn.Close()
		s.client = n.dial()
		s.store("b", 0, plain(1))
		s.wantNext(nil, "b-0 NONE 0..1 [0]")
	})
}

func TestSessions_ATopicDeletedAndMadeAgain(t *testing.T) {
	for _, tt := range []struct {
		version     int16
		gone, again string // what is told by names is a new topic like any other
	}{
		{12, "a-0 UNKNOWN_TOPIC_OR_PARTITION", "a-0 NONE 0..0"},
		{13, "gone-0 UNKNOWN_TOPIC_OR_PARTITION", "gone-0 INCONSISTENT_TOPIC_ID"},
	} {
		c := threeBatches(t)
		s := c.session(tt.version)
		s.wantNext([]place{from("a", 0, 6), from("b", 0, 0)}, "a-0 NONE 0..6", "b-0 NONE 0..0")
		s.ask(deleting(6, "a"))
		s.wantNext(nil, tt.gone)
		c.node.make("a", 1, nil)
		if tt.version < 13 {
			s.wantNext([]place{from("a", 0, 0)}, tt.again)
			s.wantNext(nil)
			continue
		}
		s.wantNext(nil, tt.again)
		s.wantNext([]place{from("a", 0, 0)}, tt.again, "a-0 NONE 0..0") // beside it, with its new id
		s.store("a", 0, plain(1))
		s.wantNext(nil, tt.again, "a-0 NONE 0..1 [0]")
	}
}

func TestSessions_AnIDThatNobodyKnows(t *testing.T) {
	c := threeBatches(t)
	s := c.session(13)
	for _, id := range [][16]byte{{}, {1, 2, 3}} {
		req := s.request(from("x", 0, 0))
		req.Topics[0].TopicID, req.SessionEpoch = id, initialEpoch
		s.note(s.ask(req))
		resp := s.ask(&kmsg.FetchRequest{Version: 13, SessionID: s.id, SessionEpoch: 1, ReplicaID: -1}).(*kmsg.FetchResponse)
		wantFetchError(t, fetchedFrom(resp)[0], "UNKNOWN_TOPIC_ID")
		want(t, "id", resp.Topics[0].TopicID, id)
	}
}

// What had records goes to the end, so that the others get their turn.
func TestSessions_TakeTurnsWhenAnAnswerIsFull(t *testing.T) {
	inSessions(t, func(t *testing.T, n *node, s *sessionClient) {
		s.store("b", 0, plain(1))
		turn := func(places ...place) []string {
			req := s.request(places...)
			req.MaxBytes = 1
			return s.note(s.ask(req))
		}
		want(t, "first", turn(from("a", 0, 0), from("a", 1, 0), from("b", 0, 0)), []string{"NONE s", "a-0 NONE 0..6 [0]", "a-1 NONE 0..2", "b-0 NONE 0..1"})
		for _, told := range []string{"a-0 NONE 0..6 [0]", "a-1 NONE 0..2 [0]", "b-0 NONE 0..1 [0]", "a-0 NONE 0..6 [0]"} {
			want(t, "told", turn(), []string{"NONE s", told})
		}
	})
}

func TestSessions_WaitForAllThatTheyHold(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		s := c.session(12)
		s.wantNext([]place{from("a", 0, 0), from("b", 0, 0)}, "a-0 NONE 0..0", "b-0 NONE 0..0")
		poll := func() *poll {
			req := s.request()
			req.MinBytes, req.MaxWaitMillis = 1, second
			return n.poll(req)
		}
		p := poll()
		pass(30 * time.Millisecond)
		c.store("b", 0, plain(1))
		p.wantDone(s, 30*time.Millisecond, "NONE s", "b-0 NONE 0..1 [0]")
		s.wantNext([]place{from("b", 0, 1)})
		poll().wantDone(s, time.Second, "NONE s")
		p = poll()
		pass(30 * time.Millisecond)
		c.ask(deleting(6, "b"))
		p.wantDone(s, 30*time.Millisecond, "NONE s", "b-0 UNKNOWN_TOPIC_OR_PARTITION")
	})
}

// wantDone waits for the whole answer to a poll of a session.
func (p *poll) wantDone(s *sessionClient, after time.Duration, told ...string) {
	p.t.Helper()
	resp := <-p.done
	want(p.t, "took", p.took, after)
	want(p.t, "told", s.note(resp), told)
}

// Two connections that go on with one session at the same time disturb each
// other, as in Kafka.
func TestSessions_AnAnswerThatTheSessionDidNotWaitFor(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		s := c.session(12)
		s.wantNext([]place{from("a", 0, 0)}, "a-0 NONE 0..0")
		req := s.request()
		req.MinBytes, req.MaxWaitMillis = 1, second
		late := n.poll(req)
		want(t, "the same epoch", s.next(), []string{"INVALID_FETCH_SESSION_EPOCH 0"})
		s.epoch++
		s.wantNext([]place{from("a", 1, 0)}, "a-1 NONE 0..0")
		late.wantDone(s, time.Second, "INVALID_FETCH_SESSION_EPOCH s")
		s.wantNext(nil)
	})
}

func TestSessions_AWaitThatOutlivesItsSession(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		s := c.session(12)
		s.wantNext([]place{from("a", 0, 0)}, "a-0 NONE 0..0")
		req := s.request()
		req.MinBytes, req.MaxWaitMillis = 1, second
		p := n.poll(req)
		ending := s.request()
		ending.SessionEpoch = finalEpoch
		want(t, "told", c.told(c.ask(ending)), []string{"NONE 0"})
		p.wantDone(s, time.Second, "NONE s")
		want(t, "told", s.next(), []string{"FETCH_SESSION_ID_NOT_FOUND 0"})
	})
}

func TestSessions_EpochsGoOnAtOneAfterTheHighest(t *testing.T) {
	want(t, "epochs", []int32{nextSessionEpoch(1), nextSessionEpoch(math.MaxInt32 - 1), nextSessionEpoch(math.MaxInt32)}, []int32{2, math.MaxInt32, 1})
}

// The ids of sessions follow from the seed, and do not change what else does.
func TestSessions_IDsFollowFromTheSeed(t *testing.T) {
	ids := func(seed uint64) (ids []int32, topic [16]byte) {
		n := start(t, Options{Seed: seed})
		c := n.dial()
		for range 3 {
			s := c.session(12)
			s.next()
			ids = append(ids, s.id)
		}
		n.make("a", 1, nil)
		return ids, n.id("a")
	}
	first, topic := ids(7)
	again, sameTopic := ids(7)
	other, _ := ids(8)
	want(t, "ids", again, first)
	want(t, "topic id", sameTopic, topic)
	plain := start(t, Options{Seed: 7})
	plain.make("a", 1, nil)
	want(t, "topic id without sessions", plain.id("a"), topic)
	if first[0] == other[0] || first[0] == first[1] || first[0] <= 0 {
		t.Errorf("ids %v and, of another seed, %v", first, other)
	}
}

func TestSessions_ConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, first := startWith(t, "a", "b")
		s := first.session(12)
		s.next(from("a", 0, 0))
		for i := range int32(8) {
			c := n.dial()
			go func() {
				for epoch := range int32(50) {
					req := c.fetching(12, from("a", i%2, 0), from("b", epoch%2, 0))
					req.SessionID, req.SessionEpoch = s.id, epoch
					if _, err := c.try(req); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		synctest.Wait()
		s.epoch = 0
		s.wantNext([]place{from("a", 0, 0)}, "a-0 NONE 0..0")
	})
}
