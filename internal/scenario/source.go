package scenario

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fencepostmq/fencepost/internal/fault"
	"github.com/goccy/go-yaml/token"
)

// The YAML library takes time that grows with the square of some things, and
// memory with the square of others. These limits keep both small for any text
// of MaxFile bytes, and are far from what a scenario needs.
const (
	// maxLine is the most bytes of one line. The longest sentence fits.
	maxLine = fault.MaxSentence + 1000
	// maxBlank is how many lines without a visible character may follow one
	// another.
	maxBlank = 50
	// maxRun is how many times one character other than a space may stand in a
	// row.
	maxRun = 500
)

// A source is the text of a file, checked as far as bytes go.
type source struct {
	text   string   // without a byte order mark, each line ended by one \n
	lines  []string // without their ends
	starts []int    // where each line begins in text

	offsets map[*token.Token]int // where each token begins in text; see locate
}

// newSource checks and takes a file's bytes, or notes why it cannot and gives
// nil.
func newSource(data []byte, p *problems) *source {
	if len(data) > MaxFile {
		p.add(start, "a file of more than "+fmt.Sprint(MaxFile)+" bytes", "a smaller one", "")
		return nil
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	s := &source{text: text, lines: strings.Split(text, "\n")}
	blank, at := 0, 0
	for i, line := range s.lines {
		s.starts = append(s.starts, at)
		at += len(line) + 1
		if strings.TrimSpace(line) != "" {
			blank = 0
		} else if blank++; blank > maxBlank && i < len(s.lines)-1 { // what stands behind the last end of a line is none
			p.add(place{i + 1, 1}, fmt.Sprintf("more than %d empty lines in a row", maxBlank), "fewer", "")
		}
		checkLine(i+1, line, p)
		if len(p.all) > 0 {
			return nil
		}
	}
	return s
}

// checkLine refuses what no line of YAML may hold.
func checkLine(number int, line string, p *problems) {
	if len(line) > maxLine {
		p.add(place{number, 1}, fmt.Sprintf("a line of %d bytes", len(line)),
			fmt.Sprintf("no more than %d", maxLine), "")
		return
	}
	column, run, last := 0, 0, ' '
	for i, r := range line {
		column++
		if run++; r != last || r == ' ' {
			run, last = 1, r
		}
		_, size := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			p.add(place{number, column}, fmt.Sprintf("the byte 0x%02x, which is not UTF-8", line[i]), "text in UTF-8", "")
			return
		case isControl(r):
			p.add(place{number, column}, fmt.Sprintf("the control character %U", r), "text; in double quotes it may be written as an escape", "")
			return
		case run > maxRun:
			p.add(place{number, column}, fmt.Sprintf("%q more than %d times in a row", r, maxRun), "fewer", "")
			return
		}
	}
}

// isControl says whether YAML does not allow a character (YAML 1.2.2, section
// 5.1). A byte order mark may stand at the beginning only.
func isControl(r rune) bool {
	return r < ' ' && r != '\t' || 0x7f <= r && r <= 0x9f && r != 0x85 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

// locate finds where each token begins. The library's own columns cannot be
// relied on behind tabs and in texts of several lines, but what it took each
// token from, less some white space, is the text itself, token for token.
func (s *source) locate(tokens token.Tokens) {
	s.offsets = make(map[*token.Token]int, len(tokens))
	rest := s.text
	for _, t := range tokens {
		rest = strings.TrimLeft(rest, whiteSpace)
		origin := strings.Trim(t.Origin, whiteSpace)
		after, ok := follow(rest, origin)
		if !ok || t.Type == token.InvalidType {
			return // what is left keeps the library's places
		}
		s.offsets[t] = len(s.text) - len(rest)
		if t.Type == token.DoubleQuoteType {
			after = behindQuote(rest) // the library leaves out the digits of \x41
		}
		rest = after
	}
}

const whiteSpace = " \t\n"

// follow gives what stands behind a word at the beginning of a text. White
// space may differ. ok is false if the text does not begin with the word.
func follow(text, word string) (rest string, ok bool) {
	for word != "" {
		if text == "" || text[0] != word[0] {
			return "", false
		}
		text, word = text[1:], word[1:]
		if w := strings.TrimLeft(word, whiteSpace); len(w) < len(word) {
			text, word = strings.TrimLeft(text, whiteSpace), w
		}
	}
	return text, true
}

// behindQuote gives what stands behind the text in double quotes that a text
// begins with.
func behindQuote(text string) string {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[i+1:]
		}
	}
	return ""
}

// place is where a token begins.
func (s *source) place(t *token.Token) place {
	if offset, ok := s.offsets[t]; ok {
		return s.at(offset)
	}
	at := place{min(max(t.Position.Line, 1), len(s.lines)), max(t.Position.Column, 1)}
	at.column = min(at.column, utf8.RuneCountInString(s.lines[at.line-1])+1)
	return at
}

// at is the place of a byte of the text.
func (s *source) at(offset int) place {
	line, found := slices.BinarySearch(s.starts, offset)
	if !found {
		line-- // it is the line that begins before
	}
	return place{line + 1, utf8.RuneCountInString(s.text[s.starts[line]:offset]) + 1}
}

// inside is the place where a scalar goes on behind the beginning of its text.
// It is found as long as the file spells the text as it is, with no difference
// but white space, which YAML folds, and quotes around it; else it is the place
// of the scalar.
func (s *source) inside(t *token.Token, beginning string) place {
	offset, ok := s.offsets[t]
	if !ok {
		return s.place(t)
	}
	text := s.text[offset:]
	if t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType {
		text = text[1:]
	}
	rest, ok := follow(text, beginning)
	if !ok {
		return s.place(t)
	}
	return s.at(len(s.text) - len(rest))
}
