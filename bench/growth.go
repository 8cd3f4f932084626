package main

import (
	"context"
	"fmt"
	"math"
	"time"
)

// A growth is one thing of which there is more and more, while the work per request
// stays the same.
type growth struct {
	noun  string
	sizes []int
	small []int // with -short
	work  func(n int) work
}

var growths = []growth{
	{"partition", []int{1, 100, 10_000}, []int{1, 500}, func(n int) work {
		return growing.with(func(w *work) { w.partitions = n })
	}},
	{"producer", []int{1, 1_000, 100_000}, []int{1, 500}, func(n int) work {
		return growing.with(func(w *work) { w.producers = n })
	}},
	{"connection", []int{1, 30, 1_000}, []int{1, 50}, func(n int) work {
		return growing.with(func(w *work) { w.conns = n })
	}},
}

// growing is the work of all: everything has been met once before the clock starts.
var growing = small.with(func(w *work) { w.conns, w.inFlight, w.warm = 1, 5, true })

// growing measures the cost of a request in terms of that with the least of everything.
func (r *run) growing(ctx context.Context) error {
	r.title("growth: what a request of 1 x 100 B costs, to what it costs with the least")
	t := newTable("", "CPU us/request", "x the least", "us/request", "x the least")
	worst := spread{low: math.Inf(-1), mid: math.Inf(-1), high: math.Inf(-1)}
	for _, g := range growths {
		sizes := g.sizes
		if r.short {
			sizes = g.small
		}
		all, err := r.grow(ctx, g, sizes)
		if err != nil {
			return err
		}
		for i, n := range sizes {
			cpu := ratios(all[i], all[0], sample.cpuPerBatch)
			t.row(counted(n, g.noun), number(medians(all[i], sample.cpuPerBatch)), cpu.String(),
				number(medians(all[i], sample.wallPerBatch)), ratios(all[i], all[0], sample.wallPerBatch).String())
			if cpu.mid > worst.mid && i > 0 {
				worst = cpu
			}
		}
	}
	t.print(&r.details)
	r.reach(goalGrowth, worst)
	return nil
}

// grow measures each size once a round.
func (r *run) grow(ctx context.Context, g growth, sizes []int) ([][]sample, error) {
	return inRounds(r.rounds, len(sizes), func(i int) (sample, error) {
		fmt.Fprint(r.progress, ".")
		s, err := r.measure(ctx, r.ours, g.work(sizes[i]))
		if err != nil {
			err = fmt.Errorf("%s: %w", counted(sizes[i], g.noun), err)
		}
		return s, err
	})
}

// storing grows one log, and looks every GB at what is resident and what that GB cost.
func (r *run) storing(ctx context.Context) error {
	step, steps := int64(gigabyte), r.gigabytes
	if r.short {
		step, steps = gigabyte/10, 1
	}
	if left, err := memoryLeft(); err != nil {
		return err
	} else if most := int(left / 2 / step); most < steps {
		fmt.Fprintf(r.progress, "(%d instead of %d steps: more memory is not there) ", most, steps)
		steps = most
	}
	topic := newTopic()
	t, err := r.ours.start(ctx, large, topic)
	if err != nil {
		return err
	}
	defer t.stop()
	if _, err := prepare(ctx, t, large, topic); err != nil {
		return err
	}
	l, err := openLoad(ctx, t, large, topic, time.Duration(steps)*patience)
	if err != nil {
		return err
	}
	defer l.close()
	return r.store(ctx, t, l, step, steps)
}

func (r *run) store(ctx context.Context, t *target, l *load, step int64, steps int) error {
	r.title("a log that grows")
	rows := newTable("MB stored", "resident MB", "most MB", "most MB to MB stored", "CPU s/GB of the last step", "x the first step")
	var s, first sample
	stored := 0.0
	for i := range steps {
		fmt.Fprint(r.progress, ".")
		var err error
		s.cpu, err = cpuWhile(t.pid, func() (err error) {
			s.tally, err = l.run(ctx, limit{bytes: step / int64(len(l.lanes))})
			return err
		})
		if err != nil {
			return err
		}
		resident, peak, err := memory(t.pid)
		if err != nil {
			return err
		}
		if i == 0 {
			first = s
		}
		s.peak = peak
		stored += float64(s.bytes) / 1e6
		rows.row(number(stored), number(float64(resident)/1e6), number(s.peakMB()), number(s.peakMB()/stored), number(s.cpuPerGB()), number(s.cpuPerGB()/first.cpuPerGB()))
	}
	rows.print(&r.details)
	r.reach(goalMemory(stored), spreadOf([]float64{s.peakMB()}))
	if steps > 1 {
		r.reach(goalLogGrowth, ratios([]sample{s}, []sample{first}, sample.cpuPerGB))
	}
	return nil
}
