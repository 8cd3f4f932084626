package broker

import (
	"fmt"
	"time"

	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Produce, versions 3 to 13 (0 to 2 are advertised for librdkafka's sake and
// refused).
//
// Each partition's record set is judged by itself: first whether it is one
// sound batch that the topic's settings allow, then by the lesson. A refused batch
// changes nothing and is answered with base offset -1 and, in every version that
// has room for it, the reason in words; records that the topic does not want are
// listed. With acks=0 a refusal closes the connection, as in Kafka. A request without a
// transactional id that holds a batch of a transaction is refused as a whole.
//
// The settings are max.message.bytes, message.timestamp.type and its limits before
// and after, cleanup.policy=compact, which wants keys, and compression.type with
// its levels; retention stands in retention.go.
//
// Differences from Apache Kafka:
//   - a null record set is answered, INVALID_RECORD;
//   - a wrong offset delta in a record is INVALID_RECORD. Kafka serves such a
//     record to consumers with the offset that it claims, which another one has;
//     in a compressed batch it fails (UNKNOWN_SERVER_ERROR);
//   - so are records that cannot be read, where Kafka fails; what cannot be
//     decompressed and unknown codecs are UNKNOWN_SERVER_ERROR here too;
//   - a batch smaller than its header is CORRUPT_MESSAGE, where Kafka fails;
//   - compressed data with bytes behind it, or with a wrong lz4 checksum, is refused:
//     Java reads it, other consumers do not. Several lz4 frames count as one;
//   - records are decompressed to wire.MaxDecompressed bytes at most, and of those
//     refused by the topic wire.MaxRecordErrors are listed;
//   - where a producer claims LogAppendTime the greatest time is that of the
//     records, not the one that it claims;
//   - a first batch of a producer that the partition does not know has to begin at
//     sequence 0 unless the broker was told to accept it;
//   - a partition that is named twice is judged and answered twice. Kafka judges
//     and answers the last entry alone: the first is lost without a word, and a
//     client that takes the one answer for both has lost acknowledged records.

func (b *Broker) produce(req *wire.Request, r *kmsg.ProduceRequest) wire.Reply {
	if r.TransactionID == nil && wire.AnyTransactional(r) {
		return told(r, wire.ErrorAnswer(r, kerr.TransactionalIDAuthorizationFailed.Code, "a batch is part of a transaction, and the request has no transactional id"), true)
	}
	resp, next, refused := req.ProduceAnswer(), 0, false
	for i := range r.Topics {
		if len(r.Topics[i].Partitions) == 0 {
			continue // nor does Kafka tell of it
		}
		bad := b.produceTopic(req, r, &r.Topics[i], resp.Topics[next].Partitions)
		next++
		refused = refused || bad
	}
	return told(r, resp, refused)
}

// told is the answer to a Produce, which with acks=0 is none.
func told(r *kmsg.ProduceRequest, resp kmsg.Response, refused bool) wire.Reply {
	reply := answer(resp)
	if r.Acks == 0 {
		reply.Told, reply.Fate = nil, wire.Silent
		if refused {
			reply.Fate, reply.Reason = wire.Close, wire.ReasonRefusedAcks0
		}
	}
	return reply
}

func (b *Broker) produceTopic(req *wire.Request, r *kmsg.ProduceRequest, t *kmsg.ProduceRequestTopic, answers []kmsg.ProduceResponseTopicPartition) (refused bool) {
	topic, unknown := b.topicFor(t.Topic, t.TopicID, r.Version >= 13)
	rules := wire.BatchRules{Version: r.Version}
	if topic != nil {
		s := topic.settings.Load()
		rules.MaxBytes, rules.Records, rules.Compression, rules.Now = s.maxMessageBytes, &s.records, s.compression, time.Now().UnixMilli()
	}
	for i := range t.Partitions {
		asked, told := &t.Partitions[i], &answers[i]
		rules.Partition = wire.TopicPartition{Topic: t.Topic, Partition: asked.Partition}
		switch p := topic.partition(asked.Partition); {
		case p == nil:
			noPartition(told, topic, unknown)
		case r.Acks < -1 || r.Acks > 1:
			refuseBatch(told, kerr.InvalidRequiredAcks, fmt.Sprintf("acks is %d, and -1 (all), 0 and 1 are what there is", r.Acks))
		case isInternal(topic.name):
			refuseBatch(told, kerr.InvalidTopicException, fmt.Sprintf("topic %s is internal: no client writes to it", topic.name))
		case r.TransactionID != nil:
			b.txns.produce(*r.TransactionID, member{topic.name, asked.Partition, p}, req, asked.Records, rules, told)
		default:
			p.produce(req, asked.Records, rules, told)
		}
		refused = refused || told.ErrorCode != 0
	}
	return refused
}

func refuseBatch(told *kmsg.ProduceResponseTopicPartition, err *kerr.Error, why string) {
	told.ErrorCode, told.ErrorMessage = err.Code, &why
}

// topicFor finds the topic that a request names by name or, with byID, by id,
// and the error of a request that names none.
func (b *Broker) topicFor(name string, id [16]byte, byID bool) (*topic, *kerr.Error) {
	if byID {
		return b.lookupID(id), kerr.UnknownTopicID
	}
	return b.lookup(name), kerr.UnknownTopicOrPartition
}

func noPartition(told *kmsg.ProduceResponseTopicPartition, t *topic, unknown *kerr.Error) {
	if t == nil {
		refuseBatch(told, unknown, "there is no such topic; CreateTopics, or Metadata where topics are made on first use, makes one")
		return
	}
	refuseBatch(told, kerr.UnknownTopicOrPartition, fmt.Sprintf("topic %s has partitions 0 to %d", t.name, len(t.all())-1))
}

// produce judges and writes one record set of a request. The checks of the batch
// itself need no lock.
func (p *partition) produce(req *wire.Request, records []byte, rules wire.BatchRules, told *kmsg.ProduceResponseTopicPartition) {
	batch, bad := req.CheckBatch(records, rules)
	if bad != nil {
		p.refuse(bad, told)
		return
	}
	at := p.append(req, batch)
	told.LogStartOffset, told.BaseOffset, told.LogAppendTime = at.start, at.offset, at.appendTime
	if at.refused != nil {
		told.ErrorCode, told.ErrorMessage = at.refused.code, &at.refused.text
	}
	if err := outcomeErrors[at.Kind]; err != nil {
		told.ErrorCode, told.ErrorMessage = err.Code, kmsg.StringPtr(at.Outcome.String())
	}
	if at.Kind == producer.Duplicate {
		told.LogAppendTime = at.Timestamp // as Kafka does, on any topic
	}
}

// refuse tells why a batch was refused before the lesson was asked.
func (p *partition) refuse(bad *wire.BatchError, told *kmsg.ProduceResponseTopicPartition) {
	told.ErrorCode, told.ErrorMessage = bad.Code, kmsg.StringPtr(bad.Problem)
	for _, r := range bad.Records {
		told.ErrorRecords = append(told.ErrorRecords, kmsg.ProduceResponseTopicPartitionErrorRecord{
			RelativeOffset: r.Index, ErrorMessage: kmsg.StringPtr(r.Problem),
		})
	}
	if !bad.Unread {
		told.LogStartOffset, _ = p.offsets()
	}
}

// outcomeErrors is how the lesson's outcomes are told on the wire.
var outcomeErrors = map[producer.Kind]*kerr.Error{
	producer.OutOfOrder: kerr.OutOfOrderSequenceNumber,
	producer.Fenced:     kerr.InvalidProducerEpoch,
}
