package integration

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// A batch is what a client that is not one of the stock ones puts on the wire.
type batch struct {
	producer  int64
	epoch     int16
	sequence  int32
	timestamp int64  // milliseconds
	numbers   []int  // of its records
	key       string // of its one record, instead of one made from its number
}

// castagnoli is the polynomial of a batch's checksum.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Where the checksum of a batch stands, and what it is about.
const (
	crcAt     = 17
	crcFrom   = 21
	lengthEnd = 12 // of the base offset and the length
)

// bytes encodes the batch.
func (b batch) bytes() []byte {
	head := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: int32(len(b.numbers) - 1),
		FirstTimestamp: b.timestamp, MaxTimestamp: b.timestamp,
		ProducerID: b.producer, ProducerEpoch: b.epoch, FirstSequence: b.sequence, NumRecords: int32(len(b.numbers)),
	}
	for i, n := range b.numbers {
		k := key(n)
		if b.key != "" {
			k = b.key
		}
		head.Records = append(head.Records, record(int32(i), k)...)
	}
	out := head.AppendTo(nil)
	binary.BigEndian.PutUint32(out[lengthEnd-4:], uint32(len(out)-lengthEnd))
	return sealed(out)
}

// sealed writes the right checksum into a batch.
func sealed(raw []byte) []byte {
	binary.BigEndian.PutUint32(raw[crcAt:], crc32.Checksum(raw[crcFrom:], castagnoli))
	return raw
}

func record(delta int32, key string) []byte {
	r := kmsg.Record{OffsetDelta: delta, Key: []byte(key), Value: []byte("value")}
	r.Length = int32(len(r.AppendTo(nil)) - 1) // a length of 0 takes one byte
	return r.AppendTo(nil)
}

// produceOf is a request with one batch for partition 0.
func produceOf(topic string, b batch) *kmsg.ProduceRequest {
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Records = b.bytes()
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.ProduceRequestTopicPartition{partition}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis, req.Topics = -1, 10_000, []kmsg.ProduceRequestTopic{t}
	return req
}

// raw makes a kgo that sends what a test builds, by topic name.
func (s *stage) raw(t testing.TB) *kgo.Client {
	return s.client(t, kgo.MaxVersions(kversion.V3_0_0()), kgo.ClientID("raw"))
}

// send sends a batch once and gives its offset, or the error that was told.
func send(t testing.TB, client *kgo.Client, topic string, b batch) (offset int64, told error) {
	t.Helper()
	answer, err := produceOf(topic, b).RequestWith(patience(t), client.SeedBrokers()[0])
	if err != nil {
		t.Fatal(err)
	}
	p := answer.Topics[0].Partitions[0]
	return p.BaseOffset, kerr.ErrorForCode(p.ErrorCode)
}

// initProducer asks for a producer id.
func initProducer(t testing.TB, client *kgo.Client) int64 {
	t.Helper()
	answer, err := kmsg.NewPtrInitProducerIDRequest().RequestWith(patience(t), client)
	if err != nil || answer.ErrorCode != 0 {
		t.Fatalf("InitProducerId: %v, error code %d", err, answer.ErrorCode)
	}
	return answer.ProducerID
}
