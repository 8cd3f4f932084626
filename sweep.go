package fencepost

import (
	"slices"
	"time"
)

// SweepT is what Sweep needs of a *testing.T.
type SweepT[T any] interface {
	TB
	Run(name string, f func(t T)) bool
}

// A SweepOption changes which cells Sweep runs, and how.
type SweepOption func(*sweepConfig)

type sweepConfig struct {
	only, skip []string
	delay      time.Duration
	options    []Option
}

// Only runs the cells that one of the patterns matches, such as
// "produce/after/*/*" or "disconnect". See Cell.Matches.
func Only(patterns ...string) SweepOption {
	return func(c *sweepConfig) { c.only = append(c.only, patterns...) }
}

// Skip leaves out the cells that one of the patterns matches.
func Skip(patterns ...string) SweepOption {
	return func(c *sweepConfig) { c.skip = append(c.skip, patterns...) }
}

// Delay is how long the cells with the trouble "delay" hold a request or an
// answer back. It has to be longer than the producer waits; DefaultDelay unless
// said.
func Delay(d time.Duration) SweepOption {
	return func(c *sweepConfig) { c.delay = d }
}

// With starts the broker of every cell with these options.
func With(options ...Option) SweepOption {
	return func(c *sweepConfig) { c.options = append(c.options, options...) }
}

// DefaultDelay is how long a delayed request or answer is held back.
const DefaultDelay = 5 * time.Second

// Sweep runs a test once without faults, to learn what it sends, and then once
// for every cell of the grid, each a subtest with a broker of its own in which
// one thing goes wrong. After each the log has to hold every record exactly
// once, and the fault has to have fired.
func Sweep[T SweepT[T]](t T, test func(t T, b *Broker), options ...SweepOption) {
	t.Helper()
	c := sweepConfig{delay: DefaultDelay}
	for _, o := range options {
		o(&c)
	}
	var w Workload
	if !t.Run("no faults", func(t T) { w = learn(t, &c, test) }) {
		t.Errorf("fencepost: the test fails without any fault, so nothing can be learned from faults")
		return
	}
	for _, cell := range Grid(w, c.delay) {
		if c.wants(cell) {
			t.Run(cell.Name(), func(t T) { try(t, &c, cell, test) })
		}
	}
}

// learn runs the test without faults and counts what it sends.
func learn[T SweepT[T]](t T, c *sweepConfig, test func(t T, b *Broker)) Workload {
	b, err := Run(c.options...)
	if err != nil {
		t.Fatalf("fencepost: %v", err)
	}
	t.Cleanup(func() { b.Close() })
	count, err := b.CountWorkload()
	if err != nil {
		t.Fatalf("fencepost: %v", err)
	}
	test(t, b)
	b.CheckExactlyOnce(t)
	return count()
}

// try runs the test with one thing going wrong.
func try[T SweepT[T]](t T, c *sweepConfig, cell Cell, test func(t T, b *Broker)) {
	b := RunT(t, append(slices.Clone(c.options), Fault(cell.Sentence))...)
	test(t, b)
	b.CheckExactlyOnce(t)
}

func (c *sweepConfig) wants(cell Cell) bool {
	return (len(c.only) == 0 || matchesAny(cell, c.only)) && !matchesAny(cell, c.skip)
}

func matchesAny(cell Cell, patterns []string) bool {
	for _, p := range patterns {
		if cell.Matches(p) {
			return true
		}
	}
	return false
}
