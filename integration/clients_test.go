package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// outsider is what requireClient needs of a test.
type outsider interface {
	Helper()
	Skip(args ...any)
	Fatal(args ...any)
}

// requireClient ends a test whose outside client is not installed: it is skipped,
// but fails where CI=true, where all have to be.
func requireClient(t outsider, name string, installed bool) {
	t.Helper()
	if installed {
		return
	}
	why := name + " is not installed: run integration/install"
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// kcatCommand is the path of kcat.
func kcatCommand(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("kcat")
	requireClient(t, "kcat", err == nil)
	return path
}

// confluentPython is the path of a Python that has confluent-kafka.
func confluentPython(t testing.TB) string {
	t.Helper()
	environment, err := filepath.Abs("../.cache/python")
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(environment, "stamp"))
	requireClient(t, "confluent-kafka", err == nil)
	return filepath.Join(environment, "bin", "python3")
}

// said notes what a test was told.
type said struct{ skip, fatal string }

func (s *said) Helper()           {}
func (s *said) Skip(args ...any)  { s.skip = fmt.Sprint(args...) }
func (s *said) Fatal(args ...any) { s.fatal = fmt.Sprint(args...) }

func TestRequireClient(t *testing.T) {
	const why = "kcat is not installed: run integration/install"
	for _, c := range []struct {
		name      string
		ci        string
		installed bool
		want      said
	}{
		{"an installed client is used", "", true, said{}},
		{"an installed client is used in CI", "true", true, said{}},
		{"without the client the test is skipped", "", false, said{skip: why}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("CI", c.ci)
			var got said
			requireClient(&got, "kcat", c.installed)
			if got != c.want {
				t.Errorf("it said %+v", got)
			}
		})
	}
	t.Run("without the client the test fails in CI", func(t *testing.T) {
		t.Setenv("CI", "true")
		var got said
		requireClient(&got, "kcat", false)
		if got.fatal != why {
			t.Errorf("it said %+v", got)
		}
	})
}
