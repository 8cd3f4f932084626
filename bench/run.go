package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// A run is one measuring from beginning to end.
type run struct {
	*options
	shop     *workshop
	ours     subject
	path     string    // of the command
	others   []subject // brokers to compare with
	goals    []reached
	details  bytes.Buffer // tables of the sections, printed below the goals
	progress io.Writer
}

// A section measures one thing, and writes its table and goals into the run.
type section struct {
	name string
	do   func(*run, context.Context) error
	full bool // only in full
	part bool // not in full, which holds it anyway
}

var sections = []section{
	{name: "throughput", do: (*run).throughput},
	{name: "retention", do: (*run).retention},
	{name: "memory", do: (*run).storing},
	{name: "start", do: (*run).starting},
	{name: "chain", do: (*run).switchedOn},
	{name: "growth", do: (*run).growing},
	{name: "codecs", do: (*run).codecs, part: true},
	{name: "matrix", do: (*run).matrix, full: true},
}

// runTable measures what the options name and prints it.
func runTable(ctx context.Context, o *options) error {
	shop, err := newWorkshop()
	if err != nil {
		return err
	}
	defer shop.remove()
	r := &run{options: o, shop: shop, progress: os.Stderr}
	if r.path, err = shop.build(ctx, "fencepost", ".", "./cmd/fencepost"); err != nil {
		return err
	}
	r.ours = ours(r.path, nameOurs, httpOff)
	if err := r.findOthers(ctx); err != nil {
		return err
	}
	for _, s := range sections {
		if s.full && !o.full || s.part && o.full || !o.only.MatchString(s.name) {
			continue
		}
		began := time.Now()
		fmt.Fprintf(r.progress, "%s ", s.name)
		if err := s.do(r, ctx); err != nil {
			return fmt.Errorf("section %s: %w", s.name, err)
		}
		fmt.Fprintf(r.progress, "(%s)\n", time.Since(began).Round(100*time.Millisecond))
	}
	r.print(os.Stdout)
	return nil
}

// findOthers looks for brokers to compare with. Those that are not there are left out
// with a word.
func (r *run) findOthers(ctx context.Context) error {
	if !r.short {
		if path, err := r.shop.build(ctx, "kfake", "bench/kfake", "."); err != nil {
			fmt.Fprintln(r.progress, "kfake is left out, since it cannot be built:", err)
		} else {
			r.others = append(r.others, kfake(path))
		}
	}
	if r.kafka == "" {
		return nil
	}
	s, err := kafka(r.kafka, r.kafkaPID)
	r.others = append(r.others, s)
	return err
}

// reach notes what was measured for a goal.
func (r *run) reach(g goal, got spread) { r.goals = append(r.goals, reached{g, got}) }

// title begins a section's part of the details.
func (r *run) title(format string, args ...any) {
	fmt.Fprintf(&r.details, "## "+format+"\n\n", args...)
}

func (r *run) print(to io.Writer) {
	fmt.Fprintf(to, "%s, %s, %s, %s/%s; %s of at most %s each; a ratio is the median of those within a round, with the least and the greatest.\n\n",
		processor(), counted(runtime.NumCPU(), "core"), runtime.Version(), runtime.GOOS, runtime.GOARCH, counted(r.rounds, "round"), r.each)
	if len(r.goals) > 0 {
		printGoals(to, r.goals)
	}
	r.details.WriteTo(to) //nolint:errcheck // whoever reads it is gone
}

// processor is the name of the machine's, as Linux tells it.
func processor() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(b)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
