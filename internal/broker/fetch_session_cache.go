package broker

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maxSessions is the most fetch sessions at a time, as Kafka's
	// max.incremental.fetch.session.cache.slots has it by default.
	maxSessions = 1000
	// maxSessionPartitions is the most partitions of one session. A request that
	// asks for more is answered and gets no session.
	maxSessionPartitions = 10_000
	// maxSessionBytes is the most memory of all sessions together, 64 MiB: 200,000
	// partitions. Nobody who fetches without a session needs any.
	maxSessionBytes = 64 << 20
	// sessionIdle is how long a session is safe from having to make way for
	// another one (Kafka's MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS).
	sessionIdle = 2 * time.Minute
)

// A sessionCache holds the fetch sessions of a broker, within its limits.
type sessionCache struct {
	slots int   // maxSessions; tests have fewer
	limit int64 // maxSessionBytes; tests have less

	mu       sync.Mutex // guards what follows, and every session in it
	random   *rand.Rand // of ids
	sessions map[int32]*session
	cost     int64 // of all of them
}

// sessionStream keeps the ids of sessions apart from what else is drawn from the
// seed.
const sessionStream = 1

func newSessionCache(seed uint64) *sessionCache {
	return &sessionCache{
		slots: maxSessions, limit: maxSessionBytes,
		random: rand.New(rand.NewPCG(seed, sessionStream)), sessions: map[int32]*session{},
	}
}

// add takes a session in and gives its id, 0 if there is no room for it.
func (c *sessionCache) add(s *session, now time.Time) int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(s.order) > maxSessionPartitions || !c.makeRoomLocked(s, now) {
		return 0
	}
	for s.id == 0 || c.sessions[s.id] != nil {
		s.id = c.random.Int32N(math.MaxInt32)
	}
	s.created, s.used = now, now
	c.sessions[s.id] = s
	c.cost += s.cost
	return s.id
}

// remove ends a session, if there is one of this id.
func (c *sessionCache) remove(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[id]; s != nil {
		c.removeLocked(s)
	}
}

func (c *sessionCache) removeLocked(s *session) {
	delete(c.sessions, s.id)
	c.cost -= s.cost
}

// advance takes a request into its session, and gives the session with all that
// it asks for now. A session that is left empty ends, and is nil. One that grows
// out of its limits ends, too, which its client learns like any other eviction.
func (c *sessionCache) advance(r *kmsg.FetchRequest, name func([16]byte) string, now time.Time) (*session, []kmsg.FetchRequestTopic, *kerr.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[r.SessionID]
	switch {
	case s == nil:
		return nil, nil, kerr.FetchSessionIDNotFound
	case s.epoch != r.SessionEpoch:
		return nil, nil, kerr.InvalidFetchSessionEpoch
	case s.byID != (r.Version >= 13):
		return nil, nil, kerr.FetchSessionTopicIDError
	}
	before := s.cost
	s.update(r)
	c.cost += s.cost - before
	switch {
	case len(s.order) == 0:
		c.removeLocked(s)
		return nil, nil, nil
	case len(s.order) > maxSessionPartitions, c.cost > c.limit:
		c.removeLocked(s)
		return nil, nil, kerr.FetchSessionIDNotFound
	}
	s.used, s.epoch = now, nextSessionEpoch(s.epoch)
	return s, s.topics(name), nil
}

// nextSessionEpoch is the epoch after this one: 1 after the highest, as 0 asks
// for a new session.
func nextSessionEpoch(epoch int32) int32 {
	if epoch == math.MaxInt32 {
		return 1
	}
	return epoch + 1
}

// takeBack lets a client come again with this epoch, as the request that had it
// was lost on its way. What it changed stays: sent again, it changes the same.
func (c *sessionCache) takeBack(s *session, epoch int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.epoch == nextSessionEpoch(epoch) {
		s.epoch = epoch
	}
}

// shorten leaves out of an answer what the client of a session need not be told.
// If the session went on without waiting for this answer, it is worth nothing.
func (c *sessionCache) shorten(s *session, r *kmsg.FetchRequest, whole *kmsg.FetchResponse) *kmsg.FetchResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.epoch != nextSessionEpoch(r.SessionEpoch) {
		late := r.ResponseKind().(*kmsg.FetchResponse)
		late.SessionID, late.ErrorCode = s.id, kerr.InvalidFetchSessionEpoch.Code
		return late
	}
	short := s.shorten(whole)
	short.SessionID = s.id
	return short
}

// makeRoomLocked lets sessions go until there is room for another one, and says
// whether there is.
func (c *sessionCache) makeRoomLocked(s *session, now time.Time) bool {
	for len(c.sessions) >= c.slots || c.cost+s.cost > c.limit {
		victim := c.idleLocked(now)
		if victim == nil && len(c.sessions) >= c.slots {
			victim = c.weakerLocked(s)
		}
		if victim == nil {
			return false
		}
		c.removeLocked(victim)
	}
	return true
}

// idleLocked is the session that was not used for the longest time, if that is
// too long.
func (c *sessionCache) idleLocked(now time.Time) (oldest *session) {
	for _, s := range c.sessions {
		if now.Sub(s.used) > sessionIdle && (oldest == nil || s.used.Before(oldest.used)) {
			oldest = s
		}
	}
	return oldest
}

// weakerLocked is the weakest session that has to make way for s: of those that
// have lasted, or are a consumer's where s is a follower's. A session is weaker
// than a privileged one, and than one of more partitions (Kafka's EvictableKey).
func (c *sessionCache) weakerLocked(s *session) (weakest *session) {
	for _, other := range c.sessions {
		lasted := other.used.Sub(other.created) > sessionIdle
		if (lasted || s.privileged && !other.privileged) && other.weakerThan(s) && (weakest == nil || other.weakerThan(weakest)) {
			weakest = other
		}
	}
	return weakest
}

func (s *session) weakerThan(other *session) bool {
	if s.privileged != other.privileged {
		return other.privileged
	}
	return len(s.order) < len(other.order)
}
