package clients

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/clients.md from what was seen")

// recoveryColumn holds times, which are another in each run.
const recoveryColumn = "answered again after"

const pageFile = "../../docs/clients.md"

// A page is docs/clients.md: text with a table behind each comment "table NAME".
// Clients set cells; a plain run compares each with what stands there.
type page struct {
	mu   sync.Mutex
	text string
	seen map[string]*table
}

// A table has a cell for each row and column.
type table struct {
	corner        string
	columns, rows []string
	cells         map[[2]string]string // by row and column
}

var tablePlace = regexp.MustCompile(`(?m)^<!-- table (\w+) -->\n((?:\|.*\n)*)`)

func openPage(t *testing.T) *page {
	t.Helper()
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{text: string(text), seen: map[string]*table{}}
	for _, found := range tablePlace.FindAllStringSubmatch(p.text, -1) {
		p.seen[found[1]] = readTable(found[2])
	}
	for _, name := range []string{"lost", "before", "after"} {
		if p.seen[name] == nil {
			t.Fatalf("%s has no table %s", pageFile, name)
		}
	}
	return p
}

// complete fails the test unless the page knows every client, and none that is gone.
func (p *page) complete(t *testing.T) {
	t.Helper()
	for name, known := range map[string][]string{
		"lost": p.seen["lost"].rows, "before": p.seen["before"].columns, "after": p.seen["after"].columns,
	} {
		var want []string
		for _, c := range stockClients {
			if name == "lost" || !c.tool {
				want = append(want, c.name)
			}
		}
		if diff := cmp.Diff(want, known); diff != "" {
			t.Errorf("the clients that there are (-), and those of the table %s of %s (+):\n%s", name, pageFile, diff)
		}
	}
}

// set notes what was seen.
func (p *page) set(t *testing.T, name, row, column, value string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.seen[name].cells[[2]string{row, column}]
	if *update {
		p.seen[name].set(row, column, value)
		return
	}
	fail := t.Errorf
	switch {
	case was == value || column == recoveryColumn:
		return
	case name != "lost" && worseIn(was) == worseIn(value):
		fail = t.Logf // how a client takes an error may depend on what it has under way
	}
	fail("%s, %s: %q was seen, and docs/clients.md says %q", row, column, value, was)
}

// worseIn is the part of a cell that says what an application does not know of its
// records.
func worseIn(cell string) string { return worse.FindString(cell) }

var worse = regexp.MustCompile(`\*\*.*\*\*`)

// close writes the page, if that was asked for.
func (p *page) close(t *testing.T) {
	t.Helper()
	if !*update {
		p.complete(t)
		return
	}
	var order []string
	for _, c := range stockClients {
		order = append(order, c.name)
	}
	text := tablePlace.ReplaceAllStringFunc(p.text, func(old string) string {
		name := tablePlace.FindStringSubmatch(old)[1]
		return fmt.Sprintf("<!-- table %s -->\n%s", name, p.seen[name].text(order))
	})
	if err := os.WriteFile(pageFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readTable(text string) *table {
	tb := &table{cells: map[[2]string]string{}}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		switch {
		case i == 0:
			tb.corner, tb.columns = cells[0], cells[1:]
		case i > 1:
			for j, column := range tb.columns[:min(len(tb.columns), len(cells)-1)] {
				tb.set(cells[0], column, cells[j+1])
			}
		}
	}
	return tb
}

func (tb *table) set(row, column, value string) {
	if !slices.Contains(tb.rows, row) {
		tb.rows = append(tb.rows, row)
	}
	if !slices.Contains(tb.columns, column) {
		tb.columns = append(tb.columns, column)
	}
	tb.cells[[2]string{row, column}] = value
}

// text is the table, with the clients in their order, be they rows or columns.
func (tb *table) text(order []string) string {
	place := func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) }
	slices.SortStableFunc(tb.rows, place)
	slices.SortStableFunc(tb.columns, place)
	var s strings.Builder
	fmt.Fprintf(&s, "| %s | %s |\n|%s\n", tb.corner, strings.Join(tb.columns, " | "), strings.Repeat(" --- |", len(tb.columns)+1))
	for _, row := range tb.rows {
		fmt.Fprintf(&s, "| %s |", row)
		for _, column := range tb.columns {
			fmt.Fprintf(&s, " %s |", tb.cells[[2]string{row, column}])
		}
		s.WriteByte('\n')
	}
	return s.String()
}
