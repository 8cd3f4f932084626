package main

import (
	"bytes"
	"encoding/xml"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
)

func verdictWith(totals journal.Totals) fencepost.Verdict {
	return fencepost.Verdict{Topics: []journal.TopicVerdict{{Topic: "orders", Totals: totals}}}
}

func TestOutcomeOf(t *testing.T) {
	good := verdictWith(journal.Totals{})
	for _, c := range []struct {
		name  string
		ran   ran
		v     fencepost.Verdict
		fired int
		want  outcome
	}{
		{"all is well", ran{}, good, 1, exactlyOnce},
		{"no topic was written", ran{}, fencepost.Verdict{}, 1, exactlyOnce},
		{"the rule never fired", ran{}, good, 0, notReached},
		{"the program says that it failed", ran{code: 3}, good, 1, programFailed},
		{"it says so, and a record is missing: its user knows", ran{code: 1}, verdictWith(journal.Totals{Missing: 1}), 1, programFailed},
		{"it says so, and a record is there twice: its user does not know", ran{code: 1}, verdictWith(journal.Totals{Duplicated: 1}), 1, duplicated},
		{"it says so, and a record was swallowed", ran{code: 1}, verdictWith(journal.Totals{Swallowed: 1}), 1, swallowed},
		{"a record is missing without a word", ran{}, verdictWith(journal.Totals{Missing: 1}), 1, missing},
		{"nobody was told of a record", ran{}, verdictWith(journal.Totals{Unconfirmed: 1}), 1, unconfirmed},
		{"the worst of several findings counts", ran{}, verdictWith(journal.Totals{Unconfirmed: 1, Missing: 1, Duplicated: 1}), 1, duplicated},
		{"swallowed is the worst of all", ran{}, verdictWith(journal.Totals{Swallowed: 1, Missing: 1, Duplicated: 1}), 1, swallowed},
		{"it was killed", ran{code: 137, hung: true}, good, 1, hung},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outcomeOf(c.ran, c.v, c.fired); got != c.want {
				t.Errorf("it is %q, not %q", got, c.want)
			}
		})
	}
}

func TestBreaks(t *testing.T) {
	cell := func(trouble string) fencepost.Cell {
		return fencepost.Cell{API: "produce", Place: "after", Trouble: trouble, Position: "first"}
	}
	for _, c := range []struct {
		name    string
		trouble string
		outcome outcome
		allow   []string
		want    bool
	}{
		{"exactly once never breaks", "drop", exactlyOnce, nil, false},
		{"duplicated breaks", "drop", duplicated, nil, true},
		{"failing breaks", "drop", programFailed, nil, true},
		{"failing on a fatal error does not", "fatal", programFailed, nil, false},
		{"swallowing after a fatal error does", "fatal", swallowed, nil, true},
		{"a cell that was not reached proves nothing", "drop", notReached, nil, true},
		{"a pattern allows any outcome", "drop", hung, []string{"produce/after/drop/*"}, false},
		{"a word allows its cells", "drop", hung, []string{"drop"}, false},
		{"an outcome allows itself", "drop", duplicated, []string{"drop=duplicated"}, false},
		{"and no other", "drop", missing, []string{"drop=duplicated"}, true},
		{"two words of an outcome are joined", "drop", programFailed, []string{"drop=program-failed"}, false},
		{"another pattern allows nothing", "drop", hung, []string{"delay"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			allowed, err := parseAllowances(c.allow)
			if err != nil {
				t.Fatal(err)
			}
			if got := breaks(cellResult{Cell: cell(c.trouble), Outcome: c.outcome}, allowed); got != c.want {
				t.Errorf("it breaks: %v, and not %v", got, c.want)
			}
		})
	}
}

func TestParseAllowances_names_the_bad_outcome_and_the_good_ones(t *testing.T) {
	_, err := parseAllowances([]string{"drop=lost"})
	want := `--allow "drop=lost": outcome "lost" is not known; want exactly once, unconfirmed, missing`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("it says %v", err)
	}
}

func sample() sweepResult {
	return sweepResult{
		Command: []string{"./producer"}, Seed: 42, Workload: fencepost.Workload{Produces: 1}, Broken: 1, again: "--seed 42",
		Cells: []cellResult{
			{Cell: fencepost.Cell{API: "produce", Place: "after", Trouble: "drop", Position: "first", Sentence: "drop after produce attempt=1"}, Outcome: exactlyOnce, Seconds: 0.5},
			{
				Cell:    fencepost.Cell{API: "produce", Place: "after", Trouble: "disconnect", Position: "first", Sentence: "disconnect after produce attempt=1"},
				Outcome: duplicated, Breaks: true, Report: "orders is not exactly once (seed 42)\n  duplicated  offsets 0 and 1", Output: "sent <&> \x00",
			},
		},
	}
}

func TestSweepResult_as_text(t *testing.T) {
	const want = `./producer sends 1 produce requests and 0 init_producer_id requests

  exactly once    drop after produce attempt=1
! duplicated      disconnect after produce attempt=1

produce/after/disconnect/first: duplicated (exit code 0, 0.0 s)
  orders is not exactly once (seed 42)
    duplicated  offsets 0 and 1
  again: fencepost --seed 42 --fault 'disconnect after produce attempt=1' -- ./producer

1 of 2 cells break (seed 42)
`
	var out bytes.Buffer
	if err := sample().write(&out, outputText); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("it prints\n%s\nand not\n%s", out.String(), want)
	}
}

func TestSweepResult_as_JUnit_can_be_read_back(t *testing.T) {
	var out bytes.Buffer
	if err := sample().write(&out, outputJUnit); err != nil {
		t.Fatal(err)
	}
	var suite junitSuite
	if err := xml.Unmarshal(out.Bytes(), &suite); err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	if suite.Tests != 2 || suite.Failures != 1 || len(suite.Cases) != 2 {
		t.Errorf("the suite is %+v", suite)
	}
	if suite.Cases[0].Failure != nil || suite.Cases[1].Failure == nil {
		t.Errorf("the failures are wrong: %+v", suite.Cases)
	}
}

func TestTail_keeps_the_end(t *testing.T) {
	var out tail
	for range 3 {
		out.Write(bytes.Repeat([]byte("x"), keptOutput)) //nolint:errcheck // it cannot fail
	}
	out.Write([]byte("the end")) //nolint:errcheck // it cannot fail
	if s := out.String(); len(s) != keptOutput || !strings.HasSuffix(s, "xthe end") {
		t.Errorf("%d bytes are kept, ending in %q", len(s), s[max(0, len(s)-10):])
	}
}

func TestCheckPattern_refuses_what_matches_no_cell(t *testing.T) {
	for pattern, ok := range map[string]bool{
		"produce/after/*/*": true, "disconnect": true, "each": true, "init_producer_id/before/drop/first": true, "*": true,
		"produce/aftr/*/*": false, "prodce": false, "": false, "[": false, "init_producer_id/after/drop/each": false,
	} {
		if err := checkPattern("--only", pattern); (err == nil) != ok {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestQuoted_is_read_back_by_a_shell(t *testing.T) {
	words := []string{"sh", "-c", `echo "it's" | cat; $HOME`, "", "a b", "plain-word_1./:@%+=,"}
	out, err := exec.Command("sh", "-c", `printf '%s\n' `+quoted(words)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); !slices.Equal(got, words) {
		t.Errorf("%s is read as %q", quoted(words), got)
	}
}
