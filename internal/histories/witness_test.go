package histories

import (
	"context"
	"strings"
	"sync"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A witness is the outermost handler. It remembers each delivery of a batch, what
// was really done with it and what the client was told.
type witness struct {
	next wire.Handler

	mu         sync.Mutex
	deliveries []*delivery
	told       map[int32]int // answers that were sent, by the number of the link
	handling   int           // requests
	done       int           // deliveries
}

// A delivery is a batch that arrived, whether or not the broker saw it.
type delivery struct {
	key       string
	partition int32

	stored    bool  // the broker says that it stands in the log, or that it is a replay
	base      int64 // where, if stored
	confirmed bool  // the client was told so
	notDue    bool  // the client wants no answer
	faulted   bool  // a rule had a hand in it
	refused   int16 // the broker's error, 0 if it was stored or not asked
	noted     int   // counts the deliveries in the order in which they were done
}

func newWitness(next wire.Handler) *witness {
	return &witness{next: next, told: map[int32]int{}}
}

// Handle passes a request on and remembers what came of it.
func (w *witness) Handle(ctx context.Context, req *wire.Request) wire.Reply {
	arrived := w.arrive(req)
	reply := w.next.Handle(ctx, req)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handling--
	answered := reply.Fate == wire.Send && reply.Told != nil && !req.Conn.Muted()
	if answered {
		w.told[req.Conn.Port]++
	}
	for _, d := range arrived {
		w.done++
		d.noted = w.done
		d.note(req, &reply, answered)
	}
	return reply
}

func (w *witness) arrive(req *wire.Request) (arrived []*delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handling++
	for i := range req.Batches {
		if b := &req.Batches[i]; b.Err == nil {
			arrived = append(arrived, &delivery{key: strings.Clone(keyOf(b.Raw)), partition: b.Partition, base: -1})
		}
	}
	w.deliveries = append(w.deliveries, arrived...)
	return arrived
}

func (d *delivery) note(req *wire.Request, reply *wire.Reply, answered bool) {
	d.notDue = req.Body.(*kmsg.ProduceRequest).Acks == 0
	d.faulted = len(reply.Fired) > 0
	if did := partitionOf(reply.Done, d.partition); did != nil {
		d.stored, d.refused = did.ErrorCode == 0, did.ErrorCode
		if d.stored {
			d.base = did.BaseOffset
		}
	}
	told := partitionOf(reply.Told, d.partition)
	d.confirmed = answered && told != nil && told.ErrorCode == 0
}

// partitionOf finds what a Produce answer says of a partition, nil for nothing.
func partitionOf(resp kmsg.Response, partition int32) *kmsg.ProduceResponseTopicPartition {
	produce, ok := resp.(*kmsg.ProduceResponse)
	if !ok {
		return nil
	}
	for i := range produce.Topics {
		for j := range produce.Topics[i].Partitions {
			if p := &produce.Topics[i].Partitions[j]; p.Partition == partition {
				return p
			}
		}
	}
	return nil
}
