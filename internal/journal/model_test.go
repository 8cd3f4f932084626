package journal

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// The model: clients write records that are all different, faults happen to any
// delivery, and clients do what clients do about it. What became of each record
// is then counted in the log itself, and the verdict has to say the same.

// sending is one delivery as the model saw it.
type sending struct {
	batch
	partition int32
	stored    bool // the broker answered without an error
	base      int64
	confirmed bool // the client was told so
	told      bool // the client was told anything
}

type world struct {
	*setup
	rt       *rapid.T
	sendings []sending
	values   int
	producer int64
	time     int64
}

var modelFaults = []string{
	"", "", "",
	"disconnect before produce",
	"disconnect after produce",
	"error NOT_LEADER_OR_FOLLOWER before produce",
	"error UNKNOWN_SERVER_ERROR after produce",
	"delay 1s after produce",
}

// modelClient is one client and the place where it writes.
type modelClient struct {
	*peer
	world     *world
	producer  int64 // -1 for none
	epoch     int16
	sequence  int32
	partition int32
}

func (w *world) newClient(idempotent bool) *modelClient {
	c := &modelClient{peer: w.peer("model"), world: w, producer: -1}
	c.partition = rapid.Int32Range(0, 1).Draw(w.rt, "partition")
	if idempotent {
		c.restart()
	}
	return c
}

// restart gets a new producer id.
func (c *modelClient) restart() {
	c.world.producer++
	c.producer, c.epoch, c.sequence = c.world.producer, 0, 0
}

// bump begins a new epoch.
func (c *modelClient) bump() {
	if c.producer >= 0 {
		c.epoch++
		c.sequence = 0
	}
}

// pack makes a batch with the client's next sequences.
func (c *modelClient) pack(values []string) batch {
	b := batch{producer: c.producer, epoch: c.epoch, first: c.sequence, values: values, time: c.world.time}
	if c.producer < 0 {
		b.first = -1
	}
	c.sequence += int32(len(values))
	return b
}

func (c *modelClient) newValues(n int) (values []string) {
	for range n {
		c.world.values++
		values = append(values, fmt.Sprintf("v%d", c.world.values))
	}
	return values
}

// deliver sends batches back to back, each of which meets its own fault, and
// lists those that the client was not told to be stored.
func (c *modelClient) deliver(batches []batch) (failed []batch) {
	w := c.world
	for _, b := range batches {
		w.rules = nil
		if fault := rapid.SampledFrom(modelFaults).Draw(w.rt, "fault"); fault != "" {
			w.on(fault, anyProduce)
		}
		told := c.sendTo("orders", c.partition, b.raw())
		s := sending{batch: b, partition: c.partition, told: told != nil, confirmed: told != nil && told.ErrorCode == 0}
		if done, ok := w.reply.Done.(*kmsg.ProduceResponse); ok {
			p := &done.Topics[0].Partitions[0]
			s.stored, s.base = p.ErrorCode == 0, p.BaseOffset
		}
		w.sendings = append(w.sendings, s)
		if !s.confirmed {
			failed = append(failed, b)
		}
		if told == nil {
			c.peer = c.reconnect()
		}
	}
	return failed
}

// write writes some batches and sees to it that they arrive, or gives up.
func (c *modelClient) write() {
	w := c.world
	w.time++
	var batches []batch
	for range rapid.IntRange(1, 5).Draw(w.rt, "batches") {
		batches = append(batches, c.pack(c.newValues(rapid.IntRange(1, 3).Draw(w.rt, "records"))))
	}
	newest := batches[len(batches)-1].first
	failed := c.deliver(batches)
	for range 4 {
		if len(failed) == 0 {
			return
		}
		choices := []string{"retry", "retry", "retry", "compress anew", "restart", "give up"}
		if c.producer < 0 {
			choices = append(choices, "pack anew")
		} else {
			choices = append(choices, "bump")
			if len(failed) == 1 && failed[0].first == newest && w.sendings[len(w.sendings)-1].told {
				choices = append(choices, "reuse")
			}
		}
		failed = c.recover(rapid.SampledFrom(choices).Draw(w.rt, "choice"), failed)
	}
	if len(failed) > 0 {
		c.bump()
	}
}

// recover is what a client does about batches that failed.
func (c *modelClient) recover(choice string, failed []batch) []batch {
	switch choice {
	case "give up":
		c.bump()
		return nil
	case "bump":
		c.bump()
		return c.deliver(c.repack(failed))
	case "restart": // and the application sends again what it did not know of
		if c.producer >= 0 {
			c.restart()
		}
		c.world.time++
		c.partition = rapid.Int32Range(0, 1).Draw(c.world.rt, "partition")
		return c.deliver(c.repack(failed))
	case "pack anew":
		var all []string
		for _, b := range failed {
			all = append(all, b.values...)
		}
		c.world.time = failed[0].time
		var anew []batch
		for chunk := range slices.Chunk(all, rapid.IntRange(1, 4).Draw(c.world.rt, "records")) {
			anew = append(anew, c.pack(chunk))
		}
		return c.deliver(anew)
	case "compress anew": // other bytes, the same records
		for i := range failed {
			failed[i].packing++
		}
	case "reuse":
		failed[0].values = c.newValues(len(failed[0].values))
	}
	return c.deliver(failed)
}

// repack packs the same records into as many batches, with new sequences.
func (c *modelClient) repack(batches []batch) (anew []batch) {
	for _, b := range batches {
		anew = append(anew, c.pack(b.values))
	}
	return anew
}

// logged lists where each value stands.
func (w *world) logged() map[string][]location {
	places := make(map[string][]location)
	for tp := range w.broker.partitions {
		for offset, value := range w.broker.contents(w.t, "orders", tp.Partition) {
			places[value] = append(places[value], location{tp.Partition, int64(offset)})
		}
	}
	return places
}

func sortedLocations(set map[location]bool) []location {
	return slices.SortedFunc(maps.Keys(set), func(a, b location) int {
		return comparePlaces(place{location: a}, place{location: b})
	})
}

func (w *world) compare(what string, got, want map[location]bool) {
	if g, t := sortedLocations(got), sortedLocations(want); !slices.Equal(g, t) {
		w.rt.Errorf("%s: the verdict says %v, and it is %v", what, g, t)
	}
}

func addRange(to map[location]bool, partition int32, first, last int64) {
	for offset := first; offset <= last; offset++ {
		to[location{partition, offset}] = true
	}
}

func (w *world) checkDuplicated(v *TopicVerdict, logged map[string][]location) {
	got, want := make(map[location]bool), make(map[location]bool)
	for _, d := range v.Duplicated {
		for _, r := range d.Places {
			addRange(got, r.Partition, r.FirstOffset, r.LastOffset)
		}
	}
	for _, places := range logged {
		for _, p := range places {
			if len(places) > 1 {
				want[p] = true
			}
		}
	}
	w.compare("duplicated", got, want)
}

func (w *world) checkUnconfirmed(v *TopicVerdict, logged map[string][]location) {
	got, want := make(map[location]bool), make(map[location]bool)
	for _, u := range v.Unconfirmed {
		addRange(got, u.Partition, u.FirstOffset, u.LastOffset)
	}
	known := make(map[location]bool)
	for _, s := range w.sendings {
		if at := (location{s.partition, s.base}); s.stored && s.confirmed && w.isAt(&s, at, logged) {
			known[at] = true
		}
	}
	for _, s := range w.sendings {
		at := location{s.partition, s.base}
		twice := !slices.ContainsFunc(s.values, func(v string) bool { return len(logged[v]) < 2 })
		if s.stored && w.isAt(&s, at, logged) && !known[at] && !twice {
			addRange(want, s.partition, s.base, s.base+int64(len(s.values))-1)
		}
	}
	w.compare("unconfirmed", got, want)
}

// isAt says whether the records that were sent are those that stand there.
func (w *world) isAt(s *sending, at location, logged map[string][]location) bool {
	return slices.Contains(logged[s.values[0]], at)
}

func (w *world) checkSwallowed(v *TopicVerdict, logged map[string][]location) {
	type key struct {
		at    location
		value string
	}
	want := make(map[key]bool)
	for _, s := range w.sendings {
		if at := (location{s.partition, s.base}); s.stored && !w.isAt(&s, at, logged) {
			want[key{at, s.values[0]}] = true
		}
	}
	if v.Totals.Swallowed != len(want) {
		w.rt.Errorf("swallowed: the verdict says %d, and it is %v", v.Totals.Swallowed, want)
	}
}

func (w *world) checkMissing(v *TopicVerdict, logged map[string][]location) {
	missing := make(map[string]bool)
	for _, s := range w.sendings {
		for _, value := range s.values {
			if len(logged[value]) == 0 {
				missing[value] = true
			}
		}
	}
	for _, s := range w.sendings { // what was swallowed is told apart
		if s.stored {
			for _, value := range s.values {
				delete(missing, value)
			}
		}
	}
	said := make(map[string]bool)
	for _, m := range v.Missing {
		hit := false
		for _, s := range w.sendings {
			if !m.covers(&s) {
				continue
			}
			for _, value := range s.values {
				said[value] = true
				hit = hit || len(logged[value]) == 0
			}
		}
		if !hit {
			w.rt.Errorf("nothing is missing there: %s", m.Text)
		}
	}
	for value := range missing {
		if !said[value] {
			w.rt.Errorf("%s is missing, and the verdict does not say so", value)
		}
	}
}

func (m *Missing) covers(s *sending) bool {
	return m.Partition == s.partition && m.ProducerID == s.producer &&
		(m.ProducerID < 0 || m.Epoch == s.epoch && m.FirstSequence <= s.first && s.first <= m.LastSequence)
}

func TestVerdict_says_what_became_of_every_record(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{setup: newSetup(rt, Options{}), rt: rt}
		clients := []*modelClient{w.newClient(true), w.newClient(true), w.newClient(false)}
		for range rapid.IntRange(1, 12).Draw(rt, "writes") {
			rapid.SampledFrom(clients).Draw(rt, "client").write()
		}
		v := w.verdict()
		logged := w.logged()
		w.checkDuplicated(&v, logged)
		w.checkUnconfirmed(&v, logged)
		w.checkSwallowed(&v, logged)
		w.checkMissing(&v, logged)
		if len(v.Limits) > 0 {
			rt.Errorf("limits %q", v.Limits)
		}
		if rt.Failed() {
			rt.Logf("verdict:\n%s", v)
			for _, e := range w.journal.Events() {
				rt.Log(e)
			}
		}
	})
}
