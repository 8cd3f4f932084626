package broker

import (
	"errors"
	"sync/atomic"

	"github.com/dustin/go-humanize"
	"go.uber.org/zap"
)

// memory bounds the records that are kept, all partitions together. What has
// been acknowledged is never thrown away to make room.
type memory struct {
	limit int64 // bytes of batches; 0 for no limit
	used  atomic.Int64
	told  atomic.Bool // that it is full
	log   *zap.Logger

	// reclaim gives back what no topic keeps any longer, and says whether there was
	// any; nil if there never is.
	reclaim func() bool

	producers     atomic.Int64 // remembered, all partitions together
	producersTold atomic.Bool  // that there are too many
}

// take asks for room for n bytes. It is refused as a whole.
func (m *memory) take(n int) bool {
	if m.used.Add(int64(n)) <= m.limit || m.limit == 0 {
		return true
	}
	m.used.Add(-int64(n))
	return false
}

// full tells, once until room comes back, that a batch was refused.
func (m *memory) full() {
	if !m.told.Swap(true) {
		m.log.Warn("the memory for records is full: Produce is refused with KAFKA_STORAGE_ERROR; "+
			"give it more with --memory, or let records go with DeleteRecords or DeleteTopics",
			zap.String("memory", humanize.IBytes(uint64(m.limit))))
	}
}

// memberBytes is what a partition takes while it is in an open transaction: its
// marker, and the places where it is noted.
const memberBytes = 512

var errTooManyMembers = errors.New("with the partitions of this transaction too many producers would be remembered")

// takeMembers asks for room for n partitions of a transaction, and for its
// producer in each. It is refused as a whole.
func (m *memory) takeMembers(n int) error {
	if m.producers.Add(int64(n)) > MaxProducers && n > 0 {
		m.producers.Add(-int64(n))
		return errTooManyMembers
	}
	if m.take(n*memberBytes) || m.reclaim != nil && m.reclaim() && m.take(n*memberBytes) {
		return nil
	}
	m.producers.Add(-int64(n))
	m.full()
	return memoryFull
}

// giveMember returns the room of a partition whose transaction has ended.
func (m *memory) giveMember() {
	m.producers.Add(-1)
	m.give(memberBytes)
}

// force takes room for n bytes that cannot be refused.
func (m *memory) force(n int) { m.used.Add(int64(n)) }

// give returns room for n bytes.
func (m *memory) give(n int64) {
	m.used.Add(-n)
	if n > 0 {
		m.told.Store(false)
	}
}
