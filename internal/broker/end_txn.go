package broker

import (
	"github.com/fencepostmq/fencepost/internal/txn"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// EndTxn, versions 0 to 5 (every end gives the next epoch from 5, KIP-890).
//
// The markers stand in the logs when the answer is given, where Kafka answers
// first and writes them a moment later.

func (b *Broker) endTxn(r *kmsg.EndTxnRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.EndTxnResponse)
	p, err := txn.Producer{ID: -1, Epoch: -1}, kerr.InvalidRequest
	if r.TransactionalID != "" {
		var refused error
		p, refused = b.txns.end(r.TransactionalID, txn.Producer{ID: r.ProducerID, Epoch: r.ProducerEpoch}, r.Commit, r.Version >= 5)
		err = txnError(refused, r.Version >= 2)
	}
	if err != nil {
		resp.ErrorCode = err.Code
	}
	resp.ProducerID, resp.ProducerEpoch = p.ID, p.Epoch
	return resp
}
