package scenario

import (
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/fault"
)

// odd are texts that are no scenario, and little else.
var odd = []string{
	"a: &x *x\n", "&a *a : *a\n", "? [a]\n: b\n", "? ? ? a\n", "seed: !!int 4\n", "!!binary |\n  aaa\n", "%YAML 1.2\n---\na: 1\n",
	"%TAG ! tag:a,2000:\n--- !b\n", "topics: &a [*a]\n", "<<: [*a, *b]\n", "expect: |+2\n   x\n", "expect: >-9\n x\n",
	"topics: [{name: a, configs: {a: b}},\n c: d]\n", "{a, b: , ? c : d}\n", "...\n---\n# c\n", "key:\n}", "seed:\n  }\n", "{\"\"\"\":",
	"\"a\\x41\\u1234\": 'it''s'\n", "topics:\n- a\n -b\n  - c\n", "a: b\n - c\n- d\n", "\ttopics:\t[\ta\t]\t\n", "0::", "a: 0_\n", "a:\n- b: c\n- \n",
	"\r\r\n\r", "- - - - -\n", "seed: 1 #\n#", "expect: \"\\\n  nothing\"\n", "faults: [\"drop\\x20aftr produce\", 'dr''op']\n",
	"{00\n0} ", "faults:\n- drop After produCe 0\t0", "faults:\n- 'drop After produCe 0''0'", "topics:\n* 0\n      \n 0",
	"topics:\n  - name: 08\n    configs:\n     0000000000000000  000000000: 00",
}

func FuzzParse(f *testing.F) {
	for _, folder := range []string{"good", "bad"} {
		for _, file := range files(f, folder) {
			f.Add(read(f, file))
		}
	}
	for _, text := range odd {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("f", data)
		if err != nil {
			checkErrors(t, data, errorsOf(t, err))
			return
		}
		checkEnglish(t, s)
		checkScenario(t, s)
	})
}

// checkErrors checks what holds for the errors of any file.
func checkErrors(t *testing.T, data []byte, all []*Error) {
	t.Helper()
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(string(data), "\ufeff"))
	lines := strings.Split(text, "\n")
	if len(all) == 0 || len(all) > MaxErrors+1 {
		t.Fatalf("%d errors", len(all))
	}
	last := place{}
	for _, e := range all {
		at := place{e.Line, e.Column}
		switch {
		case e.File != "f" || e.Problem == "" || e.Want == "" || strings.ContainsAny(e.Error(), "\n\x1b"):
			t.Fatalf("%q: %+v", data, e)
		case at.line < 1 || at.line > len(lines) || at.column < 1 || at.column > len([]rune(lines[at.line-1]))+1:
			t.Fatalf("%q: no such place: %v", data, e)
		case at.line < last.line || at.line == last.line && at.column < last.column:
			t.Fatalf("%q: out of order: %v", data, e)
		}
		last = at
		checkKeyPlace(t, string([]rune(lines[at.line-1])[at.column-1:]), e)
	}
}

// checkKeyPlace checks that the error about an unknown key points at the key.
func checkKeyPlace(t *testing.T, rest string, e *Error) {
	t.Helper()
	quoted, ok := strings.CutPrefix(e.Problem, "unknown key ")
	if !ok || strings.HasSuffix(quoted, `..."`) || strings.Contains(quoted, `\`) {
		return
	}
	key := strings.Trim(quoted, `"`)
	if i := strings.IndexAny(key, " '"); i >= 0 {
		key = key[:i] // a space may be another in the file, and a quote two
	}
	if !strings.HasPrefix(rest, key) && !strings.ContainsAny(rest[:min(1, len(rest))], `"'&*?|>\`) {
		t.Fatalf("%v points at %q", e, rest)
	}
}

// checkScenario checks what holds for any scenario that was read.
func checkScenario(t *testing.T, s *Scenario) {
	t.Helper()
	names := make(map[string]bool)
	for _, topic := range s.Topics {
		if topic.Name == "" || names[topic.Name] || topic.Partitions < 0 || topic.Partitions > MaxPartitions {
			t.Fatalf("%+v", topic)
		}
		names[topic.Name] = true
	}
	for _, rule := range s.Faults {
		if _, err := fault.Parse(rule.String()); err != nil {
			t.Fatal(err)
		}
	}
	if s.Expect != "" && expectations[s.Expect] == "" || s.UnknownProducer != "" && unknownProducerWords[s.UnknownProducer] == "" {
		t.Fatalf("%+v", s)
	}
}
