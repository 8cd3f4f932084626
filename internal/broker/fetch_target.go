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
	n := partitionsIn(r)
	all, seen, odd := make([]target, 0, n), seenPartitions{}, false
	for i := range r.Topics {
		asked := &r.Topics[i]
		t, refused := b.fetchedTopic(asked, r.Version)
		for j := range asked.Partitions {
			next := target{topic: asked, asked: &asked.Partitions[j], partition: t.partition(asked.Partitions[j].Partition), refused: refused}
			if t != nil && next.partition == nil {
				next.refused = kerr.UnknownTopicOrPartition
			}
			all = append(all, next)
			odd = odd || n > 1 && (next.refused != nil || seen.add(t, next.asked.Partition))
		}
	}
	if odd {
		all = once(all)
		slices.SortStableFunc(all, knownFirst)
	}
	return all
}

// seenPartitions has a bit for each partition of some topics. It tells at little
// cost that a request names none twice, which is all but always so.
type seenPartitions map[*topic][]uint64

// add notes a partition that the topic has, and says whether it was there before.
func (s seenPartitions) add(t *topic, partition int32) bool {
	bits := s[t]
	if missing := 1 + int(partition/64) - len(bits); missing > 0 { // the topic may have grown since
		bits = append(bits, make([]uint64, max(missing, len(t.all())/64))...)
		s[t] = bits
	}
	word, bit := &bits[partition/64], uint64(1)<<(partition%64)
	before := *word&bit != 0
	*word |= bit
	return before
}

// once leaves a single target of each partition: as it is named last, in the
// place where it is named first.
func once(all []target) (kept []target) {
	index := make(map[partitionKey]int, len(all))
	for i := range all {
		key := keyOf(all[i].topic.Topic, all[i].topic.TopicID, all[i].asked.Partition)
		if at, ok := index[key]; ok {
			kept[at] = all[i]
			continue
		}
		index[key] = len(kept)
		kept = append(kept, all[i])
	}
	return kept
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
