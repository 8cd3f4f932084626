package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// width is how many columns English takes, as long as no single word is
	// longer.
	width = 80
	// margin is how many of them stand before the text.
	margin = 11
)

// English says in plain words what the scenario is, in lines of 80 columns, the
// last one ended too.
func (s *Scenario) English() string {
	var p page
	p.section("seed", s.seedWords())
	p.section("topics", s.topicWords()...)
	p.faults(s)
	p.section("expected", s.expectedWords()...)
	if s.UnknownProducer != "" {
		p.section("producers", unknownProducerWords[s.UnknownProducer])
	}
	return p.String()
}

func (s *Scenario) seedWords() string {
	if s.Seed == nil {
		return "none: one is drawn for each run, and printed"
	}
	return fmt.Sprintf("%d: what is drawn by chance comes out the same in every run", *s.Seed)
}

func (s *Scenario) topicWords() []string {
	if len(s.Topics) == 0 {
		return []string{"none"}
	}
	var words []string
	for i := range s.Topics {
		words = append(words, s.Topics[i].english())
	}
	return words
}

// english is a topic in one line: audit, 3 partitions, retention.ms=1000.
func (t *Topic) english() string {
	parts := []string{plain(t.Name)}
	switch t.Partitions {
	case 0:
		parts = append(parts, "the default number of partitions")
	case 1:
		parts = append(parts, "1 partition")
	default:
		parts = append(parts, fmt.Sprintf("%d partitions", t.Partitions))
	}
	for _, config := range slices.Sorted(maps.Keys(t.Configs)) {
		parts = append(parts, plain(config)+"="+plain(t.Configs[config]))
	}
	return strings.Join(parts, ", ")
}

// plain is a word as it is, or in quotes if it would not be seen to be one.
func plain(word string) string {
	if word == "" || strings.ContainsFunc(word, func(r rune) bool {
		return r == ' ' || r == ',' || r == '"' || r == utf8.RuneError || !strconv.IsPrint(r)
	}) {
		return strconv.Quote(word)
	}
	return word
}

// expectations says what each word for what is expected means.
var expectations = map[string]string{
	ExactlyOnce: "exactly once: every record stands in the log once, and its producer was told so",
	Nothing:     "nothing: whatever the verdict is, the run does not fail for it",
}

var unknownProducerWords = map[string]string{
	Refuse: "a first batch that does not begin at sequence 0, from a producer that the partition does not know, is refused",
	Accept: "a first batch that does not begin at sequence 0, from a producer that the partition does not know, is accepted",
}

func (s *Scenario) expectedWords() []string {
	words := []string{"not said: what the run itself says holds"}
	if s.Expect != "" {
		words[0] = expectations[s.Expect]
	}
	header, isHeader := strings.CutPrefix(s.Identity, IdentityHeader)
	switch {
	case isHeader:
		words = append(words, "records with the same header "+plain(header)+" are one record")
	case s.Identity != "":
		words = append(words, "records with the same "+s.Identity+" are one record")
	}
	return words
}

// A page is text in two columns: what it is about, and what there is to say.
type page struct{ strings.Builder }

// section writes lines with their label before the first.
func (p *page) section(label string, lines ...string) {
	for _, line := range lines {
		p.line(label, line, 2)
		label = ""
	}
}

// faults writes each rule as its sentence and in plain English.
func (p *page) faults(s *Scenario) {
	if len(s.Faults) == 0 {
		p.section("faults", "none")
		return
	}
	label := "faults"
	for _, rule := range s.Faults {
		p.line(label, rule.String(), 2)
		p.line("", "  "+rule.English(), 2)
		label = ""
	}
	if len(s.Faults) > 1 {
		p.section("", "Where several could fire at one moment, the first of them does.")
	}
}

// line writes one line, and breaks it where it is too long. What follows is
// indented.
func (p *page) line(label, text string, indent int) {
	const gap = "  "
	fmt.Fprintf(p, "%-*s", margin-len(gap), label)
	column := margin - len(gap)
	separator := gap
	for _, word := range words(text) {
		size := utf8.RuneCountInString(word)
		if column > margin+indent && column+len(separator)+size > width {
			p.WriteString("\n" + strings.Repeat(" ", margin+indent))
			column, separator = margin+indent, ""
		}
		p.WriteString(separator + word)
		column += len(separator) + size
		separator = " "
	}
	p.WriteString("\n")
}

// words takes a text apart at its spaces, but not within quotes.
func words(text string) (all []string) {
	begin, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case quoted && text[i] == '\\':
			i++
		case !quoted && text[i] == ' ':
			all = append(all, text[begin:i])
			begin = i + 1
		}
	}
	return append(all, text[begin:])
}
