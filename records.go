package fencepost

import (
	"bytes"
	"context"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// A Record is a record as it stands in the log.
type Record struct {
	Partition int32
	Offset    int64
	Timestamp time.Time // of the record, as its producer set it
	Key       []byte    // nil for a null key
	Value     []byte    // nil for a null value
	Headers   []Header
}

// A Header is one header of a record.
type Header struct {
	Key   string
	Value []byte // nil for a null value
}

// Records reads a topic, partition by partition and in order of offset. No fault
// applies to it. The error says that there is no such topic.
func (b *Broker) Records(topic string) (all []Record, err error) {
	err = b.journal.Read(context.Background(), topic, func(partition int32, r wire.Record) error {
		record := Record{
			Partition: partition, Offset: r.Offset, Timestamp: time.UnixMilli(r.Timestamp),
			Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value),
		}
		for _, h := range r.Headers {
			record.Headers = append(record.Headers, Header{h.Key, bytes.Clone(h.Value)})
		}
		all = append(all, record)
		return nil
	})
	return all, err
}
