// Package docs_test runs what the documentation says: every command in a console
// block of docs/ and README.md, with the output and the exit code that stand there;
// every fault sentence, with its reading; and every piece of code, against the file
// that it is from.
//
// In a console block
//
//	$ COMMAND      is run by bash, in a copy of the examples; every block begins there
//	# exit 1       behind a command is its exit code, 0 unless said
//	...            in the output stands for anything; on a line of its own for any lines
//	COMMAND &      is a fencepost that serves until the page ends, on free ports that
//	               the page knows as 9092 and 9644
//	kill %1; wait  ends it, with the output that stands beneath
//	go ...         is run in the repository itself, which has the module
//
// What needs container images stands in blocks of another kind, and is not run.
//
// A block before which <!-- file NAME --> stands is written to that file first. One
// before which <!-- from FILE --> stands is a part of that file of the repository.
package docs_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/fault"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if workDir != "" {
		os.RemoveAll(workDir)
	}
	os.Exit(code)
}

// pages are all files that are tested.
func pages(t *testing.T) (all []page) {
	t.Helper()
	files, err := filepath.Glob("*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no pages: %v", err)
	}
	for _, file := range append(files, "../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, readPage(file, string(text)))
	}
	return all
}

// TestCommands runs every command of every page.
func TestCommands(t *testing.T) {
	for _, p := range pages(t) {
		if !slices.ContainsFunc(p.blocks, func(b block) bool { return b.kind == "console" }) {
			continue
		}
		t.Run(filepath.Base(p.file), func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			for _, b := range p.blocks {
				if name, ok := b.marked("file"); ok {
					s.write(t, name, b.text())
				}
				if b.kind == "console" {
					t.Run(fmt.Sprintf("line %d", b.line), func(t *testing.T) { s.run(t, b) })
				}
			}
		})
	}
}

// TestCode compares code with the files that it is from.
func TestCode(t *testing.T) {
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			file, from := b.marked("from")
			if !from {
				_, given := b.marked("file")
				if !given && slices.Contains([]string{"go", "python", "java", "js"}, b.kind) {
					t.Errorf("%s:%d: the code says not where it is from", p.file, b.line)
				}
				continue
			}
			source, err := os.ReadFile(filepath.Join("..", file))
			if err != nil {
				t.Errorf("%s:%d: %v", p.file, b.line, err)
				continue
			}
			if !containsLines(string(source), b.lines) {
				t.Errorf("%s:%d: this does not stand in %s:\n%s", p.file, b.line, file, b.text())
			}
		}
	}
}

// TestFaults parses every line of the fault blocks. Indented lines beneath a
// sentence are its reading.
func TestFaults(t *testing.T) {
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if b.kind == "fault" {
				t.Run(fmt.Sprintf("%s line %d", filepath.Base(p.file), b.line), func(t *testing.T) { checkSentences(t, b) })
			}
		}
	}
}

func checkSentences(t *testing.T, b block) {
	for _, s := range sentences(b.lines) {
		rule, err := fault.Parse(s.text)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.reading != "" && s.reading != rule.English() {
			t.Errorf("%s\nreads %s\nand not %s", s.text, rule.English(), s.reading)
		}
	}
}

// TestFaults_the_page_names_every_word holds docs/faults.md against the language:
// no API, key or verb may be left out.
func TestFaults_the_page_names_every_word(t *testing.T) {
	text, err := os.ReadFile("faults.md")
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"drop", "disconnect", "error CODE", "delay D", "before", "after"}
	for _, api := range wire.Served() {
		words = append(words, api.SnakeName())
	}
	_, err = fault.Parse("drop after produce what=1")
	keys := strings.NewReplacer(" or ", ", ").Replace(err.(*fault.SyntaxError).Want)
	words = append(words, strings.Split(keys, ", ")...)
	for _, word := range words {
		if !strings.Contains(string(text), "`"+word) {
			t.Errorf("docs/faults.md does not name `%s`", word)
		}
	}
}

// TestServed compares the README's table with the table of versions.
func TestServed(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "<!-- served")
	table, _, ended := strings.Cut(rest, "<!-- end -->")
	if !found || !ended {
		t.Fatal("README.md has no table of what is served")
	}
	var got, want []string
	for lines := bufio.NewScanner(strings.NewReader(table)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "|") {
			got = append(got, lines.Text())
		}
	}
	for _, api := range wire.Served() {
		versions := fmt.Sprintf("%d to %d", api.Min, api.Max)
		if api.Min == api.Max {
			versions = fmt.Sprint(api.Min)
		}
		want = append(want, fmt.Sprintf("| %s | %s |", api.Name, versions))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table differs from what is served (-):\n%s", diff)
	}
}

// TestDemo compares the README's transcript with what the demo prints.
func TestDemo(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	p := readPage("../README.md", string(text))
	i := slices.IndexFunc(p.blocks, func(b block) bool { return strings.HasPrefix(b.text(), "Kafka at ") })
	if i < 0 {
		t.Fatal("README.md shows no demo")
	}
	s := newSession(t)
	got, code := s.bash(t, "fencepost demo")
	_, shown, _ := strings.Cut(p.blocks[i].text(), ", seed")
	want := "Kafka at ..., seed" + shown
	if diff := mismatch(want, got); diff != "" || code != 0 {
		t.Errorf("the demo ends with %d and differs from README.md (-):\n%s", code, diff)
	}
}

// TestLinks follows the links from page to page.
func TestLinks(t *testing.T) {
	for _, p := range pages(t) {
		for _, link := range p.links {
			if _, err := os.Stat(filepath.Join(filepath.Dir(p.file), link)); err != nil {
				t.Errorf("%s links to %s: %v", p.file, link, err)
			}
		}
	}
}
