package integration

import "testing"

// TestGrid_without_idempotence shows that the broker detects what idempotence
// prevents: every fault that takes an acknowledgement away leaves duplicates,
// and the verdict names them all.
func TestGrid_without_idempotence_kgo_writes_twice_and_the_verdict_names_each(t *testing.T) {
	t.Parallel()
	for _, trouble := range []trouble{drop, disconnect, retriable, longDelay} {
		for _, inFlight := range []int{1, 5} {
			for _, partitions := range []int{1, 3} {
				c := cell{"after", trouble, inFlight, partitions}
				t.Run(c.name(), func(t *testing.T) {
					t.Parallel()
					s := c.stage(t)
					client := s.client(t, c.plain()...)
					produce(t, client, "orders", upTo(gridRecords))
					client.Close()
					s.settle(t)

					checkDuplicates(t, s.verdict(t, "orders"), s.log(t, "orders"))
					c.checkFirings(t, s)
				})
			}
		}
	}
}
