package web

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"testing"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A batch is what a test produces. Its records are known by key o-N, where N is
// the sequence.
type batch struct {
	topic     string
	partition int32
	producer  int64 // 0 for none
	epoch     int16
	first     int32 // sequence
	records   int32
	client    string
	acks      int16 // 0 for all; noAcks for none
	value     string
}

const noAcks = 2

// produce sends a batch down the chain, as a connection would.
func (h *house) produce(b batch) wire.Reply {
	h.t.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 12, -1, 1000
	if b.acks == noAcks {
		req.Acks = 0
	}
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = b.partition, b.bytes()
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = b.topic, []kmsg.ProduceRequestTopicPartition{p}
	req.Topics = []kmsg.ProduceRequestTopic{t}
	return h.journal.Handle(h.t.Context(), &wire.Request{
		Conn: &wire.Conn{ID: 1}, Client: b.client, Body: req, Batches: wire.AppendBatches(nil, req),
	})
}

// ask sends any other request.
func (h *house) ask(body kmsg.Request) wire.Reply {
	return h.journal.Handle(h.t.Context(), &wire.Request{Conn: &wire.Conn{ID: 2}, Client: "asker", Body: body})
}

func (b *batch) bytes() []byte {
	var records []byte
	for i := range b.records {
		r := kmsg.NewRecord()
		r.OffsetDelta, r.Key, r.Value = i, fmt.Appendf(nil, "o-%d", b.first+i), []byte("an order"+b.value)
		r.Length = int32(len(r.AppendTo(nil)) - 1) // less the one byte of the length itself
		records = r.AppendTo(records)
	}
	rb := kmsg.NewRecordBatch()
	rb.Magic, rb.PartitionLeaderEpoch = 2, -1
	rb.ProducerID, rb.ProducerEpoch, rb.FirstSequence = b.producer, b.epoch, b.first
	if b.producer == 0 {
		rb.ProducerID, rb.ProducerEpoch, rb.FirstSequence = -1, -1, -1
	}
	rb.NumRecords, rb.LastOffsetDelta = b.records, b.records-1
	rb.FirstTimestamp = time.Date(1999, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli() // before a synctest bubble begins: no record comes from the future
	rb.MaxTimestamp = rb.FirstTimestamp
	rb.Records, rb.Length = records, int32(49+len(records))
	raw := rb.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

// lesson produces a bit of everything: a lost acknowledgement and its replay, a
// gap, a fenced producer, and a batch without a producer id.
func (h *house) lesson() {
	h.t.Helper()
	h.rule("disconnect after produce topic=orders attempt=1 sequence=3")
	for _, b := range []batch{
		{epoch: 0, first: 0, records: 3},
		{epoch: 0, first: 3, records: 2},
		{epoch: 0, first: 3, records: 2},
		{epoch: 0, first: 7, records: 1},
		{epoch: 1, first: 0, records: 1},
		{epoch: 0, first: 5, records: 1},
	} {
		b.topic, b.producer, b.client = "orders", 1000, "orders-app"
		h.produce(b)
	}
	h.produce(batch{topic: "audit", records: 2})
}

func TestLesson_is_what_the_other_tests_take_it_for(t *testing.T) {
	h := build(t)
	h.lesson()
	want := []string{"accepted", "accepted", "duplicate", "out_of_order", "accepted", "fenced", "accepted"}
	for i, e := range h.journal.Events() {
		if got := e.Done.Outcome.String(); got != want[i] {
			t.Errorf("event %d is %s, want %s (%s)", i+1, got, want[i], e)
		}
	}
}
