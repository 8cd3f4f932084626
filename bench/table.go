package main

import (
	"fmt"
	"io"
	"strings"
)

// A table is printed in Markdown.
type table struct{ rows [][]string }

func newTable(head ...string) *table { return &table{rows: [][]string{head}} }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(to io.Writer) {
	for i, cells := range t.rows {
		fmt.Fprintf(to, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(to, "|%s\n", strings.Repeat("---|", len(cells)))
		}
	}
	fmt.Fprintln(to)
}
