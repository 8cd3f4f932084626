package fault

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A tokenKind is what a piece of a sentence is.
type tokenKind uint8

const (
	wordToken tokenKind = iota
	quotedToken
	commaToken
	equalsToken
	endToken
)

// A token is one piece of a sentence.
type token struct {
	kind   tokenKind
	text   string // unquoted
	offset int    // where it begins, in bytes from 0
}

// isValue says whether the token can stand for a value.
func (t token) isValue() bool { return t.kind == wordToken || t.kind == quotedToken }

// endsWord says whether a word that is not quoted ends before r.
func endsWord(r rune) bool {
	return r == ',' || r == '=' || r == '"' || unicode.IsSpace(r)
}

// lex takes a sentence apart. The last token is the end.
func lex(sentence string) ([]token, error) {
	if len(sentence) > MaxSentence {
		return nil, tooLong(sentence)
	}
	var tokens []token
	for at := 0; ; {
		at += len(sentence[at:]) - len(strings.TrimLeftFunc(sentence[at:], unicode.IsSpace))
		if at == len(sentence) {
			return append(tokens, token{kind: endToken, offset: at}), nil
		}
		t, size, err := lexOne(sentence, at)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		at += size
	}
}

// lexOne reads the token that begins at a byte that is no space, and says how
// many bytes it takes.
func lexOne(sentence string, at int) (token, int, error) {
	rest := sentence[at:]
	switch rest[0] {
	case ',':
		return token{commaToken, ",", at}, 1, nil
	case '=':
		return token{equalsToken, "=", at}, 1, nil
	case '"':
		return lexQuoted(sentence, at)
	}
	size := strings.IndexFunc(rest, endsWord)
	if size < 0 {
		size = len(rest)
	}
	if size < len(rest) && rest[size] == '"' {
		return token{}, 0, &SyntaxError{
			Sentence: sentence, Word: rest[:size], Offset: at,
			Problem: "a quote that begins inside a word", Want: "the whole value in quotes",
		}
	}
	return token{wordToken, rest[:size], at}, size, nil
}

// lexQuoted reads a value in double quotes, with the escapes of a Go string.
func lexQuoted(sentence string, at int) (token, int, error) {
	quoted, err := strconv.QuotedPrefix(sentence[at:])
	if err != nil {
		return token{}, 0, badQuote(sentence, at)
	}
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return token{}, 0, badQuote(sentence, at)
	}
	return token{quotedToken, text, at}, len(quoted), nil
}

// badQuote says what is wrong with the quoted value that begins at a byte.
func badQuote(sentence string, at int) error {
	e := &SyntaxError{
		Sentence: sentence, Word: sentence[at:], Offset: at,
		Problem: "a quote that is never closed",
		Want:    `a value between double quotes, such as client="my app"`,
	}
	for i := at + 1; i < len(sentence); i++ {
		switch sentence[i] {
		case '\\':
			i++
		case '\n':
			e.Problem = "a quote that is not closed on its line"
			return e
		case '"':
			e.Word = sentence[at : i+1]
			e.Problem = "a bad escape in the quotes"
			e.Want = `\" for a quote and \\ for a backslash`
			return e
		}
	}
	return e
}

// tooLong refuses a sentence without looking further at it.
func tooLong(sentence string) error {
	const shown = 60
	head := sentence[:shown]
	for !utf8.ValidString(head) && len(head) > shown-utf8.UTFMax {
		head = head[:len(head)-1]
	}
	return &SyntaxError{
		Sentence: head + "...", Offset: MaxSentence,
		Problem: "a sentence of " + strconv.Itoa(len(sentence)) + " bytes",
		Want:    "no more than " + strconv.Itoa(MaxSentence),
	}
}
