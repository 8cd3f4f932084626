package broker

import (
	"unicode/utf16"

	"github.com/fencepostmq/fencepost/internal/txn"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AddOffsetsToTxn, versions 0 to 4: the offsets of a group become part of a
// transaction, as the partition of __consumer_offsets that Kafka keeps them in.

func (b *Broker) addOffsetsToTxn(r *kmsg.AddOffsetsToTxnRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
	err := kerr.InvalidRequest
	if r.TransactionalID != "" {
		by := txn.Producer{ID: r.ProducerID, Epoch: r.ProducerEpoch}
		err = txnError(b.txns.add(r.TransactionalID, by, []member{offsetsOf(r.Group)}), r.Version >= 2)
	}
	if err != nil {
		resp.ErrorCode = err.Code
	}
	return resp
}

// offsetsOf is what stands in a transaction for the offsets of a group. It has no
// partition: nothing is written to one.
func offsetsOf(group string) member {
	hash := int32(0) // String.hashCode of Java
	for _, unit := range utf16.Encode([]rune(group)) {
		hash = 31*hash + int32(unit)
	}
	return member{topic: consumerOffsets, number: (hash & 0x7fffffff) % internalPartitions}
}
