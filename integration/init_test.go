package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestInit_each_cell_of_the_grid plays every verb before and after
// InitProducerId. A stock kgo producer then sends two records, one after the
// other; it may give up the first, and is told so, but what it is told holds.
func TestInit_each_cell_of_the_grid_leaves_the_log_as_the_producer_was_told(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb     string
		recovers bool // the second record is written
	}{
		{"drop", true},
		{"disconnect", true},
		{"error COORDINATOR_LOAD_IN_PROGRESS", true},
		{"error CLUSTER_AUTHORIZATION_FAILED", false},
		{"delay 50ms", true},
	} {
		for _, place := range []string{"before", "after"} {
			t.Run(c.verb+" "+place, func(t *testing.T) {
				t.Parallel()
				rule := fmt.Sprintf("%s %s init_producer_id", c.verb, place)
				b := fencepost.RunT(t, fencepost.Topic("orders", 1), fencepost.Fault(rule))
				cl, err := kgo.NewClient(append(append(quick(), impatient()...), kgo.SeedBrokers(b.Addr()),
					kgo.DefaultProduceTopic("orders"), kgo.RetryTimeout(20*time.Second))...)
				if err != nil {
					t.Fatal(err)
				}
				defer cl.Close()

				var acknowledged []string
				for n := range 2 {
					ctx, cancel := context.WithTimeout(t.Context(), clientPatience)
					err := cl.ProduceSync(ctx, kgo.KeyStringRecord(key(n), "value")).FirstErr()
					cancel()
					if err == nil {
						acknowledged = append(acknowledged, key(n))
					}
					if n == 1 && c.recovers != (err == nil) {
						t.Errorf("the second record: %v", err)
					}
				}
				records, err := b.Records("orders")
				if err != nil {
					t.Fatal(err)
				}
				var stored []string
				for _, r := range records {
					stored = append(stored, string(r.Key))
				}
				if fmt.Sprint(stored) != fmt.Sprint(acknowledged) {
					t.Errorf("the producer was told of %q, and the log holds %q", acknowledged, stored)
				}
				if fired, _ := b.Fired(rule); fired != 1 {
					t.Errorf("the rule fired %d times", fired)
				}
				if len(stored) > 0 {
					b.CheckExactlyOnce(t, "orders")
				}
			})
		}
	}
}
