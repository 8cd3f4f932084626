package fault

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/fencepostmq/fencepost/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A worker stands for the broker: it appends batches to slices, hands out
// producer ids, and answers. Partitions from 90 on it does not know.
type worker struct {
	mu       sync.Mutex
	asked    []string // each request that came, with its partitions
	appended map[wire.TopicPartition]int64
	nextID   int64
	during   func() // runs while a request is handled
}

const unknownTopicOrPartition = 3

func newWorker() *worker { return &worker{appended: make(map[wire.TopicPartition]int64)} }

func (w *worker) Handle(_ context.Context, req *wire.Request) wire.Reply {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.during != nil {
		w.during()
	}
	w.asked = append(w.asked, describe(req))
	switch body := req.Body.(type) {
	case *kmsg.ProduceRequest:
		return w.produce(req, body)
	case *kmsg.InitProducerIDRequest:
		resp := body.ResponseKind().(*kmsg.InitProducerIDResponse)
		resp.ProducerID = 1000 + w.nextID
		w.nextID++
		return sent(resp)
	case *kmsg.MetadataRequest:
		return sent(metadataOf(body))
	case *kmsg.FetchRequest:
		return sent(wire.ErrorAnswer(body, 0, ""))
	}
	return sent(req.Body.ResponseKind())
}

func sent(resp kmsg.Response) wire.Reply { return wire.Reply{Done: resp, Told: resp} }

func metadataOf(body *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	resp := body.ResponseKind().(*kmsg.MetadataResponse)
	resp.Brokers = append(resp.Brokers, kmsg.NewMetadataResponseBroker())
	for _, t := range body.Topics {
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic = t.Topic
		topic.Partitions = append(topic.Partitions, kmsg.NewMetadataResponseTopicPartition())
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

func (w *worker) produce(req *wire.Request, body *kmsg.ProduceRequest) wire.Reply {
	resp := wire.ErrorAnswer(body, 0, "").(*kmsg.ProduceResponse)
	next := 0
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			w.append(&req.Batches[next], &resp.Topics[i].Partitions[j])
			next++
		}
	}
	if body.Acks == 0 {
		return wire.Reply{Done: resp, Fate: wire.Silent}
	}
	return sent(resp)
}

func (w *worker) append(b *wire.Batch, p *kmsg.ProduceResponseTopicPartition) {
	if b.Partition >= 90 {
		p.ErrorCode, p.BaseOffset = unknownTopicOrPartition, 0 // as a careless broker would
		return
	}
	tp := wire.TopicPartition{Topic: b.Topic, Partition: b.Partition}
	p.BaseOffset = w.appended[tp]
	w.appended[tp] += int64(max(1, b.Header.NumRecords))
}

// describe says which partitions came, by the batches too: the two must agree.
func describe(req *wire.Request) string {
	var words []string
	for tp := range wire.Partitions(req.Body) {
		words = append(words, tp.String())
	}
	if len(req.Batches) > 0 {
		var batches []string
		for _, b := range req.Batches {
			batches = append(batches, wire.TopicPartition{Topic: b.Topic, Partition: b.Partition}.String())
		}
		if !slices.Equal(words, batches) {
			words = append(words, "but batches", strings.Join(batches, " "))
		}
	}
	return strings.TrimSpace(kmsg.NameForKey(req.Body.Key()) + " " + strings.Join(words, " "))
}

// tell says what a client learns: each partition, or the whole, with its error.
func tell(resp kmsg.Response) string {
	if resp == nil || reflect.ValueOf(resp).IsNil() {
		return "nothing"
	}
	var words []string
	top := reflect.ValueOf(resp).Elem().FieldByName("ErrorCode")
	if top.IsValid() && (top.Int() != 0 || !wire.HasTopics(resp.Key())) {
		words = append(words, fmt.Sprint(top.Int()))
	}
	switch r := resp.(type) {
	case *kmsg.ProduceResponse:
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				words = append(words, fmt.Sprintf("%s-%d:%d@%d", t.Topic, p.Partition, p.ErrorCode, p.BaseOffset))
			}
		}
	case *kmsg.FetchResponse:
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				words = append(words, fmt.Sprintf("%s-%d:%d", t.Topic, p.Partition, p.ErrorCode))
			}
		}
	case *kmsg.MetadataResponse:
		for _, t := range r.Topics {
			words = append(words, fmt.Sprintf("%s:%d", *t.Topic, t.ErrorCode))
		}
	}
	return strings.Join(words, " ")
}

func fateOf(reply wire.Reply) string {
	fate := []string{wire.Send: "send", wire.Silent: "silent", wire.LoseAnswers: "lose answers",
		wire.LoseRequests: "lose requests", wire.Close: "close"}[reply.Fate]
	if reply.Reason != wire.ReasonNone {
		fate += ": " + reply.Reason.String()
	}
	return fate
}

// firedIn lists the rules that had a hand in a reply.
func firedIn(reply wire.Reply) []string {
	var rules []string
	for _, f := range reply.Fired {
		rule := f.Rule
		for _, tp := range f.Partitions {
			rule += " on " + tp.String()
		}
		rules = append(rules, rule)
	}
	return rules
}

// A batch for a test: producer 7, three records, its first delivery.
func batchOf(topic string, partition int32) wire.Batch {
	b := wire.Batch{Topic: topic, Partition: partition, Attempt: 1}
	b.Header = kmsg.RecordBatch{ProducerID: 7, NumRecords: 3}
	return b
}

func from(b wire.Batch, producer int64) wire.Batch {
	b.Header.ProducerID = producer
	return b
}

func delivered(b wire.Batch, attempt int) wire.Batch {
	b.Attempt = attempt
	return b
}

func holding(b wire.Batch, first, records int32) wire.Batch {
	b.Header.FirstSequence, b.Header.NumRecords = first, records
	return b
}

// plain is a batch of a producer that is not idempotent.
func plain(b wire.Batch) wire.Batch {
	b.Header.ProducerID, b.Header.FirstSequence = -1, -1
	return b
}

func unreadable(b wire.Batch) wire.Batch {
	b.Header, b.Err = kmsg.RecordBatch{}, errors.New("too short")
	return b
}

// produce is a Produce request of batches, acks=all.
func produce(batches ...wire.Batch) *wire.Request {
	body := kmsg.NewPtrProduceRequest()
	body.Version, body.Acks = 9, -1
	for _, b := range batches {
		if n := len(body.Topics); n == 0 || body.Topics[n-1].Topic != b.Topic {
			body.Topics = append(body.Topics, kmsg.ProduceRequestTopic{Topic: b.Topic})
		}
		t := &body.Topics[len(body.Topics)-1]
		t.Partitions = append(t.Partitions, kmsg.ProduceRequestTopicPartition{Partition: b.Partition})
	}
	return &wire.Request{Conn: &wire.Conn{}, Client: "kgo", Body: body, Batches: batches}
}

func acks0(req *wire.Request) *wire.Request {
	req.Body.(*kmsg.ProduceRequest).Acks = 0
	return req
}

func initProducer(id int64) *wire.Request {
	body := kmsg.NewPtrInitProducerIDRequest()
	body.Version, body.ProducerID = 4, id
	return &wire.Request{Conn: &wire.Conn{}, Client: "kgo", Body: body}
}

func metadata(topics ...string) *wire.Request {
	body := kmsg.NewPtrMetadataRequest()
	body.Version = 13
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		body.Topics = append(body.Topics, t)
	}
	return &wire.Request{Conn: &wire.Conn{}, Client: "kgo", Body: body}
}

// fetch asks a topic's partitions for offsets, partition by partition from 0.
func fetch(topic string, offsets ...int64) *wire.Request {
	body := kmsg.NewPtrFetchRequest()
	body.Version = 12
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	for i, offset := range offsets {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset = int32(i), offset
		t.Partitions = append(t.Partitions, p)
	}
	body.Topics = append(body.Topics, t)
	return &wire.Request{Conn: &wire.Conn{}, Client: "kgo", Body: body}
}

func apiVersions() *wire.Request {
	return &wire.Request{Conn: &wire.Conn{}, Client: "kgo", Body: kmsg.NewPtrApiVersionsRequest()}
}

// as is the request from another client.
func as(client string, req *wire.Request) *wire.Request {
	req.Client = client
	return req
}

// setOf is a set with rules, in front of a worker.
func setOf(t testing.TB, next wire.Handler, sentences ...string) *Set {
	t.Helper()
	s := New(42, next)
	for _, sentence := range sentences {
		add(t, s, sentence)
	}
	return s
}

func add(t testing.TB, s *Set, sentence string) Rule {
	t.Helper()
	r, err := Parse(sentence)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = s.Add(r); err != nil {
		t.Fatal(err)
	}
	return r
}
