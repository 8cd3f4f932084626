package histories

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// grace is what a shutdown is given to end by itself, as Broker.Close does.
	grace = time.Second
	// hour is longer than anybody waits in a history of a shutdown.
	hour = int32(time.Hour / time.Millisecond)
)

// drawShutdown is a plan in which much is under way at any time, delays of an
// hour among it.
func drawShutdown(seed uint64) plan {
	p := drawPlan(seed)
	r := p.generator("shutdown")
	for i := range p.producers {
		p.producers[i].records *= 3
	}
	switch r.IntN(4) {
	case 0:
		p.rules = append(p.rules, "delay 1h before produce every=9 times=all")
	case 1:
		p.rules = append(p.rules, "delay 1h after produce every=9 times=all")
	case 2:
		p.rules = append(p.rules, "delay 1h after fetch every=2 times=all")
	}
	return p
}

// TestHistories_end_with_a_shutdown shuts the broker down in the middle. It has to
// be over within a second, whoever waits and whoever does not read. What was
// applied was answered unless its client or a rule kept the answer away, and what
// was acknowledged is in the log.
func TestHistories_end_with_a_shutdown(t *testing.T) {
	everySeed(t, func(t *testing.T, seed uint64) ([]string, string) {
		p := drawShutdown(seed)
		return playShutdown(t, p).all(), p.String()
	})
}

func playShutdown(t *testing.T, p plan) (w *world) {
	synctest.Test(t, func(*testing.T) {
		w = newWorld(p, sound)
		r := p.generator("end")
		w.start()
		for range r.IntN(3) {
			w.work.Go(w.wait)
		}
		for range r.IntN(3) {
			w.ignoreAnswers()
		}
		pause(time.Duration(r.IntN(oneOf(r, 20, 100, 400))) * time.Millisecond)
		w.end()
		w.writing.Wait()
		close(w.written)
		w.leaveDeaf()
		w.work.Wait()
		w.checkAnswers()
		w.check()
	})
	return w
}

// end shuts the server down and measures that.
func (w *world) end() {
	close(w.shutting)
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	began := time.Now()
	w.server.Shutdown(ctx)
	if took := time.Since(began); took > grace {
		w.add("the shutdown took %s", took)
	}
	if open, _ := w.server.Connections(); open > 0 {
		w.add("after the shutdown %d connections are open", open)
	}
	if w.witness.busy() > 0 {
		w.add("after the shutdown %d requests are being handled", w.witness.busy())
	}
	if l := w.dial(uncut); l != nil {
		w.add("after the shutdown a client could connect")
		l.close()
	}
}

// wait fetches what does not come for an hour.
func (w *world) wait() {
	l := w.dial(uncut)
	if l == nil {
		return
	}
	req := fetching(1<<20, at(0, 0))
	req.MinBytes, req.MaxWaitMillis = 1<<20, hour
	l.ask(req, "waiting", 2*time.Hour)
}

// ignoreAnswers asks and does not read.
func (w *world) ignoreAnswers() {
	l := w.connect(uncut, true)
	if l == nil {
		return
	}
	for range 20 {
		l.send(identifying(), "deaf")
	}
}

func (w *world) leaveDeaf() {
	for _, l := range w.links.all {
		if l.deaf {
			l.end(false)
		}
	}
}

// checkAnswers wants every answer that was given to have come to its client, if
// that stayed and read.
func (w *world) checkAnswers() {
	for _, l := range w.links.all {
		if l.deaf || l.left || l.cut.sent != never || l.cut.read != never {
			continue
		}
		if said := w.witness.told[l.number]; said != l.answers {
			w.add("connection %d was given %d answers, and %d came", l.number, said, l.answers)
		}
	}
}

// busy is how many requests are being handled.
func (w *witness) busy() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.handling
}

// TestShutdown_leaves_what_was_acknowledged_to_be_read is one history of it, told
// step by step.
func TestShutdown_leaves_what_was_acknowledged_to_be_read(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(plan{partitions: 1, rules: []string{"delay 1h after produce sequence=1"}}, sound)
		l := w.dial(uncut)
		for sequence := range int32(3) { // the answers to the last two are held up
			raw := encode(writer{1000, 0}, sequence, []record{{"v", 0}})
			l.send(producing(fetchVersion, -1, map[int32][]byte{0: raw}, []int32{0}), "app")
		}
		synctest.Wait()
		w.end()
		w.work.Wait()
		if l.answers != 2 {
			t.Errorf("%d answers came: the first, and the one that was held up, should have", l.answers)
		}
		if v := w.read(0); v.end != 2 {
			t.Errorf("the log ends at %d: what was not begun before the shutdown should not be there", v.end)
		}
		resp := w.ask(fetching(1<<20, at(0, 0))).(*kmsg.FetchResponse)
		if got := batchesIn(0, resp.Topics[0].Partitions[0].RecordBatches); len(got) != 2 {
			t.Errorf("%d batches can be read", len(got))
		}
		for _, text := range w.all() {
			t.Error(text)
		}
	})
}
