package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/fault"
)

// An outcome is what a sweep found in one cell.
type outcome string

// The outcomes, from the best to the worst that a program can do silently, then
// those that say nothing about the records.
const (
	exactlyOnce   outcome = "exactly once"
	unconfirmed   outcome = "unconfirmed"
	missing       outcome = "missing"
	duplicated    outcome = "duplicated"
	swallowed     outcome = "swallowed"
	programFailed outcome = "program failed"
	hung          outcome = "hung"
	notReached    outcome = "not reached"
	couldNotRun   outcome = "could not run"
)

var outcomes = []outcome{exactlyOnce, unconfirmed, missing, duplicated, swallowed, programFailed, hung, notReached, couldNotRun}

const outputJUnit = "junit"

// outcomeOf names what a run came to. A program that says that it failed has
// told its user that a record may be missing or unconfirmed, but not that one
// is there twice or gone without a word.
func outcomeOf(r ran, v fencepost.Verdict, fired int) outcome {
	found := worstFinding(v)
	switch {
	case r.hung:
		return hung
	case found == swallowed || found == duplicated:
		return found
	case r.code != exitOK:
		return programFailed
	case fired == 0:
		return notReached
	}
	return found
}

func worstFinding(v fencepost.Verdict) outcome {
	worst := exactlyOnce
	for _, t := range v.Topics {
		for _, f := range []struct {
			count int
			is    outcome
		}{{t.Totals.Unconfirmed + t.Totals.InHand, unconfirmed}, {t.Totals.Missing, missing}, {t.Totals.Duplicated, duplicated}, {t.Totals.Swallowed, swallowed}} {
			if f.count > 0 && slices.Index(outcomes, f.is) > slices.Index(outcomes, worst) {
				worst = f.is
			}
		}
	}
	return worst
}

// A cellResult is one row of the table.
type cellResult struct {
	fencepost.Cell
	Outcome  outcome `json:"outcome"`
	Breaks   bool    `json:"breaks"`
	ExitCode int     `json:"exit_code"`
	Seconds  float64 `json:"seconds"`
	Report   string  `json:"report"`
	Output   string  `json:"output"` // the end of what the program printed
}

// An allowance is a cell that may break, with one outcome or with any.
type allowance struct {
	pattern string
	outcome outcome // "" for any
}

func parseAllowances(texts []string) (all []allowance, err error) {
	for _, text := range texts {
		pattern, is, _ := strings.Cut(text, "=")
		o := outcome(strings.ReplaceAll(is, "-", " "))
		if o != "" && !slices.Contains(outcomes, o) {
			return nil, fmt.Errorf("--allow %q: outcome %q is not known; want %s", text, is, wordList(outcomes))
		}
		if err := checkPattern("--allow", pattern); err != nil {
			return nil, err
		}
		all = append(all, allowance{pattern, o})
	}
	return all, nil
}

// checkPattern refuses a pattern that no cell of any sweep matches: a misspelt
// one would let everything pass.
func checkPattern(flag, pattern string) error {
	some := fencepost.Workload{Produces: 3, Inits: 3}
	if !slices.ContainsFunc(fencepost.Grid(some, fencepost.DefaultDelay), func(c fencepost.Cell) bool { return c.Matches(pattern) }) {
		return fmt.Errorf("%s %q matches no cell; want a pattern of {produce,init_producer_id}/{before,after}/"+
			"{disconnect,drop,retriable,fatal,delay}/{first,middle,last,each}, or one of these words", flag, pattern)
	}
	return nil
}

// quoted joins the words of a command so that a shell reads them back.
func quoted(words []string) string {
	var all []string
	for _, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !strings.ContainsRune(shellSafe, r) }) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		all = append(all, w)
	}
	return strings.Join(all, " ")
}

// shellSafe are the characters that mean nothing to a shell.
const shellSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"

func wordList(words []outcome) string {
	var s []string
	for _, w := range words {
		s = append(s, string(w))
	}
	return fault.OrList(s)
}

// breaks says whether a cell's outcome is worse than it may be.
func breaks(r cellResult, allowed []allowance) bool {
	if r.Outcome == exactlyOnce || r.Outcome == programFailed && r.Trouble == "fatal" {
		return false
	}
	return !slices.ContainsFunc(allowed, func(a allowance) bool {
		return r.Cell.Matches(a.pattern) && (a.outcome == "" || a.outcome == r.Outcome)
	})
}

// A sweepResult is the whole table.
type sweepResult struct {
	Command  []string           `json:"command"`
	Seed     uint64             `json:"seed"`
	Workload fencepost.Workload `json:"workload"`
	Cells    []cellResult       `json:"cells"`
	Broken   int                `json:"broken"`

	planned int
	again   string // the flags of a cell's broker
}

func (r sweepResult) write(w io.Writer, form string) error {
	switch form {
	case outputJSON:
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	case outputJUnit:
		return r.writeJUnit(w)
	}
	return r.writeText(w, isTerminal(w) && os.Getenv("NO_COLOR") == "")
}

// writeText prints a line a cell, and for each that breaks what was found.
func (r sweepResult) writeText(w io.Writer, colour bool) error {
	var s strings.Builder
	fmt.Fprintf(&s, "%s sends %d produce requests and %d init_producer_id requests\n\n",
		quoted(r.Command), r.Workload.Produces, r.Workload.Inits)
	for _, c := range r.Cells {
		mark, name := " ", fmt.Sprintf("%-14s", c.Outcome)
		if c.Breaks {
			mark = "!"
			if colour {
				name = "\x1b[31m" + name + "\x1b[0m"
			}
		}
		fmt.Fprintf(&s, "%s %s  %s\n", mark, name, c.Sentence)
	}
	for _, c := range r.Cells {
		if c.Breaks {
			fmt.Fprintf(&s, "\n%s: %s (exit code %d, %.1f s)\n%s\n", c.Name(), c.Outcome, c.ExitCode, c.Seconds, indent(c.Report))
			fmt.Fprintf(&s, "  again: fencepost %s --fault '%s' -- %s\n", r.again, c.Sentence, quoted(r.Command))
		}
	}
	fmt.Fprintf(&s, "\n%d of %d cells break (seed %d)\n", r.Broken, len(r.Cells), r.Seed)
	_, err := io.WriteString(w, s.String())
	return err
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Seconds string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (r sweepResult) writeJUnit(w io.Writer) error {
	suite := junitSuite{Name: "fencepost sweep", Tests: len(r.Cells), Failures: r.Broken}
	for _, c := range r.Cells {
		jc := junitCase{Class: "fencepost." + c.API, Name: c.Name(), Seconds: fmt.Sprintf("%.3f", c.Seconds), Output: c.Output}
		if c.Breaks {
			jc.Failure = &junitFailure{Message: string(c.Outcome) + ": " + c.Sentence, Text: c.Report}
		}
		suite.Cases = append(suite.Cases, jc)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
