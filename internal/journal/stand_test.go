package journal

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"

	"github.com/fencepostmq/fencepost/internal/log"
	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// broker is a small broker: it judges batches by the lesson, appends them, and
// reads them back. A topic appears when it is first written to.
type broker struct {
	partitions map[wire.TopicPartition]*standing
	fetches    int
}

type standing struct {
	log       log.Log
	producers *producer.Producers
}

func newBroker() *broker {
	return &broker{partitions: make(map[wire.TopicPartition]*standing)}
}

func (b *broker) Handle(_ context.Context, req *wire.Request) wire.Reply {
	var resp kmsg.Response
	switch r := req.Body.(type) {
	case *kmsg.ProduceRequest:
		return b.produce(r)
	case *kmsg.FetchRequest:
		b.fetches++
		resp = b.fetch(r)
	case *kmsg.MetadataRequest:
		resp = b.metadata(r)
	case *kmsg.ListOffsetsRequest:
		resp = b.listOffsets(r)
	case *kmsg.DeleteTopicsRequest:
		resp = b.deleteTopics(r)
	default:
		resp = r.ResponseKind()
	}
	return wire.Reply{Done: resp, Told: resp}
}

func (b *broker) produce(r *kmsg.ProduceRequest) wire.Reply {
	resp := r.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range r.Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, b.append(t.Topic, p.Partition, p.Records))
		}
		resp.Topics = append(resp.Topics, rt)
	}
	if r.Acks == 0 {
		return wire.Reply{Done: resp, Fate: wire.Silent}
	}
	return wire.Reply{Done: resp, Told: resp}
}

func (b *broker) append(topic string, partition int32, raw []byte) kmsg.ProduceResponseTopicPartition {
	told := kmsg.NewProduceResponseTopicPartition()
	told.Partition, told.BaseOffset = partition, -1
	refuse := func(code int16, message string) kmsg.ProduceResponseTopicPartition {
		told.ErrorCode, told.ErrorMessage = code, &message
		return told
	}
	checked, bad := new(wire.Request).CheckBatch(raw, wire.BatchRules{MaxBytes: 64 << 20, Version: 9})
	if bad != nil {
		return refuse(bad.Code, bad.Problem)
	}
	s := b.at(topic, partition)
	pb := producer.Batch{ProducerID: checked.ProducerID, Epoch: checked.ProducerEpoch, First: checked.FirstSequence, Records: checked.NumRecords}
	if pb.ProducerID >= 0 {
		switch o := s.producers.Check(pb); o.Kind {
		case producer.Duplicate:
			told.BaseOffset = o.BaseOffset
			return told
		case producer.OutOfOrder:
			return refuse(kerr.OutOfOrderSequenceNumber.Code, o.String())
		case producer.Fenced:
			return refuse(kerr.InvalidProducerEpoch.Code, o.String())
		}
	}
	told.BaseOffset = s.log.Append(raw, 0, log.Meta{Records: checked.NumRecords, MaxTimestamp: checked.MaxTimestamp})
	if pb.ProducerID >= 0 {
		s.producers.Record(pb, told.BaseOffset, 0)
	}
	return told
}

func (b *broker) at(topic string, partition int32) *standing {
	tp := wire.TopicPartition{Topic: topic, Partition: partition}
	if b.partitions[tp] == nil {
		b.partitions[tp] = &standing{producers: producer.New(producer.Refuse)}
	}
	return b.partitions[tp]
}

func (b *broker) fetch(r *kmsg.FetchRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.FetchResponse)
	for _, t := range r.Topics {
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, b.read(t.Topic, p))
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func (b *broker) read(topic string, asked kmsg.FetchRequestTopicPartition) kmsg.FetchResponseTopicPartition {
	told := kmsg.NewFetchResponseTopicPartition()
	told.Partition, told.HighWatermark, told.LogStartOffset = asked.Partition, -1, -1
	s := b.partitions[wire.TopicPartition{Topic: topic, Partition: asked.Partition}]
	if s == nil {
		told.ErrorCode = kerr.UnknownTopicOrPartition.Code
		return told
	}
	raw, err := s.log.Read(asked.FetchOffset, int(asked.PartitionMaxBytes))
	if err != nil {
		told.ErrorCode = kerr.OffsetOutOfRange.Code
		return told
	}
	told.HighWatermark, told.LogStartOffset, told.RecordBatches = s.log.End(), s.log.Start(), raw
	return told
}

func (b *broker) listOffsets(r *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.ListOffsetsResponse)
	told := kmsg.NewListOffsetsResponseTopicPartition()
	told.Partition = r.Topics[0].Partitions[0].Partition
	told.Offset = b.at(r.Topics[0].Topic, told.Partition).log.Start()
	t := kmsg.NewListOffsetsResponseTopic()
	t.Topic, t.Partitions = r.Topics[0].Topic, append(t.Partitions, told)
	resp.Topics = append(resp.Topics, t)
	return resp
}

// metadata tells of a topic that was written to: it has partitions up to the
// last of them.
func (b *broker) metadata(r *kmsg.MetadataRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.MetadataResponse)
	for _, asked := range r.Topics {
		t := kmsg.NewMetadataResponseTopic()
		t.Topic = asked.Topic
		for tp := range b.partitions {
			for n := int32(len(t.Partitions)); tp.Topic == *asked.Topic && n <= tp.Partition; n++ {
				t.Partitions = append(t.Partitions, kmsg.MetadataResponseTopicPartition{Partition: n})
			}
		}
		if t.Partitions == nil {
			t.ErrorCode = kerr.UnknownTopicOrPartition.Code
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func (b *broker) deleteTopics(r *kmsg.DeleteTopicsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.DeleteTopicsResponse)
	for _, name := range r.TopicNames {
		t := kmsg.NewDeleteTopicsResponseTopic()
		t.Topic, t.ErrorCode = &name, kerr.UnknownTopicOrPartition.Code
		for tp := range maps.Clone(b.partitions) {
			if tp.Topic == name {
				delete(b.partitions, tp)
				t.ErrorCode = 0
			}
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// contents lists the values of a partition in order.
func (b *broker) contents(t tb, topic string, partition int32) (values []string) {
	t.Helper()
	r := reader{next: b, topic: topic}
	s := b.at(topic, partition)
	err := r.each(t.Context(), partition, s.log.Start(), s.log.End(), scanBytes, func(v *visit) error {
		values = append(values, string(v.record.Value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// A rule is what a fault does to requests; it stands between journal and broker.
type rule struct {
	text  string
	match func(*wire.Request) bool
	do    func(ctx context.Context, req *wire.Request, next wire.Handler) wire.Reply
}

// tb is what *testing.T, *testing.B and *rapid.T have in common.
type tb interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// setup is a journal in front of rules in front of a broker.
type setup struct {
	t       tb
	broker  *broker
	journal *Journal
	rules   []*rule
	conns   int64
	reply   wire.Reply // the last to a client, as the journal sees it
}

func newSetup(t tb, o Options) *setup {
	s := &setup{t: t, broker: newBroker()}
	s.journal = New(wire.HandlerFunc(s.fault), o)
	return s
}

// fault applies the first rule that matches.
func (s *setup) fault(ctx context.Context, req *wire.Request) wire.Reply {
	if req.Internal {
		return s.broker.Handle(ctx, req)
	}
	for _, r := range s.rules {
		if r.match(req) {
			s.reply = r.do(ctx, req, s.broker)
			if r.text != "" {
				s.reply.Fired = append(s.reply.Fired, wire.Firing{Rule: r.text})
			}
			return s.reply
		}
	}
	s.reply = s.broker.Handle(ctx, req)
	return s.reply
}

// on adds a rule. Its text says what it does: "VERB PLACE produce ...", where an
// error is a Kafka error. It fires on the requests that match accepts.
func (s *setup) on(text string, match func(*wire.Request) bool) {
	verb, rest, _ := strings.Cut(text, " ")
	code := int16(0)
	if verb == "error" {
		var name string
		name, rest, _ = strings.Cut(rest, " ")
		code = codeOf(s.t, name)
	}
	before := strings.HasPrefix(rest, "before ") || strings.Contains(rest, " before ")
	s.rules = append(s.rules, &rule{text, match, func(ctx context.Context, req *wire.Request, next wire.Handler) (reply wire.Reply) {
		if !before || verb == "delay" {
			reply = next.Handle(ctx, req)
		}
		switch verb {
		case "disconnect":
			reply.Told, reply.Fate, reply.Reason = nil, wire.Close, wire.ReasonFault
		case "drop":
			reply.Told, reply.Fate = nil, wire.LoseAnswers
		case "error":
			reply.Told = wire.ErrorAnswer(req.Body, code, "by a rule")
		}
		return reply
	}})
}

// loseAnswer is a network that loses an answer.
func loseAnswer(ctx context.Context, req *wire.Request, next wire.Handler) wire.Reply {
	reply := next.Handle(ctx, req)
	reply.Told, reply.Fate = nil, wire.LoseAnswers
	return reply
}

// stamping is a broker that writes its own timestamps over the client's.
func (s *setup) stamping(clock int64) wire.Handler {
	return wire.HandlerFunc(func(ctx context.Context, req *wire.Request) wire.Reply {
		produce, ok := req.Body.(*kmsg.ProduceRequest)
		if !ok {
			return s.broker.Handle(ctx, req)
		}
		clock++
		raw := slices.Clone(produce.Topics[0].Partitions[0].Records)
		binary.BigEndian.PutUint64(raw[27:], uint64(clock))
		binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
		stamped := *req
		stamped.Body = produceRequest(produce.Acks, map[wire.TopicPartition][]byte{{Topic: produce.Topics[0].Topic}: raw})
		return s.fault(ctx, &stamped)
	})
}

func codeOf(t tb, name string) int16 {
	for code := int16(-1); code < 200; code++ {
		if errorName(code) == name {
			return code
		}
	}
	t.Fatalf("no error is named %s", name)
	return 0
}

// attempt matches Produce requests that hold a batch at this delivery.
func attempt(n int) func(*wire.Request) bool {
	return func(req *wire.Request) bool {
		return slices.ContainsFunc(req.Batches, func(b wire.Batch) bool { return b.Attempt == n })
	}
}

// sequence matches Produce requests that hold a batch that begins with it.
func sequence(first int32) func(*wire.Request) bool {
	return func(req *wire.Request) bool {
		return slices.ContainsFunc(req.Batches, func(b wire.Batch) bool { return b.Err == nil && b.Header.FirstSequence == first })
	}
}

func both(a, b func(*wire.Request) bool) func(*wire.Request) bool {
	return func(req *wire.Request) bool { return a(req) && b(req) }
}

// once fires the first time only.
func once(match func(*wire.Request) bool) func(*wire.Request) bool {
	fired := false
	return func(req *wire.Request) bool {
		if fired || !match(req) {
			return false
		}
		fired = true
		return true
	}
}

func anyProduce(req *wire.Request) bool { return len(req.Batches) > 0 }

// A peer is a client with one connection at a time.
type peer struct {
	*setup
	conn *wire.Conn
	name string
	acks int16
}

func (s *setup) peer(name string) *peer {
	s.conns++
	return &peer{setup: s, conn: &wire.Conn{ID: s.conns}, name: name, acks: -1}
}

// reconnect makes another connection of the same client.
func (p *peer) reconnect() *peer {
	c := p.setup.peer(p.name)
	c.acks = p.acks
	return c
}

// send sends one batch to partition 0 of orders.
func (p *peer) send(b batch) *kmsg.ProduceResponseTopicPartition {
	return p.sendTo("orders", 0, b.raw())
}

// sendTo sends one record set; the answer is nil if none came.
func (p *peer) sendTo(topic string, partition int32, raw []byte) *kmsg.ProduceResponseTopicPartition {
	reply := p.handle(produceRequest(p.acks, map[wire.TopicPartition][]byte{{Topic: topic, Partition: partition}: raw}))
	if reply.Told == nil || reply.Fate != wire.Send {
		return nil
	}
	return &reply.Told.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
}

func (p *peer) handle(body kmsg.Request) wire.Reply {
	req := &wire.Request{Conn: p.conn, Client: p.name, Body: body}
	if produce, ok := body.(*kmsg.ProduceRequest); ok {
		req.Batches = wire.AppendBatches(nil, produce)
	}
	return p.journal.Handle(p.t.Context(), req)
}

// produceRequest asks to write a record set to each partition, in their order.
func produceRequest(acks int16, sets map[wire.TopicPartition][]byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks = 9, acks
	order := slices.SortedFunc(maps.Keys(sets), func(a, b wire.TopicPartition) int { return strings.Compare(a.String(), b.String()) })
	for _, tp := range order {
		t := kmsg.NewProduceRequestTopic()
		t.Topic = tp.Topic
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = tp.Partition, sets[tp]
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	return req
}

// A batch is what a client packs. Records with a key are written "key=value".
type batch struct {
	producer int64 // -1 for none
	epoch    int16
	first    int32
	values   []string
	time     int64
	headers  []kmsg.Header
	leader   int32 // partition leader epoch: outside the checksum
	packing  int64 // added to the base timestamp, and taken from each delta: another checksum for the same records
}

// by makes a batch of a producer's first epoch.
func by(producer int64, first int32, values ...string) batch {
	return batch{producer: producer, first: first, values: values, time: 1000}
}

// plain makes a batch without a producer id.
func plain(values ...string) batch { return by(-1, -1, values...) }

func (b batch) inEpoch(epoch int16) batch { b.epoch = epoch; return b }
func (b batch) at(time int64) batch       { b.time = time; return b }
func (b batch) repacked() batch           { b.packing++; return b }

func (b batch) raw() []byte {
	if b.producer < 0 {
		b.epoch = -1
	}
	var records []byte
	for i, v := range b.values {
		records = append(records, b.record(i, v)...)
	}
	h := kmsg.RecordBatch{
		PartitionLeaderEpoch: b.leader, Magic: 2, LastOffsetDelta: int32(len(b.values) - 1),
		FirstTimestamp: b.time + b.packing, MaxTimestamp: b.time, ProducerID: b.producer, ProducerEpoch: b.epoch,
		FirstSequence: b.first, NumRecords: int32(len(b.values)), Length: int32(49 + len(records)), Records: records,
	}
	raw := h.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

func (b batch) record(i int, value string) []byte {
	r := kmsg.Record{OffsetDelta: int32(i), TimestampDelta64: -b.packing, TimestampDelta: int32(-b.packing), Value: []byte(value), Headers: b.headers}
	if key, v, ok := strings.Cut(value, "="); ok {
		r.Key, r.Value = []byte(key), []byte(v)
	}
	// The length is of what follows it: appended with a length of 0, which takes
	// one byte.
	r.Length = int32(len(r.AppendTo(nil)) - 1)
	return r.AppendTo(nil)
}

// numbered is n values o-from, o-from+1 and so on, each with itself as its key.
func numbered(from, n int) (values []string) {
	for i := range n {
		values = append(values, fmt.Sprintf("o-%d=v", from+i))
	}
	return values
}

func (s *setup) verdict() TopicVerdict {
	s.t.Helper()
	v, err := s.journal.VerdictOf(s.t.Context(), "orders")
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// wantVerdict compares the text of the verdict on orders.
func (s *setup) wantVerdict(want string) {
	s.t.Helper()
	if got := strings.TrimSpace(s.verdict().String()); got != strings.TrimSpace(want) {
		s.t.Errorf("verdict:\n%s\nwant:\n%s", got, strings.TrimSpace(want))
	}
}
