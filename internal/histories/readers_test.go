package histories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// readerPatience is how long those who read wait for an answer.
const readerPatience = 2 * time.Second

// An actor is somebody beside the producers.
type actor struct {
	*world
	name   string
	random *rand.Rand
	link   *link
}

func newActor(w *world, name string) actor {
	return actor{world: w, name: name, random: w.plan.generator(name)}
}

// ask asks over the actor's connection, which it opens if there is none; nil if
// there was no answer.
func (a *actor) ask(req kmsg.Request) kmsg.Response {
	if a.link == nil {
		if a.link = a.dial(uncut); a.link == nil {
			pause(time.Millisecond)
			return nil
		}
	}
	resp := a.link.ask(req, a.name, readerPatience)
	if resp == nil {
		a.link = nil
	}
	return resp
}

func (a *actor) hangUp() {
	if a.link != nil {
		a.link.close()
	}
}

// moment passes some time, and says whether the producers are still at work.
func (a *actor) moment(most time.Duration) bool {
	timer := time.NewTimer(time.Duration(1+a.random.Int64N(int64(most/time.Millisecond))) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.written:
	}
	return !a.over()
}

// A consumer follows all partitions, and when the producers are done reads on
// until nothing more comes.
type consumer struct {
	actor
	offsets []int64
}

func newConsumer(w *world, n int) *consumer {
	return &consumer{newActor(w, fmt.Sprint("consumer", n)), make([]int64, w.plan.partitions)}
}

func (c *consumer) run() {
	defer c.hangUp()
	for more := true; (more || !c.over()) && !c.late() && !c.closed(); {
		more = c.poll()
	}
}

// poll fetches once, and says whether there may be more.
func (c *consumer) poll() (more bool) {
	var places []position
	floors := make([]int64, len(c.offsets))
	for n, offset := range c.offsets {
		places = append(places, at(int32(n), offset))
		_, floors[n] = c.ledger.bounds(int32(n))
	}
	req := fetching(oneOf[int32](c.random, 1, 300, 1<<20), places...)
	req.MinBytes, req.MaxWaitMillis = c.random.Int32N(500), c.random.Int32N(200)
	resp, ok := c.ask(req).(*kmsg.FetchResponse)
	if !ok || resp.ErrorCode != 0 {
		return !c.fair()
	}
	for i := range resp.Topics[0].Partitions {
		told := &resp.Topics[0].Partitions[i]
		more = c.take(told, floors[told.Partition]) || more
	}
	return more
}

func (c *consumer) take(told *kmsg.FetchResponseTopicPartition, floor int64) (more bool) {
	offset := &c.offsets[told.Partition]
	if told.ErrorCode == kerr.OffsetOutOfRange.Code {
		start, _ := c.ledger.bounds(told.Partition)
		if start <= *offset {
			start = offsetOf(c.ask(listing(told.Partition, earliest)))
		}
		*offset = max(*offset, start)
		return true
	}
	got := c.look(told, *offset, floor)
	if len(got) > 0 {
		*offset = got[len(got)-1].end()
	}
	return told.ErrorCode != 0 || *offset < told.HighWatermark
}

// A trimmer deletes records at times.
type trimmer struct{ actor }

func newTrimmer(w *world) *trimmer { return &trimmer{newActor(w, "trimmer")} }

func (t *trimmer) run() {
	defer t.hangUp()
	for range t.plan.trims {
		if !t.moment(300 * time.Millisecond) {
			return
		}
		t.trim(t.random.Int32N(t.plan.partitions))
	}
}

func (t *trimmer) trim(n int32) {
	start, floor := t.ledger.bounds(n)
	end := offsetOf(t.ask(listing(n, latest)))
	if end < 0 {
		return
	}
	if end < floor {
		t.add("partition %d: its end went down to %d, after somebody was told %d", n, end, floor)
	}
	to := start + t.random.Int64N(max(end-start, 0)+1)
	resp, ok := t.ask(trimming(n, to)).(*kmsg.DeleteRecordsResponse)
	if !ok || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		return
	}
	low := resp.Topics[0].Partitions[0].LowWatermark
	if low < start || low < to {
		t.add("partition %d: a trim to %d was told that the log begins at %d, and it began at %d before", n, to, low, start)
	}
	t.ledger.learn(n, low, end)
}

// A judge asks for the verdict in the middle.
type judge struct{ actor }

func newJudge(w *world) *judge { return &judge{newActor(w, "judge")} }

func (j *judge) run() {
	for range j.plan.verdicts {
		if !j.moment(2 * time.Second) {
			return
		}
		v, err := j.journal.Verdict(context.Background())
		if err != nil {
			j.add("a verdict in the middle: %v", err)
			return
		}
		j.believe(v)
	}
}

// believe holds what a verdict in the middle says for good against the log:
// copies that were found stand there, and stay, unless they are trimmed.
func (j *judge) believe(v journal.Verdict) {
	views := j.views()
	for _, t := range v.Topics {
		for _, d := range t.Duplicated {
			var values []string
			for _, place := range d.Places {
				if value, ok := views[place.Partition].valueAt(j.world, place.FirstOffset); ok {
					values = append(values, value)
				}
			}
			if len(slices.Compact(values)) > 1 {
				j.add("a verdict in the middle calls records duplicates that differ: %q (%s)", values, d.Text)
			}
		}
	}
}

// A watcher asks where partition 0 ends and reads on in it, at times from the
// start again, for the checker of linearizability.
type watcher struct {
	actor
	offset int64
}

func newWatcher(w *world) *watcher { return &watcher{actor: newActor(w, "watcher")} }

func (o *watcher) run() {
	defer o.hangUp()
	for range mostLooks {
		if !o.moment(200 * time.Millisecond) {
			return
		}
		if o.random.IntN(3) == 0 {
			o.list()
		} else {
			o.fetch()
		}
	}
}

func (o *watcher) list() {
	op := o.ledger.begin(nil)
	if end := offsetOf(o.ask(listing(0, latest))); end >= 0 {
		o.ledger.end(op, end)
	}
}

func (o *watcher) fetch() {
	if o.random.IntN(4) == 0 {
		o.offset = 0
	}
	op := o.ledger.begin(nil)
	resp, ok := o.ask(fetching(1<<20, at(0, o.offset))).(*kmsg.FetchResponse)
	if !ok || resp.ErrorCode != 0 || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		return
	}
	told := &resp.Topics[0].Partitions[0]
	batches := batchesIn(0, told.RecordBatches)
	o.ledger.endFetch(op, o.offset, told.HighWatermark, batches)
	if len(batches) > 0 {
		o.offset = batches[len(batches)-1].end()
	}
}
