package integration

import (
	"slices"
	"syscall"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
)

// oneByOne makes kcat send each line as a batch, and five at a time.
var oneByOne = slices.Concat(kcatIdempotent, []string{"-X", "linger.ms=0", "-X", "batch.num.messages=1", "-X", "socket.timeout.ms=60000"})

// inFlight is how many batches an idempotent kcat sends without an answer.
const inFlight = 5

// killKcat starts kcat with ten lines, and kills it once the broker has handled
// so many batches of which it has not heard.
func (s *stage) killKcat(t *testing.T, handled int) {
	t.Helper()
	p := kcatProduce(t, s.Addr(), lines(10), oneByOne...)
	s.awaitEvents(t, handled)
	if code := p.signal(t, syscall.SIGKILL); code != -int(syscall.SIGKILL) {
		t.Fatalf("kcat ended with %d before it was killed", code)
	}
}

func TestProof_a_producer_killed_with_batches_in_flight_whose_answers_are_lost(t *testing.T) {
	t.Parallel()
	kcatCommand(t)
	s := proofStage(t, fencepost.Fault("drop after produce times=all"))
	s.killKcat(t, inFlight)

	if n := len(s.log(t, "orders")); n != inFlight {
		t.Errorf("the log holds %d records", n)
	}
	checkReport(t, s.verdict(t, "orders"), journal.Totals{Unconfirmed: 1}, `orders is not exactly once (seed 42)
  unconfirmed offsets 0 to 4 hold sequences 0 to 4 of producer 1000, but no answer ever told client "rdkafka" (drop after produce times=all)
`)
}

func TestProof_a_producer_killed_with_batches_in_flight_that_are_lost(t *testing.T) {
	t.Parallel()
	kcatCommand(t)
	s := proofStage(t, fencepost.Fault("drop before produce"))
	s.killKcat(t, inFlight)

	if n := len(s.log(t, "orders")); n != 0 {
		t.Errorf("the log holds %d records", n)
	}
	checkReport(t, s.verdict(t, "orders"), journal.Totals{Missing: 1}, `orders is not exactly once (seed 42)
  missing     sequences 0 to 4 of producer 1000 were lost before the broker (drop before produce) and never sent again
`)
}

func TestProof_a_producer_killed_with_batches_in_flight_and_started_again(t *testing.T) {
	t.Parallel()
	kcatCommand(t)
	s := proofStage(t, fencepost.Fault("drop after produce client=rdkafka times=all"))
	s.killKcat(t, inFlight)
	if code := kcatProduce(t, s.Addr(), lines(10), slices.Concat(oneByOne, []string{"-X", "client.id=again"})...).wait(t); code != 0 {
		t.Fatalf("the second kcat ended with %d", code)
	}
	checkReport(t, s.verdict(t, "orders"), journal.Totals{Duplicated: inFlight}, `orders is not exactly once (seed 42)
  duplicated  offsets 0 and 5 hold one record, value "line 0": sent again with a new producer id after its ack was lost
  duplicated  offsets 1 and 6 hold one record, value "line 1": sent again with a new producer id after its ack was lost
  duplicated  offsets 2 and 7 hold one record, value "line 2": sent again with a new producer id after its ack was lost
  duplicated  offsets 3 and 8 hold one record, value "line 3": sent again with a new producer id after its ack was lost
  duplicated  offsets 4 and 9 hold one record, value "line 4": sent again with a new producer id after its ack was lost
              caused by fault "drop after produce client=rdkafka times=all"
`)
}
