package broker

import (
	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/twmb/franz-go/pkg/kerr"
	"go.uber.org/zap"
)

const (
	// MaxProducers is how many producers all partitions remember together, each
	// counted once for every partition that it writes to; about 200 bytes each.
	// Kafka forgets one that is idle for a day (producer.id.expiration.ms), and
	// with it what it wrote. Here nothing is forgotten: a new producer is refused
	// instead, so that a replay of an old one is never written twice.
	MaxProducers = 500_000

	// maxTransactionalBytes bounds the transactional ids that are remembered, 64
	// MiB with transactionalOverhead for each. Kafka forgets one that is unused for
	// a week (transactional.id.expiration.ms).
	maxTransactionalBytes = 64 << 20
	transactionalOverhead = 200

	// maxConfigBytes is the most bytes of the configs that are set on a topic,
	// names and values. Kafka has no limit but that of a request.
	maxConfigBytes = 16 << 10
)

// noProducerLocked refuses the batch of a producer that would be one too many to
// remember.
func (p *partition) noProducerLocked(id int64) *refusal {
	if id < 0 || p.memory.producers.Load() < MaxProducers || p.producers.Knows(id) {
		return nil
	}
	if !p.memory.producersTold.Swap(true) {
		p.memory.log.Warn("too many producers are remembered: further ones are refused with POLICY_VIOLATION; "+
			"DeleteTopics lets those of a topic go", zap.Int("most", MaxProducers))
	}
	return refuse(kerr.PolicyViolation, "this broker remembers %d producers, the most, and forgets none while its topics are there", MaxProducers)
}

// rememberLocked notes a batch that the log has.
func (p *partition) rememberLocked(b producer.Batch, offset, timestamp int64) {
	before := p.producers.Len()
	p.producers.Record(b, offset, timestamp)
	if n := p.producers.Len() - before; n != 0 {
		p.memory.producers.Add(int64(n))
	}
}

// forget makes room for so many producers.
func (m *memory) forget(producers int) {
	m.producers.Add(-int64(producers))
	m.producersTold.Store(false)
}

// transactionalRoomLocked takes room for one more transactional id, if there is.
func (b *Broker) transactionalRoomLocked(id string) bool {
	size := len(id) + transactionalOverhead
	if b.txnBytes+size > maxTransactionalBytes {
		b.options.Log.Warn("too many transactional ids are remembered: InitProducerId with a new one is refused with POLICY_VIOLATION",
			zap.Int("ids", len(b.txns)), zap.Int("bytes", b.txnBytes))
		return false
	}
	b.txnBytes += size
	return true
}

// tooManyConfigBytes refuses configs that are too long to keep.
func tooManyConfigBytes(configs map[string]string) *refusal {
	n := 0
	for name, value := range configs {
		n += len(name) + len(value)
	}
	if n <= maxConfigBytes {
		return nil
	}
	return refuse(kerr.InvalidConfig, "The configs of the topic take %d bytes, and %d are the most that are kept here.", n, maxConfigBytes)
}
