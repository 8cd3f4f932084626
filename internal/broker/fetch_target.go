package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A target is a partition that a Fetch asks for.
type target struct {
	topic     *kmsg.FetchRequestTopic
	asked     *kmsg.FetchRequestTopicPartition
	partition *partition  // nil for one that nobody knows
	refused   *kerr.Error // why it cannot be read, nil if it can
}

// A partitionKey names a partition as the request's version does: by the topic's
// name up to version 12, by its id from 13 on.
type partitionKey struct {
	topic     string // "" where there is an id
	id        [16]byte
	partition int32
}

func keyOf(topic string, id [16]byte, partition int32) partitionKey {
	if id != [16]byte{} {
		topic = ""
	}
	return partitionKey{topic, id, partition}
}

// targets finds the partitions that a request asks for, each once: those that
// are known and then those that are not.
func (b *Broker) targets(r *kmsg.FetchRequest) []target {
	list := targetList{all: make([]target, 0, partitionsIn(r))}
	unknown := false
	for i := range r.Topics {
		asked := &r.Topics[i]
		t, refused := b.fetchedTopic(asked, r.Version)
		for j := range asked.Partitions {
			next := target{topic: asked, asked: &asked.Partitions[j], partition: t.partition(asked.Partitions[j].Partition), refused: refused}
			if next.partition == nil {
				unknown = true
				if t != nil {
					next.refused = kerr.UnknownTopicOrPartition
				}
			}
			list.add(next)
		}
	}
	if unknown {
		slices.SortStableFunc(list.all, knownFirst)
	}
	return list.all
}

func partitionsIn(r *kmsg.FetchRequest) (n int) {
	for i := range r.Topics {
		n += len(r.Topics[i].Partitions)
	}
	return n
}

func knownFirst(a, b target) int {
	switch {
	case (a.partition == nil) == (b.partition == nil):
		return 0
	case a.partition == nil:
		return 1
	}
	return -1
}

// fetchedTopic finds the topic that an entry of a request asks for, and says why
// it cannot be read. A name beside an id says what the id stood for when it came:
// the topic may have been deleted since then, and made again with another id.
func (b *Broker) fetchedTopic(asked *kmsg.FetchRequestTopic, version int16) (*topic, *kerr.Error) {
	t, unknown := b.topicFor(asked.Topic, asked.TopicID, version >= 13)
	switch {
	case t != nil:
		return t, nil
	case version < 13 || asked.Topic == "":
		return nil, unknown
	}
	if t := b.lookup(asked.Topic); t != nil {
		return t, kerr.InconsistentTopicID
	}
	return nil, kerr.UnknownTopicOrPartition
}

// fewTargets is how many targets are compared one by one. Among more of them a
// map finds those that are named twice.
const fewTargets = 16

// A targetList is targets without a second one of any partition.
type targetList struct {
	all     []target
	read    map[*partition]int   // places in all of those that can be read, once there are more than a few
	refused map[partitionKey]int // and of the others
}

// add appends a target, or puts it in the place of the one of its partition: a
// partition counts as it was named last, where it was named first.
func (l *targetList) add(t target) {
	if at := l.find(&t); at >= 0 {
		l.all[at] = t
		return
	}
	l.all = append(l.all, t)
	switch n := len(l.all); {
	case n > fewTargets:
		l.remember(n - 1)
	case n == fewTargets:
		l.read, l.refused = make(map[*partition]int, cap(l.all)), map[partitionKey]int{}
		for i := range l.all {
			l.remember(i)
		}
	}
}

func (l *targetList) remember(at int) {
	if t := &l.all[at]; t.refused == nil {
		l.read[t.partition] = at
	} else {
		l.refused[t.key()] = at
	}
}

// find is the place of the target of the same partition, -1 if there is none.
func (l *targetList) find(t *target) int {
	if len(l.all) < fewTargets {
		for i := range l.all {
			if t.same(&l.all[i]) {
				return i
			}
		}
		return -1
	}
	at, ok := 0, false
	if t.refused == nil {
		at, ok = l.read[t.partition]
	} else {
		at, ok = l.refused[t.key()]
	}
	if !ok {
		return -1
	}
	return at
}

// same says whether both are of one partition. What can be read is compared by
// the partition itself, which costs less than its name.
func (t *target) same(other *target) bool {
	if t.refused == nil && other.refused == nil {
		return t.partition == other.partition
	}
	return t.asked.Partition == other.asked.Partition && t.key() == other.key()
}

func (t *target) key() partitionKey { return keyOf(t.topic.Topic, t.topic.TopicID, t.asked.Partition) }
