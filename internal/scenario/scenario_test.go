package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	text := []byte(strings.Repeat("# 345678\n", MaxFile/9) + "#234567\n")
	for _, c := range []struct {
		size int
		want string
	}{
		{MaxFile, ""},
		{MaxFile + 1, file + ":1:1: a file of more than 1048576 bytes: want a smaller one"},
	} {
		data := append(slices.Clone(text), make([]byte, c.size)...)[:c.size]
		for i := len(text); i < c.size; i++ {
			data[i] = '#'
		}
		// Comments are taken apart as well, so fold them into long ones.
		for i, b := range data {
			if b == '\n' && i%4500 > 9 && i < c.size-1 {
				data[i] = '.'
			}
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(file)
		if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
			t.Errorf("%d bytes: %s", c.size, got)
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

// lines repeats a line until there are so many bytes.
func lines(line string, bytes int) string { return strings.Repeat(line, bytes/len(line)) }

// keys writes a mapping of so many keys in lines of their own.
func keys(indent string, n int, end string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%sk%d: v%s\n", indent, i, end)
	}
	return b.String()
}

// limits are texts one step beyond a limit, and what has to be said of them. An
// empty want is a text within the limits.
var limits = []struct{ name, text, want string }{
	{"file", lines("# a\n", MaxFile+4), "1:1: a file of more than 1048576 bytes"},
	{"longest line", "# " + strings.Repeat("a ", maxLine/2-1), ""},
	{"line", "# " + strings.Repeat("a ", maxLine/2), "1:1: a line of 5098 bytes: want no more than 5096"},
	{"longest run", "# " + strings.Repeat("a", maxRun), ""},
	{"run", "# " + strings.Repeat("a", maxRun+1), "1:503: 'a' more than 500 times in a row"},
	{"most empty lines", "seed: 1\n" + strings.Repeat(" \n", maxBlank) + "expect: nothing", ""},
	{"empty lines", "seed: 1\n" + strings.Repeat(" \n", maxBlank+1) + "expect: nothing", "52:1: more than 50 empty lines in a row"},
	{"empty lines at the end of a block", "expect: |\n" + strings.Repeat("  a\n", 1000) + lines(" \n", 10_000), "more than 50 empty lines"},
	{"most words", "topics: [\n" + keysOfTopics((maxTokens-4)/2) + "]", ""},
	{"words", "topics: [\n" + keysOfTopics((maxTokens-4)/2+1) + "]", "more than 50000 words and signs"},
	{"words in as many bytes as there can be", lines("-\n", MaxFile), "more than 50000 words and signs"},
	{"signs that begin nothing", lines("@ @ @ @ @\n", MaxFile), "1:1: a text that begins with a sign"},
	{"deepest", strings.Repeat("[", maxNesting) + strings.Repeat("]", maxNesting), "1:1: the file is a list"},
	{"brackets", lines(strings.Repeat("[", 400)+"\n", MaxFile), "1:17: more than 16 lists and mappings in one another"},
	{"braces", lines("{a: ", 4000), "more than 16 lists and mappings in one another"},
	{"dashes", lines("- ", 4000), "1:33: more than 16 lists and mappings in one another"},
	{"question marks", lines("? ", 4000), "1:33: more than 16 lists and mappings in one another"},
	{"most keys", "topics:\n- name: a\n  configs:\n" + keys("    ", maxEntries, ""), ""},
	{"keys", "topics:\n- name: a\n  configs:\n" + keys("    ", maxEntries+1, ""), "504:5: more than 500 keys in one mapping"},
	{"keys without values", lines("a:\n", 100_000), "501:1: more than 500 keys in one mapping"},
	{"most values", "topics: [" + bombOf(180) + "]", ""},
	{"values, aliases followed", "topics: [" + bombOf(1000) + "]", "1:1: more than 100000 values, aliases followed"},
	{"most faults", "faults:\n" + strings.Repeat("- drop after produce\n", fault.MaxRules), ""},
	{"faults", "faults:\n" + strings.Repeat("- drop after produce\n", fault.MaxRules+1), "1002:3: 1001 faults: want no more than 1000"},
	{"longest sentence", "faults:\n- >-\n" + sentence(fault.MaxSentence), ""},
	{"sentence", "faults:\n- >-\n" + sentence(fault.MaxSentence+1), "3:3: a sentence of 4097 bytes"},
	{"longest key", strings.Repeat("k", maxKey) + ": 1", "1:1: unknown key"},
	{"key", strings.Repeat("k", maxKey+1) + ": 1", "1:1: a key of 257 bytes: want no more than 256"},
	{"bad sentences", "faults:\n" + lines("- drop aftr produce\n", 400_000), "1002:3: 20000 faults"},
	{"bad topics", "topics:\n" + lines("- a:0\n", 140_000), "22:5: 23313 more from here on"},
}

// keysOfTopics writes so many topics in brackets, each a word and a comma.
func keysOfTopics(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "t%d,", i)
		if i%100 == 99 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// bombOf writes topics that share 500 configs by an alias.
func bombOf(topics int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{name: a, configs: &c {\n%s}}", keys("", 500, ","))
	for i := range topics {
		fmt.Fprintf(&b, ",\n{name: a%d, configs: *c}", i)
	}
	return b.String()
}

// sentence is a sentence of so many bytes in two lines.
func sentence(bytes int) string {
	const begin = "drop after produce client=a"
	text := begin + strings.Repeat(",a", (bytes-len(begin))/2)
	if len(text) < bytes {
		text += "b"
	}
	comma := strings.LastIndexByte(text[:2000], ',')
	_ = comma
	return "  " + text + "\n"
}

// maxAlloc is the most bytes that reading any file may allocate, all told.
const maxAlloc = 400 << 20

func TestParse_limits(t *testing.T) {
	for _, c := range limits {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse("", []byte(c.text))
			runtime.ReadMemStats(&after)
			if err == nil != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got %.200v", c.want, err)
			}
			if spent := after.TotalAlloc - before.TotalAlloc; spent > maxAlloc {
				t.Errorf("%d MB were allocated for %d KB", spent>>20, len(c.text)>>10)
			}
		})
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
		if got := nearest(c.word, known); got != c.want {
			t.Errorf("nearest to %.20q is %q, want %q", c.word, got, c.want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "abd", 1},
		{"abc", "ac", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2},
	} {
		if got := edits(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d edits, want %d", c.a, c.b, got, c.want)
		}
	}
}

// checkEnglish checks what holds for the English of any scenario.
func checkEnglish(t testing.TB, s *Scenario) {
	t.Helper()
	text := s.English()
	if !strings.HasSuffix(text, "\n") {
		t.Fatalf("the last line is not ended: %q", text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		words := strings.Fields(line[min(len(line), margin):])
		if utf8.RuneCountInString(line) > width && len(words) > 1 {
			t.Fatalf("more than %d columns: %q", width, line)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) }) || line != strings.TrimRight(line, " ") {
			t.Fatalf("not fit for a terminal: %q", line)
		}
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
	return text
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

// odd are texts that are no scenario, and little else.
var odd = []string{
	"a: &x *x\n", "&a *a : *a\n", "? [a]\n: b\n", "? ? ? a\n", "seed: !!int 4\n", "!!binary |\n  aaa\n", "%YAML 1.2\n---\na: 1\n",
	"%TAG ! tag:a,2000:\n--- !b\n", "topics: &a [*a]\n", "<<: [*a, *b]\n", "expect: |+2\n   x\n", "expect: >-9\n x\n",
	"topics: [{name: a, configs: {a: b}},\n c: d]\n", "{a, b: , ? c : d}\n", "...\n---\n# c\n", "key:\n}", "seed:\n  }\n", "{\"\"\"\":",
	"\"a\\x41\\u1234\": 'it''s'\n", "topics:\n- a\n -b\n  - c\n", "a: b\n - c\n- d\n", "\ttopics:\t[\ta\t]\t\n", "0::", "a: 0_\n", "a:\n- b: c\n- \n",
	"\r\r\n\r", "- - - - -\n", "seed: 1 #\n#", "expect: \"\\\n  nothing\"\n", "faults: [\"drop\\x20aftr produce\", 'dr''op']\n",
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
	if !strings.HasPrefix(rest, key) && !strings.ContainsAny(rest[:min(1, len(rest))], `"'&*?|>`) {
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
