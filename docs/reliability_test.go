package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest   = regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	writtenTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(\w+ \*testing\.[TF]\)`)
)

// TestReliability holds every guarantee of docs/reliability.md against the tests
// of this repository: each names one at least, and each that is named exists.
func TestReliability(t *testing.T) {
	text, err := os.ReadFile("reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	written, guarantees := writtenTests(t), 0
	for n, line := range strings.Split(string(text), "\n") {
		named := namedTest.FindAllStringSubmatch(line, -1)
		if row := strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| guarantee "); row {
			guarantees++
			if len(named) == 0 {
				t.Errorf("reliability.md:%d: no test stands behind this: %s", n+1, line)
			}
		}
		for _, name := range named {
			if !written[name[1]] {
				t.Errorf("reliability.md:%d: there is no test %s", n+1, name[1])
			}
		}
	}
	if guarantees == 0 {
		t.Error("reliability.md has no guarantees")
	}
}

// writtenTests are the names of all tests in this repository.
func writtenTests(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, found := range writtenTest.FindAllSubmatch(source, -1) {
			names[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
