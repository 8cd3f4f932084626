package fencepost

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fencepostmq/fencepost/internal/fault"
)

// TB is what this package needs of a *testing.T, *testing.B or *testing.F.
type TB interface {
	Helper()
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// RunT starts a broker for a test and closes it at the end. A fault rule that
// never fired fails the test, with what it saw instead; a test that failed logs
// the seed, the rules with their counts, and the last events.
func RunT(t TB, options ...Option) *Broker {
	t.Helper()
	b, err := Run(options...)
	if err != nil {
		t.Fatalf("fencepost: %v", err)
	}
	t.Cleanup(func() {
		t.Helper()
		b.Close()
		for _, s := range b.Unfired() {
			t.Errorf("%s", s.Report())
		}
		if t.Failed() {
			t.Logf("%s", b.account())
		}
	})
	return b
}

// CheckExactlyOnce fails the test unless every record of these topics, or with
// none named of all topics that were written, stands in the log exactly once
// and its producer was told so.
func (b *Broker) CheckExactlyOnce(t TB, topics ...string) {
	t.Helper()
	v, err := b.Verdict(context.Background())
	if err != nil {
		t.Fatalf("fencepost: %v", err)
	}
	written := map[string]bool{}
	for _, topic := range v.Topics {
		written[topic.Topic] = true
		if !topic.ExactlyOnce && (len(topics) == 0 || slices.Contains(topics, topic.Topic)) {
			t.Errorf("%s", strings.TrimSuffix(topic.String(), "\n"))
		}
	}
	for _, topic := range topics {
		if !written[topic] {
			t.Errorf("nothing was produced to %s (seed %d)%s", topic, b.seed, meant(topic, written))
		}
	}
}

// meant offers the topic that was probably meant instead of one that nobody
// wrote.
func meant(topic string, written map[string]bool) string {
	if near := fault.Near(topic, slices.Sorted(maps.Keys(written))); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// lastEvents is how many events a failed test logs.
const lastEvents = 20

// account tells what happened, for whoever has to find out why a test failed.
func (b *Broker) account() string {
	var s strings.Builder
	fmt.Fprintf(&s, "fencepost seed %d\n", b.seed)
	for _, f := range b.Faults() {
		fmt.Fprintf(&s, "fault %q fired %s\n", f.Rule, times(f.Fired))
	}
	events := b.Events()
	if n := len(events) - lastEvents; n > 0 {
		fmt.Fprintf(&s, "the last %d of %d events:\n", lastEvents, len(events))
		events = events[n:]
	}
	for _, e := range events {
		fmt.Fprintf(&s, "  %s\n", e)
	}
	return strings.TrimRight(s.String(), "\n")
}
