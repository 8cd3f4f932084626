package broker

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A step is one batch that is sent and what has to be told of it.
type step struct {
	name     string
	batch    *draft
	want     string // code
	base     int64
	says     string // message, "null" for none
	appended int64  // log append time
}

func play(t *testing.T, c *client, topic string, steps []step) {
	t.Helper()
	for _, s := range steps {
		told := c.produce(topic, 0, s.batch)
		got := step{s.name, s.batch, codeName(told.ErrorCode), told.BaseOffset, text(told.ErrorMessage), told.LogAppendTime}
		if got != s {
			t.Errorf("%s: told %s, base offset %d, %q, log append time %d;\nwanted %s, base offset %d, %q, log append time %d",
				s.name, got.want, got.base, got.says, got.appended, s.want, s.base, s.says, s.appended)
		}
	}
}

const (
	ooo   = "OUT_OF_ORDER_SEQUENCE_NUMBER"
	stale = "INVALID_PRODUCER_EPOCH"
)

func TestProduce_WorkedTraceOfTheLesson(t *testing.T) {
	_, c := startWith(t, "lesson")
	second := by(7, 0, 3, 2).at(2000, 3000)
	play(t, c, "lesson", []step{
		{"three records", by(7, 0, 0, 3), "NONE", 0, "null", -1},
		{"two more", second, "NONE", 3, "null", -1},
		{"the same again is answered with its first offset", second, "NONE", 3, "null", 3000},
		{"a gap", by(7, 0, 7, 1), ooo, -1, "out of order: expected 5, got 7", -1},
		{"a newer epoch that does not begin at 0", by(7, 1, 7, 1), ooo, -1, "out of order: expected 0, got 7", -1},
		{"a newer epoch", by(7, 1, 0, 1), "NONE", 5, "null", -1},
		{"the zombie", by(7, 0, 5, 1), stale, -1, "fenced by epoch 1", -1},
		{"the zombie's replay", second, stale, -1, "fenced by epoch 1", -1},
	})
	want(t, "end", c.end("lesson", 0), 6)
	want(t, "batches", offsetsIn(c.everything("lesson", 0, 0)), []int64{0, 3, 5})
}

func TestProduce_RemembersFiveBatches(t *testing.T) {
	_, c := startWith(t, "there")
	batch := func(i int) *draft { return by(7, 0, int32(2*i), 2).at(int64(1000+i), int64(1000+i)) }
	for i := range 6 {
		want(t, "base offset", c.store("there", 0, batch(i)), int64(2*i))
	}
	play(t, c, "there", []step{
		{"the sixth before", batch(0), ooo, -1, "out of order: expected 12, got 0", -1},
		{"the fifth before", batch(1), "NONE", 2, "null", 1001},
		{"the newest", batch(5), "NONE", 10, "null", 1005},
		{"the fifth before, once more", batch(1), "NONE", 2, "null", 1001},
		{"one and a half batches", by(7, 0, 2, 3), ooo, -1, "out of order: expected 12, got 2", -1},
		{"half a batch", by(7, 0, 2, 1), ooo, -1, "out of order: expected 12, got 2", -1},
		{"the next", batch(6), "NONE", 12, "null", -1},
	})
	want(t, "end", c.end("there", 0), 14)
}

func TestProduce_ANewEpochEmptiesTheWindow(t *testing.T) {
	_, c := startWith(t, "there")
	c.store("there", 0, by(7, 0, 0, 1))
	c.store("there", 0, by(7, 0, 1, 1))
	play(t, c, "there", []step{
		{"not when it is refused", by(7, 1, 1, 1), ooo, -1, "out of order: expected 0, got 1", -1},
		{"so this is a replay", by(7, 0, 1, 1).at(5), "NONE", 1, "null", plainTime},
		{"when it is accepted", by(7, 4, 0, 1), "NONE", 2, "null", -1},
		{"so this goes on in the new epoch", by(7, 4, 1, 1), "NONE", 3, "null", -1},
		{"and an epoch between is fenced", by(7, 3, 0, 1), stale, -1, "fenced by epoch 4", -1},
	})
}

func TestProduce_UnknownProducer(t *testing.T) {
	t.Run("is refused unless it begins at 0", func(t *testing.T) {
		_, c := startWith(t, "there")
		play(t, c, "there", []step{
			{"beginning at 17", by(7, 0, 17, 2), ooo, -1, "out of order: expected 0, got 17", -1},
			{"beginning at 0", by(7, 0, 0, 2), "NONE", 0, "null", -1},
		})
	})
	t.Run("begins anywhere where the broker was told so", func(t *testing.T) {
		n := start(t, Options{UnknownProducer: producer.Accept})
		n.make("there", 1, nil)
		play(t, n.dial(), "there", []step{
			{"beginning at 17", by(7, 0, 17, 2), "NONE", 0, "null", -1},
			{"a gap afterwards", by(7, 0, 20, 2), ooo, -1, "out of order: expected 19, got 20", -1},
			{"the next", by(7, 0, 19, 1), "NONE", 2, "null", -1},
			{"a newer epoch begins at 0", by(7, 1, 20, 1), ooo, -1, "out of order: expected 0, got 20", -1},
		})
	})
}

func TestProduce_SequencesWrap(t *testing.T) {
	n := start(t, Options{UnknownProducer: producer.Accept})
	n.make("there", 1, nil)
	straddling := by(7, 0, math.MaxInt32-1, 4).at(1, 2, 3, 4)
	play(t, n.dial(), "there", []step{
		{"a batch that straddles the wrap", straddling, "NONE", 0, "null", -1},
		{"its replay", straddling, "NONE", 0, "null", 4},
		{"a gap", by(7, 0, 3, 1), ooo, -1, "out of order: expected 2, got 3", -1},
		{"the next", by(7, 0, 2, 1), "NONE", 4, "null", -1},
	})
}

func TestProduce_EachProducerAndPartitionByItself(t *testing.T) {
	_, c := startWith(t, "a", "b")
	for i, at := range []place{from("a", 0, 0), from("a", 1, 0), from("b", 0, 0)} {
		for id := range int64(3) {
			name := fmt.Sprintf("%s-%d producer %d", at.topic, at.partition, id)
			told := c.produce(at.topic, at.partition, by(id, 0, 1, 1))
			wantCode(t, told.ErrorCode, ooo)
			want(t, name, c.store(at.topic, at.partition, by(id, int16(i), 0, 1)), id)
		}
	}
}

// A batch without a producer id is judged by that alone: clients fill epoch and
// sequence in different ways.
func TestProduce_WithoutAProducerIDIsAppendedEachTime(t *testing.T) {
	for _, tt := range []struct {
		name     string
		epoch    int16
		sequence int32
	}{
		{"as Java and librdkafka do", -1, -1},
		{"as kgo and sarama do", -1, 0},
		{"as kafkajs does", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, c := startWith(t, "there")
			batch := by(-1, tt.epoch, tt.sequence, 2)
			for i := range int64(3) {
				want(t, "base offset", c.store("there", 0, batch), 2*i)
			}
			want(t, "producers", len(c.describe("there", 0).ActiveProducers), 0)
		})
	}
}

func TestProduce_StoresWhatWasSentWhateverTheLeaderEpoch(t *testing.T) {
	for _, epoch := range []int32{-1, 0, 7} {
		t.Run(fmt.Sprintf("leader epoch %d", epoch), func(t *testing.T) {
			_, c := startWith(t, "there")
			c.store("there", 0, plain(4))
			batch := by(7, 0, 0, 2)
			batch.PartitionLeaderEpoch = epoch
			c.store("there", 0, batch)
			want(t, "stored", c.fetch("there", 0, 4).RecordBatches, stored(batch.bytes(), 4))
		})
	}
}

// Kafka does the same: the sequences say that it is a replay, whatever it holds.
func TestProduce_AReplayIsToldByItsSequences(t *testing.T) {
	_, c := startWith(t, "there")
	first := by(7, 0, 0, 3).of("first")
	c.store("there", 0, first)
	for _, other := range []*draft{
		by(7, 0, 0, 3).of("something else"),
		by(7, 0, 0, 3).with(codecNamed(t, "gzip")),
		by(7, 0, 0, 3).at(1, 2, 3),
	} {
		want(t, "base offset", c.store("there", 0, other), 0)
	}
	want(t, "stored", c.everything("there", 0, 0), stored(first.bytes(), 0))
}

func TestProduce_AReplayOverAnotherConnection(t *testing.T) {
	n, c := startWith(t, "there")
	c.store("there", 0, by(7, 0, 0, 3))
	c.store("there", 0, by(7, 0, 3, 3))
	c.conn.Close()
	again := n.dial()
	want(t, "base offset", again.store("there", 0, by(7, 0, 0, 3)), 0)
	want(t, "end", again.end("there", 0), 6)
}

func TestProduce_JudgesThePartitionsOfARequestApart(t *testing.T) {
	n, c := startWith(t, "a", "b")
	n.make("wide", 3, nil)
	c.store("a", 0, by(7, 0, 0, 2).at(1000, 1000))
	resp := c.ask(c.producing(produceVersion, -1,
		entry{"a", 0, by(7, 0, 0, 2).bytes()},
		entry{"a", 1, by(7, 0, 4, 1).bytes()},
		entry{"a", 9, by(7, 0, 0, 1).bytes()},
		entry{"no such", 0, by(7, 0, 0, 1).bytes()},
		entry{"wide", 2, by(7, 0, 0, 5).bytes()},
		entry{"wide", 0, plain(1).damaged(func(b []byte) []byte { b[crcAt] ^= 1; return b }).bytes()},
		entry{"wide", 1, nil},
		entry{"b", 0, plain(1).bytes()},
	)).(*kmsg.ProduceResponse)
	var told []string
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			told = append(told, fmt.Sprintf("%s-%d %s %d %d", topic.Topic, p.Partition, codeName(p.ErrorCode), p.BaseOffset, p.LogAppendTime))
		}
	}
	want(t, "told", told, []string{
		"a-0 NONE 0 1000",
		"a-1 OUT_OF_ORDER_SEQUENCE_NUMBER -1 -1",
		"a-9 UNKNOWN_TOPIC_OR_PARTITION -1 -1",
		"no such-0 UNKNOWN_TOPIC_OR_PARTITION -1 -1",
		"wide-2 NONE 0 -1",
		"wide-0 CORRUPT_MESSAGE -1 -1",
		"wide-1 INVALID_RECORD -1 -1",
		"b-0 NONE 0 -1",
	})
	want(t, "ends", []int64{c.end("a", 0), c.end("a", 1), c.end("wide", 0), c.end("wide", 1), c.end("wide", 2), c.end("b", 0)},
		[]int64{2, 0, 0, 0, 5, 1})
}

// An idempotent producer keeps five requests in flight. When one of them is
// refused those behind it must be, too, each by itself and in order.
func TestProduce_RequestsInFlightAreAnsweredInOrder(t *testing.T) {
	_, c := startWith(t, "there")
	var frames []byte
	var requests []kmsg.Request
	for i, batch := range []*draft{by(7, 0, 0, 1), by(7, 0, 1, 2), by(7, 0, 0, 1), by(7, 0, 4, 1), by(7, 0, 5, 1), by(7, 0, 3, 1)} {
		requests = append(requests, c.producing(produceVersion, -1, entry{"there", 0, batch.bytes()}))
		frames = append(frames, c.format.AppendRequest(nil, requests[i], int32(i))...)
	}
	if _, err := c.conn.Write(frames); err != nil {
		t.Fatal(err)
	}
	var told []string
	for i, req := range requests {
		c.correlation = int32(i)
		p := onlyProduced(t, c.receive(req))
		told = append(told, fmt.Sprint(codeName(p.ErrorCode), " ", p.BaseOffset))
	}
	want(t, "told", told, []string{"NONE 0", "NONE 1", "NONE 0", ooo + " -1", ooo + " -1", "NONE 3"})
}

func TestProduce_OfNothingIsAnswered(t *testing.T) {
	c := start(t, Options{}).dial()
	everyVersion(t, kmsg.Produce, func(t *testing.T, version int16) {
		want(t, "topics", len(c.ask(c.producing(version, -1)).(*kmsg.ProduceResponse).Topics), 0)
	})
}

func TestProduce_MakesNoTopic(t *testing.T) {
	n := start(t, Options{AutoCreate: true})
	told := n.dial().produce("new", 0, plain(1))
	wantCode(t, told.ErrorCode, "UNKNOWN_TOPIC_OR_PARTITION")
	want(t, "topics", n.Topics(), nil)
	if !strings.Contains(text(told.ErrorMessage), "there is no such topic") {
		t.Errorf("the message is %q", text(told.ErrorMessage))
	}
}

func TestProduce_ByTopicID(t *testing.T) {
	n, c := startWith(t, "there")
	produce := func(id [16]byte, partition int32) (kmsg.ProduceResponseTopic, kmsg.ProduceResponseTopicPartition) {
		req := c.producing(13, -1, entry{"there", partition, by(7, 0, 0, 1).bytes()})
		req.Topics[0].TopicID = id
		resp := c.ask(req).(*kmsg.ProduceResponse)
		return resp.Topics[0], onlyProduced(t, resp)
	}
	for _, tt := range []struct {
		name      string
		id        [16]byte
		partition int32
		want      string
		base      int64
		says      string
	}{
		{"the topic's id", n.id("there"), 1, "NONE", 0, "null"},
		{"an unknown id", [16]byte{1, 2}, 0, "UNKNOWN_TOPIC_ID", -1, "there is no such topic"},
		{"no id", [16]byte{}, 0, "UNKNOWN_TOPIC_ID", -1, "there is no such topic"},
		{"an unknown partition", n.id("there"), 2, "UNKNOWN_TOPIC_OR_PARTITION", -1, "topic there has partitions 0 to 1"},
		{"a negative partition", n.id("there"), -1, "UNKNOWN_TOPIC_OR_PARTITION", -1, "topic there has partitions 0 to 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			topic, told := produce(tt.id, tt.partition)
			wantCode(t, told.ErrorCode, tt.want)
			want(t, "base offset", told.BaseOffset, tt.base)
			want(t, "the id comes back", topic.TopicID, tt.id)
			if !strings.HasPrefix(text(told.ErrorMessage), tt.says) {
				t.Errorf("the message is %q and does not begin with %q", text(told.ErrorMessage), tt.says)
			}
		})
	}
}

// The start came with version 5, the message with version 8.
func TestProduce_TellsWhatTheVersionHasRoomFor(t *testing.T) {
	everyVersion(t, kmsg.Produce, func(t *testing.T, version int16) {
		_, c := startWith(t, "there")
		c.store("there", 0, by(7, 0, 0, 3).at(1000, 1000, 1000))
		c.trimTo("there", 0, 2)
		startOffset := int64(-1)
		if version >= 5 {
			startOffset = 2
		}
		told := c.produceAs(version, "there", 0, by(7, 0, 0, 3))
		want(t, "a replay's base offset, time and start", []int64{told.BaseOffset, told.LogAppendTime, told.LogStartOffset}, []int64{0, 1000, startOffset})
		told = c.produceAs(version, "there", 0, by(7, 0, 9, 1))
		wantCode(t, told.ErrorCode, ooo)
		want(t, "a refusal's base offset, time and start", []int64{told.BaseOffset, told.LogAppendTime, told.LogStartOffset}, []int64{-1, -1, startOffset})
		message := "null"
		if version >= 8 {
			message = "out of order: expected 3, got 9"
		}
		want(t, "message", text(told.ErrorMessage), message)
	})
}
