package scenario

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/fencepostmq/fencepost/internal/fault"
	"github.com/goccy/go-yaml/ast"
)

// fileFields is the one table of the keys of a file.
var fileFields = []field[Scenario]{
	{"seed", readSeed},
	{"topics", readTopics},
	{"faults", readFaults},
	{"expect", readExpect},
	{"identity", readIdentity},
	{"unknown-producer", readUnknownProducer},
}

// file reads the whole document.
func (r *reader) file(root ast.Node, s *Scenario) {
	v, ok := r.value("the file", root)
	if !ok || isNull(v.node) {
		return
	}
	entries, _ := r.entries(v, "the keys "+fault.OrList(namesOf(fileFields)))
	fields(r, entries, fileFields, s)
}

func readSeed(r *reader, v value, s *Scenario) {
	if seed, ok := r.number(v, 0, math.MaxUint64); ok {
		s.Seed = &seed
	}
}

// number reads a whole number within limits.
func (r *reader) number(v value, low, high uint64) (uint64, bool) {
	want := fmt.Sprintf("a whole number from %d to %d", low, high)
	s, _ := scalarOf(v.node)
	if s.quoted && isDigits(s.text) {
		r.wrong(v, want+", without quotes")
		return 0, false
	}
	n, problem := parseNumber(s.text, low, high)
	switch problem {
	case "":
		return n, true
	case outOfRange:
		r.add(v.at, v.name+" "+s.text+" is out of range", want, "")
	default:
		r.wrong(v, want)
	}
	return 0, false
}

// What can be wrong with a number.
const (
	outOfRange = "is out of range"
	noNumber   = "is no whole number"
)

// parseNumber reads a whole number in decimal digits, within limits. A leading
// zero is refused, since to some readers of YAML it means an octal number.
func parseNumber(text string, low, high uint64) (n uint64, problem string) {
	digits := strings.TrimPrefix(text, "-")
	if !isDigits(digits) || len(digits) > 1 && digits[0] == '0' {
		return 0, noNumber
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < low || n > high {
		return 0, outOfRange
	}
	return n, ""
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// oneOf reads a word that is one of a few.
func (r *reader) oneOf(v value, words ...string) string {
	s, ok := r.text(v, fault.OrList(words))
	if !ok {
		return ""
	}
	for _, word := range words {
		if s.text == word {
			return word
		}
	}
	r.unknown(v, s.text, fault.OrList(words), fault.Near(s.text, words))
	return ""
}

// unknown notes a word that is none of those that a key knows.
func (r *reader) unknown(v value, word, want, near string) {
	r.add(v.at, v.name+" cannot be "+shown(word), want, near)
}

func readExpect(r *reader, v value, s *Scenario) {
	s.Expect = r.oneOf(v, ExactlyOnce, Nothing)
}

func readUnknownProducer(r *reader, v value, s *Scenario) {
	s.UnknownProducer = r.oneOf(v, Refuse, Accept)
}

// identities is what may be wanted of an identity, in words.
const identities = IdentityKey + ", " + IdentityValue + " or " + IdentityHeader + "NAME"

func readIdentity(r *reader, v value, s *Scenario) {
	text, ok := r.text(v, identities)
	if !ok {
		return
	}
	header, isHeader := strings.CutPrefix(text.text, IdentityHeader)
	switch {
	case isHeader && header == "":
		r.add(v.at, "identity "+IdentityHeader+" names no header", identities, "")
	case isHeader || text.text == IdentityKey || text.text == IdentityValue:
		s.Identity = text.text
	default:
		r.unknown(v, text.text, identities, nearIdentity(text.text))
	}
}

// nearIdentity is what was probably meant by one who misspelt an identity, or
// named a header with a slip, such as header:id.
func nearIdentity(text string) string {
	end := strings.IndexAny(text, "=: ")
	if end < 0 {
		return fault.Near(text, []string{IdentityKey, IdentityValue})
	}
	header := strings.TrimLeft(text[end:], "=: ")
	if header == "" || fault.Near(text[:end], []string{"header"}) == "" {
		return ""
	}
	return IdentityHeader + header
}

// readFaults reads the rules in force.
func readFaults(r *reader, v value, s *Scenario) {
	items := r.items(v, "a fault", faultsWanted)
	if len(items) > fault.MaxRules {
		r.add(items[fault.MaxRules].at, fmt.Sprintf("%d faults", len(items)), fmt.Sprintf("no more than %d", fault.MaxRules), "")
		return
	}
	list, _ := v.node.(*ast.SequenceNode)
	lines := make(map[string]int)
	for _, item := range items {
		rule, ok := r.rule(item, list.IsFlowStyle)
		if !ok {
			continue
		}
		if line, twice := lines[rule.Name]; twice && rule.Name != "" {
			r.add(item.at, "a second fault with name="+rule.Name, fmt.Sprintf("another name; the first stands in line %d", line), "")
			continue
		}
		lines[rule.Name] = item.at.line
		s.Faults = append(s.Faults, rule)
	}
}

const (
	faultsWanted = `a list, one "- SENTENCE" a line`
	faultWanted  = "a sentence, such as disconnect after produce attempt=1"
)

// rule reads one sentence. Between brackets a comma ends it, which is worth a
// word.
func (r *reader) rule(v value, inBrackets bool) (fault.Rule, bool) {
	s, ok := r.text(v, wantedFault(v))
	if !ok {
		return fault.Rule{}, false
	}
	rule, err := fault.Parse(s.text)
	if err == nil {
		return rule, true
	}
	at, problem, want, near := v.at, "fault "+shown(s.text)+": "+err.Error(), faultWanted, ""
	var bad *fault.SyntaxError
	if errors.As(err, &bad) {
		at, problem, want, near = r.inSentence(s, bad), bad.Problem, bad.Want, bad.Near
	}
	if inBrackets {
		want += "; between brackets a sentence that holds a comma needs quotes"
	}
	r.add(at, problem, want, near)
	return fault.Rule{}, false
}

// wantedFault says what is wanted in place of what is no text. A colon with a
// space behind it makes a mapping of a sentence.
func wantedFault(v value) string {
	if _, isMapping := v.node.(*ast.MappingNode); isMapping {
		return faultWanted + "; in quotes if it holds a colon"
	}
	return faultWanted
}

// inSentence is the place of the word that is wrong, or of the sentence where
// the word cannot be found.
func (r *reader) inSentence(s scalar, bad *fault.SyntaxError) place {
	if bad.Offset > len(s.text) || bad.Sentence != s.text {
		return r.src.place(s.token)
	}
	return r.src.inside(s.token, s.text[:bad.Offset])
}
