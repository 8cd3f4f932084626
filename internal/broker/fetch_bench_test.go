package broker

import (
	"fmt"
	"math"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkFetch reads without a session and without a socket: what is left is
// the broker's own work for an answer, which does not depend on the bytes that
// it holds.
func BenchmarkFetch(b *testing.B) {
	for _, partitions := range []int32{1, 10, 100} {
		b.Run(fmt.Sprintf("%d partitions", partitions), func(b *testing.B) {
			n := &node{Broker: New(Options{}), t: b}
			n.make("bench", partitions, nil)
			req := &wire.Request{Conn: &wire.Conn{}, Body: stocked(n, partitions)}
			b.ReportAllocs()
			for b.Loop() {
				n.Handle(b.Context(), req)
			}
		})
	}
}

// stocked writes a batch to each partition of "bench" and makes the request that
// reads them all.
func stocked(n *node, partitions int32) *kmsg.FetchRequest {
	t := kmsg.NewFetchRequestTopic()
	t.Topic = "bench"
	batch := plain(1).bytes()
	for i := range partitions {
		checked, bad := new(wire.Request).CheckBatch(batch, wire.BatchRules{MaxBytes: 1000})
		if bad != nil {
			n.t.Fatal(bad)
		}
		n.at("bench", i).append(nil, checked)
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.PartitionMaxBytes = i, math.MaxInt32
		t.Partitions = append(t.Partitions, p)
	}
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MinBytes, req.MaxWaitMillis, req.Topics = fetchVersion, 1, 500, []kmsg.FetchRequestTopic{t}
	return req
}
