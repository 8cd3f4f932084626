package scenario

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

// More limits for the sake of the library, which remembers for each value the
// keys that lead to it; see maxLine.
const (
	// maxTokens is the most words and signs of one file. 1,000 topics with ten
	// configs each fit.
	maxTokens = 50_000
	// maxNesting is how deep lists and mappings may stand in one another. A
	// scenario needs five.
	maxNesting = 16
	// maxEntries is the most keys of one mapping.
	maxEntries = 500
	// maxKey is the most bytes of one key.
	maxKey = 256
)

// parse gives what the file's one document holds, nil for nothing. What is no
// YAML is noted.
func (s *source) parse(p *problems) (root ast.Node) {
	err := guard(func() error {
		tokens := tokenize(s.text)
		if s.checkCount(tokens, p); len(p.all) > 0 {
			return nil
		}
		s.locate(tokens)
		if s.checkTokens(tokens, p); len(p.all) > 0 {
			return nil
		}
		file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
		if err == nil {
			root = s.document(file, p)
		}
		return err
	})
	if err != nil {
		s.explain(err, p)
	}
	return root
}

// guard turns a panic into an error. No text is known to make this version of
// the library panic, but there were some for versions before it.
func guard(f func() error) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("the YAML library gave up: %v", problem)
		}
	}()
	return f()
}

// document gives what the one document of a file holds.
func (s *source) document(file *ast.File, p *problems) (root ast.Node) {
	for _, doc := range file.Docs {
		_, isDirective := doc.Body.(*ast.DirectiveNode)
		switch {
		case doc.Body == nil || isDirective:
		case root == nil:
			root = doc.Body
		default:
			p.add(s.place(beginning(doc)), "a second document", "one scenario in a file", "")
			return nil
		}
	}
	return root
}

// tokenize takes a text apart, up to its end or to the first thing in it that
// is no YAML, which is the last token then.
func tokenize(text string) (tokens token.Tokens) {
	var s scanner.Scanner
	s.Init(text)
	for {
		some, err := s.Scan()
		tokens.Add(some...)
		if err != nil {
			return tokens
		}
	}
}

// beginning is the token that a document begins with.
func beginning(doc *ast.DocumentNode) *token.Token {
	if doc.Start != nil {
		return doc.Start
	}
	return first(doc.Body)
}

// first is the token that a node begins with. The library's own for a mapping
// is the colon behind the first key.
func first(n ast.Node) *token.Token {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle {
			return first(n.Values[0])
		}
	case *ast.MappingValueNode:
		return first(n.Key)
	}
	return n.GetToken()
}

// checkCount refuses too many tokens.
func (s *source) checkCount(tokens token.Tokens, p *problems) {
	if len(tokens) > maxTokens {
		p.add(s.place(tokens[maxTokens]), fmt.Sprintf("more than %d words and signs", maxTokens), "a smaller file", "")
	}
}

// checkTokens refuses lists and mappings that the parser would take too long
// for.
func (s *source) checkTokens(tokens token.Tokens, p *problems) {
	var n nesting
	for i, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			n.flow++
		case token.MappingEndType, token.SequenceEndType:
			n.flow = max(0, n.flow-1)
		case token.SequenceEntryType, token.MappingKeyType:
			n.entry(t.Position.Column)
		case token.MappingValueType:
			s.checkKey(tokens[max(0, i-1)], &n, p)
		}
		if n.depth() > maxNesting {
			p.add(s.place(t), fmt.Sprintf("more than %d lists and mappings in one another", maxNesting), "no more than five, which is all that a scenario needs", "")
		}
		if len(p.all) > 0 {
			return
		}
	}
}

// checkKey takes the token before a colon, which is a key.
func (s *source) checkKey(t *token.Token, n *nesting, p *problems) {
	if len(t.Value) > maxKey {
		p.add(s.place(t), fmt.Sprintf("a key of %d bytes", len(t.Value)), fmt.Sprintf("no more than %d", maxKey), "")
	}
	n.entry(t.Position.Column)
	if n.key() > maxEntries {
		p.add(s.place(t), fmt.Sprintf("more than %d keys in one mapping", maxEntries), "fewer", "")
	}
}

// nesting follows how deep in lists and mappings the tokens are.
type nesting struct {
	flow  int // brackets that are open
	block []level
}

// A level is a list or mapping without brackets, which is known by its column.
type level struct{ column, keys int }

// entry takes an entry of a list or mapping that begins in a column.
func (n *nesting) entry(column int) {
	if n.flow > 0 {
		return
	}
	for len(n.block) > 0 && n.block[len(n.block)-1].column > column {
		n.block = n.block[:len(n.block)-1]
	}
	if len(n.block) == 0 || n.block[len(n.block)-1].column < column {
		n.block = append(n.block, level{column: column})
	}
}

// key counts the keys of the level that was entered last.
func (n *nesting) key() int {
	if n.flow > 0 {
		return 0
	}
	top := &n.block[len(n.block)-1]
	top.keys++
	return top.keys
}

func (n *nesting) depth() int { return n.flow + len(n.block) }

// explain notes why the library found the text to be no YAML.
func (s *source) explain(err error, p *problems) {
	var bad yaml.Error
	if !errors.As(err, &bad) || bad.GetToken() == nil {
		p.add(start, "no YAML: "+err.Error(), yamlWanted, "")
		return
	}
	at := s.place(bad.GetToken())
	for _, h := range hints {
		if strings.Contains(bad.GetMessage(), h.message) {
			p.add(at, h.problem, h.want, "")
			return
		}
	}
	p.add(at, "no YAML: "+bad.GetMessage(), yamlWanted, "")
}

const (
	yamlWanted   = `lines of KEY: VALUE, and lists whose lines begin with "- "`
	tabProblem   = "a tab in the indentation"
	noKeyProblem = "a line without a key"
	noKeyWanted  = "KEY: VALUE, with a colon and a space behind the key"
)

// hints says in our words what the library says in its own, for the slips that
// are made most. The first whose message is part of the library's holds.
var hints = []struct{ message, problem, want string }{
	{"'\t' that cannot start", tabProblem, "spaces"},
	{"found a tab", tabProblem, "spaces"},
	{"tab character cannot", tabProblem, "spaces"},
	{"mapping value is not allowed", `a second ": " in one value`,
		"the keys of one mapping to begin in one column, and quotes around a text that holds a colon"},
	{"unexpected key name", noKeyProblem, noKeyWanted},
	{"non-map value", noKeyProblem, noKeyWanted},
	{"block sequence entries", `a "- " behind a key`, "the list in the lines below, or in brackets"},
	{"value is not allowed", "something that belongs to nothing before it",
		"the lines of one list or mapping to begin in one column, and nothing behind a closing quote or bracket"},
	{"could not find end character", "a quote that is never closed", "the same quote at the end of the text"},
	{"']' not found", `a "[" that is never closed`, `a "]"`},
	{"end token '}'", `a "{" that is never closed`, `a "}"`},
	{"',' or ']' must", "something behind a value between brackets", `a comma or the closing "]"`},
	{"',' or '}' must", "something behind a value between braces", `a comma or the closing "}"`},
	{"could not find '['", `a "]" that closes nothing`, `a "[" before it`},
	{"reserved character", "a text that begins with a sign that YAML keeps for itself", "quotes around it"},
	{"directive", "a % that begins a value or a line", "quotes around the text"},
	{"unknown escape", "a bad escape in double quotes", `\\ for a backslash, or single quotes`},
}
