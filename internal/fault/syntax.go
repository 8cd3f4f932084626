package fault

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A SyntaxError says what is wrong with a sentence, and how to put it right.
type SyntaxError struct {
	Sentence string `json:"sentence"`       // as it was given; only its beginning if it is too long
	Word     string `json:"word"`           // the word that is wrong, "" where one is missing
	Offset   int    `json:"offset"`         // where the word begins, in bytes from 0
	Problem  string `json:"problem"`        // what is wrong with it
	Want     string `json:"want,omitempty"` // what would be right
	Near     string `json:"near,omitempty"` // what was probably meant in place of Word, "" for no idea
}

// Error is one line: what is wrong, at which character (counted from 1), what
// was wanted and what was probably meant.
func (e *SyntaxError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "fault %q: %s at %d", e.Sentence, e.Problem, e.column())
	if e.Want != "" {
		b.WriteString(": want " + e.Want)
	}
	if e.Near != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Near)
	}
	return b.String()
}

// column is the offset as people count: in characters, from 1.
func (e *SyntaxError) column() int {
	return utf8.RuneCountInString(e.Sentence[:min(e.Offset, len(e.Sentence))]) + 1
}

// longestWord is the most bytes of a word that is looked up as a misspelt one.
const longestWord = 100

// Near finds the candidate that a misspelt word was probably meant to be, ""
// if there is none. Case, underscores and dashes make no difference.
func Near(word string, candidates []string) string {
	if len(word) > longestWord {
		return ""
	}
	word = fold(word)
	best, distance := "", slack(word)+1
	for _, candidate := range candidates {
		if d := edits(word, fold(candidate), distance); d < distance {
			best, distance = candidate, d
		}
	}
	if best == "" {
		return begun(word, candidates)
	}
	return best
}

// begun finds the candidate of which a folded word is the beginning, or that
// is the beginning of the word, if what they share is long enough to mean
// something.
func begun(word string, candidates []string) string {
	const meaningful = 3
	for _, candidate := range candidates {
		c := fold(candidate)
		if min(len(word), len(c)) >= meaningful && (strings.HasPrefix(c, word) || strings.HasPrefix(word, c)) {
			return candidate
		}
	}
	return ""
}

// fold makes words of the same letters equal.
func fold(word string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(word))
}

// slack is how many slips of the finger a word of this length is given.
func slack(word string) int {
	switch {
	case len(word) < 3:
		return 0
	case len(word) < 5:
		return 1
	default:
		return max(2, len(word)/4)
	}
}

// edits counts the bytes to insert, remove, replace or swap with their
// neighbour to make b of a (optimal string alignment). From limit on it may
// give any number that is not below limit.
func edits(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			same := 1
			if a[i-1] == b[j-1] {
				same = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+same)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
