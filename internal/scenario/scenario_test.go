package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fencepostmq/fencepost/internal/fault"
)

func mustRule(t testing.TB, sentence string) fault.Rule {
	t.Helper()
	r, err := fault.Parse(sentence)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRead_gives_what_the_file_says(t *testing.T) {
	got, err := Read("testdata/good/whole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(42)
	want := &Scenario{
		Seed: &seed,
		Topics: []Topic{
			{Name: "orders"},
			{Name: "orders.eu", Partitions: 3},
			{Name: "audit", Partitions: 3, Configs: map[string]string{"max.message.bytes": "2000000"}},
		},
		Faults:          []fault.Rule{mustRule(t, "disconnect after produce attempt=1 times=all")},
		Expect:          "exactly-once",
		Identity:        "key",
		UnknownProducer: "refuse",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRead_the_file_of_the_package_comment(t *testing.T) {
	source, err := os.ReadFile("scenario.go")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(source)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			text.WriteString(code)
		}
	}
	got, err := Parse("", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	want, err := Read("testdata/good/whole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRead_errors_name_the_file_as_it_was_given(t *testing.T) {
	const file = "testdata/bad/unknown-key.yaml"
	_, err := Read(file)
	if err == nil || !strings.HasPrefix(err.Error(), file+":2:1: unknown key") {
		t.Error(err)
	}
}

func TestRead_a_file_that_is_not_there(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestRead_a_folder(t *testing.T) {
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("a folder is a scenario")
	}
}

func TestRead_the_largest_file_and_one_byte_more(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large.yaml")
	comment := "#" + strings.Repeat(" ", 4000) + "\n"
	largest := strings.Repeat(comment, MaxFile/len(comment)+1)[:MaxFile]
	for _, c := range []struct{ text, want string }{
		{largest, "<nil>"},
		{largest + " ", file + ":1:1: a file of more than 1048576 bytes: want a smaller one"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(file); fmt.Sprint(err) != c.want {
			t.Errorf("%d bytes: %v", len(c.text), err)
		}
	}
}

func TestParse_without_a_name(t *testing.T) {
	_, err := Parse("", []byte("seed: -1"))
	if want := "1:7: seed -1 is out of range: want a whole number from 0 to 18446744073709551615"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestParse_blocks_lose_the_end_of_their_last_line(t *testing.T) {
	s, err := Parse("", []byte("expect: >\n  nothing\ntopics:\n  - |+\n    orders\n\nidentity: |\n  key\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Expect != Nothing || s.Identity != IdentityKey || s.Topics[0].Name != "orders" {
		t.Errorf("%+v", s)
	}
}

func TestParse_an_empty_file_says_nothing(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "---\n", "~", "{}", "seed: 1\n---\n", "\ufeff", "---\n---\nseed: 1\n..."} {
		s, err := Parse("", []byte(text))
		if err != nil || len(s.Topics)+len(s.Faults) != 0 || s.Expect+s.Identity+s.UnknownProducer != "" {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

func TestError_as_JSON_for_other_programs(t *testing.T) {
	_, err := Parse("a.yaml", []byte("expect: nothin"))
	got, _ := json.Marshal(errorsOf(t, err))
	want := `[{"file":"a.yaml","line":1,"column":9,"problem":"expect cannot be \"nothin\"",` +
		`"want":"exactly-once or nothing","near":"nothing"}]`
	if string(got) != want {
		t.Errorf("%s", got)
	}
}

func TestGuard_turns_a_panic_into_an_error(t *testing.T) {
	err := guard(func() error { panic("index out of range") })
	if err == nil || !strings.Contains(err.Error(), "index out of range") {
		t.Error(err)
	}
	s := &source{}
	var p problems
	s.explain(err, &p)
	if len(p.all) != 1 || p.all[0].Line != 1 || !strings.Contains(p.all[0].Problem, "the YAML library gave up") {
		t.Errorf("%+v", p.all)
	}
	want := errors.New("as it is")
	if got := guard(func() error { return want }); got != want {
		t.Error(got)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"seed", "topics", "faults", "expect", "unknown-producer", "exactly-once"}
	for _, c := range []struct{ word, want string }{
		{"fault", "faults"},
		{"falts", "faults"},
		{"sed", "seed"},
		{"Seed", "seed"},
		{"topic", "topics"},
		{"exactlyonce", "exactly-once"},
		{"exactly_once", "exactly-once"},
		{"unknownproducers", "unknown-producer"},
		{"unknown", "unknown-producer"},
		{"expected", "expect"},
		{"partitions", ""},
		{"xy", ""},
		{"se", ""},
		{"", ""},
		{strings.Repeat("seed", 1000), ""},
	} {
		if got := fault.Near(c.word, known); got != c.want {
			t.Errorf("nearest to %.20q is %q, want %q", c.word, got, c.want)
		}
	}
}

func TestShown_is_short(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a\"b\n", `"a\"b\n"`},
		{strings.Repeat("ä", maxShown), `"` + strings.Repeat("ä", maxShown) + `"`},
		{strings.Repeat("ä", maxShown+1), `"` + strings.Repeat("ä", maxShown) + `..."`},
	} {
		if got := shown(c.text); got != c.want {
			t.Errorf("%q is shown as %s", c.text, got)
		}
	}
}

func TestIsControl(t *testing.T) {
	for r, want := range map[rune]bool{
		0: true, '\t': false, '\v': true, 0x1f: true, ' ': false, '~': false, 0x7f: true, 0x80: true, 0x85: false, 0x9f: true,
		0xa0: false, 'ä': false, 0xfeff: true, 0xfffd: false, 0xfffe: true, 0xffff: true, 0x1f600: false,
	} {
		if got := isControl(r); got != want {
			t.Errorf("%U: %v", r, got)
		}
	}
}

// quotes finds what is in quotes, which is not broken.
var quotes = regexp.MustCompile(`"(\\.|[^"\\])*"`)

// checkEnglish checks what holds for the English of any scenario.
func checkEnglish(t testing.TB, s *Scenario) {
	t.Helper()
	text := s.English()
	if !strings.HasSuffix(text, "\n") {
		t.Fatalf("the last line is not ended: %q", text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		pieces := strings.Fields(quotes.ReplaceAllString(line[min(len(line), margin):], "quoted"))
		if utf8.RuneCountInString(line) > width && len(pieces) > 1 {
			t.Fatalf("more than %d columns: %q", width, line)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) }) || line != strings.TrimRight(line, " ") {
			t.Fatalf("not fit for a terminal: %q", line)
		}
	}
}

func TestWords_do_not_break_what_is_in_quotes(t *testing.T) {
	got := words(`a "b  c" d="e \" f" "g\\" h`)
	want := []string{"a", `"b  c"`, `d="e \" f"`, `"g\\"`, "h"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEnglish_fits_eighty_columns(t *testing.T) {
	for _, file := range files(t, "good") {
		s, err := Read(file)
		if err != nil {
			t.Fatal(err)
		}
		checkEnglish(t, s)
	}
}

// anyScenario draws a scenario by its fields, without the help of Parse.
func anyScenario() *rapid.Generator[*Scenario] {
	sentences := []string{
		"disconnect after produce attempt=1 times=all", "delay 2s, drop before metadata client=\"my app\"",
		"error 6 before produce topic=orders,audit* partition=0..2 every=3 chance=30%",
	}
	return rapid.Custom(func(t *rapid.T) *Scenario {
		s := new(Scenario)
		if rapid.Bool().Draw(t, "seeded") {
			seed := rapid.Uint64().Draw(t, "seed")
			s.Seed = &seed
		}
		text := rapid.StringN(1, 20, 100)
		for _, name := range rapid.SliceOfNDistinct(text, 0, 4, rapid.ID[string]).Draw(t, "topics") {
			topic := Topic{Name: name, Partitions: rapid.IntRange(0, MaxPartitions).Draw(t, "partitions")}
			if configs := rapid.MapOfN(text, rapid.StringN(0, 20, 100), 0, 4).Draw(t, "configs"); len(configs) > 0 {
				topic.Configs = configs
			}
			s.Topics = append(s.Topics, topic)
		}
		for i, sentence := range rapid.SliceOfN(rapid.SampledFrom(sentences), 0, 4).Draw(t, "faults") {
			rule, err := fault.Parse(sentence + fmt.Sprintf(" name=n%d", i))
			if err != nil {
				t.Fatal(err)
			}
			s.Faults = append(s.Faults, rule)
		}
		s.Expect = rapid.SampledFrom([]string{"", ExactlyOnce, Nothing}).Draw(t, "expect")
		s.Identity = rapid.SampledFrom([]string{"", IdentityKey, IdentityValue, IdentityHeader + "id"}).Draw(t, "identity")
		s.UnknownProducer = rapid.SampledFrom([]string{"", Refuse, Accept}).Draw(t, "unknown producer")
		return s
	})
}

// written is a scenario as a file of JSON, which is YAML too.
func written(t *rapid.T, s *Scenario) []byte {
	v := object{}
	if s.Seed != nil {
		v["seed"] = *s.Seed
	}
	var topics []any
	for _, topic := range s.Topics {
		one := object{"name": topic.Name, "configs": topic.Configs}
		if topic.Partitions > 0 {
			one["partitions"] = topic.Partitions
		}
		topics = append(topics, one)
	}
	v["topics"], v["faults"] = topics, s.Faults
	for key, word := range map[string]string{"expect": s.Expect, "identity": s.Identity, "unknown-producer": s.UnknownProducer} {
		if word != "" {
			v[key] = word
		}
	}
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	// These are escaped by YAML, not by JSON.
	var escaped strings.Builder
	for _, r := range string(text) {
		if r > '~' && isControl(r) {
			fmt.Fprintf(&escaped, "\\u%04x", r)
		} else {
			escaped.WriteRune(r)
		}
	}
	return []byte(escaped.String())
}

func TestParse_reads_back_what_was_written(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyScenario().Draw(t, "scenario")
		text := written(t, want)
		got, err := Parse("", text)
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%s", text, diff)
		}
		if text := got.English(); text == "" {
			t.Fatal("no English")
		}
	})
}

func TestUnfold_joins_lines(t *testing.T) {
	for _, c := range []struct{ origin, want string }{
		{"a", "a"},
		{"a\tb", "a\tb"},
		{"a \n\t b", "a b"},
		{"a\n\nb", "a\nb"},
		{"a\n \n\t\nb\nc", "a\n\nb c"},
	} {
		if got := unfold(c.origin); got != c.want {
			t.Errorf("%q is %q, want %q", c.origin, got, c.want)
		}
	}
}

func TestAnchors_an_alias_never_stands_for_itself(t *testing.T) {
	var p problems
	src := newSource([]byte("topics: &t [*t]"), &p)
	root := src.parse(&p)
	r := newReader(src, root, &p)
	for alias, target := range r.targets {
		if _, isAlias := target.(*ast.AliasNode); isAlias || target == ast.Node(alias) {
			t.Errorf("%v stands for %v", alias, target)
		}
	}
	if len(r.targets) != 1 {
		t.Errorf("%d aliases", len(r.targets))
	}
}
