package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// fullOfProducers is a client of a broker that has room for one more producer,
// and what the broker logs.
func fullOfProducers(t *testing.T) (*node, *client, *observer.ObservedLogs) {
	core, lines := observer.New(zapcore.WarnLevel)
	n := start(t, Options{Log: zap.New(core)})
	n.make("a", 1, nil)
	n.make("b", 1, nil)
	n.memory.producers.Store(MaxProducers - 1)
	return n, n.dial(), lines
}

func TestLimits_ProducersThatAreRemembered(t *testing.T) {
	_, c, lines := fullOfProducers(t)
	c.store("a", 0, by(7, 0, 0, 1))
	before := c.snapshot("a", 0)
	for range 2 {
		told := c.produce("a", 0, by(8, 0, 0, 1))
		wantCode(t, told.ErrorCode, "POLICY_VIOLATION")
		want(t, "message", text(told.ErrorMessage), "this broker remembers 500000 producers, the most, and forgets none while its topics are there")
		want(t, "base offset", told.BaseOffset, -1)
	}
	want(t, "the partition", c.snapshot("a", 0), before)
	wantCode(t, c.produce("b", 0, by(7, 0, 0, 1)).ErrorCode, "POLICY_VIOLATION") // once for each partition
	want(t, "lines in the log", lines.Len(), 1)

	want(t, "base offset of a replay", c.store("a", 0, by(7, 0, 0, 1)), 0)
	want(t, "base offset of a known producer", c.store("a", 0, by(7, 0, 1, 1)), 1)
	want(t, "base offset without a producer id", c.store("b", 0, plain(1)), 0)
}

func TestLimits_DeletingATopicForgetsItsProducers(t *testing.T) {
	n, c, _ := fullOfProducers(t)
	c.store("a", 0, by(7, 0, 0, 1))
	wantCode(t, c.produce("b", 0, by(8, 0, 0, 1)).ErrorCode, "POLICY_VIOLATION")
	c.ask(deleting(6, "a"))
	c.store("b", 0, by(8, 0, 0, 1))
	want(t, "producers", n.memory.producers.Load(), MaxProducers)
}

func TestLimits_TransactionalIDsThatAreRemembered(t *testing.T) {
	core, lines := observer.New(zapcore.WarnLevel)
	n := start(t, Options{Log: zap.New(core)})
	c := n.dial()
	initialize := func(id string) int16 {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis = &id, 1000
		return c.ask(req).(*kmsg.InitProducerIDResponse).ErrorCode
	}
	wantCode(t, initialize("known"), "NONE")
	n.txns.bytes = maxTransactionalBytes - transactionalOverhead - len("fits")
	wantCode(t, initialize("fits"), "NONE")
	wantCode(t, initialize("more"), "POLICY_VIOLATION")
	wantCode(t, initialize("known"), "NONE")
	want(t, "lines in the log", lines.Len(), 1)
	wantCode(t, c.ask(kmsg.NewPtrInitProducerIDRequest()).(*kmsg.InitProducerIDResponse).ErrorCode, "NONE")
}
