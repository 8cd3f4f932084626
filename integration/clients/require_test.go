package clients

import (
	"fmt"
	"testing"
)

// said notes what a test was told.
type said struct{ skip, fatal string }

func (s *said) Helper()           {}
func (s *said) Skip(args ...any)  { s.skip = fmt.Sprint(args...) }
func (s *said) Fatal(args ...any) { s.fatal = fmt.Sprint(args...) }

func TestRequire(t *testing.T) {
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
			Require(&got, "kcat", c.installed, "integration/install")
			if got != c.want {
				t.Errorf("it said %+v", got)
			}
		})
	}
	t.Run("without the client the test fails in CI", func(t *testing.T) {
		t.Setenv("CI", "true")
		var got said
		Require(&got, "kcat", false, "integration/install")
		if got.fatal != why {
			t.Errorf("it said %+v", got)
		}
	})
}
