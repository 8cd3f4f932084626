package integration

import (
	"errors"
	"slices"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// fatal is an error after which no client sends a batch again by itself: it
// tells the application.
var fatal = trouble{
	name: "fatal error", verb: "error INVALID_RECORD", schedule: "attempt=1 nth=5", firings: 1,
	answer: journal.Told{Code: kerr.InvalidRecord.Code, Error: "INVALID_RECORD", BaseOffset: -1}, patient: true,
}

func fatalCells(place string) (cells []cell) {
	for _, inFlight := range []int{1, 5} {
		for _, partitions := range []int{1, 3} {
			cells = append(cells, cell{place, fatal, inFlight, partitions})
		}
	}
	return cells
}

// failed lists the records of which the producer was told an error, all of them
// the one that the fault tells.
func failed(t *testing.T, outcomes []outcome) (numbers []int) {
	t.Helper()
	for i, o := range outcomes {
		if o.err == nil {
			continue
		}
		if !errors.Is(o.err, kerr.InvalidRecord) {
			t.Fatalf("%s failed: %v", o.key, o.err)
		}
		numbers = append(numbers, i)
	}
	if len(numbers) == 0 {
		t.Fatal("no record failed")
	}
	return numbers
}

func acknowledged(outcomes []outcome) []outcome {
	return slices.DeleteFunc(slices.Clone(outcomes), func(o outcome) bool { return o.err != nil })
}

// start produces until the fault has fired, and gives what the producer was told.
func (c cell) start(t *testing.T, options ...fencepost.Option) (*stage, *kgo.Client, []outcome) {
	t.Helper()
	s := c.stage(t, options...)
	client := s.client(t, c.idempotent()...)
	return s, client, produce(t, client, "orders", upTo(gridRecords))
}

func TestGrid_a_fatal_error_before_leaves_records_missing_until_the_application_sends_them_again(t *testing.T) {
	t.Parallel()
	for _, c := range fatalCells("before") {
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			s, client, outcomes := c.start(t)
			failures := failed(t, outcomes)
			checkLog(t, s.log(t, "orders"), acknowledged(outcomes))
			v := s.verdict(t, "orders")
			if v.ExactlyOnce || len(v.Missing) == 0 || v.Totals != (journal.Totals{Missing: v.Totals.Missing}) {
				t.Errorf("the verdict on records that were refused: %s", v)
			}

			for i, o := range produce(t, client, "orders", failures) {
				outcomes[failures[i]] = o
			}
			client.Close()
			s.settle(t)
			checkEachOnce(t, s.log(t, "orders"), outcomes)
			s.CheckExactlyOnce(t, "orders")
			c.checkFirings(t, s)
		})
	}
}

func TestGrid_a_fatal_error_after_leaves_records_unconfirmed_and_twice_once_the_application_sends_them_again(t *testing.T) {
	t.Parallel()
	for _, c := range fatalCells("after") {
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			s, client, outcomes := c.start(t, fencepost.Identity("key"))
			failures := failed(t, outcomes)
			v := s.verdict(t, "orders")
			if v.ExactlyOnce || len(v.Unconfirmed) == 0 || v.Totals != (journal.Totals{Unconfirmed: v.Totals.Unconfirmed}) {
				t.Errorf("the verdict on records that were written and refused: %s", v)
			}

			produce(t, client, "orders", failures)
			client.Close()
			s.settle(t)
			checkDuplicates(t, s.verdict(t, "orders"), s.log(t, "orders"))
			c.checkFirings(t, s)
		})
	}
}
