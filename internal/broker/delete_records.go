package broker

import (
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteRecords, versions 0 to 2.
//
// Moves a log's start; -1 moves it to the end. A start never goes down. The
// memory of the producers stays, so that a replay of records that were deleted
// is still answered with their old offset, as in Kafka. Of a partition that is
// named twice the last offset counts. Records of a topic that is compacted and
// nothing else are not deleted, POLICY_VIOLATION, nor are those of an internal
// topic, INVALID_TOPIC_EXCEPTION.

func (b *Broker) deleteRecords(r *kmsg.DeleteRecordsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.DeleteRecordsResponse)
	upTo, at := offsetsWanted(r), map[string]int{}
	for i := range r.Topics {
		asked := &r.Topics[i]
		t := b.lookup(asked.Topic)
		for _, p := range asked.Partitions {
			tp := wire.TopicPartition{Topic: asked.Topic, Partition: p.Partition}
			offset, due := upTo[tp]
			if !due {
				continue // it was told
			}
			delete(upTo, tp)
			told := topicOf(&resp.Topics, at, kmsg.DeleteRecordsResponseTopic{Topic: asked.Topic}, asked.Topic)
			told.Partitions = append(told.Partitions, t.trim(p.Partition, offset))
		}
	}
	return resp
}

// offsetsWanted is the last offset that a request names of each partition.
func offsetsWanted(r *kmsg.DeleteRecordsRequest) map[wire.TopicPartition]int64 {
	upTo := map[wire.TopicPartition]int64{}
	for i := range r.Topics {
		for _, p := range r.Topics[i].Partitions {
			upTo[wire.TopicPartition{Topic: r.Topics[i].Topic, Partition: p.Partition}] = p.Offset
		}
	}
	return upTo
}

// trim deletes the records of a partition before an offset.
func (t *topic) trim(n int32, offset int64) kmsg.DeleteRecordsResponseTopicPartition {
	told := kmsg.NewDeleteRecordsResponseTopicPartition()
	told.Partition, told.LowWatermark = n, -1
	p := t.partition(n)
	if err := t.notTrimmed(p); err != nil {
		told.ErrorCode = err.Code
		return told
	}
	start, err := p.trim(offset)
	if err != nil {
		told.ErrorCode = kerr.OffsetOutOfRange.Code
		return told
	}
	told.LowWatermark = start
	return told
}

// notTrimmed says why records of a partition are not to be deleted, nil if they
// may be.
func (t *topic) notTrimmed(p *partition) *kerr.Error {
	switch {
	case p == nil:
		return kerr.UnknownTopicOrPartition
	case isInternal(t.name):
		return kerr.InvalidTopicException
	}
	if s := t.settings.Load(); s.records.Keys && !s.delete { // cleanup.policy is compact alone
		return kerr.PolicyViolation
	}
	return nil
}
