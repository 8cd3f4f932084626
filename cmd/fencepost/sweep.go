package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/spf13/cobra"
)

// sweepFlags are the flags of a sweep.
type sweepFlags struct {
	situation
	parallel int
	timeout  time.Duration
	delay    time.Duration
	only     []string
	allow    []string
	output   string
	progress bool
}

func newSweep() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep [flags] -- COMMAND ARG...",
		Short: "Run a program once for every way in which it can lose a request or an answer",
		Long: `Run a program once without faults, to learn what it sends, and then once for
every cell of the grid, each against a fresh broker in which one thing goes
wrong: {before, after} x {disconnect, drop, retriable error, fatal error, delay}
x {the first request, one in the middle, the last, the first delivery of every
batch}, for Produce and for InitProducerId.

The program finds the broker in KAFKA_BOOTSTRAP_SERVERS and the name of the cell
in FENCEPOST_CELL. The table says for each cell what the log held afterwards,
with the sentence that has it happen again.

A cell breaks if a record is duplicated, missing, swallowed or unconfirmed, or
the program fails or hangs. A program that fails on a fatal error does not break
the cell: it was told.`,
		Example: `  fencepost sweep -- python3 producer.py
  fencepost sweep --only 'produce/after/*/*' --parallel 4 -- ./my-producer
  fencepost sweep --allow 'drop=hung' --output junit -- node producer.js > sweep.xml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 || len(args) == 0 {
				return fmt.Errorf("the program to run has to stand behind --, as in: fencepost sweep -- ./my-producer")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.sweep(cmd, args) },
	}
	f.register(cmd)
	return cmd
}

func (f *sweepFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.scenario, "scenario", "", "read seed, topics and faults that are always in force from a YAML `FILE`")
	flags.StringArrayVar(&f.topics, "topic", nil, "make a topic, `NAME[:PARTITIONS[:key=value,...]]`; repeatable")
	flags.Uint64Var(&f.seed, "seed", defaultSweepSeed, "seed of everything drawn by chance")
	flags.StringVar(&f.identity, "identity", "", "what tells a record from every other, for a stricter verdict: `key|value|header=NAME`")
	flags.StringVar(&f.unknown, "unknown-producer", "refuse", "`refuse|accept`")
	flags.IntVar(&f.parallel, "parallel", runtime.GOMAXPROCS(0), "cells that run at a time")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "time after which the program is killed and the cell counts as hung")
	flags.DurationVar(&f.delay, "delay", fencepost.DefaultDelay, "how long the delay cells hold a request or answer back; longer than the program waits for an answer")
	flags.StringArrayVar(&f.only, "only", nil, "run the cells that match `PATTERN` only, such as 'produce/after/*/*' or disconnect; repeatable")
	flags.StringArrayVar(&f.allow, "allow", nil, "cells that may break: `PATTERN[=OUTCOME]`, such as 'produce/*/fatal/*=missing'; repeatable")
	flags.StringVar(&f.output, "output", outputText, "`text|json|junit`")
	flags.BoolVar(&f.progress, "progress", true, "show on a terminal how far it is")
}

// defaultSweepSeed makes two sweeps alike unless a seed is given.
const defaultSweepSeed = 42

func (f *sweepFlags) sweep(cmd *cobra.Command, args []string) error {
	allowed, err := parseAllowances(f.allow)
	if err != nil {
		return err
	}
	for _, p := range f.only {
		if err := checkPattern("--only", p); err != nil {
			return err
		}
	}
	if !slices.Contains([]string{outputText, outputJSON, outputJUnit}, f.output) {
		return fmt.Errorf("--output %q is not known; want text, json or junit", f.output)
	}
	s := sweeper{
		flags: f, args: args, allowed: allowed, ctx: cmd.Context(), given: cmd.Flags().Changed,
		progress: progress{to: cmd.ErrOrStderr(), on: f.progress && isTerminal(cmd.ErrOrStderr())},
	}
	workload, err := s.learn()
	if err != nil {
		return err
	}
	result := s.runAll(workload)
	if err := cmd.Context().Err(); err != nil {
		return fmt.Errorf("interrupted after %d of %d cells", len(result.Cells), result.planned)
	}
	if err := result.write(cmd.OutOrStdout(), f.output); err != nil {
		return err
	}
	if result.Broken > 0 {
		return exitCode(exitBroken)
	}
	return nil
}

// A sweeper runs the program, cell by cell.
type sweeper struct {
	flags    *sweepFlags
	args     []string
	allowed  []allowance
	ctx      context.Context
	given    func(flag string) bool
	progress progress
	seed     uint64 // of every broker
	records  uint64 // that are written where nothing goes wrong
}

func (s *sweeper) options(more ...fencepost.Option) []fencepost.Option {
	o := []fencepost.Option{fencepost.Listen(anyPort), fencepost.Seed(defaultSweepSeed)}
	o = append(o, s.flags.situation.options(s.given)...)
	return append(o, more...)
}

// learn runs the program without faults. What fails then would fail in every
// cell, and say nothing about faults.
func (s *sweeper) learn() (w fencepost.Workload, err error) {
	s.progress.show("without faults, to learn what the program sends")
	b, err := fencepost.Run(s.options()...)
	if err != nil {
		return w, err
	}
	defer b.Close()
	count, err := b.CountWorkload()
	if err != nil {
		return w, err
	}
	r, err := s.run(b, "none")
	if err != nil {
		return w, err
	}
	s.progress.clear()
	v, err := b.Verdict(s.ctx)
	switch {
	case err != nil:
		return w, err
	case r.hung:
		return w, fmt.Errorf("without any fault the program did not end within %s:\n%s", s.flags.timeout, r.tail)
	case r.code != exitOK:
		return w, fmt.Errorf("without any fault the program ends with exit code %d:\n%s", r.code, r.tail)
	case !v.ExactlyOnce:
		return w, fmt.Errorf("without any fault the records are not there exactly once:\n%s", strings.TrimSuffix(v.String(), "\n"))
	}
	w, s.records, s.seed = count(), recordsIn(v), b.Seed()
	if w.Produces == 0 {
		return w, fmt.Errorf("the program produced nothing; it finds the broker in KAFKA_BOOTSTRAP_SERVERS, which was %s\n%s", b.Addr(), r.tail)
	}
	return w, nil
}

// runAll runs every cell, some of them at a time, and keeps their order.
func (s *sweeper) runAll(w fencepost.Workload) sweepResult {
	cells := slices.DeleteFunc(fencepost.Grid(w, s.flags.delay), func(c fencepost.Cell) bool { return !s.wanted(c) })
	results := make([]cellResult, len(cells))
	places := make(chan struct{}, max(s.flags.parallel, 1))
	var work sync.WaitGroup
	var done atomic.Int64
	for i, c := range cells {
		places <- struct{}{}
		if s.ctx.Err() != nil {
			break
		}
		work.Go(func() {
			results[i] = s.cell(c)
			s.progress.show(fmt.Sprintf("%d of %d cells, the last %s", done.Add(1), len(cells), c.Name()))
			<-places
		})
	}
	work.Wait()
	s.progress.clear()
	r := sweepResult{Command: s.args, Seed: s.seed, Workload: w, planned: len(cells), again: s.again()}
	for _, c := range results {
		if c.Outcome == "" {
			continue // it was not begun
		}
		r.Cells = append(r.Cells, c)
		if c.Breaks {
			r.Broken++
		}
	}
	return r
}

// again are the flags, besides the fault, that give the broker of a cell to
// whoever wants to see it once more.
func (s *sweeper) again() string {
	f := s.flags
	flags := []string{fmt.Sprint("--seed ", s.seed)}
	add := func(name, value string) {
		if value != "" {
			flags = append(flags, "--"+name+" "+quoted([]string{value}))
		}
	}
	add("scenario", f.scenario)
	add("identity", f.identity)
	if s.given("unknown-producer") {
		add("unknown-producer", f.unknown)
	}
	for _, t := range f.topics {
		add("topic", t)
	}
	return strings.Join(flags, " ")
}

func (s *sweeper) wanted(c fencepost.Cell) bool {
	return len(s.flags.only) == 0 || slices.ContainsFunc(s.flags.only, c.Matches)
}

// tries is how often a cell is run whose fault was not reached: how a program
// groups records into batches may differ from run to run.
const tries = 3

func (s *sweeper) cell(c fencepost.Cell) (r cellResult) {
	for range tries {
		r = s.tryCell(c)
		if r.Outcome != notReached || s.ctx.Err() != nil {
			break
		}
	}
	r.Breaks = breaks(r, s.allowed)
	return r
}

func (s *sweeper) tryCell(c fencepost.Cell) cellResult {
	r := cellResult{Cell: c, Outcome: couldNotRun}
	b, err := fencepost.Run(s.options(fencepost.Fault(c.Sentence))...)
	if err != nil {
		r.Report = err.Error()
		return r
	}
	defer b.Close()
	began := time.Now()
	ran, err := s.run(b, c.Name())
	r.Seconds = time.Since(began).Seconds()
	if err != nil {
		r.Report = err.Error()
		return r
	}
	r.ExitCode, r.Output = ran.code, ran.tail
	b.Close() // what a rule still holds back is noted before the verdict is drawn
	v, err := b.Verdict(s.ctx)
	if err != nil {
		r.Report = err.Error()
		return r
	}
	fired, _ := b.Fired(c.Sentence)
	r.Outcome = outcomeOf(ran, v, fired)
	r.Report = strings.TrimSuffix(v.String(), "\n")
	if n := recordsIn(v); r.Outcome == exactlyOnce && n < s.records {
		r.Outcome = missing
		r.Report += fmt.Sprintf("\nthe program ended as if all was well, and wrote %d records; without faults it writes %d", n, s.records)
	}
	if r.Outcome == hung {
		r.Report += fmt.Sprintf("\nit did not end within --timeout %s; a client that waits longer for an answer looks hung:"+
			"\nshorten its timeout (librdkafka: socket.timeout.ms, 60 s) or raise --timeout", s.flags.timeout)
	}
	if r.Outcome == notReached {
		for _, f := range b.Unfired() {
			r.Report += "\n" + f.Report()
		}
	}
	return r
}

// recordsIn counts the records that were accepted.
func recordsIn(v fencepost.Verdict) (n uint64) {
	for _, t := range v.Topics {
		n += t.Counts.Records
	}
	return n
}

// A ran is one run of the program.
type ran struct {
	code int
	hung bool
	tail string // the last of what it printed
}

// run runs the program against a broker, and kills it when its time is up.
func (s *sweeper) run(b *fencepost.Broker, cell string) (ran, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.flags.timeout)
	defer cancel()
	var out tail
	c := child{args: s.args, stdout: &out, stderr: &out, alone: true, env: append(childEnvironment(b), "FENCEPOST_CELL="+cell)}
	code, err := c.run(ctx)
	if err != nil {
		return ran{}, err
	}
	hung := ctx.Err() != nil && s.ctx.Err() == nil
	settle(s.ctx, b)
	return ran{code: code, hung: hung, tail: out.String()}, nil
}

// keptOutput is how much of a program's output is kept, its end, in bytes.
const keptOutput = 8 << 10

// A tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if over := len(t.end) - keptOutput; over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.end), "?")
}

// A progress is a line on a terminal that is written over.
type progress struct {
	to io.Writer
	on bool
}

func (p progress) show(text string) {
	if p.on {
		fmt.Fprintf(p.to, "\r\x1b[K%s", text)
	}
}

func (p progress) clear() { p.show("") }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && onTerminal(f)
}
