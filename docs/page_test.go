package docs_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A page is a Markdown file, as far as the tests read it.
type page struct {
	file   string
	blocks []block
	links  []string // to other files, relative to this one
}

// A block is text between fences.
type block struct {
	kind  string // the word behind the opening fence
	mark  string // what stands in the comment before it, "" for none
	line  int    // of the opening fence, counted from 1
	lines []string
}

func (b block) text() string { return strings.Join(b.lines, "\n") + "\n" }

// marked gives what stands behind a word in the comment before the block.
func (b block) marked(word string) (string, bool) { return strings.CutPrefix(b.mark, word+" ") }

const fence = "```"

var (
	comment  = regexp.MustCompile(`^<!-- (.*) -->$`)
	fileLink = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
)

func readPage(file, text string) page {
	p := page{file: file}
	mark, open := "", false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case open && line == fence:
			open = false
		case open:
			b := &p.blocks[len(p.blocks)-1]
			b.lines = append(b.lines, line)
		case strings.HasPrefix(line, fence):
			open = true
			p.blocks = append(p.blocks, block{kind: strings.TrimPrefix(line, fence), mark: mark, line: i + 1})
			mark = ""
		case comment.MatchString(line):
			mark = comment.FindStringSubmatch(line)[1]
		case line != "":
			mark = ""
			for _, found := range fileLink.FindAllStringSubmatch(line, -1) {
				p.links = append(p.links, found[1])
			}
		}
	}
	return p
}

// A command is one command of a console block, with what has to come of it.
type command struct {
	text   string
	output string // a pattern; see mismatch
	code   int
}

var exitMark = regexp.MustCompile(`\s+# exit (\d+)$`)

// commands takes a console block apart. A command goes on where a line ends with a
// backslash.
func commands(lines []string) (all []command) {
	goesOn := false
	for _, line := range lines {
		start, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand:
			all = append(all, command{text: start})
		case goesOn:
			all[len(all)-1].text += "\n" + line
		case len(all) > 0:
			all[len(all)-1].output += line + "\n"
		}
		goesOn = (isCommand || goesOn) && strings.HasSuffix(line, `\`)
	}
	for i := range all {
		c := &all[i]
		if found := exitMark.FindStringSubmatch(c.text); found != nil {
			c.code, _ = strconv.Atoi(found[1])
			c.text = strings.TrimSuffix(c.text, found[0])
		}
	}
	return all
}

// A sentence is a fault sentence and its reading in English, "" if none is given.
type sentence struct{ text, reading string }

func sentences(lines []string) (all []sentence) {
	for _, line := range lines {
		words := strings.TrimSpace(line)
		switch {
		case words == "":
		case strings.HasPrefix(line, " ") && len(all) > 0:
			last := &all[len(all)-1]
			last.reading = strings.TrimSpace(last.reading + " " + words)
		default:
			all = append(all, sentence{text: words})
		}
	}
	return all
}

// containsLines says whether lines stand in a text, one after the other, whatever
// stands before all of them alike.
func containsLines(text string, lines []string) bool {
	source := strings.Split(text, "\n")
	for at := 0; at+len(lines) <= len(source); at++ {
		indent, ok := strings.CutSuffix(source[at], lines[0])
		if !ok || strings.TrimSpace(indent) != "" {
			continue
		}
		if slices.EqualFunc(source[at:at+len(lines)], lines, func(s, l string) bool { return s == l || s == indent+l }) {
			return true
		}
	}
	return false
}

// mismatch compares output with a pattern, and gives a diff, "" if they match.
func mismatch(pattern, got string) string {
	got = clean(got)
	var re strings.Builder
	re.WriteString("^")
	for line := range strings.Lines(clean(pattern)) {
		if strings.TrimSpace(line) == "..." {
			re.WriteString(`(?:.*\n)*?`)
			continue
		}
		re.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`))
	}
	re.WriteString("$")
	if regexp.MustCompile(re.String()).MatchString(got) {
		return ""
	}
	return cmp.Diff(strings.Split(clean(pattern), "\n"), strings.Split(got, "\n"))
}

var ansi = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// clean drops what a terminal does not show as text: colours, spaces at the end of a
// line, empty lines at the end.
func clean(text string) string {
	text = ansi.ReplaceAllString(text, "")
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \t\r\n") + "\n")
	}
	if text = strings.TrimRight(b.String(), "\n"); text == "" {
		return ""
	}
	return text + "\n"
}

func TestMismatch(t *testing.T) {
	for _, c := range []struct {
		name, pattern, got string
		matches            bool
	}{
		{"the same text", "a\nb\n", "a\nb\n", true},
		{"a line more", "a\n", "a\nb\n", false},
		{"a line less", "a\nb\n", "a\n", false},
		{"dots in a line stand for a part of it", "a ... c\n", "a bb c\n", true},
		{"dots in a line do not stand for a line end", "a ... c\n", "a b\nb c\n", false},
		{"dots alone stand for lines", "a\n...\nc\n", "a\nb\nb\nc\n", true},
		{"dots alone stand for no line", "a\n...\nc\n", "a\nc\n", true},
		{"what is a pattern elsewhere is none here", "a.*\n", "abc\n", false},
		{"nothing shown is nothing printed", "", "a\n", false},
		{"colours do not count", "a\n", "\x1b[31ma\x1b[0m\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := mismatch(c.pattern, c.got); (diff == "") != c.matches {
				t.Errorf("matches: %v\n%s", diff == "", diff)
			}
		})
	}
}

func TestCommands_are_taken_apart(t *testing.T) {
	got := commands([]string{"$ one", "output", "$ two \\", "  more   # exit 1", "  indented output", "$ three"})
	want := []command{{"one", "output\n", 0}, {"two \\\n  more", "  indented output\n", 1}, {"three", "", 0}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(command{})); diff != "" {
		t.Errorf("they differ from what was wanted (-):\n%s", diff)
	}
}

func TestContainsLines(t *testing.T) {
	const source = "func a() {\n\tb()\n\n\tc()\n}\n"
	for _, c := range []struct {
		lines []string
		want  bool
	}{
		{[]string{"func a() {", "\tb()"}, true},
		{[]string{"b()", "", "c()"}, true},
		{[]string{"b()", "c()"}, false},
		{[]string{"d()"}, false},
	} {
		if got := containsLines(source, c.lines); got != c.want {
			t.Errorf("containsLines(%q) is %v", c.lines, got)
		}
	}
}
