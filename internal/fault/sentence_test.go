package fault

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

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
	if diff := cmp.Diff(string(bytes.TrimSpace(want)), strings.TrimSpace(got)); diff != "" {
		t.Errorf("%s differs (-file +now); -update rewrites it:\n%s", file, diff)
	}
}

const sentencesFile = "testdata/sentences.txt"

// sentences are those of the golden file.
func sentences(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile(sentencesFile)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if sentence, ok := sentenceOf(t, line); ok {
			all = append(all, sentence)
		}
	}
	return all
}

func sentenceOf(t testing.TB, line string) (string, bool) {
	line = strings.TrimSuffix(line, "\n")
	if quoted, ok := strings.CutPrefix(line, ">q "); ok {
		sentence, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return sentence, true
	}
	return strings.CutPrefix(line, "> ")
}

// reading is what the golden file says of a sentence. The list of what is
// served grows with the broker, so it does not stand there.
func reading(sentence string) string {
	rule, err := Parse(sentence)
	if err != nil {
		return "! " + strings.ReplaceAll(err.Error(), OrList(servedNames()), "{served}") + "\n"
	}
	return fmt.Sprintf("= %s\n. %s\n", rule, rule.English())
}

func TestSentences(t *testing.T) {
	text, err := os.ReadFile(sentencesFile)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.ContainsAny(line[:1], "=.!") {
			continue
		}
		got.WriteString(line)
		if sentence, ok := sentenceOf(t, line); ok {
			got.WriteString(reading(sentence))
		}
	}
	golden(t, sentencesFile, got.String())
}

func TestSentences_are_many_and_half_of_them_wrong(t *testing.T) {
	good, bad := 0, 0
	for _, sentence := range sentences(t) {
		if _, err := Parse(sentence); err != nil {
			bad++
		} else {
			good++
		}
	}
	if good+bad < 120 || bad < good {
		t.Errorf("%d sentences, %d of them wrong", good+bad, bad)
	}
}

func TestParse_fields_of_the_rule(t *testing.T) {
	got, err := Parse("delay 2s, error 6 after produce offset=7 topic=b,a* partition=4,1..2 client=web producer=-1 " +
		"attempt=1 sequence=5 times=all every=3 chance=5% name=x")
	if err != nil {
		t.Fatal(err)
	}
	want := Rule{
		Delay: 2e9, Verb: Error, Code: 6, Place: After, API: 0,
		Topic: []string{"a*", "b"}, Client: []string{"web"}, Partition: Ranges{{1, 2}, {4, 4}},
		Producer: Ranges{{-1, -1}}, Attempt: Ranges{{1, 1}}, Sequence: Ranges{{5, 5}}, Offset: Ranges{{7, 7}},
		Nth: 1, Every: 3, Times: All, Chance: 0.05, Name: "x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParse_fills_in_what_was_not_said(t *testing.T) {
	got, err := Parse("drop before metadata")
	if err != nil {
		t.Fatal(err)
	}
	want := Rule{Verb: Drop, Place: Before, API: 3, Nth: 1, Every: 1, Times: 1, Chance: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSyntaxError_fields_point_at_the_word(t *testing.T) {
	_, err := Parse("drop after produce client=äö topc=a")
	var got *SyntaxError
	if !errors.As(err, &got) {
		t.Fatalf("%T is no *SyntaxError", err)
	}
	if word := got.Sentence[got.Offset:][:len(got.Word)]; word != "topc" || got.Word != word {
		t.Errorf("points at %q, names %q", word, got.Word)
	}
	if got.Near != "topic" || got.Problem != `unknown key "topc"` || !strings.Contains(got.Want, "topic") {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(err.Error(), "at 30:") {
		t.Errorf("the place is not counted in characters: %v", err)
	}
}

func TestParse_refuses_a_sentence_that_is_too_long(t *testing.T) {
	longest := "drop after produce client=" + strings.Repeat("ä", (MaxSentence-26)/2)
	if _, err := Parse(longest); err != nil || len(longest) != MaxSentence {
		t.Errorf("%d bytes: %v", len(longest), err)
	}
	_, err := Parse(longest + "x")
	if want := "a sentence of 4097 bytes"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if len(err.Error()) > 200 {
		t.Errorf("the error repeats %d bytes", len(err.Error()))
	}
}

func TestParse_refuses_a_rule_whose_canonical_form_is_too_long(t *testing.T) {
	_, err := Parse("drop after produce client=" + strings.Repeat("\xd3", MaxSentence/4)) // four bytes each when escaped
	if want := "the rule has 4124 bytes in its canonical form"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestRule_as_text(t *testing.T) {
	var r Rule
	if err := r.UnmarshalText([]byte("drop  after  produce")); err != nil {
		t.Fatal(err)
	}
	if text, err := r.MarshalText(); err != nil || string(text) != "drop after produce" {
		t.Errorf("%q, %v", text, err)
	}
	before := r
	if err := r.UnmarshalText([]byte("drop")); err == nil || !cmp.Equal(r, before) {
		t.Errorf("a bad sentence gives %v and changes the rule to %v", err, r)
	}
}
