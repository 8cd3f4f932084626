package group

import (
	"cmp"
	"slices"
)

// Topics are the topics that there are, as of one moment. They are never changed.
type Topics struct {
	version uint64
	byName  map[string]Topic
	names   map[[16]byte]string
}

// NewTopics are these topics. The version grows with every change of them.
func NewTopics(version uint64, byName map[string]Topic) *Topics {
	t := &Topics{version, byName, make(map[[16]byte]string, len(byName))}
	for name, topic := range byName {
		t.names[topic.ID] = name
	}
	return t
}

// A Topic is what the coordinator has to know to assign one.
type Topic struct {
	ID         [16]byte
	Partitions int32
}

// A TopicPartition names a partition by the id of its topic (KIP-848).
type TopicPartition struct {
	TopicID [16]byte
	Number  int32
}

func compareTopicPartitions(a, b TopicPartition) int {
	return cmp.Or(slices.Compare(a.TopicID[:], b.TopicID[:]), cmp.Compare(a.Number, b.Number))
}

// A set is some partitions.
type set map[TopicPartition]bool

func setOf(all []TopicPartition) set {
	s := make(set, len(all))
	for _, p := range all {
		s[p] = true
	}
	return s
}

// sorted lists a set, by topic and number.
func (s set) sorted() []TopicPartition {
	all := make([]TopicPartition, 0, len(s))
	for p := range s {
		all = append(all, p)
	}
	slices.SortFunc(all, compareTopicPartitions)
	return all
}

// split parts a set in two: those that are in other, and those that are not.
func (s set) split(other set) (in, out set) {
	in, out = set{}, set{}
	for p := range s {
		if other[p] {
			in[p] = true
		} else {
			out[p] = true
		}
	}
	return in, out
}

// union is a set with another's partitions, too.
func (s set) union(other set) set {
	all := make(set, len(s)+len(other))
	for p := range s {
		all[p] = true
	}
	for p := range other {
		all[p] = true
	}
	return all
}
