package kafka

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A difference is one that stays.
type difference struct {
	what   string // for a reader of the page: on which occasion
	kafka  string // what Kafka does, in words or as it is answered
	ours   string // what fencepost does
	reason string // why

	where []spot // where the scripts meet it
}

// A spot is a field in the answers of some scripts, with what both sides say.
type spot struct{ script, step, field, kafka, ours string }

// met is the spots that were met.
var met sync.Map

// excuse says whether a mismatch is listed.
func excuse(script, step string, m mismatch) bool {
	for i := range differences {
		d := &differences[i]
		for _, s := range d.where {
			if s.meets(script, step, m) {
				met.Store(s, true)
				return true
			}
		}
	}
	return false
}

func (s spot) meets(script, step string, m mismatch) bool {
	return like(s.script, script) && like(s.step, step) && like(s.field, m.path) && like(s.kafka, m.kafka) && like(s.ours, m.ours)
}

var patterns sync.Map // of *regexp.Regexp by the text that they are from

// like matches a text with a pattern in which * stands for anything, as does no
// pattern at all.
func like(pattern, text string) bool {
	if pattern == "" || pattern == text {
		return true
	}
	compiled, ok := patterns.Load(pattern)
	if !ok {
		quoted := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`)
		compiled, _ = patterns.LoadOrStore(pattern, regexp.MustCompile(`(?s)^`+quoted+`$`))
	}
	return compiled.(*regexp.Regexp).MatchString(text)
}

// reportStale fails for each spot of a listed difference that was met nowhere.
func reportStale(t *testing.T) {
	for i := range differences {
		for _, s := range differences[i].where {
			if _, ok := met.Load(s); !ok {
				t.Errorf("no script meets %+v of the listed difference %q any more: take it off the list", s, differences[i].what)
			}
		}
	}
}

const page = "../../docs/differences.md"

// TestDifferences_stand_on_the_page compares docs/differences.md with the list.
func TestDifferences_stand_on_the_page(t *testing.T) {
	want := differencesPage()
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("docs/differences.md is not what the list says (-list +page): go test ./integration/kafka -update writes it\n%s", d)
	}
}

const pageHead = `# Where the answers differ from Apache Kafka's

Requests are played on fencepost and on Apache Kafka %s, and the answers compared
field by field (integration/kafka). This table is what differs on purpose. It is
also what the comparison lets pass, and an entry that is met no more fails it.

| on which occasion | Apache Kafka | fencepost | why |
|---|---|---|---|
`

const naturalHead = `
What differs between any two brokers is not compared by its value, only by whether
there is one:

| field | what it tells |
|---|---|
`

func differencesPage() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, pageHead, version)
	for i := range differences {
		d := &differences[i]
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.what, d.kafka, d.ours, d.reason)
	}
	b.WriteString(naturalHead)
	for _, name := range slices.Sorted(maps.Keys(natural)) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, natural[name].reason)
	}
	return b.Bytes()
}

func TestLike(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "anything", true},
		{"*", "", true},
		{"a*c", "abbc", true},
		{"a*c", "abcd", false},
		{"a.c", "abc", false},
		{"Topics[t].*", "Topics[t].Partitions[0]", true},
	} {
		if got := like(c.pattern, c.text); got != c.want {
			t.Errorf("like(%q, %q) is %v", c.pattern, c.text, got)
		}
	}
}
