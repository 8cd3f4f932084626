package broker

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A session is what a client asked for so far, and what it was told. The cache
// that it is in guards it.
type session struct {
	id         int32 // 0 until it is in the cache
	epoch      int32 // of the request that is due
	byID       bool  // topics go by ids: it began in version 13 or later
	privileged bool  // it is a follower's, and makes way for no consumer's
	created    time.Time
	used       time.Time

	order []*fetchedPartition // as they are read
	index map[partitionKey]*fetchedPartition
	cost  int64 // bytes of memory, an upper bound
}

// A fetchedPartition is one partition of a session.
type fetchedPartition struct {
	key   partitionKey
	topic string // "" as long as nobody knows the name of its id

	// What was asked for last.
	offset, followerStart int64
	currentEpoch          int32
	lastEpoch             int32
	maxBytes              int32

	// What was told last; -1 for nothing, or for an error.
	highWatermark, start int64

	forgotten bool // it is to be taken out of the order
	moving    bool // it is to go to the end of the order
}

// fetchedPartitionBytes is more than the memory of a partition in a session, its
// places in the session's order and index included, the topic's name left out.
const fetchedPartitionBytes = 320

// sessionBytes is more than the memory of a session without partitions.
const sessionBytes = 512

// newSession makes a session of what a request asks for. There is nothing that
// it could forget.
func newSession(r *kmsg.FetchRequest) *session {
	s := &session{cost: sessionBytes, epoch: initialEpoch + 1, byID: r.Version >= 13, privileged: replicaOf(r) >= 0}
	n := partitionsIn(r)
	s.order, s.index = make([]*fetchedPartition, 0, n), make(map[partitionKey]*fetchedPartition, n)
	s.add(r)
	return s
}

// add takes in the partitions that a request names.
func (s *session) add(r *kmsg.FetchRequest) {
	for i := range r.Topics {
		t := &r.Topics[i]
		for j := range t.Partitions {
			s.ask(t, &t.Partitions[j])
		}
	}
}

// update takes over what a request changes: partitions that it names are added
// or changed, and then those that it forgets are taken out.
func (s *session) update(r *kmsg.FetchRequest) {
	s.add(r)
	for i := range r.ForgottenTopics {
		t := &r.ForgottenTopics[i]
		for _, n := range t.Partitions {
			s.forget(keyOf(t.Topic, t.TopicID, n))
		}
	}
	if len(s.order) > len(s.index) {
		s.order = slices.DeleteFunc(s.order, func(p *fetchedPartition) bool { return p.forgotten })
	}
}

func (s *session) ask(t *kmsg.FetchRequestTopic, asked *kmsg.FetchRequestTopicPartition) {
	key := keyOf(t.Topic, t.TopicID, asked.Partition)
	p := s.index[key]
	if p == nil {
		p = &fetchedPartition{key: key, topic: t.Topic, highWatermark: -1, start: -1}
		s.index[key], s.order = p, append(s.order, p)
		s.cost += p.cost()
	}
	p.offset, p.followerStart, p.maxBytes = asked.FetchOffset, asked.LogStartOffset, asked.PartitionMaxBytes
	p.currentEpoch, p.lastEpoch = asked.CurrentLeaderEpoch, asked.LastFetchedEpoch
}

func (s *session) forget(key partitionKey) {
	if p := s.index[key]; p != nil {
		p.forgotten = true
		delete(s.index, key)
		s.cost -= p.cost()
	}
}

// cost is the memory that a partition takes. A name counts for each, though
// partitions that came together share it.
func (p *fetchedPartition) cost() int64 { return int64(fetchedPartitionBytes + len(p.key.topic)) }

// topics is all that the session asks for, as a request without one would.
// An id that nobody knew is looked up again.
func (s *session) topics(name func(id [16]byte) string) (topics []kmsg.FetchRequestTopic) {
	all := make([]kmsg.FetchRequestTopicPartition, len(s.order))
	begin := 0
	for i, p := range s.order {
		if p.topic == "" && p.key.id != [16]byte{} {
			p.topic = name(p.key.id)
		}
		p.request(&all[i])
		if i == 0 || p.topic != s.order[i-1].topic || p.key.id != s.order[i-1].key.id {
			topics, begin = append(topics, kmsg.FetchRequestTopic{Topic: p.topic, TopicID: p.key.id}), i
		}
		topics[len(topics)-1].Partitions = all[begin : i+1 : i+1]
	}
	return topics
}

func (p *fetchedPartition) request(r *kmsg.FetchRequestTopicPartition) {
	r.Default()
	r.Partition, r.FetchOffset, r.LogStartOffset, r.PartitionMaxBytes = p.key.partition, p.offset, p.followerStart, p.maxBytes
	r.CurrentLeaderEpoch, r.LastFetchedEpoch = p.currentEpoch, p.lastEpoch
}

// told notes the first answer of a session, which tells everything. From then on
// partitions are read in its order.
func (s *session) told(whole *kmsg.FetchResponse) {
	answered := make([]*fetchedPartition, 0, len(s.order))
	s.eachTold(whole, func(p *fetchedPartition, told *kmsg.FetchResponseTopicPartition) bool {
		p.changed(told)
		answered = append(answered, p)
		return false
	})
	s.toEnd(answered)
}

// shorten notes what a client is told, and leaves out of an answer what it need
// not be. Partitions with records go to the end of the order, so that those
// behind them get their turn when an answer is full.
func (s *session) shorten(whole *kmsg.FetchResponse) *kmsg.FetchResponse {
	var read []*fetchedPartition
	short := *whole
	short.Topics = s.eachTold(whole, func(p *fetchedPartition, told *kmsg.FetchResponseTopicPartition) bool {
		if len(told.RecordBatches) > 0 {
			read = append(read, p)
		}
		return p.changed(told)
	})
	s.toEnd(read)
	return &short
}

// eachTold visits the partitions of an answer, and gives those that keep wants.
func (s *session) eachTold(whole *kmsg.FetchResponse, keep func(*fetchedPartition, *kmsg.FetchResponseTopicPartition) bool) (kept []kmsg.FetchResponseTopic) {
	for _, t := range whole.Topics {
		var partitions []kmsg.FetchResponseTopicPartition
		for i := range t.Partitions {
			told := &t.Partitions[i]
			if p := s.index[keyOf(t.Topic, t.TopicID, told.Partition)]; p != nil && keep(p, told) {
				partitions = append(partitions, *told)
			}
		}
		if t.Partitions = partitions; len(partitions) > 0 {
			kept = append(kept, t)
		}
	}
	return kept
}

// changed takes over what is told of a partition, and says whether the client
// has to be told it.
func (p *fetchedPartition) changed(told *kmsg.FetchResponseTopicPartition) bool {
	changed := told.HighWatermark != p.highWatermark || told.LogStartOffset != p.start
	p.highWatermark, p.start = told.HighWatermark, told.LogStartOffset
	if told.ErrorCode != 0 {
		p.highWatermark = -1 // so that the end of the error is told
	}
	return changed || told.ErrorCode != 0 || len(told.RecordBatches) > 0 || told.DivergingEpoch.Epoch >= 0
}

// toEnd moves partitions to the end of the order.
func (s *session) toEnd(moved []*fetchedPartition) {
	for _, p := range moved {
		p.moving = true
	}
	s.order = slices.DeleteFunc(s.order, func(p *fetchedPartition) bool { return p.moving })
	for _, p := range moved {
		p.moving = false
	}
	s.order = append(s.order, moved...)
}
