package journal

import (
	"context"
	"fmt"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// metadataVersion is one that asks by name and can be told to make no topic.
const metadataVersion = 9

// Read visits the records of a topic as they stand in the log, partition by
// partition and in order of offset. No fault applies to it. A record is valid
// until yield returns. The error is yield's, or says why a partition cannot be
// read.
func (j *Journal) Read(ctx context.Context, topic string, yield func(partition int32, r wire.Record) error) error {
	r := reader{next: j.next, topic: topic}
	partitions, err := r.partitions(ctx)
	if err != nil {
		return err
	}
	for _, partition := range partitions {
		from, to, err := r.bounds(ctx, partition)
		if err != nil {
			return err
		}
		err = r.each(ctx, partition, from, to, scanBytes, func(v *visit) error { return yield(v.partition, v.record) })
		if err != nil {
			return err
		}
	}
	return nil
}

// partitions lists the partitions that the topic has.
func (r *reader) partitions(ctx context.Context) (all []int32, err error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.AllowAutoTopicCreation = metadataVersion, false
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &r.topic}}
	resp, ok := r.ask(ctx, req).(*kmsg.MetadataResponse)
	if !ok || len(resp.Topics) != 1 {
		return nil, fmt.Errorf("topic %s cannot be read: there was no answer to a Metadata request", r.topic)
	}
	t := &resp.Topics[0]
	if t.ErrorCode == kerr.UnknownTopicOrPartition.Code {
		return nil, fmt.Errorf("there is no topic %s", r.topic)
	}
	if t.ErrorCode != 0 {
		return nil, fmt.Errorf("topic %s cannot be read: %s", r.topic, errorName(t.ErrorCode))
	}
	for i := range t.Partitions {
		all = append(all, t.Partitions[i].Partition)
	}
	return all, nil
}
