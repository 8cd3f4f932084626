package scenario

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares a text with a file in testdata, or rewrites the file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-file +now); -update rewrites it:\n%s", file, diff)
	}
}

// files lists the scenarios in a folder of testdata.
func files(t testing.TB, folder string) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/" + folder + "/*.yaml")
	if err != nil || len(all) == 0 {
		t.Fatalf("no files in testdata/%s: %v", folder, err)
	}
	return all
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// errorsOf takes the error of Parse apart.
func errorsOf(t testing.TB, err error) (all []*Error) {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%T is no joined error", err)
	}
	for _, err := range joined.Unwrap() {
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%T is no *Error", err)
		}
		all = append(all, e)
	}
	return all
}

func TestGood_files_in_plain_English(t *testing.T) {
	for _, file := range files(t, "good") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			s, err := Read(file)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".english", s.English())
		})
	}
}

func TestBad_files_with_every_error_at_its_place(t *testing.T) {
	for _, file := range files(t, "bad") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data := read(t, file)
			_, err := Parse(filepath.Base(file), data)
			if err == nil {
				t.Fatal("nothing is wrong with it")
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".errors", report(t, data, err))
		})
	}
}

// report is each error with the line that it is about, and a mark below the
// place.
func report(t *testing.T, data []byte, err error) string {
	t.Helper()
	text := bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	lines := strings.Split(string(text), "\n")
	served := strings.NewReplacer(servedNames(t), "{served}")
	var b strings.Builder
	for _, e := range errorsOf(t, err) {
		fmt.Fprintln(&b, served.Replace(e.Error()))
		line := strings.ReplaceAll(lines[e.Line-1], "\t", " ")
		if !utf8.ValidString(line) {
			line = strings.ToValidUTF8(line, "?")
		}
		const window = 70
		begin := max(0, e.Column-window)
		shown := []rune(line)
		shown = shown[min(begin, len(shown)):]
		fmt.Fprintf(&b, "  | %s\n", string(shown[:min(len(shown), window+10)]))
		fmt.Fprintf(&b, "  | %s^\n", strings.Repeat(" ", e.Column-1-begin))
	}
	return b.String()
}

// servedNames is the list of APIs as an error of package fault has it. It grows
// with the broker, so it does not stand in the files.
func servedNames(t *testing.T) string {
	t.Helper()
	_, err := Parse("", []byte("faults: [drop after x]"))
	want := errorsOf(t, err)[0].Want
	want = strings.TrimPrefix(want, "one of ")
	names, _, _ := strings.Cut(want, ";")
	return names
}

func TestFiles_are_many_good_and_bad(t *testing.T) {
	if good, bad := len(files(t, "good")), len(files(t, "bad")); good < 20 || bad < 40 {
		t.Errorf("%d good, %d bad", good, bad)
	}
}
