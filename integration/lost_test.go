package integration

import (
	"testing"

	"github.com/fencepostmq/fencepost"
)

// What stands behind a lost request on its connection is lost with it, and named.
func TestLost_requests_behind_a_drop_are_lost_with_it(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault("drop before produce nth=2"))
	s.pipelined(t, frameOf("orders", batch{producer: -1, numbers: []int{0}}), frameOf("orders", batch{producer: -1, numbers: []int{1}}),
		frameOf("orders", batch{producer: -1, numbers: []int{2}}))
	s.awaitEvents(t, 3)
	if n := len(s.log(t, "orders")); n != 1 {
		t.Errorf("the log holds %d records", n)
	}
	if v := s.verdict(t, "orders"); v.ExactlyOnce || v.Totals.Missing == 0 || v.Counts.NotAsked != 2 {
		t.Errorf("the verdict is: %s", v)
	}
}
