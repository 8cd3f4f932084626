package main

import (
	"fmt"
	"io"
	"math"
)

// A goal is what a figure has to reach, and where it counts as not done.
type goal struct {
	work, unit   string
	reach, limit float64
	smaller      bool // is better
}

// The goals of this project, in the order in which they are told.
var (
	goalThroughput = goal{work: "100 x 1 kB, throughput", unit: "of the floor that keeps", reach: 0.9, limit: 0.75}
	goalCPU        = goal{work: "100 x 1 kB, broker CPU per byte", unit: "x the floor that keeps", reach: 1.25, limit: 1.6, smaller: true}
	goalRetention  = goal{work: "the same with retention.bytes reusing memory, throughput", unit: "of the floor", reach: 0.7, limit: 0.5}
	goalSmall      = goal{work: "1 x 100 B, batches/s", unit: "of the floor", reach: 0.9, limit: 0.75}
	goalOne        = goal{work: "one in flight, median latency", unit: "x the floor", reach: 1.15, limit: 1.4, smaller: true}
	goalRead       = goal{work: "reading back", unit: "of the floor", reach: 0.95, limit: 0.8}
	goalExec       = goal{work: "exec to listening", unit: "ms", reach: 30, limit: 60, smaller: true}
	goalFirstAck   = goal{work: "a broker in a Go test, New to first ack", unit: "ms", reach: 1, limit: 3, smaller: true}
	goalJournal    = goal{work: "journal and faults (none matching) switched on against off, CPU per batch", unit: "x without", reach: 1.03, limit: 1.06, smaller: true}
	goalGrowth     = goal{work: "growth of partitions, producers, connections: the worst, CPU per request", unit: "x the least", reach: 1.5, limit: 1.5, smaller: true}
	goalLogGrowth  = goal{work: "growth of a log: its last GB, CPU per byte", unit: "x the first GB", reach: 1.5, limit: 1.5, smaller: true}
)

// goalMemory is the most resident memory, in MB, for so many MB of batches stored.
func goalMemory(storedMB float64) goal {
	return goal{
		work: fmt.Sprintf("resident memory at most, %s MB stored", number(storedMB)), unit: "MB",
		reach: 1.2*storedMB + 40, limit: 1.4*storedMB + 60, smaller: true,
	}
}

// judge says how far a figure came.
func (g goal) judge(v float64) string {
	better := func(than float64) bool { return v >= than }
	if g.smaller {
		better = func(than float64) bool { return v <= than }
	}
	switch {
	case math.IsNaN(v):
		return "not measured"
	case better(g.reach):
		return "met"
	case better(g.limit):
		return "short of the goal"
	}
	return "not done"
}

// A reached goal is one with its figure.
type reached struct {
	goal
	got spread
}

func printGoals(to io.Writer, all []reached) {
	t := newTable("work", "measured", "goal", "not done beyond", "")
	for _, r := range all {
		t.row(r.work+", "+r.unit, r.got.String(), number(r.reach), number(r.limit), r.judge(r.got.mid))
	}
	t.print(to)
}
