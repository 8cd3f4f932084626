package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An Error is one thing that is wrong in a file, and how to put it right.
type Error struct {
	File    string `json:"file"`           // the name that was given to Read or Parse
	Line    int    `json:"line"`           // of what is wrong, counted from 1
	Column  int    `json:"column"`         // where it begins, in characters, counted from 1
	Problem string `json:"problem"`        // what is wrong
	Want    string `json:"want,omitempty"` // what would be right
	Near    string `json:"near,omitempty"` // what was probably meant, "" for no idea
}

// Error is one line, in the form that editors find their way by:
//
//	chaos.yaml:4:1: unknown key "fault": want seed, topics, faults, expect, identity or unknown-producer; did you mean "faults"?
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ":")
	}
	fmt.Fprintf(&b, "%d:%d: %s", e.Line, e.Column, e.Problem)
	if e.Want != "" {
		b.WriteString(": want " + e.Want)
	}
	if e.Near != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Near)
	}
	return b.String()
}

// A place is where something stands in a file, both counted from 1, the column
// in characters.
type place struct{ line, column int }

// start is the place of what concerns the file as a whole.
var start = place{1, 1}

// problems collects what is wrong with one file.
type problems struct {
	file string
	all  []*Error
}

// add notes one problem. Near may be "".
func (p *problems) add(at place, problem, want, near string) {
	p.all = append(p.all, &Error{
		File: p.file, Line: at.line, Column: at.column, Problem: problem, Want: want, Near: near,
	})
}

// join is all problems as one error, in the order of the file, nil if there are
// none. What an alias repeats is said once.
func (p *problems) join() error {
	slices.SortStableFunc(p.all, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	all := slices.CompactFunc(p.all, func(a, b *Error) bool { return *a == *b })
	if more := len(all) - MaxErrors; more > 0 {
		next := all[MaxErrors]
		all = append(all[:MaxErrors:MaxErrors], &Error{
			File: p.file, Line: next.Line, Column: next.Column,
			Problem: fmt.Sprintf("%d more from here on", more), Want: "the ones above put right first",
		})
	}
	errs := make([]error, len(all))
	for i, e := range all {
		errs[i] = e
	}
	return errors.Join(errs...)
}

// maxShown is how many characters of a file's text an error repeats.
const maxShown = 60

// shown is a text in quotes, only its beginning if it is long.
func shown(text string) string { return strconv.Quote(shortened(text)) }

func shortened(text string) string {
	if r := []rune(text); len(r) > maxShown {
		text = string(r[:maxShown]) + "..."
	}
	return text
}
