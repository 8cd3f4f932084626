package main

import (
	"context"
	"fmt"
	"slices"
)

// A comparison is one work on several subjects: the two floors, this broker, others.
type comparison struct {
	subjects []subject
	samples  [][]sample // by subject and round
}

// compare measures a work on everything that there is.
func (r *run) compare(ctx context.Context, w work, others []subject) (*comparison, error) {
	fmt.Fprint(r.progress, ".")
	c := &comparison{subjects: slices.Concat([]subject{r.shop.floor(nameFloor, r.volume), r.shop.floor(nameKeep, r.volume), r.ours}, others)}
	var err error
	c.samples, err = r.measureAll(ctx, c.subjects, w)
	return c, err
}

// of are the samples of a subject.
func (c *comparison) of(name string) []sample {
	return c.samples[slices.IndexFunc(c.subjects, func(s subject) bool { return s.name == name })]
}

// ratio is one of this broker's figures in terms of another subject's.
func (c *comparison) ratio(to string, figure func(sample) float64) spread {
	return ratios(c.of(nameOurs), c.of(to), figure)
}

// throughput measures what most goals are set for.
func (r *run) throughput(ctx context.Context) error {
	bulk, err := r.compare(ctx, large.with(func(w *work) { w.read = true }), r.others)
	if err != nil {
		return err
	}
	r.tell(large, bulk)
	r.tellReading(bulk)
	many, err := r.compareAndTell(ctx, small)
	if err != nil {
		return err
	}
	single, err := r.compareAndTell(ctx, small.with(func(w *work) { w.inFlight = 1 }))
	if err != nil {
		return err
	}
	// Whoever is alone has a core to itself, and so has the broker.
	if _, err := r.compareAndTell(ctx, small.with(func(w *work) { w.conns, w.inFlight = 1, 1 })); err != nil {
		return err
	}
	r.reach(goalThroughput, bulk.ratio(nameKeep, sample.megabytes))
	r.reach(goalCPU, bulk.ratio(nameKeep, sample.cpuPerGB))
	r.reach(goalSmall, many.ratio(nameFloor, sample.batchRate))
	r.reach(goalOne, single.ratio(nameFloor, sample.median))
	r.reach(goalRead, bulk.ratio(nameFloor, sample.readMegabytes))
	return nil
}

func (r *run) compareAndTell(ctx context.Context, w work) (*comparison, error) {
	c, err := r.compare(ctx, w, r.others)
	if err == nil {
		r.tell(w, c)
	}
	return c, err
}

// tell writes the table of one work.
func (r *run) tell(w work, c *comparison) {
	r.title("%s", w)
	t := newTable("", "MB/s", "batches/s", "of the floor", "of the floor that keeps", "CPU s/GB", "x the floor that keeps", "CPU us/batch", "p50 us", "x the floor", "p99 us", "peak MB")
	for i, s := range c.subjects {
		all := c.samples[i]
		t.row(s.name, number(medians(all, sample.megabytes)), number(medians(all, sample.batchRate)),
			ratios(all, c.of(nameFloor), sample.megabytes).String(), ratios(all, c.of(nameKeep), sample.megabytes).String(),
			number(medians(all, sample.cpuPerGB)), ratios(all, c.of(nameKeep), sample.cpuPerGB).String(),
			number(medians(all, sample.cpuPerBatch)), number(medians(all, sample.median)), ratios(all, c.of(nameFloor), sample.median).String(), number(medians(all, sample.slow)),
			number(medians(all, sample.peakMB)))
	}
	t.print(&r.details)
}

func (r *run) tellReading(c *comparison) {
	r.title("reading it back, one Fetch of at most 1 MiB at a time per partition")
	t := newTable("", "MB/s", "of the floor", "CPU s/GB", "x the floor", "peak MB, written", "and read")
	for i, s := range c.subjects {
		if s.name == nameKeep {
			continue // it reads as the other one does
		}
		all := c.samples[i]
		t.row(s.name, number(medians(all, sample.readMegabytes)), ratios(all, c.of(nameFloor), sample.readMegabytes).String(),
			number(medians(all, sample.readCPUPerGB)), ratios(all, c.of(nameFloor), sample.readCPUPerGB).String(),
			number(medians(all, sample.peakMB)), number(medians(all, sample.readPeakMB)))
	}
	t.print(&r.details)
}

// codecs tells what decompressing costs: the floors see the same bytes and look into none.
func (r *run) codecs(ctx context.Context) error {
	var all []work
	for _, codec := range compressions {
		all = append(all, large.with(func(w *work) { w.codec = codec }))
	}
	return r.list(ctx, "compressed batches", all)
}

// matrix measures every cell.
func (r *run) matrix(ctx context.Context) error { return r.list(ctx, "every cell", matrix()) }

// list measures works in short: a line each.
func (r *run) list(ctx context.Context, title string, works []work) error {
	t := newTable("work", "MB/s", "batches/s", "of the floor", "of the floor that keeps", "CPU us/batch", "x the floor that keeps", "p50 us", "x the floor")
	for _, w := range works {
		c, err := r.compare(ctx, w, nil)
		if err != nil {
			return err
		}
		mine := c.of(nameOurs)
		t.row(w.String(), number(medians(mine, sample.megabytes)), number(medians(mine, sample.batchRate)),
			c.ratio(nameFloor, sample.batchRate).String(), c.ratio(nameKeep, sample.batchRate).String(),
			number(medians(mine, sample.cpuPerBatch)), c.ratio(nameKeep, sample.cpuPerBatch).String(),
			number(medians(mine, sample.median)), c.ratio(nameFloor, sample.median).String())
	}
	r.title("%s", title)
	t.print(&r.details)
	return nil
}

// retainedBytes is what a topic of the retention section keeps of a partition, 64 MiB.
const retainedBytes = 64 << 20

// retention measures a log that forgets as it goes, against the floor that keeps nothing.
func (r *run) retention(ctx context.Context) error {
	w := large.with(func(w *work) {
		w.name = "100 x 1 kB, retention.bytes 64 MiB"
		w.configs = map[string]string{"retention.bytes": fmt.Sprint(retainedBytes)}
	})
	c, err := r.compare(ctx, w, nil)
	if err != nil {
		return err
	}
	r.tell(w, c)
	mine := c.of(nameOurs)
	written, peak := medians(mine, func(s sample) float64 { return float64(s.bytes) / 1e6 }), medians(mine, sample.peakMB)
	kept := float64(retainedBytes*w.topicPartitions()) / 1e6
	fmt.Fprintf(&r.details, "%s MB of batches may be kept, %s MB were written, and %s MB were resident at most.\n\n", number(kept), number(written), number(peak))
	got := c.ratio(nameFloor, sample.megabytes)
	if written < 2*kept || peak > goalMemory(kept).limit {
		got = spreadOf(nil) // too little was written for memory to be reused, or none was
	}
	r.reach(goalRetention, got)
	return nil
}

// A switched is something that a broker may be run with or without.
type switched struct {
	what    string
	off, on subject
	goal    bool
}

// switchedOn measures what journal and faults cost where none of the rules matches, and
// what it costs to observe every request for the metrics.
func (r *run) switchedOn(ctx context.Context) error {
	r.title("switched on against off")
	t := newTable("", "work", "batches/s off", "on", "ratio", "CPU us/batch off", "on", "ratio")
	for _, s := range []switched{
		{"journal and faults", r.shop.chain("off", true), r.shop.chain("on", false), true},
		{"metrics", ours(r.path, "off", httpOff), ours(r.path, "on", httpOn), false},
	} {
		for _, w := range []work{small, large} {
			if err := r.switchOn(ctx, t, s, w); err != nil {
				return err
			}
		}
	}
	t.print(&r.details)
	return nil
}

func (r *run) switchOn(ctx context.Context, t *table, s switched, w work) error {
	fmt.Fprint(r.progress, ".")
	all, err := r.inTurns(ctx, []subject{s.off, s.on}, w, r.volume/2)
	if err != nil {
		return err
	}
	off, on := all[0], all[1]
	cpu := ratios(on, off, sample.cpuPerBatch)
	t.row(s.what, w.String(), number(medians(off, sample.batchRate)), number(medians(on, sample.batchRate)), ratios(on, off, sample.batchRate).String(),
		number(medians(off, sample.cpuPerBatch)), number(medians(on, sample.cpuPerBatch)), cpu.String())
	if s.goal {
		g := goalJournal
		g.work += fmt.Sprintf(", %d x %s", w.records, bytesOf(w.size))
		r.reach(g, cpu)
	}
	return nil
}
