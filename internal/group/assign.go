package group

import (
	"cmp"
	"slices"
)

// The assignors of the consumer protocol (UniformAssignor and RangeAssignor in
// Kafka). Uniform is the default.
const (
	uniformAssignor = "uniform"
	rangeAssignor   = "range"
)

var assignors = map[string]func(subscribers []subscriber) []set{uniformAssignor: assignUniform, rangeAssignor: assignRange}

// A subscriber is a member as an assignor sees it.
type subscriber struct {
	id     string // the instance id of a static member, so that its ranges survive a restart
	topics []Topic
	owns   set // what it was assigned before
}

// wants says whether a subscriber may be assigned partitions of a topic.
func (s *subscriber) wants(id [16]byte) bool {
	return slices.ContainsFunc(s.topics, func(t Topic) bool { return t.ID == id })
}

// topicsOf lists the topics of all subscribers, each once, by id.
func topicsOf(subscribers []subscriber) []Topic {
	seen, all := map[[16]byte]bool{}, []Topic(nil)
	for _, s := range subscribers {
		for _, t := range s.topics {
			if !seen[t.ID] {
				seen[t.ID] = true
				all = append(all, t)
			}
		}
	}
	slices.SortFunc(all, func(a, b Topic) int { return slices.Compare(a.ID[:], b.ID[:]) })
	return all
}

// assignRange gives each subscriber of a topic a range of its partitions, in the
// order of their ids; the first ones get one more if they do not divide. The
// ranges of topics with the same subscribers and partitions are the same.
func assignRange(subscribers []subscriber) []set {
	assigned := make([]set, len(subscribers))
	order := make([]int, len(subscribers))
	for i := range subscribers {
		assigned[i], order[i] = set{}, i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(subscribers[a].id, subscribers[b].id) })
	for _, t := range topicsOf(subscribers) {
		takers := slices.DeleteFunc(slices.Clone(order), func(i int) bool { return !subscribers[i].wants(t.ID) })
		next := int32(0)
		for at, i := range takers {
			share := t.Partitions / int32(len(takers))
			if int32(at) < t.Partitions%int32(len(takers)) {
				share++
			}
			for range share {
				assigned[i][TopicPartition{t.ID, next}] = true
				next++
			}
		}
	}
	return assigned
}

// assignUniform lets subscribers keep what they have as far as that is fair, and
// gives the rest to those that have least. If all are subscribed to the same
// topics, no two differ by more than one partition.
func assignUniform(subscribers []subscriber) []set {
	u := uniform{subscribers: subscribers, assigned: make([]set, len(subscribers)), takers: map[[16]byte][]int{}}
	for i := range subscribers {
		for _, t := range subscribers[i].topics {
			u.takers[t.ID] = append(u.takers[t.ID], i)
		}
	}
	for _, p := range u.keep() {
		u.assigned[u.least(p.TopicID)][p] = true
	}
	u.balance()
	return u.assigned
}

type uniform struct {
	subscribers []subscriber
	assigned    []set
	takers      map[[16]byte][]int // the subscribers of each topic
}

// keep lets subscribers keep up to their fair share, the first ones one more if
// it does not divide, and lists what nobody has then.
func (u *uniform) keep() (free []TopicPartition) {
	all := set{}
	for _, t := range topicsOf(u.subscribers) {
		for n := range t.Partitions {
			all[TopicPartition{t.ID, n}] = true
		}
	}
	share, more := 0, 0
	if n := len(u.subscribers); n > 0 {
		share, more = len(all)/n, len(all)%n
	}
	for i := range u.subscribers {
		s, quota := &u.subscribers[i], share
		if i < more {
			quota++
		}
		u.assigned[i] = set{}
		for _, p := range s.owns.sorted() {
			if all[p] && s.wants(p.TopicID) && len(u.assigned[i]) < quota {
				u.assigned[i][p] = true
				delete(all, p)
			}
		}
	}
	return all.sorted()
}

// least is the subscriber of a topic that has the fewest partitions, the first of
// those.
func (u *uniform) least(topic [16]byte) int {
	return slices.MinFunc(u.takers[topic], func(a, b int) int { return cmp.Compare(len(u.assigned[a]), len(u.assigned[b])) })
}

// balance moves partitions from those that have more to those that have two less
// or fewer, which happens only where not all are subscribed to the same topics.
// Each move makes the sum of the squares smaller, so it ends.
func (u *uniform) balance() {
	for moved := true; moved; {
		moved = false
		for i := range u.assigned {
			moved = u.giveAway(i) || moved
		}
	}
}

// giveAway moves partitions of one subscriber to those that have less, and says
// whether it did. Who has least of a topic changes with a move only.
func (u *uniform) giveAway(i int) (moved bool) {
	to, topic := -1, [16]byte{}
	for _, p := range u.assigned[i].sorted() {
		if to < 0 || topic != p.TopicID {
			to, topic = u.least(p.TopicID), p.TopicID
		}
		if len(u.assigned[to])+1 < len(u.assigned[i]) {
			delete(u.assigned[i], p)
			u.assigned[to][p] = true
			to, moved = -1, true
		}
	}
	return moved
}
