package integration

import (
	"fmt"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
)

// TestReport_of_a_producer_that_starts_again_and_one_that_leaves_a_gap is the
// report that the project is made for, from its first word to its last.
func TestReport_of_a_producer_that_starts_again_and_one_that_leaves_a_gap(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault("drop after produce sequence=41 times=1"))
	first := s.raw(t)
	id := initProducer(t, first)
	write := func(sequence int32, wantOffset int64) {
		t.Helper()
		b := batch{producer: id, sequence: sequence, numbers: []int{0}, key: fmt.Sprint("o-", sequence)}
		if offset, told := send(t, first, "orders", b); offset != wantOffset || told != nil {
			t.Fatalf("sequence %d stands at %d: %v", sequence, offset, told)
		}
	}
	for sequence := range int32(41) {
		write(sequence, int64(sequence))
	}
	lost := batch{producer: id, sequence: 41, numbers: []int{0}, key: "o-41"}
	s.pipelined(t, frameOf("orders", lost)).Close()
	s.awaitEvents(t, 42)
	for sequence := int32(42); sequence < 57; sequence++ {
		write(sequence, int64(sequence))
	}
	again := batch{producer: initProducer(t, first), sequence: 0, numbers: []int{0}, key: "o-41"}
	if offset, told := send(t, first, "orders", again); offset != 57 || told != nil {
		t.Fatalf("the record that is sent again stands at %d: %v", offset, told)
	}
	write(57, 58)
	gap := batch{producer: id, sequence: 63, numbers: []int{0}, key: "o-63"}
	if _, told := send(t, first, "orders", gap); told == nil {
		t.Fatal("a gap is accepted")
	}
	checkReport(t, s.verdict(t, "orders"), journal.Totals{Duplicated: 1, Missing: 1}, `orders is not exactly once (seed 42)
  duplicated  offsets 41 and 57 hold one record, key "o-41": sent again with a new producer id after its ack was lost
              caused by fault "drop after produce sequence=41"
  missing     sequence 63 of producer 1000 was refused (out of order: expected 58) and never accepted
`)
}

// TestReport_of_a_rule_that_never_fired is the other one.
func TestReport_of_a_rule_that_never_fired(t *testing.T) {
	t.Parallel()
	b, err := fencepost.Run(fencepost.Seed(42), fencepost.Topic("orders", 1), fencepost.Topic("audit", 1),
		fencepost.Fault("error NOT_LEADER_OR_FOLLOWER before produce topic=order"))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	client := (&stage{Broker: b, changed: make(chan struct{})}).raw(t)
	for n := range 17 {
		send(t, client, "orders", batch{producer: -1, numbers: []int{n}})
	}
	send(t, client, "audit", batch{producer: -1, numbers: []int{0}})
	const want = `fault "error NOT_LEADER_OR_FOLLOWER before produce topic=order" never fired
  saw 18 produce requests, 0 to "order": 17 to "orders", 1 to "audit"
  did you mean topic=orders?`
	if got := b.Unfired()[0].Report(); got != want {
		t.Errorf("it says %s", got)
	}
}
