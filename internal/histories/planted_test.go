package histories

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// planted is the bugs that a history has to find: each stands between the faults
// and a broker that is sound.
var planted = []struct {
	name   string
	bug    plant
	linear bool // the checker of linearizability finds it, too
}{
	{"acknowledges without appending", everyNth(7, acknowledgeOnly), true},
	{"appends twice", everyNth(5, appendTwice), true},
	{"answers a replay with a new offset", renumberReplays, true},
	{"tells an old end", oldEnds, true},
	{"refuses what it has appended", everyNth(6, refuseAppended), false},
	{"stores other bytes", everyNth(5, storeOthers), true},
}

// TestHistories_find_what_is_planted shows that the checkers can fail.
func TestHistories_find_what_is_planted(t *testing.T) {
	for _, c := range planted {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(plantedHistories) {
				if found := play(t, drawPlan(seed+1), c.bug).all(); len(found) > 0 {
					t.Logf("found by seed %d: %s", seed+1, found[0])
					return
				}
			}
			t.Errorf("no history of %d found it", plantedHistories)
		})
	}
}

func TestLinearizable_finds_what_is_planted(t *testing.T) {
	for _, c := range planted {
		if !c.linear {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(plantedHistories) {
				if found := playLinear(t, drawLinear(seed+1), c.bug); len(found) > 0 {
					t.Logf("found by seed %d", seed+1)
					return
				}
			}
			t.Errorf("no history of %d found it", plantedHistories)
		})
	}
}

// everyNth applies a bug to each nth Produce request that clients send.
func everyNth(n int, bug func(wire.Handler, *wire.Request) wire.Reply) plant {
	return func(next wire.Handler) wire.Handler {
		var mu sync.Mutex
		count := 0
		return wire.HandlerFunc(func(ctx context.Context, req *wire.Request) wire.Reply {
			if req.Body.Key() != int16(kmsg.Produce) || req.Internal || req.Lost {
				return next.Handle(ctx, req)
			}
			mu.Lock()
			count++
			due := count%n == 0
			mu.Unlock()
			if due {
				return bug(next, req)
			}
			return next.Handle(ctx, req)
		})
	}
}

// told is a reply that says the same as was done.
func told(resp kmsg.Response, req *wire.Request) wire.Reply {
	if req.Body.(*kmsg.ProduceRequest).Acks == 0 {
		return wire.Reply{Done: resp, Fate: wire.Silent}
	}
	return wire.Reply{Done: resp, Told: resp}
}

// acknowledgeOnly acknowledges each batch at the end of its partition.
func acknowledgeOnly(next wire.Handler, req *wire.Request) wire.Reply {
	resp := wire.ErrorAnswer(req.Body, 0, "")
	for _, b := range req.Batches {
		end := next.Handle(context.Background(), &wire.Request{Conn: req.Conn, Body: listing(b.Partition, latest)}).Done
		partitionOf(resp, b.Partition).BaseOffset = offsetOf(end)
	}
	return told(resp, req)
}

// appendTwice appends each batch once more, as one of nobody.
func appendTwice(next wire.Handler, req *wire.Request) wire.Reply {
	reply := next.Handle(context.Background(), req)
	again := changed(req, func(raw []byte) {
		binary.BigEndian.PutUint64(raw[producerAt:], ^uint64(0))
		binary.BigEndian.PutUint16(raw[epochAt:], ^uint16(0))
		binary.BigEndian.PutUint32(raw[sequenceAt:], ^uint32(0))
	})
	next.Handle(context.Background(), again)
	return reply
}

// refuseAppended says of what it has appended that it is out of order.
func refuseAppended(next wire.Handler, req *wire.Request) wire.Reply {
	next.Handle(context.Background(), req)
	return told(wire.ErrorAnswer(req.Body, kerr.OutOfOrderSequenceNumber.Code, "out of order"), req)
}

// storeOthers changes the last byte of the last record.
func storeOthers(next wire.Handler, req *wire.Request) wire.Reply {
	return next.Handle(context.Background(), changed(req, func(raw []byte) { raw[len(raw)-2] ^= 1 }))
}

// changed is a copy of a Produce request with changed batches.
func changed(req *wire.Request, change func(raw []byte)) *wire.Request {
	body := req.Body.(*kmsg.ProduceRequest)
	batches, order := map[int32][]byte{}, []int32{}
	for _, b := range req.Batches {
		raw := slices.Clone(b.Raw)
		change(raw)
		sign(raw)
		batches[b.Partition], order = raw, append(order, b.Partition)
	}
	c := *req
	c.Body = producing(body.Version, body.Acks, batches, order)
	c.Batches = wire.AppendBatches(nil, c.Body.(*kmsg.ProduceRequest))
	return &c
}

// renumberReplays answers a batch that it has seen before with the offset at
// which it would have been appended now.
func renumberReplays(next wire.Handler) wire.Handler {
	var mu sync.Mutex
	seen := map[string]bool{}
	return wire.HandlerFunc(func(ctx context.Context, req *wire.Request) wire.Reply {
		reply := next.Handle(ctx, req)
		for _, b := range req.Batches {
			mu.Lock()
			key := string(b.Raw)
			again := seen[key]
			seen[key] = true
			mu.Unlock()
			if p := partitionOf(reply.Done, b.Partition); again && p != nil && p.ErrorCode == 0 && b.Header.ProducerID >= 0 && !req.Internal {
				end := next.Handle(ctx, &wire.Request{Conn: req.Conn, Body: listing(b.Partition, latest)}).Done
				p.BaseOffset = offsetOf(end)
			}
		}
		return reply
	})
}

// oldEnds tells with every third ListOffsets or Fetch where a partition ended
// when it was asked before.
func oldEnds(next wire.Handler) wire.Handler {
	var mu sync.Mutex
	asked, before := 0, map[int32]int64{}
	return wire.HandlerFunc(func(ctx context.Context, req *wire.Request) wire.Reply {
		reply := next.Handle(ctx, req)
		mu.Lock()
		defer mu.Unlock()
		asked++
		stale := func(n int32, end *int64) {
			if old, ok := before[n]; ok && asked%3 == 0 && !req.Internal {
				*end = old
			}
			before[n] = *end
		}
		switch resp := reply.Done.(type) {
		case *kmsg.ListOffsetsResponse:
			if req.Body.(*kmsg.ListOffsetsRequest).Topics[0].Partitions[0].Timestamp == latest {
				stale(resp.Topics[0].Partitions[0].Partition, &resp.Topics[0].Partitions[0].Offset)
			}
		case *kmsg.FetchResponse:
			for i := range resp.Topics[0].Partitions {
				stale(resp.Topics[0].Partitions[i].Partition, &resp.Topics[0].Partitions[i].HighWatermark)
			}
		}
		return reply
	})
}
