package scenario

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// A scalarKind is what YAML takes a scalar for.
type scalarKind uint8

const (
	textScalar scalarKind = iota
	numberScalar
	boolScalar
	nullScalar
)

// A scalar is a value that is neither list nor mapping.
type scalar struct {
	text   string // without quotes
	token  *token.Token
	kind   scalarKind
	quoted bool // it is text, whatever it looks like
}

// scalarOf gives a node's scalar; ok is false if it is a list or mapping.
func scalarOf(n ast.Node) (s scalar, ok bool) {
	if block, isBlock := n.(*ast.LiteralNode); isBlock {
		t := block.Value.GetToken()
		// The end of the last line is no part of the text, whatever the block says.
		return scalar{text: strings.TrimRight(t.Value, "\n"), token: t, quoted: true}, true
	}
	if _, isScalar := n.(ast.ScalarNode); !isScalar {
		return scalar{}, false
	}
	t := n.GetToken()
	s = scalar{text: t.Value, token: t}
	switch n.(type) {
	case *ast.StringNode:
		s.quoted = t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType
	case *ast.NullNode:
		s.kind = nullScalar
	case *ast.BoolNode:
		s.kind = boolScalar
	default:
		s.kind = numberScalar
	}
	// The library leaves out the tabs in a text without quotes: 4, a tab and 2
	// are 42 to it.
	if origin := strings.Trim(t.Origin, whiteSpace); !s.quoted && strings.Contains(origin, "\t") {
		s.text, s.kind = unfold(origin), textScalar
	}
	return s, true
}

// unfold gives the text without quotes that stands in several lines: the end of
// one is a space, and each empty line is the end of a line.
func unfold(origin string) string {
	var b strings.Builder
	separator := ""
	for line := range strings.SplitSeq(origin, "\n") {
		line = strings.Trim(line, whiteSpace)
		switch {
		case line != "":
			b.WriteString(separator + line)
			separator = " "
		case separator == " ":
			separator = "\n"
		default:
			separator += "\n"
		}
	}
	return b.String()
}

// describe says in words what a node is.
func describe(n ast.Node) string {
	s, ok := scalarOf(n)
	_, isList := n.(*ast.SequenceNode)
	switch {
	case isList:
		return "a list"
	case !ok:
		return "a mapping"
	case s.kind == textScalar:
		return "the text " + shown(s.text)
	case s.kind == boolScalar:
		return s.text + ", which is no text"
	}
	return "the number " + s.text
}

func isNull(n ast.Node) bool {
	s, ok := scalarOf(n)
	return ok && s.kind == nullScalar
}

// text gives a value's text, or notes that it is none.
func (r *reader) text(v value, want string) (scalar, bool) {
	s, ok := scalarOf(v.node)
	if !ok || s.kind != textScalar {
		r.wrong(v, want)
		return s, false
	}
	return s, true
}
