package main

import (
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/spf13/cobra"
)

// reservedFiles is how many open files are left for what is no connection of a
// Kafka client: listeners, the page and its clients, and the report.
const reservedFiles = 320

// limitFlags bound what clients may do.
type limitFlags struct {
	connections int
	idle        time.Duration
}

func (f *limitFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.connections, "max-connections", defaultConnections(),
		"close connections beyond `N` at a time (default: 10000, or what the limit of open files allows)")
	flags.Lookup("max-connections").DefValue = "0" // so that help and manual do not differ from machine to machine
	flags.DurationVar(&f.idle, "idle-timeout", wire.DefaultIdleTimeout, "close a connection that sends nothing for `DURATION`, 0 for never; one that waits for an answer is not idle")
}

func defaultConnections() int {
	return max(1, min(wire.DefaultMaxConnections, openFiles()-reservedFiles))
}

func (f *limitFlags) options(given func(flag string) bool) ([]fencepost.Option, error) {
	if most := openFiles() - reservedFiles; given("max-connections") && f.connections > most {
		return nil, fmt.Errorf("--max-connections %d is more than the limit of open files allows, which is %d less %d for other uses; raise it with ulimit -n", f.connections, openFiles(), reservedFiles)
	}
	if f.connections < 1 {
		return nil, fmt.Errorf("--max-connections %d serves nobody; want 1 or more", f.connections)
	}
	if f.idle < 0 {
		return nil, fmt.Errorf("--idle-timeout %v is no time; want 0, for never, or more", f.idle)
	}
	return []fencepost.Option{fencepost.MaxConnections(f.connections), fencepost.IdleTimeout(f.idle)}, nil
}

// limitHeap makes the garbage collector keep to what the records and their
// overhead may take, so that what is no longer used does not come on top. What
// the environment says (GOMEMLIMIT) stands.
func limitHeap(memory int64) {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(memory + min(fencepost.MemoryOverhead(), math.MaxInt64-memory))
	}
}
