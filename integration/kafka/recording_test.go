package kafka

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A recording holds Kafka's answers by script. In a file of it
//
//	# NAME           begins a script
//	WORDS            begins the answer to a step
//	<tab>PATH ...    is a part of it, with its fields behind tabs
//	<tab>! WORDS     says that there was none
type recording map[string][]answer

// recordedIn is the file of a theme's recording.
func recordedIn(theme string) string {
	return filepath.Join("testdata", "kafka-"+version, theme+".txt")
}

// load reads the recording of a theme; one that is not there is empty.
func load(t *testing.T, theme string) recording {
	t.Helper()
	text, err := os.ReadFile(recordedIn(theme))
	if os.IsNotExist(err) {
		return recording{}
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := parseRecording(text)
	if err != nil {
		t.Fatalf("%s: %v", recordedIn(theme), err)
	}
	return r
}

func parseRecording(text []byte) (recording, error) {
	all, script := recording{}, ""
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "# "); ok {
			script = name
			all[script] = []answer{}
			continue
		}
		part, indented := strings.CutPrefix(line, "\t")
		switch steps := all[script]; {
		case line == "":
		case script == "" || indented && len(steps) == 0:
			return nil, fmt.Errorf("line %d belongs to nothing: %q", n, line)
		case indented:
			steps[len(steps)-1].addLine(part)
		default:
			all[script] = append(steps, answer{step: line})
		}
	}
	return all, lines.Err()
}

// addLine reads one indented line.
func (a *answer) addLine(line string) {
	if why, ok := strings.CutPrefix(line, "! "); ok {
		a.without = why
		return
	}
	words := strings.Split(line, "\t")
	p := part{path: strings.TrimPrefix(words[0], topLevel)}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		p.fields = append(p.fields, field{name, value})
	}
	a.parts = append(a.parts, p)
}

// topLevel is the path of the response itself.
const topLevel = "."

// String is the answer as it stands in a recording, without the words of the step.
func (a answer) String() string {
	if a.without != "" {
		return "\t! " + a.without + "\n"
	}
	var b strings.Builder
	for _, p := range a.parts {
		if p.path == "" {
			p.path = topLevel
		}
		b.WriteString("\t" + p.path)
		for _, f := range p.fields {
			b.WriteString("\t" + f.name + "=" + f.value)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// save writes the recording of a theme in the order of its scripts.
func (r recording) save(t *testing.T, theme string, scripts []script) {
	t.Helper()
	var b bytes.Buffer
	for i, sc := range scripts {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "# %s\n", sc.name)
		for _, a := range r[sc.name] {
			b.WriteString(a.step + "\n" + a.String())
		}
	}
	if err := os.MkdirAll(filepath.Dir(recordedIn(theme)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recordedIn(theme), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
