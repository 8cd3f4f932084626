package broker

import (
	"errors"
	"fmt"

	"github.com/fencepostmq/fencepost/internal/txn"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// produce judges and writes one record set of a request that has a
// transactional id. A batch that is part of a transaction needs one that is open
// and has the partition in it; from version 12 on the batch itself puts it there
// (KIP-890). Once it has written, a producer is not asked again.
func (t *transactions) produce(id string, m member, req *wire.Request, records []byte, rules wire.BatchRules, told *kmsg.ProduceResponseTopicPartition) {
	h, bad := wire.ParseBatchHeader(records)
	if bad != nil || !wire.IsTransactional(h.Attributes) || h.ProducerID < 0 {
		m.partition.produce(req, records, rules, told)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	by := txn.Producer{ID: h.ProducerID, Epoch: h.ProducerEpoch}
	if refused := t.mayWriteLocked(id, by, m, rules.Version); refused != nil {
		told.ErrorCode, told.ErrorMessage = refused.code, &refused.text
		return
	}
	m.partition.produce(req, records, rules, told)
}

func (t *transactions) mayWriteLocked(id string, by txn.Producer, m member, version int16) *refusal {
	if m.partition.writes(by.ID) {
		return nil
	}
	if id == "" {
		return refuse(kerr.InvalidRequest, "a transactional id must not be empty")
	}
	err := t.table.Verify(id, by, m)
	if errors.Is(err, txn.ErrNotAdded) && version >= 12 {
		err = t.addLocked(id, by, m)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, txn.ErrNotAdded) && version < 11:
		return refuse(kerr.InvalidTxnState, "%v; AddPartitionsToTxn puts it there", err)
	case errors.Is(err, txn.ErrFenced):
		return refuse(kerr.InvalidProducerEpoch, "%v", fencedBy(t.table.Lookup(id), by))
	}
	return refuse(txnError(err, false), "%v", err)
}

// fencedBy says which epoch a transactional id has.
func fencedBy(e *txn.Entry[member], by txn.Producer) string {
	return fmt.Sprintf("fenced: producer %d has epoch %d, and this batch has %d", by.ID, e.Producer.Epoch, by.Epoch)
}
