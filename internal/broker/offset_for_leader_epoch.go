package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetForLeaderEpoch, versions 2 to 4: where the records of a leader epoch end.
//
// There is one epoch, that of the one leader, and it ends where the log does. An
// epoch that is yet to come, and -1, have no end: -1. Another negative one lies
// before the first and ends where the log starts, as in Kafka. Who asks, a
// consumer or a replica, makes no difference.

// noEpoch is the leader epoch of who does not know one.
const noEpoch = -1

func (b *Broker) offsetForLeaderEpoch(r *kmsg.OffsetForLeaderEpochRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for i := range r.Topics {
		asked := &r.Topics[i]
		t := b.lookup(asked.Topic)
		told := kmsg.OffsetForLeaderEpochResponseTopic{Topic: asked.Topic}
		for j := range asked.Partitions {
			p := &asked.Partitions[j]
			told.Partitions = append(told.Partitions, epochEnd(t.partition(p.Partition), p))
		}
		resp.Topics = append(resp.Topics, told)
	}
	return resp
}

func epochEnd(from *partition, asked *kmsg.OffsetForLeaderEpochRequestTopicPartition) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	told := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	told.Partition = asked.Partition
	if from == nil {
		told.ErrorCode = kerr.UnknownTopicOrPartition.Code
		return told
	}
	if err := staleEpoch(asked.CurrentLeaderEpoch); err != nil {
		told.ErrorCode = err.Code
		return told
	}
	start, end := from.offsets()
	switch epoch := asked.LeaderEpoch; {
	case epoch == leaderEpoch:
		told.LeaderEpoch, told.EndOffset = epoch, end
	case epoch < noEpoch:
		told.LeaderEpoch, told.EndOffset = epoch, start
	}
	return told
}

// staleEpoch judges the epoch in which a client believes the leader to be, nil if
// it is right or not told.
func staleEpoch(current int32) *kerr.Error {
	switch {
	case current > leaderEpoch:
		return kerr.UnknownLeaderEpoch
	case current < noEpoch:
		return kerr.FencedLeaderEpoch
	}
	return nil
}
