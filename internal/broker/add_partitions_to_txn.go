package broker

import (
	"github.com/fencepostmq/fencepost/internal/txn"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AddPartitionsToTxn, versions 0 to 3. Kafka serves 4 and 5 too, which are for
// brokers among themselves; clients that try them fall back.
//
// All partitions of a transaction are added, or none: if one does not exist, the
// others are OPERATION_NOT_ATTEMPTED.

func (b *Broker) addPartitionsToTxn(r *kmsg.AddPartitionsToTxnRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	a := adding{broker: b, id: r.TransactionalID, producer: txn.Producer{ID: r.ProducerID, Epoch: r.ProducerEpoch}, version: r.Version}
	for _, t := range r.Topics {
		a.topic(t.Topic, t.Partitions)
	}
	resp.Topics = a.answer()
	return resp
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

// answer adds the partitions.
func (a *adding) answer() []kmsg.AddPartitionsToTxnResponseTopic {
	var err *kerr.Error
	switch {
	case a.id == "":
		err = kerr.InvalidRequest
	case a.unknown:
		err = kerr.OperationNotAttempted
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
