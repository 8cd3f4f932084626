package integration

import (
	"errors"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/twmb/franz-go/pkg/kerr"
)

// TestProof_swallowed plays what a widely used client does: after an error it
// takes its sequence back, though the error was a lie, and gives it to new
// records. Kafka takes them for a replay.
func TestProof_a_sequence_used_for_new_records_after_an_error_that_was_a_lie(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault("error INVALID_RECORD after produce nth=2"))
	client := s.raw(t)
	id := initProducer(t, client)
	send(t, client, "orders", batch{producer: id, sequence: 0, numbers: []int{0}})
	if _, told := send(t, client, "orders", batch{producer: id, sequence: 1, numbers: []int{1, 2}}); !errors.Is(told, kerr.InvalidRecord) {
		t.Fatalf("the client was told %v", told)
	}

	offset, told := send(t, client, "orders", batch{producer: id, sequence: 1, numbers: []int{3, 4}})
	if offset != 1 || told != nil {
		t.Errorf("the new records were acknowledged at %d with %v", offset, told)
	}
	checkKeys(t, s.log(t, "orders"), 0, 1, 2)
	v := s.verdict(t, "orders")
	checkReport(t, v, journal.Totals{Unconfirmed: 1, Swallowed: 1}, `orders is not exactly once (seed 42)
  unconfirmed offsets 1 to 2 hold sequences 1 to 2 of producer 1000, but client "raw" was told INVALID_RECORD (error INVALID_RECORD after produce nth=2)
  swallowed   sequences 1 to 2 of producer 1000 came again with 2 of 2 records changed, the first now key "o-00003": acknowledged as offsets 1 to 2, where first key "o-00001" stands, and not written
`)
	if f := v.Swallowed[0]; f.FirstOffset != 1 || f.LastOffset != 2 || f.Records != 2 {
		t.Errorf("swallowed are said to be %d records at offsets %d to %d", f.Records, f.FirstOffset, f.LastOffset)
	}
}

// TestProof_the_same_records_in_another_batch shows the other side: records that
// come again with other timestamps are a plain replay.
func TestProof_the_same_records_sent_again_with_another_checksum(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault("error INVALID_RECORD after produce nth=1"))
	client := s.raw(t)
	id := initProducer(t, client)
	send(t, client, "orders", batch{producer: id, numbers: []int{0}, timestamp: 1})
	if offset, told := send(t, client, "orders", batch{producer: id, numbers: []int{0}, timestamp: 2}); offset != 0 || told != nil {
		t.Errorf("the replay was acknowledged at %d with %v", offset, told)
	}
	checkReport(t, s.verdict(t, "orders"), journal.Totals{},
		"orders is exactly once: 1 record in 1 batch, 1 acknowledgement replaced by an error, 1 replay answered with the first offset\n")
}
