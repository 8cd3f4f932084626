package broker

import (
	"sync/atomic"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// fullAfter is a client of a broker that keeps so many batches of one record, in
// topics "a" and "b".
func fullAfter(t *testing.T, batches int) (*node, *client) {
	n := start(t, Options{Memory: int64(batches * len(plain(1).bytes()))})
	n.make("a", 1, nil)
	n.make("b", 1, nil)
	return n, n.dial()
}

const storage = "KAFKA_STORAGE_ERROR"

func TestMemory_FullRefusesAndChangesNothing(t *testing.T) {
	_, c := fullAfter(t, 2)
	c.store("a", 0, by(7, 0, 0, 1))
	c.store("b", 0, by(7, 0, 0, 1))
	before := c.snapshot("a", 0)
	for range 3 {
		told := c.produce("a", 0, by(7, 0, 1, 1))
		wantCode(t, told.ErrorCode, storage)
		want(t, "base offset and start", []int64{told.BaseOffset, told.LogStartOffset}, []int64{-1, 0})
		want(t, "message", text(told.ErrorMessage), "the memory that this broker has for records is full")
	}
	want(t, "the partition", c.snapshot("a", 0), before)
	want(t, "base offset of a replay", c.store("a", 0, by(7, 0, 0, 1)), 0)
	wantCode(t, c.produce("a", 0, by(7, 0, 5, 1)).ErrorCode, ooo) // the lesson comes first
}

func TestMemory_WithoutAcksFullCloses(t *testing.T) {
	_, c := fullAfter(t, 1)
	c.store("a", 0, plain(1))
	c.send(c.producing(produceVersion, 0, entry{"a", 0, plain(1).bytes()}))
	c.wantClosed()
}

func TestMemory_RoomComesBack(t *testing.T) {
	for _, tt := range []struct {
		name string
		free func(c *client)
	}{
		{"with DeleteRecords", func(c *client) { c.trimTo("a", 0, -1) }},
		{"with DeleteTopics", func(c *client) { c.ask(deleting(6, "a")) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, c := fullAfter(t, 1)
			c.store("a", 0, plain(1))
			wantCode(t, c.produce("b", 0, plain(1)).ErrorCode, storage)
			tt.free(c)
			want(t, "bytes in use", n.memory.used.Load(), 0)
			wantCode(t, c.produce("b", 0, plain(1)).ErrorCode, "NONE")
			wantCode(t, c.produce("b", 0, plain(1)).ErrorCode, storage)
		})
	}
}

func TestMemory_ATrimOfADeletedTopicGivesNothingBackTwice(t *testing.T) {
	n, c := fullAfter(t, 3)
	c.store("a", 0, plain(1))
	p := n.at("a", 0)
	c.ask(deleting(6, "a"))
	if _, err := p.trim(-1); err != nil { // a DeleteRecords that was under way
		t.Fatal(err)
	}
	want(t, "bytes in use", n.memory.used.Load(), 0)
}

func TestMemory_ABatchForADeletedTopicGoesNowhere(t *testing.T) {
	n, c := fullAfter(t, 3)
	p := n.at("a", 0)
	c.ask(deleting(6, "a"))
	told := kmsg.NewProduceResponseTopicPartition()
	p.produce(&wire.Request{}, plain(1).bytes(), wire.BatchRules{MaxBytes: 1000, Version: produceVersion}, &told) // it was under way
	wantCode(t, told.ErrorCode, "UNKNOWN_TOPIC_OR_PARTITION")
	want(t, "base offset", told.BaseOffset, -1)
	want(t, "bytes in use", n.memory.used.Load(), 0)
}

func TestMemory_IsToldToTheLogOnceUntilThereIsRoom(t *testing.T) {
	core, lines := observer.New(zapcore.WarnLevel)
	n := start(t, Options{Memory: 1, Log: zap.New(core)})
	n.make("a", 1, nil)
	c := n.dial()
	for range 3 {
		c.produce("a", 0, plain(1))
	}
	want(t, "lines", lines.Len(), 1)
}

func TestMemory_ManyAtOnceKeepToTheLimit(t *testing.T) {
	n, c := fullAfter(t, 20)
	var kept atomic.Int64
	together(n, 8, func(_ int, c *client) {
		for range 10 {
			if told, ok := c.tryProduce("a", 0, plain(1).bytes()); ok && told.ErrorCode == 0 {
				kept.Add(1)
			}
		}
	})
	if kept.Load() > 20 || c.end("a", 0) != kept.Load() {
		t.Errorf("%d batches were accepted and %d are there; 20 are the most", kept.Load(), c.end("a", 0))
	}
	want(t, "bytes in use", n.memory.used.Load(), int64(len(c.everything("a", 0, 0))))
}
