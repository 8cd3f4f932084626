package journal

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
)

// A connection that went dark once stays dark: what is handled afterwards is not
// told either, though no rule fires on it.
func TestEvents_of_a_connection_that_went_dark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", once(anyProduce))
		server := wire.NewServer(s.journal, nil, zap.NewNop())
		here, there := net.Pipe()
		if err := server.ServeConn(there, wire.Advertised{Host: "localhost", Port: 9092}); err != nil {
			t.Fatal(err)
		}
		for i := range int32(3) {
			tp := wire.TopicPartition{Topic: "orders"}
			req := produceRequest(-1, map[wire.TopicPartition][]byte{tp: by(1000, i, "v").raw()})
			frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("raw")).AppendRequest(nil, req, i)
			if _, err := here.Write(frame); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		here.Close()
		server.Shutdown(t.Context())
		s.wantEvents(
			"#1 raw/1 orders-0 producer 1000 epoch 0 sequence 0: accepted at offset 0; answer lost (drop after produce)",
			"#2 raw/1 orders-0 producer 1000 epoch 0 sequence 1: accepted at offset 1; answer lost",
			"#3 raw/1 orders-0 producer 1000 epoch 0 sequence 2: accepted at offset 2; answer lost",
		)
		s.wantVerdict(`
orders is not exactly once (seed 0)
  unconfirmed offset 0 holds sequence 0 of producer 1000, but no answer ever told client "raw" (drop after produce)
  unconfirmed offsets 1 to 2 hold sequences 1 to 2 of producer 1000, but no answer ever told client "raw"`)
	})
}

// locked makes a handler of one that is not safe for use by several goroutines.
func locked(next wire.Handler) wire.Handler {
	var mu sync.Mutex
	return wire.HandlerFunc(func(ctx context.Context, req *wire.Request) wire.Reply {
		mu.Lock()
		defer mu.Unlock()
		return next.Handle(ctx, req)
	})
}

// Everything at once, for the race detector; and the verdict is right in the end.
func TestJournal_used_by_many_goroutines(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", func(r *wire.Request) bool { return attempt(1)(r) && r.Batches[0].Header.FirstSequence%3 == 0 })
	s.on("drop before produce", func(r *wire.Request) bool { return attempt(1)(r) && r.Batches[0].Header.FirstSequence%3 == 1 })
	s.journal.next = locked(s.journal.next)

	const clients, batches = 4, 200
	var peers []*peer
	for i := range clients {
		peers = append(peers, s.peer(fmt.Sprint("c", i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var watching, writing sync.WaitGroup
	watching.Go(func() {
		for range s.journal.Subscribe(ctx) { //nolint:revive // only read
		}
	})
	watching.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.journal.Verdict(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			s.journal.Events()
			s.journal.Counts()
			s.journal.SetIdentity(IdentityNone)
		}
	})
	for i, p := range peers {
		writing.Go(func() {
			for k := range int32(batches) {
				b := by(int64(1000+i), k, fmt.Sprintf("c%d-%d", i, k))
				for range 2 {
					p.sendTo("orders", int32(i%2), b.raw())
				}
				if k%50 == 49 {
					p.sendTo("scratch", 0, b.raw())
					req := kmsg.NewPtrDeleteTopicsRequest()
					req.TopicNames = []string{"scratch"}
					p.handle(req)
				}
			}
		})
	}
	writing.Wait()
	cancel()
	watching.Wait()
	v := s.verdict()
	if !v.ExactlyOnce || v.Counts.Records != clients*batches || len(v.Limits) > 0 {
		t.Errorf("%s", v)
	}
	s.journal.Reset()
}
