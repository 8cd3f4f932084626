package broker

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// asking for n partitions of a topic, as a consumer or as a follower.
func sized(n int, follower bool) *session {
	t := kmsg.FetchRequestTopic{Topic: "a", Partitions: make([]kmsg.FetchRequestTopicPartition, n)}
	for i := range t.Partitions {
		t.Partitions[i].Partition = int32(i)
	}
	r := &kmsg.FetchRequest{Version: 12, ReplicaID: -1, Topics: []kmsg.FetchRequestTopic{t}}
	if follower {
		r.ReplicaID = 5
	}
	return newSession(r)
}

// A moment in the life of a full cache: what asks for a place, and after how
// long since the others were made.
func TestSessionCache_WhoMakesWay(t *testing.T) {
	for _, tt := range []struct {
		name       string
		usedAt, at time.Duration // when the others were used last, and the newcomer comes
		sizes      []int         // of the others; a negative one is a follower's
		size       int           // of the newcomer; a negative one is a follower's
		gone       int           // which of the others makes way, -1 for none
	}{
		{"nobody for a consumer's while all are new", 0, time.Second, []int{3, 1, 2}, 9, -1},
		{"nobody at two minutes", 0, sessionIdle, []int{3, 1, 2}, 9, -1},
		{"the first of the idle, whatever the sizes", 0, sessionIdle + 3, []int{3, 1, 2}, 1, 0},
		{"the smallest that has lasted", sessionIdle + 3, sessionIdle + 4, []int{3, 1, 2}, 9, 1},
		{"the smallest that has lasted, for one that is larger by one", sessionIdle + 3, sessionIdle + 4, []int{3, 1, 2}, 2, 1},
		{"nobody for one of the same size", sessionIdle + 3, sessionIdle + 4, []int{3, 2, 4}, 2, -1},
		{"the smallest consumer's for a follower's, though new", 0, time.Second, []int{3, 1, -1}, -1, 1},
		{"no follower's for a follower's while new", 0, time.Second, []int{-3, -1, -2}, -9, -1},
		{"the smallest follower's that has lasted, for a follower's", sessionIdle + 3, sessionIdle + 4, []int{-3, -1, -2}, -9, 1},
		{"no follower's for a consumer's", sessionIdle + 3, sessionIdle + 4, []int{-3, -1, -2}, 9, -1},
		{"a consumer's before a smaller follower's", sessionIdle + 3, sessionIdle + 4, []int{-1, 5, -1}, -9, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newSessionCache(1)
			c.slots = len(tt.sizes)
			began := time.Unix(0, 0)
			var ids []int32
			for i, size := range tt.sizes {
				s := sized(max(size, -size), size < 0)
				ids = append(ids, c.add(s, began.Add(time.Duration(i))))
				s.used = began.Add(tt.usedAt + time.Duration(i))
			}
			id := c.add(sized(max(tt.size, -tt.size), tt.size < 0), began.Add(tt.at))
			gone := slices.IndexFunc(ids, func(id int32) bool { return c.sessions[id] == nil })
			want(t, "who made way", gone, tt.gone)
			want(t, "whether there was room", id != 0, tt.gone >= 0)
			want(t, "sessions", len(c.sessions), len(tt.sizes))
		})
	}
}

func TestSessionCache_WhatItsSessionsCost(t *testing.T) {
	c := newSessionCache(1)
	c.limit = 4*(fetchedPartitionBytes+1) + 2*sessionBytes
	now := time.Unix(0, 0)
	two := c.add(sized(2, false), now)
	if c.add(sized(3, false), now) != 0 {
		t.Error("a session was taken in beyond the limit")
	}
	other := c.add(sized(2, false), now)
	if two == 0 || other == 0 {
		t.Fatal("a session within the limit was not taken in")
	}
	grow := func(id int32) (*session, *kerr.Error) {
		r := &kmsg.FetchRequest{Version: 12, SessionID: id, SessionEpoch: 1, Topics: []kmsg.FetchRequestTopic{{
			Topic: "b", Partitions: make([]kmsg.FetchRequestTopicPartition, 1),
		}}}
		s, _, err := c.advance(r, nil, now)
		return s, err
	}
	if s, err := grow(two); s != nil || err != kerr.FetchSessionIDNotFound {
		t.Errorf("a session that outgrew the limit is %v, %v", s, err)
	}
	if s, err := grow(other); s == nil || err != nil {
		t.Errorf("a session that has room now is %v, %v", s, err)
	}
	if c.add(sized(1, false), now) == 0 || c.add(sized(1, false), now) != 0 {
		t.Error("there was not room for one partition exactly")
	}
	if c.add(sized(3, false), now.Add(sessionIdle+1)) == 0 {
		t.Error("idle sessions did not make way")
	}
	for id := range c.sessions {
		c.remove(id)
	}
	want(t, "cost of nothing", c.cost, 0)
}

func TestSessions_OfTooManyPartitions(t *testing.T) {
	_, c := startWith(t)
	for _, tt := range []struct {
		partitions int32
		told       string
	}{{maxSessionPartitions, "NONE s"}, {maxSessionPartitions + 1, "NONE 0"}} {
		var places []place
		for i := range tt.partitions {
			places = append(places, from("x", i, 0))
		}
		s := c.session(12)
		told := s.next(places...)
		want(t, "code and session", told[0], tt.told)
		want(t, "partitions", len(told)-1, int(tt.partitions))
		if s.id != 0 { // it does not grow beyond it either
			want(t, "told", s.next(from("x", maxSessionPartitions, 0)), []string{"FETCH_SESSION_ID_NOT_FOUND 0"})
			want(t, "told", s.next(), []string{"FETCH_SESSION_ID_NOT_FOUND 0"})
		}
	}
}

func TestSessions_MoreThanThereArePlaces(t *testing.T) {
	_, c := startWith(t, "a")
	for range maxSessions {
		want(t, "told", c.session(12).next(from("a", 0, 0)), []string{"NONE s", "a-0 NONE 0..0"})
	}
	want(t, "one more", c.session(12).next(from("a", 0, 0)), []string{"NONE 0", "a-0 NONE 0..0"})
}

// The limit is on what sessions are reckoned to cost, so that has to be no less
// than what they do cost.
func TestSession_CostsNoMoreMemoryThanItIsReckonedTo(t *testing.T) {
	for _, n := range []int{1, 3, 9, 100, 900, 8000, maxSessionPartitions} {
		sessions := make([]*session, 1+20_000/n)
		var reckoned int64
		before := heap()
		for i := range sessions {
			sessions[i] = sized(n, false)
		}
		took := heap() - before
		for _, s := range sessions {
			reckoned += s.cost
		}
		if took > reckoned {
			t.Errorf("%d sessions of %d partitions take %d bytes and are reckoned to take %d", len(sessions), n, took, reckoned)
		}
		runtime.KeepAlive(sessions)
	}
}

func TestSession_ALongNameCosts(t *testing.T) {
	r := &kmsg.FetchRequest{Version: 12, Topics: []kmsg.FetchRequestTopic{{
		Topic: strings.Repeat("x", 30_000), Partitions: make([]kmsg.FetchRequestTopicPartition, 1),
	}}}
	want(t, "cost", newSession(r).cost, 30_000+fetchedPartitionBytes+sessionBytes)
}

// heap is the bytes of memory in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A client that begins one large session after the other gets so many as have
// room, and no memory beyond.
func TestSessionCache_OneLargeSessionAfterTheOther(t *testing.T) {
	c := newSessionCache(1)
	large := sized(maxSessionPartitions, false)
	room := int(maxSessionBytes / large.cost)
	for i := range 3 * room {
		s := sized(1, false)
		s.cost = large.cost
		if id := c.add(s, time.Unix(0, 0)); (id != 0) != (i < room) {
			t.Fatalf("session %d of %d that have room got id %d", i+1, room, id)
		}
	}
	if c.cost > maxSessionBytes || room < 10 {
		t.Errorf("%d sessions of %d partitions cost %d bytes", room, maxSessionPartitions, c.cost)
	}
}
