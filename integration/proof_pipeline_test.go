package integration

import (
	"fmt"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestProof_a_batch_refused_in_the_middle_of_five_in_flight holds the batch that
// is refused back until the client has sent the four behind it.
func TestProof_a_batch_refused_in_the_middle_of_five_in_flight_and_the_four_behind_it(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault("delay 300ms, error NOT_LEADER_OR_FOLLOWER before produce attempt=1 nth=3"))
	var p pipeline
	outcomes := produce(t, s.client(t, append(quick(), kgo.WithHooks(&p))...), "orders", upTo(2000))

	checkLog(t, s.log(t, "orders"), outcomes)
	v := s.verdict(t, "orders")
	checkReport(t, v, journal.Totals{}, fmt.Sprintf("orders is exactly once: 2000 records in %d batches\n", v.Counts.Batches))
	p.check(t, 5)

	var middle []fencepost.Event
	for i, e := range s.Events() {
		if len(e.Rules) > 0 {
			middle = s.Events()[i : i+5]
			break
		}
	}
	for i, e := range middle {
		switch {
		case e.Attempt != 1 || i > 0 && e.FirstSequence != middle[i-1].LastSequence+1:
			t.Errorf("batch %d of the five: %s", i, e)
		case i == 0 && (e.Done.Outcome != journal.NotAsked || e.Told.Error != "NOT_LEADER_OR_FOLLOWER"):
			t.Errorf("the batch that is refused: %s", e)
		case i > 0 && (e.Done.Outcome != journal.OutOfOrder || e.Told.Error != "OUT_OF_ORDER_SEQUENCE_NUMBER"):
			t.Errorf("a batch behind it: %s", e)
		}
	}
	if n := v.Counts; n.OutOfOrder != 4 || n.NotAsked != 1 {
		t.Errorf("%d batches were out of order and %d did not come to the broker", n.OutOfOrder, n.NotAsked)
	}
}

func TestProof_acks_0_with_a_cut_connection(t *testing.T) {
	t.Parallel()
	blind := []kgo.Opt{kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.NoAck())}
	t.Run("before, a record is missing that the client takes for sent", func(t *testing.T) {
		t.Parallel()
		s := proofStage(t, fencepost.Fault("disconnect before produce nth=2"))
		outcomes := produceEach(t, s.one(t, blind...), "orders", 0, 1)
		if len(acknowledged(outcomes)) != 2 {
			t.Errorf("the client was told %v", outcomes)
		}
		s.awaitEvents(t, 2)
		checkKeys(t, s.log(t, "orders"), 0)
		checkReport(t, s.verdict(t, "orders"), journal.Totals{Missing: 1}, `orders is not exactly once (seed 42)
  missing     a batch of 1 record from client "kgo" was lost before the broker (disconnect before produce nth=2) and never sent again
`)
	})
	t.Run("after, nothing is lost but what nobody waits for", func(t *testing.T) {
		t.Parallel()
		s := proofStage(t, fencepost.Fault("disconnect after produce nth=2"))
		produceEach(t, s.one(t, blind...), "orders", 0, 1)
		s.awaitEvents(t, 2)
		checkKeys(t, s.log(t, "orders"), 0, 1)
		checkReport(t, s.verdict(t, "orders"), journal.Totals{},
			"orders is exactly once: 2 records in 2 batches, 2 batches asked for no acknowledgement\n")
	})
}
