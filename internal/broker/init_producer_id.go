package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// InitProducerId, versions 0 to 5.
//
// Without a transactional id: always a new producer id with epoch 0, whatever
// id and epoch the client names, as in Kafka. With one: the same id gets the
// same producer and the next epoch, which is how a restarted producer fences its
// zombie. A client that names its present id and epoch (KIP-360) gets the next
// epoch; one that names those before the last bump gets the present ones again.
//
// Differences from Apache Kafka: there are no transactions to abort, so it is
// never answered CONCURRENT_TRANSACTIONS.

const (
	// maxTransactionTimeout is the longest transaction timeout in ms, as Kafka's
	// transaction.max.timeout.ms has it by default.
	maxTransactionTimeout = 900_000
	// lastEpoch is the last epoch that a producer id is given out with. Kafka
	// keeps 32767 for the coordinator's own fencing.
	lastEpoch = 32766
)

// An identity is what a transactional id stands for.
type identity struct {
	id    int64
	epoch int16
	// before is the id and epoch that the last bump was asked with, so that a
	// bump whose answer was lost can be asked again.
	beforeID    int64
	beforeEpoch int16
}

func (b *Broker) initProducerID(r *kmsg.InitProducerIDRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.InitProducerIDResponse)
	id, epoch, err := b.identify(r)
	if err != nil {
		resp.ErrorCode = err.Code
		id, epoch = -1, -1
	}
	resp.ProducerID, resp.ProducerEpoch = id, epoch
	return resp
}

func (b *Broker) identify(r *kmsg.InitProducerIDRequest) (id int64, epoch int16, err *kerr.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.TransactionalID == nil {
		return b.newIDLocked(), 0, nil
	}
	switch timeout := r.TransactionTimeoutMillis; {
	case *r.TransactionalID == "":
		return 0, 0, kerr.InvalidRequest
	case timeout < 1 || timeout > maxTransactionTimeout:
		return 0, 0, kerr.InvalidTransactionTimeout
	}
	who := b.txns[*r.TransactionalID]
	if who == nil {
		if !b.transactionalRoomLocked(*r.TransactionalID) {
			return 0, 0, kerr.PolicyViolation
		}
		who = &identity{id: b.newIDLocked(), beforeID: -1, beforeEpoch: -1}
		b.txns[*r.TransactionalID] = who
		return who.id, who.epoch, nil
	}
	claimed := r.Version >= 3 && r.ProducerID >= 0
	switch {
	case claimed && r.ProducerID == who.beforeID && r.ProducerEpoch == who.beforeEpoch:
		return who.id, who.epoch, nil
	case claimed && (r.ProducerID != who.id || r.ProducerEpoch != who.epoch):
		return 0, 0, fenced(r.Version)
	}
	b.bumpLocked(who, claimed)
	return who.id, who.epoch, nil
}

// bumpLocked gives the next epoch, or when there is none left the next id.
func (b *Broker) bumpLocked(who *identity, claimed bool) {
	who.beforeID, who.beforeEpoch = -1, -1
	if claimed {
		who.beforeID, who.beforeEpoch = who.id, who.epoch
	}
	if who.epoch++; who.epoch > lastEpoch {
		who.id, who.epoch = b.newIDLocked(), 0
	}
}

func (b *Broker) newIDLocked() int64 {
	b.nextID++
	return b.nextID - 1
}

// fenced is the error for a stale epoch; PRODUCER_FENCED came with version 4.
func fenced(version int16) *kerr.Error {
	if version < 4 {
		return kerr.InvalidProducerEpoch
	}
	return kerr.ProducerFenced
}
