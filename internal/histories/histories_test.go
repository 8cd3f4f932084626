package histories

import (
	"context"
	"testing"

	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/google/go-cmp/cmp"
)

func TestHistories(t *testing.T) {
	everySeed(t, func(t *testing.T, seed uint64) ([]string, string) {
		p := drawPlan(seed)
		return play(t, p, sound).all(), p.String()
	})
}

// A seed says the same thing twice, and two seeds different things.
func TestPlan_follows_from_its_seed(t *testing.T) {
	all := map[string]uint64{}
	for seed := range uint64(200) {
		first, second := drawPlan(seed), drawPlan(seed)
		if diff := cmp.Diff(first.String(), second.String()); diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
		if other, taken := all[first.String()]; taken {
			t.Errorf("seeds %d and %d have one plan", other, seed)
		}
		all[first.String()] = seed
	}
}

// meetings is how many histories TestHistories_meet_everything plays.
const meetings = 100

// A history that meets nothing proves nothing: among a few there has to be every
// outcome, every finding, and all else that the checks are about.
func TestHistories_meet_everything(t *testing.T) {
	met := map[string]int{}
	for seed := range uint64(meetings) {
		w := play(t, drawPlan(seed+1), sound)
		v, err := w.journal.VerdictOf(context.Background(), topic)
		if err != nil {
			t.Fatal(err)
		}
		w.meet(met, &v)
		w.meetClients(met)
	}
	for what, times := range met {
		if times == 0 {
			t.Errorf("%d histories met no %s", meetings, what)
		}
	}
	t.Logf("%d histories met %v", meetings, met)
}

// meet counts outcomes and findings.
func (w *world) meet(met map[string]int, v *journal.TopicVerdict) {
	met["batches"] += int(v.Counts.Batches)
	met["replays answered"] += int(v.Counts.Replayed)
	met["out of order"] += int(v.Counts.OutOfOrder)
	met["fenced"] += int(v.Counts.Fenced)
	met["not asked"] += int(v.Counts.NotAsked)
	met["acks lost"] += int(v.Counts.AcksLost)
	met["acks false"] += int(v.Counts.AcksFalse)
	met["acks not due"] += int(v.Counts.AcksNotDue)
	met["duplicated"] += v.Totals.Duplicated
	met["missing"] += v.Totals.Missing
	met["unconfirmed"] += v.Totals.Unconfirmed
	met["swallowed"] += len(w.swallowed)
	if v.ExactlyOnce {
		met["topics exactly once"]++
	}
}

// meetClients counts what became of clients and connections.
func (w *world) meetClients(met map[string]int) {
	met["batches that readers saw"] += len(w.ledger.seen)
	for _, view := range w.last {
		if view.start > 0 {
			met["partitions trimmed"]++
		}
	}
	for _, p := range w.ledger.producers {
		met["epochs raised"] += p.bumps
		if p.reborn {
			met["clients killed"]++
		}
	}
	for _, l := range w.links.all {
		if l.cut.sent == 0 || l.cut.read != never {
			met["connections cut"]++
		}
	}
}
