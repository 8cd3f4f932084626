package histories

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepostmq/fencepost/internal/broker"
	"github.com/fencepostmq/fencepost/internal/fault"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
)

const (
	topic = "orders"

	// patience is how long producers go on after the weather cleared up. Nothing
	// is lost then, so who is not done by now never will be.
	patience = time.Minute
	// drained is how long the broker may work on what it was sent, longer than
	// any delay of a rule.
	drained = 3 * time.Hour
)

// A world is a broker with its whole chain, and all that happens to it.
type world struct {
	problems
	plan    plan
	broker  *broker.Broker
	floor   wire.Handler // the broker, behind the bug that was planted if one was
	faults  *fault.Set
	journal *journal.Journal
	witness *witness
	server  *wire.Server
	ledger  *ledger
	links   links

	// What check found.
	last      map[int32]logView // each partition as it stands in the end
	swallowed map[position]bool // where replays of other records were taken for copies
	reported  map[position]bool // offsets that the verdict calls duplicated

	began    time.Time
	work     sync.WaitGroup // everything that runs
	writing  sync.WaitGroup // the producers
	written  chan struct{}  // closed when the producers are done
	shutting chan struct{}  // closed when the broker begins to shut down
}

// A plant puts a bug in front of a broker.
type plant func(wire.Handler) wire.Handler

// sound plants nothing.
func sound(next wire.Handler) wire.Handler { return next }

// newWorld starts a broker: the chain that package fencepost builds, with a
// witness in front and room for a bug at its end.
func newWorld(p plan, bug plant) *world {
	w := &world{
		plan: p, broker: broker.New(broker.Options{Seed: p.seed}), ledger: newLedger(),
		began: time.Now(), written: make(chan struct{}), shutting: make(chan struct{}),
	}
	w.floor = bug(w.broker)
	w.faults = fault.New(p.seed, w.floor)
	w.journal = journal.New(w.faults, journal.Options{Seed: p.seed})
	w.witness = newWitness(w.journal)
	w.server = wire.NewServer(w.witness, w.broker.TopicName, zap.NewNop())
	if err := w.broker.CreateTopic(topic, p.partitions, nil); err != nil {
		w.add("making the topic: %v", err)
	}
	for _, sentence := range p.rules {
		rule, err := fault.Parse(sentence)
		if err == nil {
			_, err = w.faults.Add(rule)
		}
		if err != nil {
			w.add("rule %q: %v", sentence, err)
		}
	}
	return w
}

// play plays a history in a bubble and checks it.
func play(t *testing.T, p plan, bug plant) (w *world) {
	synctest.Test(t, func(*testing.T) {
		w = newWorld(p, bug)
		w.start()
		w.writing.Wait()
		close(w.written)
		w.work.Wait()
		w.settle()
		w.check()
		w.shutdown()
	})
	return w
}

// start lets everybody begin.
func (w *world) start() {
	w.work.Go(w.clearUp)
	for i := range w.plan.producers {
		p := newProducer(w, w.plan.producers[i])
		w.ledger.producers = append(w.ledger.producers, p)
		w.writing.Go(p.run)
	}
	for i := range w.plan.consumers {
		w.work.Go(newConsumer(w, i).run)
	}
	if w.plan.trims > 0 {
		w.work.Go(newTrimmer(w).run)
	}
	if w.plan.verdicts > 0 {
		w.work.Go(newJudge(w).run)
	}
	if w.plan.record {
		w.work.Go(newWatcher(w).run)
	}
}

// clearUp takes the rules away when the weather ends.
func (w *world) clearUp() {
	timer := time.NewTimer(w.plan.weather)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.shutting:
	}
	w.faults.Clear()
}

// fair says whether the weather has cleared up.
func (w *world) fair() bool { return time.Since(w.began) >= w.plan.weather }

// late says whether whoever is not done by now never will be.
func (w *world) late() bool { return time.Since(w.began) >= w.plan.weather+patience }

// over says whether the producers are done.
func (w *world) over() bool {
	select {
	case <-w.written:
		return true
	default:
		return false
	}
}

// closed says whether the broker is shutting down.
func (w *world) closed() bool {
	select {
	case <-w.shutting:
		return true
	default:
		return false
	}
}

// settle waits until all that was sent has been handled.
func (w *world) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), drained)
	defer cancel()
	if err := w.server.Drain(ctx); err != nil {
		w.add("after %s there are connections that the broker has not ended: %v", drained, err)
	}
}

// shutdown ends the broker.
func (w *world) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	w.server.Shutdown(ctx)
	for _, l := range w.links.all {
		l.close()
	}
	synctest.Wait()
}

// ask asks the broker itself, behind all faults and without the journal knowing.
func (w *world) ask(req kmsg.Request) kmsg.Response {
	r := &wire.Request{Conn: &wire.Conn{}, Client: "checker", Body: req, Internal: true}
	if produce, ok := req.(*kmsg.ProduceRequest); ok {
		r.Batches = wire.AppendBatches(nil, produce)
	}
	return w.floor.Handle(context.Background(), r).Done
}

// A logView is a partition as it stands.
type logView struct {
	start, end int64
	batches    []stored
}

// read reads a partition whole, from the broker itself.
func (w *world) read(partition int32) (v logView) {
	v.start = offsetOf(w.broker.Handle(context.Background(), &wire.Request{Conn: &wire.Conn{}, Body: listing(partition, earliest)}).Done)
	v.end = offsetOf(w.broker.Handle(context.Background(), &wire.Request{Conn: &wire.Conn{}, Body: listing(partition, latest)}).Done)
	for offset := v.start; offset < v.end; {
		resp := w.broker.Handle(context.Background(), &wire.Request{Conn: &wire.Conn{}, Body: fetching(1<<20, at(partition, offset))}).Done
		told := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
		got := batchesIn(partition, told.RecordBatches)
		if len(got) == 0 {
			w.add("partition %d ends at %d, and nothing whole can be read at %d (code %d)", partition, v.end, offset, told.ErrorCode)
			return v
		}
		v.batches = append(v.batches, got...)
		offset = got[len(got)-1].end()
	}
	return v
}
