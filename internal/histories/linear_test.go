package histories

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// Linearizable is what one partition has to be: there is one order of all
// appends, reads and questions for the end that agrees with who finished before
// whom began, and in which a log without any concurrency would have given the
// same answers. Whether an append happened whose answer was lost is open: it may
// take effect at any time after it was sent, or never.
//
// The state of the model is the log: two bytes for each record, the number of the
// batch that holds it.

// mostLooks is how often the watcher asks, which keeps histories short.
const mostLooks = 25

// checkTime is how long the checker may look at one history. Nearly all take it
// less than a millisecond.
const checkTime = 5 * time.Second

// An operation is one that was begun; until it ends, nobody knows its outcome.
type operation struct {
	call, back int64
	input      entry
	output     outcome
}

// An entry is the batch to append; one without records is a question for the end,
// or a Fetch from an offset on.
type entry struct {
	number  int
	records int
	from    int64
}

// An outcome is what somebody was told.
type outcome struct {
	known  bool
	offset int64   // of an append its base, else the end of the log
	log    *string // of a Fetch, what it gave: it may end early, but not at once
	places []int64 // of an append whose answer was lost: the offsets that it can have, nil for any
}

// agrees says whether a Fetch can have given this of a log that goes on like
// that. It may end before the log does, as a broker may give what lies together;
// it may not give nothing where there is something.
func (o outcome) agrees(log string) bool {
	return o.log == nil || strings.HasPrefix(log, *o.log) && (*o.log != "" || log == "")
}

// couldBe says whether an append at this offset agrees with what was told.
func (o outcome) couldBe(offset int64) bool {
	if o.known {
		return o.offset == offset
	}
	return o.places == nil || slices.Contains(o.places, offset)
}

func logOf(number, records int) string {
	return strings.Repeat(string([]byte{byte(number >> 8), byte(number)}), records)
}

// begin notes that an operation begins; a nil batch is none to append.
func (l *ledger) begin(batch *sent) *operation {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	op := &operation{call: l.clock, back: math.MaxInt64}
	if batch != nil {
		op.input = entry{number: batch.number, records: len(batch.records)}
	}
	l.ops = append(l.ops, op)
	return op
}

// end notes what an append was told, or where the log ends.
func (l *ledger) end(op *operation, offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	op.back, op.output = l.clock, outcome{known: true, offset: offset}
}

// numberOf is the number of a batch, 0 if nobody sent it.
func (l *ledger) numberOf(b stored) int {
	if s := l.known(b.key()); s != nil {
		return s.number
	}
	return 0
}

// endFetch notes what a Fetch gave from an offset on.
func (l *ledger) endFetch(op *operation, from, end int64, batches []stored) {
	var log strings.Builder
	for _, b := range batches {
		log.WriteString(logOf(l.numberOf(b), int(b.header().NumRecords)))
	}
	given := log.String()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	op.input.from = from
	op.back, op.output = l.clock, outcome{known: true, offset: end, log: &given}
}

// oneLog is the sequential specification.
var oneLog = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		log, in, out := state.(string), input.(entry), output.(outcome)
		end := int64(len(log) / 2)
		if in.records > 0 {
			return out.couldBe(end), log + logOf(in.number, in.records)
		}
		return !out.known || out.offset == end && out.agrees(log[2*min(in.from, end):]) && in.from <= end, log
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// linearizable says whether the operations of a history are. Questions that were
// not answered tell nothing.
func linearizable(ops []*operation) porcupine.CheckResult {
	var all []porcupine.Operation
	for _, op := range ops {
		if op.input.records > 0 || op.output.known {
			all = append(all, porcupine.Operation{Input: op.input, Call: op.call, Output: op.output, Return: op.back})
		}
	}
	return porcupine.CheckOperationsTimeout(oneLog, all, checkTime)
}

// resolve uses the log as it stands in the end to say of each append whose answer
// was lost where it can have taken effect. Those that did not are left out. Of
// several with the same bytes the ones that began first stay, as they could have
// taken effect whenever the others could.
func resolve(ops []*operation, batches []stored, number func(stored) int) (left []*operation) {
	places := map[int][]int64{}
	for _, b := range batches {
		places[number(b)] = append(places[number(b)], b.base)
	}
	for _, op := range ops {
		if op.output.known {
			places[op.input.number] = slices.DeleteFunc(places[op.input.number], func(base int64) bool { return op.input.records > 0 && base == op.output.offset })
		}
	}
	used := map[int]int{}
	for _, op := range ops {
		n := op.input.number
		if op.input.records == 0 || op.output.known {
			left = append(left, op)
		} else if used[n] < len(places[n]) {
			used[n]++
			op.output.places = places[n]
			left = append(left, op)
		}
	}
	return left
}

// drawLinear is a plan for one partition, with few operations and clients that
// meet often.
func drawLinear(seed uint64) plan {
	p := plan{seed: seed, partitions: 1, record: true}
	r := p.generator("plan")
	p.weather = 3 * time.Second
	p.consumers = r.IntN(2)
	for i := range 2 + r.IntN(3) {
		c := drawProducer(r, i, kind(pick(r, 2, 2)))
		c.records, c.batch = 3+r.IntN(12), 1+r.IntN(3)
		p.producers = append(p.producers, c)
	}
	for range r.IntN(4) {
		p.rules = append(p.rules, sentence(r, 1, retriableCodes))
	}
	return p
}

// playLinear plays a history and gives its operations to the checker, with a
// last look at the log that ends every doubt.
func playLinear(t *testing.T, p plan, bug plant) (problems []string) {
	w := play(t, p, bug)
	v := w.last[0]
	w.ledger.endFetch(w.ledger.begin(nil), 0, v.end, v.batches)
	ops := resolve(w.ledger.ops, v.batches, w.ledger.numberOf)
	if got := linearizable(ops); got != porcupine.Ok {
		return []string{fmt.Sprintf("are the %d operations on partition 0 linearizable: %s", len(ops), got)}
	}
	return nil
}

func TestHistories_of_one_partition_are_linearizable(t *testing.T) {
	everySeed(t, func(t *testing.T, seed uint64) ([]string, string) {
		p := drawLinear(seed)
		return playLinear(t, p, sound), p.String()
	})
}

// The checker itself: small histories that are known to be right or wrong.
func TestLinearizable_tells_right_from_wrong(t *testing.T) {
	told := func(offset int64) outcome { return outcome{known: true, offset: offset} }
	a, b := entry{number: 1, records: 1}, entry{number: 2, records: 2}
	gave := func(end int64, log string) outcome { return outcome{known: true, offset: end, log: &log} }
	for _, c := range []struct {
		name string
		ops  []*operation
		want bool
	}{
		{"nothing", nil, true},
		{"one after the other", []*operation{{1, 2, a, told(0)}, {3, 4, b, told(1)}, {5, 6, entry{}, told(3)}}, true},
		{"the later one stands first", []*operation{{1, 2, a, told(2)}, {3, 4, b, told(0)}}, false},
		{"at the same time in either order", []*operation{{1, 4, a, told(2)}, {2, 3, b, told(0)}}, true},
		{"two at one offset", []*operation{{1, 4, a, told(0)}, {2, 3, b, told(0)}}, false},
		{"the end is old", []*operation{{1, 2, a, told(0)}, {3, 4, entry{}, told(0)}}, false},
		{"the end is asked for meanwhile", []*operation{{1, 4, a, told(0)}, {2, 3, entry{}, told(0)}}, true},
		{"a lost answer, and it did not happen", []*operation{{1, math.MaxInt64, a, outcome{}}, {2, 3, entry{}, told(0)}}, true},
		{"a lost answer, and it happened later", []*operation{{1, math.MaxInt64, a, outcome{}}, {2, 3, entry{}, told(0)}, {4, 5, entry{}, told(1)}}, true},
		{"a lost answer happens once only", []*operation{{1, math.MaxInt64, a, outcome{}}, {2, 3, entry{}, told(2)}}, false},
		{"a fetch sees what was acknowledged", []*operation{{1, 2, a, told(0)}, {3, 4, entry{}, gave(1, logOf(1, 1))}}, true},
		{"a fetch gives a part", []*operation{{1, 2, a, told(0)}, {3, 4, b, told(1)}, {5, 6, entry{}, gave(3, logOf(1, 1))}}, true},
		{"a fetch gives nothing where something is", []*operation{{1, 2, a, told(0)}, {3, 4, b, told(1)}, {5, 6, entry{from: 1}, gave(3, "")}}, false},
		{"a fetch goes on where it was told", []*operation{{1, 2, a, told(0)}, {3, 4, b, told(1)}, {5, 6, entry{from: 1}, gave(3, logOf(2, 2))}}, true},
		{"a fetch sees another batch", []*operation{{1, 2, a, told(0)}, {3, 4, entry{}, gave(1, logOf(2, 1))}}, false},
	} {
		if got := linearizable(c.ops); (got == porcupine.Ok) != c.want {
			t.Errorf("%s: linearizable is %s", c.name, got)
		}
	}
}
