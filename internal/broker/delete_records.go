package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteRecords, versions 0 to 2.
//
// Moves a log's start; -1 moves it to the end. A start never goes down. The
// memory of the producers stays, so that a replay of records that were deleted
// is still answered with their old offset, as in Kafka.

func (b *Broker) deleteRecords(r *kmsg.DeleteRecordsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.DeleteRecordsResponse)
	for i := range r.Topics {
		asked := &r.Topics[i]
		t := b.lookup(asked.Topic)
		told := kmsg.DeleteRecordsResponseTopic{Topic: asked.Topic}
		for _, p := range asked.Partitions {
			told.Partitions = append(told.Partitions, trimmed(t.partition(p.Partition), p))
		}
		resp.Topics = append(resp.Topics, told)
	}
	return resp
}

func trimmed(p *partition, asked kmsg.DeleteRecordsRequestTopicPartition) kmsg.DeleteRecordsResponseTopicPartition {
	told := kmsg.NewDeleteRecordsResponseTopicPartition()
	told.Partition, told.LowWatermark = asked.Partition, -1
	if p == nil {
		told.ErrorCode = kerr.UnknownTopicOrPartition.Code
		return told
	}
	start, err := p.trim(asked.Offset)
	if err != nil {
		told.ErrorCode = kerr.OffsetOutOfRange.Code
		return told
	}
	told.LowWatermark = start
	return told
}
