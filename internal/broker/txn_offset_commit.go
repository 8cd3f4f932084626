package broker

import (
	"errors"

	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/fencepostmq/fencepost/internal/txn"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TxnOffsetCommit, versions 0 to 6 (members and generations from 3, the group joins
// the transaction by itself from 5, topic ids from 6).
//
// Offsets that a producer commits in a transaction count from its end on, if it
// commits. Whoever names neither a member nor a generation may commit to any group.

// The versions of TxnOffsetCommit in which something changed.
const (
	txnCommitAbortableSince = 4
	txnCommitAddsSince      = 5
	txnCommitTopicIDsSince  = 6
)

func (b *Broker) txnOffsetCommit(r *kmsg.TxnOffsetCommitRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	told := kmsg.NewPtrOffsetCommitResponse()
	by := txn.Producer{ID: r.ProducerID, Epoch: r.ProducerEpoch}
	b.commitOffsets(plainCommit(r), told, func(k group.Commit) (int16, []group.Reason) {
		return b.txns.commitOffsets(r.TransactionalID, by, r.Version, k)
	})
	for _, t := range told.Topics {
		topic := kmsg.TxnOffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: p.ErrorCode})
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

// plainCommit is what a request without a transaction would be.
func plainCommit(r *kmsg.TxnOffsetCommitRequest) *kmsg.OffsetCommitRequest {
	plain := kmsg.NewPtrOffsetCommitRequest()
	plain.Version = commitTopicIDsSince - 1
	if r.Version >= txnCommitTopicIDsSince {
		plain.Version = commitTopicIDsSince
	}
	plain.Group, plain.MemberID, plain.InstanceID, plain.Generation = r.Group, r.MemberID, r.InstanceID, r.Generation
	for _, t := range r.Topics {
		topic := kmsg.NewOffsetCommitRequestTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			from := kmsg.NewOffsetCommitRequestTopicPartition()
			from.Partition, from.Offset, from.LeaderEpoch, from.Metadata = p.Partition, p.Offset, p.LeaderEpoch, p.Metadata
			topic.Partitions = append(topic.Partitions, from)
		}
		plain.Topics = append(plain.Topics, topic)
	}
	return plain
}

// commitOffsets keeps offsets for the end of a transaction.
func (t *transactions) commitOffsets(id string, by txn.Producer, version int16, k group.Commit) (int16, []group.Reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := offsetsOf(k.Group)
	err := t.table.Verify(id, by, m)
	if errors.Is(err, txn.ErrNotAdded) && version >= txnCommitAddsSince {
		err = t.addLocked(id, by, m)
	}
	switch {
	case errors.Is(err, txn.ErrNotAdded) && version < txnCommitAbortableSince:
		return kerr.InvalidTxnState.Code, nil
	case err != nil:
		return txnError(err, false).Code, nil
	}
	why, each := t.groups.CommitPending(k, by.ID)
	return groupCode(why), each
}
