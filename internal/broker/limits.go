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
	p.countProducersLocked(before)
}

// countProducersLocked counts those that are new since there were so many.
func (p *partition) countProducersLocked(before int) {
	if n := p.producers.Len() - before; n != 0 {
		p.memory.producers.Add(int64(n))
	}
}

// forget makes room for so many producers.
func (m *memory) forget(producers int) {
	m.producers.Add(-int64(producers))
	m.producersTold.Store(false)
}
