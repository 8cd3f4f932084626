package scenario

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/fault"
)

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
	{"most empty lines at the end", "seed: 1\n" + strings.Repeat("\n", maxBlank), ""},
	{"empty lines at the end", "seed: 1\n" + strings.Repeat("\n", maxBlank+1), "52:1: more than 50 empty lines in a row"},
	{"empty lines at the end of a block", "expect: |\n" + strings.Repeat("  a\n", 1000) + lines(" \n", 10_000), "more than 50 empty lines"},
	{"most words", "topics: [\n" + keysOfTopics((maxTokens-4)/2) + "]", ""},
	{"words", "topics: [\n" + keysOfTopics((maxTokens-4)/2+1) + "]", "more than 50000 words and signs"},
	{"words in as many bytes as there can be", lines("-\n", MaxFile), "more than 50000 words and signs"},
	{"signs that begin nothing", lines("@ @ @ @ @\n", MaxFile), "1:1: a text that begins with a sign"},
	{"deepest", strings.Repeat("[", maxNesting) + strings.Repeat("]", maxNesting), "1:1: the file is a list"},
	{"brackets", strings.Repeat("[", 400), "1:17: more than 16 lists and mappings in one another"},
	{"braces", lines("{a: ", 4000), "more than 16 lists and mappings in one another"},
	{"dashes", lines("- ", 4000), "1:33: more than 16 lists and mappings in one another"},
	{"question marks", lines("? ", 4000), "1:33: more than 16 lists and mappings in one another"},
	{"most keys", "topics:\n- name: a\n  configs:\n" + keys("    ", maxEntries, ""), ""},
	{"keys", "topics:\n- name: a\n  configs:\n" + keys("    ", maxEntries+1, ""), "504:5: more than 500 keys in one mapping"},
	{"keys without values", lines("a:\n", 60_000), "501:1: more than 500 keys in one mapping"},
	// The file, topics as key and value, 99 times a topic with its two keys, their
	// values and 500 configs, and 502 topics: 100,000 values.
	{"most values", "topics: [\n" + keysOfTopics(502) + bombOf(98) + "]", ""},
	{"values", "topics: [\n" + keysOfTopics(503) + bombOf(98) + "]", "1:1: more than 100000 values, aliases followed"},
	{"values, aliases followed", "topics: [" + bombOf(1000) + "]\nfaults: [drop after produce]", "1:1: more than 100000 values, aliases followed"},
	{"bomb", "topics: [&t {name: a, configs: {\n" + keys("", 500, ",") + "}}" + strings.Repeat(",\n*t", 15_000) + "]", "1:1: more than 100000 values, aliases followed"},
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

// sentence is a sentence of so many bytes, in a line of its own.
func sentence(bytes int) string {
	const begin = "drop after produce client=a"
	text := begin + strings.Repeat(",a", (bytes-len(begin))/2)
	if len(text) < bytes {
		text += "b"
	}
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
