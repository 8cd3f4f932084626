package fencepost_test

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"testing"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkRun_to_first_ack is what a test pays for a broker: from the call of Run to
// the first acknowledgement, reported as ns/first-ack. Closing is in ns/op.
func BenchmarkRun_to_first_ack(b *testing.B) {
	send := firstProduce()
	for _, bb := range []struct {
		name    string
		options []fencepost.Option
		dial    func(*fencepost.Broker) (net.Conn, error)
	}{
		{"tcp", nil, func(br *fencepost.Broker) (net.Conn, error) { return net.Dial("tcp", br.Addr()) }},
		{"in memory", []fencepost.Option{fencepost.InMemory()}, func(br *fencepost.Broker) (net.Conn, error) {
			return br.Dial(context.Background(), "", "")
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			var total time.Duration
			for b.Loop() {
				began := time.Now()
				br, err := fencepost.Run(append(bb.options, fencepost.Topic("orders", 1))...)
				if err != nil {
					b.Fatal(err)
				}
				c, err := bb.dial(br)
				if err != nil {
					b.Fatal(err)
				}
				acknowledged(b, c, send)
				total += time.Since(began)
				c.Close()
				br.Close()
			}
			b.ReportMetric(float64(total.Nanoseconds())/float64(b.N), "ns/first-ack")
		})
	}
}

// acknowledged sends a Produce of version 9 and reads its answer.
func acknowledged(b *testing.B, c net.Conn, request []byte) {
	if _, err := c.Write(request); err != nil {
		b.Fatal(err)
	}
	var length [4]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		b.Fatal(err)
	}
	answer := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(c, answer); err != nil {
		b.Fatal(err)
	}
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = 9
	if err := resp.ReadFrom(answer[5:]); err != nil { // behind a correlation id and no tags
		b.Fatal(err)
	}
	if p := resp.Topics[0].Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != 0 {
		b.Fatalf("the first batch was answered with code %d, offset %d", p.ErrorCode, p.BaseOffset)
	}
}

// firstProduce is a Produce of one idempotent batch of one record.
func firstProduce() []byte {
	record := kmsg.NewRecord()
	record.Value = []byte("o-1")
	record.Length = int32(len(record.AppendTo(nil)) - 1) // AppendTo wrote a length of 0 in one byte

	batch := kmsg.NewRecordBatch()
	batch.Magic, batch.NumRecords, batch.PartitionLeaderEpoch = 2, 1, -1
	batch.ProducerID = 1
	batch.FirstTimestamp = time.Now().UnixMilli()
	batch.MaxTimestamp = batch.FirstTimestamp
	batch.Records = record.AppendTo(nil)
	raw := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))

	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, -1, 30_000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: "orders", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: raw}}}}
	return kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)
}
