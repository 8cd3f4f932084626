package journal

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// endless is a producer's batches of one record, each in sequence, and a broker
// that accepts them all. Nothing is allocated for a request.
type endless struct {
	req    wire.Request
	resp   *kmsg.ProduceResponse
	reply  wire.Reply
	offset int64
}

func newEndless(topic string, producerID int64) *endless {
	b := by(producerID, 0, "value")
	body := produceRequest(-1, map[wire.TopicPartition][]byte{{Topic: topic}: b.raw()})
	e := &endless{req: wire.Request{Conn: &wire.Conn{ID: 1}, Client: "bench", Body: body, Batches: wire.AppendBatches(nil, body)}}
	e.resp = body.ResponseKind().(*kmsg.ProduceResponse)
	e.resp.Topics = []kmsg.ProduceResponseTopic{{Topic: topic, Partitions: make([]kmsg.ProduceResponseTopicPartition, 1)}}
	e.reply = wire.Reply{Done: e.resp, Told: e.resp}
	return e
}

func (e *endless) Handle(context.Context, *wire.Request) wire.Reply {
	e.resp.Topics[0].Partitions[0].BaseOffset = e.offset
	e.offset++
	return e.reply
}

func (e *endless) next() *wire.Request {
	h := &e.req.Batches[0].Header
	if h.ProducerID >= 0 {
		h.FirstSequence = producer.Next(h.FirstSequence)
	} else {
		h.CRC++
	}
	return &e.req
}

// BenchmarkHandle measures what the journal adds to a batch that is accepted at
// its first delivery and confirmed.
func BenchmarkHandle(b *testing.B) {
	for _, bb := range []struct {
		name     string
		producer int64
	}{{"idempotent", 1000}, {"plain", -1}} {
		b.Run(bb.name, func(b *testing.B) {
			e := newEndless("orders", bb.producer)
			j := New(e, Options{})
			for range 2 * plainKept { // until nothing grows any more
				j.Handle(b.Context(), e.next())
			}
			b.ReportAllocs()
			for b.Loop() {
				j.Handle(b.Context(), e.next())
			}
			if got := j.Counts()["orders"].Batches; got != uint64(e.offset) {
				b.Fatalf("%d of %d batches accepted", got, e.offset)
			}
		})
	}
}

func TestHandle_of_a_plain_first_acceptance_does_not_allocate(t *testing.T) {
	for _, id := range []int64{1000, -1} {
		t.Run(fmt.Sprintf("producer %d", id), func(t *testing.T) {
			e := newEndless("orders", id)
			j := New(e, Options{})
			ctx := t.Context()
			handle := func() { j.Handle(ctx, e.next()) }
			for range 3 * plainKept { // until the oldest are forgotten
				handle()
			}
			if allocs := testing.AllocsPerRun(1000, handle); allocs != 0 {
				t.Errorf("%v allocations, want none", allocs)
			}
		})
	}
}

// fill writes batches of 1,000 records, each record unlike the
// others, until the topic holds the given number. It returns the one batch whose
// ack was lost.
func fill(s *setup, records int) {
	s.on("drop after produce", once(sequence(5000)))
	p := s.peer("bench")
	values := make([]string, 1000)
	for at := 0; at < records; at += len(values) {
		for i := range values {
			values[i] = strconv.Itoa(at + i)
		}
		p.send(by(1000, int32(at), values...))
	}
}

// BenchmarkVerdict measures the verdict on five million records of which one
// batch is unconfirmed, with and without an identity.
func BenchmarkVerdict(b *testing.B) {
	s := newSetup(b, Options{})
	fill(s, 5_000_000)
	for _, id := range []Identity{IdentityNone, IdentityValue} {
		b.Run("identity="+id.String(), func(b *testing.B) {
			s.journal.SetIdentity(id)
			b.ReportAllocs()
			for b.Loop() {
				if v := s.verdict(); (v.Totals != Totals{Unconfirmed: 1}) {
					b.Fatal(v)
				}
			}
		})
	}
}
