package broker

import (
	"cmp"
	"slices"

	"github.com/fencepostmq/fencepost/internal/txn"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeTransactions, version 0 (KIP-664).

func (b *Broker) describeTransactions(r *kmsg.DescribeTransactionsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.DescribeTransactionsResponse)
	for _, id := range r.TransactionalIDs {
		resp.TransactionStates = append(resp.TransactionStates, b.txns.describe(id))
	}
	return resp
}

func (t *transactions) describe(id string) kmsg.DescribeTransactionsResponseTransactionState {
	told := kmsg.NewDescribeTransactionsResponseTransactionState()
	told.TransactionalID = id
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := t.table.Lookup(id); {
	case id == "":
		told.ErrorCode = kerr.InvalidRequest.Code
	case e == nil:
		told.ErrorCode = kerr.TransactionalIDNotFound.Code
	default:
		told.State, told.TimeoutMillis, told.StartTimestamp = e.State.String(), e.Timeout, e.Started
		told.ProducerID, told.ProducerEpoch = e.Producer.ID, e.Producer.Epoch
		told.Topics = topicsOf(e)
	}
	return told
}

// topicsOf lists the partitions of an open transaction by topic, in order.
func topicsOf(e *txn.Entry[member]) (all []kmsg.DescribeTransactionsResponseTransactionStateTopic) {
	members := slices.SortedFunc(slices.Values(e.Partitions), func(a, b member) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.number, b.number))
	})
	for _, m := range members {
		if n := len(all); n == 0 || all[n-1].Topic != m.topic {
			all = append(all, kmsg.DescribeTransactionsResponseTransactionStateTopic{Topic: m.topic})
		}
		last := &all[len(all)-1]
		last.Partitions = append(last.Partitions, m.number)
	}
	return all
}
