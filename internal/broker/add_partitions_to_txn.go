package broker

import (
	"github.com/fencepostmq/fencepost/internal/txn"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AddPartitionsToTxn, versions 0 to 5 (several transactions in one request from
// 4 on, which brokers send to each other; a client may as well).
//
// All partitions of a transaction are added, or none: if one does not exist, the
// others are OPERATION_NOT_ATTEMPTED.

func (b *Broker) addPartitionsToTxn(r *kmsg.AddPartitionsToTxnRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	if r.Version < 4 {
		a := b.adding(r.TransactionalID, txn.Producer{ID: r.ProducerID, Epoch: r.ProducerEpoch}, r.Version)
		for _, t := range r.Topics {
			a.topic(t.Topic, t.Partitions)
		}
		resp.Topics = a.answer(false)
		return resp
	}
	for _, asked := range r.Transactions {
		a := b.adding(asked.TransactionalID, txn.Producer{ID: asked.ProducerID, Epoch: asked.ProducerEpoch}, r.Version)
		for _, t := range asked.Topics {
			a.topic(t.Topic, t.Partitions)
		}
		told := kmsg.NewAddPartitionsToTxnResponseTransaction()
		told.TransactionalID = asked.TransactionalID
		for _, t := range a.answer(asked.VerifyOnly) {
			told.Topics = append(told.Topics, batched(t))
		}
		resp.Transactions = append(resp.Transactions, told)
	}
	return resp
}

// batched is an answer in the form that version 4 brought.
func batched(t kmsg.AddPartitionsToTxnResponseTopic) kmsg.AddPartitionsToTxnResponseTransactionTopic {
	told := kmsg.AddPartitionsToTxnResponseTransactionTopic{Topic: t.Topic}
	for _, p := range t.Partitions {
		told.Partitions = append(told.Partitions, kmsg.AddPartitionsToTxnResponseTransactionTopicPartition{Partition: p.Partition, ErrorCode: p.ErrorCode})
	}
	return told
}

// adding is one transaction that partitions are added to.
type adding struct {
	broker   *Broker
	id       string
	producer txn.Producer
	version  int16

	members []member
	told    []kmsg.AddPartitionsToTxnResponseTopic
	unknown bool // a partition does not exist
}

func (b *Broker) adding(id string, p txn.Producer, version int16) *adding {
	return &adding{broker: b, id: id, producer: p, version: version}
}

// topic notes the partitions of one topic, and which of them do not exist.
func (a *adding) topic(name string, partitions []int32) {
	t, told := a.broker.lookup(name), kmsg.AddPartitionsToTxnResponseTopic{Topic: name}
	for _, n := range partitions {
		p := kmsg.AddPartitionsToTxnResponseTopicPartition{Partition: n}
		if in := t.partition(n); in != nil {
			a.members = append(a.members, member{name, n, in})
		} else {
			p.ErrorCode = kerr.UnknownTopicOrPartition.Code
			a.unknown = true
		}
		told.Partitions = append(told.Partitions, p)
	}
	a.told = append(a.told, told)
}

// answer adds the partitions, or with verify only says whether they were added.
func (a *adding) answer(verify bool) []kmsg.AddPartitionsToTxnResponseTopic {
	var err *kerr.Error
	switch {
	case a.id == "":
		err = kerr.InvalidRequest
	case a.unknown:
		err = kerr.OperationNotAttempted
	case verify:
		err = txnError(a.broker.txns.verify(a.id, a.producer, a.members), true)
	default:
		err = txnError(a.broker.txns.add(a.id, a.producer, a.members), a.version >= 2)
	}
	if err != nil {
		a.fail(err.Code)
	}
	return a.told
}

// fail tells a code for all partitions that have none.
func (a *adding) fail(code int16) {
	for i := range a.told {
		for j := range a.told[i].Partitions {
			if p := &a.told[i].Partitions[j]; p.ErrorCode == 0 {
				p.ErrorCode = code
			}
		}
	}
}
