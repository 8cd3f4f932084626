package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// gridRecords is how many records each cell of the grid sends.
const gridRecords = 10_000

// A cell is one fault in one place, and the client that meets it.
type cell struct {
	place      string
	trouble    trouble
	inFlight   int
	partitions int
}

// A trouble is what goes wrong, and how often.
type trouble struct {
	name     string
	verb     string
	schedule string
	firings  int          // 0 for once or more
	answer   journal.Told // of the deliveries that meet it
	waitOut  bool         // the client notices by waiting
	patient  bool         // the client does not send again by itself
}

// shortDelay is one that every client waits for.
const shortDelay = 5 * time.Millisecond

// Troubles that a client has to wait out happen twice, in the middle of what it
// sends, and those that it notices at once to the first delivery of every batch.
const (
	twice     = "attempt=1 nth=5 times=2"
	everyTime = "attempt=1 times=all"
)

var (
	notLeader = journal.Told{Code: kerr.NotLeaderForPartition.Code, Error: "NOT_LEADER_OR_FOLLOWER", BaseOffset: -1}

	drop       = trouble{"drop", "drop", twice, 2, journal.Told{Answer: journal.Lost}, true, false}
	disconnect = trouble{"disconnect", "disconnect", everyTime, 0, journal.Told{Answer: journal.Closed}, false, false}
	retriable  = trouble{"retriable error", "error NOT_LEADER_OR_FOLLOWER", everyTime, 0, notLeader, false, false}
	delay      = trouble{"delay", "delay " + shortDelay.String(), everyTime, 0, journal.Told{Answer: journal.Answered}, false, true}
	longDelay  = trouble{"delay beyond the client's patience", "delay 700ms", twice, 2, journal.Told{Answer: journal.Answered}, true, false}
)

var places = []string{"before", "after"}

func grid() (cells []cell) {
	for _, place := range places {
		for _, trouble := range []trouble{drop, disconnect, retriable, delay, longDelay} {
			for _, inFlight := range []int{1, 5} {
				for _, partitions := range []int{1, 3} {
					cells = append(cells, cell{place, trouble, inFlight, partitions})
				}
			}
		}
	}
	return cells
}

func (c cell) name() string {
	return fmt.Sprintf("%s %s, %d in flight, partitions=%d", c.trouble.name, c.place, c.inFlight, c.partitions)
}

func (c cell) sentence() string {
	return fmt.Sprintf("%s %s produce %s name=cell", c.trouble.verb, c.place, c.trouble.schedule)
}

// idempotent is a stock client, with the requests in flight that the cell asks for.
func (c cell) idempotent() []kgo.Opt {
	if c.inFlight == 1 {
		return append(c.options(), oneInFlight())
	}
	return c.options()
}

// plain is a client without idempotence. Its batches are large, so that there are
// few duplicates to name.
func (c cell) plain() []kgo.Opt {
	return append(c.options(), kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(c.inFlight),
		kgo.ProducerBatchMaxBytes(4*batchBytes))
}

func (c cell) options() []kgo.Opt {
	if c.trouble.waitOut {
		return append(quick(), impatient()...)
	}
	return quick()
}

func TestGrid_an_idempotent_kgo_writes_every_record_once(t *testing.T) {
	t.Parallel()
	for _, c := range grid() {
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			s := c.stage(t)
			var p pipeline
			client := s.client(t, append(c.idempotent(), kgo.WithHooks(&p))...)
			began := time.Now()
			outcomes := produce(t, client, "orders", upTo(gridRecords))
			c.checkDelay(t, s, time.Since(began))
			client.Close()
			s.settle(t)

			checkLog(t, s.log(t, "orders"), outcomes)
			s.CheckExactlyOnce(t, "orders")
			c.checkFirings(t, s)
			c.checkCounts(t, s.verdict(t, "orders").Counts)
			p.check(t, c.inFlight)
		})
	}
}

func (c cell) stage(t *testing.T, options ...fencepost.Option) *stage {
	return newStage(t, append(options, fencepost.Topic("orders", c.partitions), fencepost.Fault(c.sentence()))...)
}

// checkFirings holds what the cell says of each delivery that the fault met
// against the journal.
func (c cell) checkFirings(t *testing.T, s *stage) {
	t.Helper()
	fired, err := s.Fired("cell")
	if err != nil || fired == 0 || c.trouble.firings != 0 && fired != c.trouble.firings {
		t.Errorf("the fault fired %d times (%v)", fired, err)
	}
	met, again := 0, 0
	for _, e := range s.Events() {
		if e.Attempt > 1 {
			again++
		}
		if !strings.Contains(strings.Join(e.Rules, "; "), "name=cell") {
			continue
		}
		if met++; !c.allows(e) {
			t.Errorf("the fault made this of a delivery: %s", e)
		}
	}
	if met < fired {
		t.Errorf("the fault fired %d times and met %d deliveries", fired, met)
	}
	if (again > 0) == c.trouble.patient {
		t.Errorf("the client sent %d batches again", again)
	}
}

// allows says whether the fault may have made this of a delivery.
func (c cell) allows(e fencepost.Event) bool {
	asked := e.Done.Outcome != journal.NotAsked
	if c.trouble.delays() { // the answer is the broker's own, if the client is still there for it
		return asked && (e.Told.Answer == journal.Answered || c.outwaits() && e.Told.Answer == journal.Closed)
	}
	return asked == (c.place == "after") && e.Told.Answer == c.trouble.answer.Answer && e.Told.Code == c.trouble.answer.Code
}

// outwaits says whether an answer is held back until the client has gone.
func (c cell) outwaits() bool { return c.place == "after" && c.trouble.verb == longDelay.verb }

func (t trouble) delays() bool { return strings.HasPrefix(t.verb, "delay") }

// checkDelay fails if the client did not have to wait for what was delayed.
func (c cell) checkDelay(t *testing.T, s *stage, took time.Duration) {
	t.Helper()
	if c.trouble.verb != delay.verb {
		return
	}
	if n, _ := s.Fired("cell"); took < time.Duration(n)*shortDelay {
		t.Errorf("%d delays of %s took %s in all", n, shortDelay, took)
	}
}

// checkCounts fails unless acknowledgements were lost, or replaced, where the
// cell says so and nowhere else.
func (c cell) checkCounts(t *testing.T, n journal.Counts) {
	t.Helper()
	if n.Records != gridRecords {
		t.Errorf("the verdict counts %d records", n.Records)
	}
	lost := c.place == "after" && c.trouble.answer.Silent()
	if lost != (n.AcksLost > 0) && !c.outwaits() {
		t.Errorf("%d acknowledgements were lost", n.AcksLost)
	}
	if lost && c.trouble.schedule == everyTime && c.inFlight == 1 && !c.allLost(n) {
		t.Errorf("%d acknowledgements of %d batches were lost", n.AcksLost, n.Batches)
	}
	wantFalse := uint64(0)
	if c.place == "after" && c.trouble.answer.Code != 0 {
		wantFalse = n.Batches
	}
	if n.AcksFalse != wantFalse {
		t.Errorf("%d acknowledgements of %d batches were replaced by an error", n.AcksFalse, n.Batches)
	}
}

// allLost says whether each batch's first acknowledgement was lost. One of several
// partitions may lose others: a replay's, if a new batch is in the same request.
func (c cell) allLost(n journal.Counts) bool {
	return n.AcksLost == n.Batches || c.partitions > 1 && n.AcksLost > n.Batches
}
