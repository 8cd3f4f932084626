package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fencepostmq/fencepost"
)

// A sweep takes from a scenario what no flag says otherwise, and has a seed of
// its own only where neither does.
func TestSweeper_options_let_a_scenario_speak_and_flags_win(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(file, []byte("seed: 7\nunknown-producer: accept\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		seed uint64
	}{
		{"nothing said", nil, defaultSweepSeed},
		{"a scenario", []string{"--scenario", file}, 7},
		{"a flag", []string{"--seed", "9"}, 9},
		{"both", []string{"--scenario", file, "--seed", "9"}, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f sweepFlags
			cmd := newSweep()
			cmd.ResetFlags()
			f.register(cmd)
			if err := cmd.ParseFlags(c.args); err != nil {
				t.Fatal(err)
			}
			s := sweeper{flags: &f, given: cmd.Flags().Changed}
			b, err := fencepost.Run(s.options()...)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if b.Seed() != c.seed {
				t.Errorf("the seed is %d, and not %d", b.Seed(), c.seed)
			}
		})
	}
}
