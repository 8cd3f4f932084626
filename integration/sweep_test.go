package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A sweptCell is a row of a sweep's JSON.
type sweptCell struct {
	fencepost.Cell
	Outcome  string `json:"outcome"`
	Breaks   bool   `json:"breaks"`
	ExitCode int    `json:"exit_code"`
	Report   string `json:"report"`
}

// sweptRecords is how many records the program sends, each a batch of its own.
const sweptRecords = 3

// sweep runs the command on the producer with confluent-kafka, and beside each
// cell gives the keys that kcat read back from the very same broker.
func sweep(t *testing.T, idempotent string) (code int, cells []sweptCell, kept map[string][]string) {
	t.Helper()
	python := confluentPython(t)
	kcatCommand(t)
	dir := t.TempDir()
	p := start(t, []string{
		"IDEMPOTENT=" + idempotent, fmt.Sprint("RECORDS=", sweptRecords), "TIMEOUT_MS=1000", "KEPT=" + dir, "HELD_BACK=3",
	}, "", fencepostCommand(t), "sweep", "--output", "json", "--delay", "2s", "--parallel", "8", "--",
		"clients/swept.sh", python, "-u", "clients/producer.py")
	code = p.wait(t)
	var result struct{ Cells []sweptCell }
	if err := json.Unmarshal([]byte(p.out.String()), &result); err != nil {
		t.Fatalf("the sweep ended with %d and printed %q: %v", code, p.out.String(), err)
	}
	kept = map[string][]string{}
	for _, c := range result.Cells {
		text, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.Name(), "/", "_")))
		if err != nil {
			t.Fatal(err)
		}
		kept[c.Name()] = strings.Fields(string(text))
	}
	return code, result.Cells, kept
}

// inLog judges a cell by nothing but the keys that were read back.
func inLog(keys []string) string {
	times := map[string]int{}
	for _, k := range keys {
		times[k]++
	}
	for _, n := range times {
		if n > 1 {
			return "duplicated"
		}
	}
	if len(times) < sweptRecords {
		return "missing"
	}
	return "exactly once"
}

// agrees says whether an outcome goes with the log. A program that says that it
// failed may have left a record out, but it does not excuse one that is there
// twice.
func agrees(c sweptCell, log string) bool {
	if c.Outcome == "program failed" {
		return c.ExitCode != 0 && log != "duplicated"
	}
	return c.Outcome == log
}

func TestSweep_of_confluent_kafka_is_right_cell_by_cell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		idempotent string
		broken     bool
		cells      int
	}{
		{"true", false, 50},
		{"false", true, 40},
	} {
		t.Run("idempotent="+c.idempotent, func(t *testing.T) {
			t.Parallel()
			code, cells, kept := sweep(t, c.idempotent)
			if broken := code == 1; broken != c.broken || code > 1 {
				t.Errorf("the sweep ended with %d", code)
			}
			if len(cells) != c.cells {
				t.Errorf("there are %d cells, and not %d", len(cells), c.cells)
			}
			duplicated := 0
			for _, cell := range cells {
				log := inLog(kept[cell.Name()])
				if !agrees(cell, log) {
					t.Errorf("%s is %q, and the log says %q: %v\n%s", cell.Sentence, cell.Outcome, log, kept[cell.Name()], cell.Report)
				}
				if log == "duplicated" {
					duplicated++
				}
				if lostAck := cell.Place == "after" && cell.Trouble != "fatal" && cell.API == "produce"; c.broken && lostAck != (log == "duplicated") && cell.Trouble != "delay" {
					t.Errorf("%s without idempotence: the log says %q", cell.Sentence, log)
				}
			}
			if (duplicated > 0) != c.broken {
				t.Errorf("%d cells hold a record twice", duplicated)
			}
		})
	}
}

// A cellTest is a test that Sweep runs, and notes how each of its parts ended.
type cellTest struct {
	testing.TB
	name   string
	parent *cellTest
	ends   []func()
	errors []string
	parts  []*cellTest
}

func (c *cellTest) Helper()                   {}
func (c *cellTest) Cleanup(f func())          { c.ends = append(c.ends, f) }
func (c *cellTest) Failed() bool              { return len(c.errors) > 0 }
func (c *cellTest) Errorf(f string, a ...any) { c.errors = append(c.errors, fmt.Sprintf(f, a...)) }
func (c *cellTest) Fatalf(f string, a ...any) { c.Errorf(f, a...); panic(c) }
func (c *cellTest) Logf(string, ...any)       {}

func (c *cellTest) Run(name string, f func(*cellTest)) bool {
	part := &cellTest{TB: c.TB, name: name, parent: c}
	c.parts = append(c.parts, part)
	defer func() {
		for i := len(part.ends) - 1; i >= 0; i-- {
			part.ends[i]()
		}
	}()
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(part) {
				panic(p)
			}
		}()
		f(part)
	}()
	return !part.Failed()
}

// TestSweep_in_Go runs the grid on a kgo producer, and holds each cell that
// passed or failed against the records that stand in the log.
func TestSweep_in_Go_is_right_cell_by_cell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		options []kgo.Opt
		twice   func(fencepost.Cell) bool
	}{
		{"idempotent", nil, func(fencepost.Cell) bool { return false }},
		{"not idempotent", []kgo.Opt{kgo.DisableIdempotentWrite()}, func(c fencepost.Cell) bool { return c.Place == "after" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			whole := &cellTest{TB: t}
			logs := map[string]string{}
			fencepost.Sweep(whole, func(part *cellTest, b *fencepost.Broker) {
				sendOneByOne(part, b, c.options...)
				logs[part.name] = logOf(part, b)
			}, fencepost.Skip("fatal", "delay"), fencepost.With(fencepost.Topic("orders", 1), fencepost.Seed(42)))
			if len(whole.errors) > 0 || len(whole.parts) < 20 {
				t.Fatalf("%d cells were run: %v", len(whole.parts), whole.errors)
			}
			for _, part := range whole.parts {
				if good := logs[part.name] == "exactly once"; good == part.Failed() {
					t.Errorf("%s: the log says %q, and the part: %v", part.name, logs[part.name], part.errors)
				}
				if cell := cellNamed(part.name); part.name != "no faults" && c.twice(cell) != (logs[part.name] == "duplicated") {
					t.Errorf("%s: the log says %q", part.name, logs[part.name])
				}
			}
		})
	}
}

func cellNamed(name string) fencepost.Cell {
	api, rest, _ := strings.Cut(name, "/")
	place, rest, _ := strings.Cut(rest, "/")
	trouble, position, _ := strings.Cut(rest, "/")
	return fencepost.Cell{API: api, Place: place, Trouble: trouble, Position: position}
}

func sendOneByOne(t *cellTest, b *fencepost.Broker, options ...kgo.Opt) {
	options = append(append(quick(), impatient()...), options...)
	cl, err := kgo.NewClient(append(options, kgo.SeedBrokers(b.Addr()), kgo.DefaultProduceTopic("orders"), kgo.RetryTimeout(20*time.Second))...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer cl.Close()
	for i := range sweptRecords {
		if err := cl.ProduceSync(t.Context(), kgo.KeyStringRecord(key(i), "value")).FirstErr(); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
	}
}

func logOf(t *cellTest, b *fencepost.Broker) string {
	records, err := b.Records("orders")
	if err != nil {
		t.Fatalf("%v", err)
	}
	var keys []string
	for _, r := range records {
		keys = append(keys, string(r.Key))
	}
	return inLog(keys)
}
