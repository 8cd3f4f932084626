package broker

import (
	"errors"

	"github.com/fencepostmq/fencepost/internal/txn"
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
// Difference from Apache Kafka: a transaction that is open is aborted before the
// answer, so that it is never CONCURRENT_TRANSACTIONS.

// maxTransactionTimeout is the longest transaction timeout in ms, as Kafka's
// transaction.max.timeout.ms has it by default.
const maxTransactionTimeout = 900_000

func (b *Broker) initProducerID(r *kmsg.InitProducerIDRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.InitProducerIDResponse)
	p, err := b.identify(r)
	if err != nil {
		resp.ErrorCode = err.Code
		p = txn.Producer{ID: -1, Epoch: -1}
	}
	resp.ProducerID, resp.ProducerEpoch = p.ID, p.Epoch
	return resp
}

func (b *Broker) identify(r *kmsg.InitProducerIDRequest) (txn.Producer, *kerr.Error) {
	if r.TransactionalID == nil {
		return txn.Producer{ID: b.newProducerID()}, nil
	}
	switch timeout := r.TransactionTimeoutMillis; {
	case *r.TransactionalID == "":
		return txn.Producer{}, kerr.InvalidRequest
	case timeout < 1 || timeout > maxTransactionTimeout:
		return txn.Producer{}, kerr.InvalidTransactionTimeout
	}
	var claim *txn.Producer
	if r.Version >= 3 && r.ProducerID >= 0 {
		claim = &txn.Producer{ID: r.ProducerID, Epoch: r.ProducerEpoch}
	}
	p, err := b.txns.init(*r.TransactionalID, claim, r.TransactionTimeoutMillis)
	if errors.Is(err, txn.ErrFenced) && r.Version < 4 {
		return p, kerr.InvalidProducerEpoch // PRODUCER_FENCED came with version 4
	}
	return p, txnError(err, true)
}

// newProducerID draws a producer id that nobody has.
func (b *Broker) newProducerID() int64 { return b.nextID.Add(1) - 1 }
