package broker

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestFetch_APartitionNamedTwiceCountsAsItIsNamedLast(t *testing.T) {
	const many = 50
	for _, tt := range []struct {
		name string
		ask  func() []place
		want []string
	}{
		{"side by side", func() []place { return []place{from("a", 0, 0), from("a", 0, 3)} }, []string{"a-0 NONE 0..6 [3]"}},
		{"in two entries of a topic", func() []place { return []place{from("a", 0, 2), from("b", 0, 0), from("a", 0, 3)} },
			[]string{"a-0 NONE 0..6 [3]", "b-0 NONE 0..0"}},
		{"a good one after one out of range", func() []place { return []place{from("a", 0, 99), from("a", 0, 3)} }, []string{"a-0 NONE 0..6 [3]"}},
		{"an unknown one", func() []place { return []place{from("a", 9, 0), from("a", 0, 3), from("a", 9, 1)} },
			[]string{"a-0 NONE 0..6 [3]", "a-9 UNKNOWN_TOPIC_OR_PARTITION"}},
		{"many times", func() (all []place) {
			for range many {
				all = append(all, from("a", 0, 0), from("a", 1, 0), from("x", 1, 0))
			}
			return append(all, from("a", 0, 3))
		}, []string{"a-0 NONE 0..6 [3]", "a-1 NONE 0..2 [0 1]", "x-1 UNKNOWN_TOPIC_OR_PARTITION"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := threeBatches(t)
			want(t, "told", c.told(c.ask(c.fetching(fetchVersion, tt.ask()...))), append([]string{"NONE 0"}, tt.want...))
		})
	}
}

func TestFetch_ManyPartitionsOneOfWhichIsNamedTwice(t *testing.T) {
	const partitions = 200
	n, c := startWith(t)
	n.make("wide", partitions, nil)
	var places []place
	var expected []string
	for i := range int32(partitions) {
		places = append(places, from("wide", i, 0))
		expected = append(expected, fmt.Sprintf("wide-%d NONE 0..0", i))
	}
	places, expected[5] = append(places, from("wide", 5, 1)), "wide-5 OFFSET_OUT_OF_RANGE"
	want(t, "told", c.told(c.ask(c.fetching(fetchVersion, places...))), append([]string{"NONE 0"}, expected...))
}

// What is unknown stands behind what is known, each in the order of the request.
func TestFetch_TheOrderOfAnAnswer(t *testing.T) {
	c := threeBatches(t)
	told := c.told(c.ask(c.fetching(fetchVersion, from("a", 9, 0), from("a", 1, 2), from("x", 0, 0), from("b", 0, 0), from("a", 0, 6))))
	want(t, "told", told, []string{
		"NONE 0", "a-1 NONE 0..2", "b-0 NONE 0..0", "a-0 NONE 0..6", "a-9 UNKNOWN_TOPIC_OR_PARTITION", "x-0 UNKNOWN_TOPIC_OR_PARTITION",
	})
}

func TestFetch_LastFetchedEpochs(t *testing.T) {
	for _, tt := range []struct {
		name           string
		epoch          int32
		current        int32
		offset         int64
		want           string
		diverges, ends int64 // -1 for none
	}{
		{"none", -1, -1, 1, "a-0 NONE 1..6 [0 2 3]", -1, -1},
		{"less than none", -2, -1, 1, "a-0 NONE 1..6 [0 2 3]", -1, -1},
		{"the one there is", 0, 0, 3, "a-0 NONE 1..6 [3]", -1, -1},
		{"the one there is, at the end", 0, -1, 6, "a-0 NONE 1..6", -1, -1},
		{"the one there is, beyond the end", 0, -1, 7, "a-0 NONE 1..6", 0, 6},
		{"the one there is, far beyond the end", 0, 0, 1 << 40, "a-0 NONE 1..6", 0, 6},
		{"the one there is, below the start", 0, -1, 0, "a-0 OFFSET_OUT_OF_RANGE", -1, -1},
		{"a later one", 1, -1, 3, "a-0 OFFSET_OUT_OF_RANGE", -1, -1},
		{"a later one beyond the end", 1, -1, 7, "a-0 OFFSET_OUT_OF_RANGE", -1, -1},
		{"a later leader counts first", 1, 1, 7, "a-0 UNKNOWN_LEADER_EPOCH", -1, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, c := startWith(t, "a")
			for _, records := range []int{2, 1, 3} {
				c.store("a", 0, plain(records))
			}
			c.trimTo("a", 0, 1)
			for version := int16(12); version <= newest(t, kmsg.Fetch); version++ {
				req := c.fetching(version, from("a", 0, tt.offset))
				req.Topics[0].Partitions[0].LastFetchedEpoch, req.Topics[0].Partitions[0].CurrentLeaderEpoch = tt.epoch, tt.current
				resp := c.ask(req)
				want(t, "told", c.told(resp)[1:], []string{tt.want})
				d := fetchedFrom(resp)[0].DivergingEpoch
				want(t, "diverging epoch and its end", []int64{int64(d.Epoch), d.EndOffset}, []int64{tt.diverges, tt.ends})
			}
		})
	}
}

func TestFetch_ADivergingEpochEndsTheWait(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		req := c.waiting(1, second, from("a", 1, 0), from("a", 0, 1))
		req.Topics[0].Partitions[1].LastFetchedEpoch = 0
		n.poll(req).wantAnswered(0)
	})
}

// There is one replica of each partition, and nobody follows.
func TestFetch_Replicas(t *testing.T) {
	for _, tt := range []struct {
		name           string
		replica, epoch int32
		offset         int64
		want           string
	}{
		{"a consumer", -1, -1, 0, "a-0 NONE 0..6 [0 2 3]"},
		{"a debugging consumer", -2, -1, 0, "a-0 NONE 0..6 [0 2 3]"},
		{"a replica to be", -3, 0, 0, "a-0 NONE 0..6 [0 2 3]"},
		{"the least number", -1 << 31, -1, 0, "a-0 NONE 0..6 [0 2 3]"},
		{"this broker itself", NodeID, -1, 0, "a-0 NOT_LEADER_FOR_PARTITION"},
		{"another broker", 5, -1, 0, "a-0 NOT_LEADER_FOR_PARTITION"},
		{"broker 0", 0, -1, 0, "a-0 NOT_LEADER_FOR_PARTITION"},
		{"another broker, out of range", 5, -1, 99, "a-0 NOT_LEADER_FOR_PARTITION"},
		{"another broker that knows the leader's epoch", 5, 0, 0, "a-0 UNKNOWN_LEADER_EPOCH"},
		{"another broker that knows a later epoch", 5, 1, 0, "a-0 UNKNOWN_LEADER_EPOCH"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := threeBatches(t)
			everyVersion(t, kmsg.Fetch, func(t *testing.T, version int16) {
				if tt.epoch >= 0 && version < 9 {
					return // it has no place for one
				}
				req := c.fetching(version, from("a", 0, tt.offset))
				req.ReplicaID, req.ReplicaState.ID = -1, -1
				if version >= 15 {
					req.ReplicaState.ID = tt.replica
				} else {
					req.ReplicaID = tt.replica
				}
				req.Topics[0].Partitions[0].CurrentLeaderEpoch = tt.epoch
				resp := c.ask(req)
				expected := tt.want
				if version < 5 { // it has no place for the start
					expected = unstarted(expected)
				}
				want(t, "told", c.told(resp)[1:], []string{expected})
				leader := fetchedFrom(resp)[0].CurrentLeader
				if told := version >= 16 && expected == "a-0 NOT_LEADER_FOR_PARTITION"; told != (leader.LeaderID == NodeID && leader.LeaderEpoch == leaderEpoch) {
					t.Errorf("version %d tells leader %+v", version, leader)
				}
			})
		})
	}
}

func TestFetch_AnErrorOfAReplicaEndsTheWait(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		req := c.waiting(1, second, from("a", 0, 0), from("x", 0, 0))
		req.ReplicaID = 5
		n.poll(req).wantAnswered(0)
	})
}

// Records that came in pieces of memory are read as if they lay in one.
func TestFetch_LimitsKnowNoPiecesOfMemory(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		for range 40 {
			c.store("a", 0, plain(1).sized(1000))
		}
		whole := len(c.fetch("a", 0, 0).RecordBatches)
		req := c.waiting(int32(whole)+1, second, from("a", 0, 0))
		want(t, "bytes", len(n.poll(req).wantAnswered(time.Second)[0].RecordBatches), whole)
		req = c.waiting(1, second, place{"a", 0, 0, int32(whole) - 1})
		want(t, "bytes", len(n.poll(req).wantAnswered(0)[0].RecordBatches), whole-1)
	})
}

// A batch that is over the limit of a partition counts as much as the limit, and
// one that is over what an answer has left ends the wait: more can never come.
func TestFetch_WhatHasNoPlaceCountsToo(t *testing.T) {
	small, large := len(plain(1).bytes()), len(plain(1).sized(1000).bytes())
	for _, tt := range []struct {
		name           string
		min, max, most int // min bytes, and the limits of the answer and of the second partition
		answered       time.Duration
		bytes          []int
	}{
		{"the limit of the partition is just enough", small + 400, 1 << 20, 400, 0, []int{small, 0}},
		{"the limit of the partition is one byte short", small + 401, 1 << 20, 400, time.Second, []int{small, 0}},
		{"the limit of the answer is reached", small + 401, small + 401, 1 << 20, 0, []int{small, 0}},
		{"the limit of the partition is the lesser", small + 401, small + 401, 400, time.Second, []int{small, 0}},
		{"all has a place and is enough", small + large, 1 << 20, 1 << 20, 0, []int{small, large}},
		{"all has a place and is one byte short", small + large + 1, 1 << 20, 1 << 20, time.Second, []int{small, large}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inTime(t, func(t *testing.T, n *node, c *client) {
				c.store("a", 0, plain(1))
				c.store("a", 1, plain(1).sized(1000))
				req := c.waiting(int32(tt.min), second, from("a", 0, 0), place{"a", 1, 0, int32(tt.most)})
				req.MaxBytes = int32(tt.max)
				told := n.poll(req).wantAnswered(tt.answered)
				want(t, "bytes", []int{len(told[0].RecordBatches), len(told[1].RecordBatches)}, tt.bytes)
			})
		})
	}
}
