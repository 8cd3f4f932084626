package integration

import (
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
)

// TestProof_of_a_topic_that_stores_other_bytes_than_were_sent shows that a verdict
// is about records: the topic compresses anew and gives its own times, and still
// each replay is known for what it is.
func TestProof_of_a_topic_that_stores_other_bytes_than_were_sent(t *testing.T) {
	t.Parallel()
	stored := func(t *testing.T) *stage {
		return newStage(t, fencepost.Seed(42), fencepost.Fault("error INVALID_RECORD after produce nth=1"),
			fencepost.Topic("orders", 1, "compression.type=gzip", "message.timestamp.type=LogAppendTime"))
	}
	t.Run("the same records again", func(t *testing.T) {
		s := stored(t)
		client := s.raw(t)
		id := initProducer(t, client)
		for range 2 {
			send(t, client, "orders", batch{producer: id, numbers: []int{0, 1}})
		}
		checkReport(t, s.verdict(t, "orders"), journal.Totals{},
			"orders is exactly once: 2 records in 1 batch, 1 acknowledgement replaced by an error, 1 replay answered with the first offset\n")
	})
	t.Run("other records of the same sequences", func(t *testing.T) {
		s := stored(t)
		client := s.raw(t)
		id := initProducer(t, client)
		send(t, client, "orders", batch{producer: id, numbers: []int{0, 1}})
		send(t, client, "orders", batch{producer: id, numbers: []int{0, 2}})
		checkReport(t, s.verdict(t, "orders"), journal.Totals{Unconfirmed: 1, Swallowed: 1}, `orders is not exactly once (seed 42)
  unconfirmed offsets 0 to 1 hold sequences 0 to 1 of producer 1000, but client "raw" was told INVALID_RECORD (error INVALID_RECORD after produce)
  swallowed   sequences 0 to 1 of producer 1000 came again with 1 of 2 records changed: acknowledged as offsets 0 to 1, and not written
`)
	})
	t.Run("a record again without idempotence", func(t *testing.T) {
		s := stored(t)
		client := s.raw(t)
		for _, timestamp := range []int64{5, 5} { // a retry keeps the time, whatever the topic makes of it
			send(t, client, "orders", batch{producer: -1, sequence: -1, epoch: -1, numbers: []int{0}, timestamp: timestamp})
		}
		if v := s.verdict(t, "orders"); v.Totals != (journal.Totals{Duplicated: 1}) {
			t.Errorf("%s", v)
		}
	})
}
