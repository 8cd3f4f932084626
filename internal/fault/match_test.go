package fault

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// fires says whether a rule fires on a request that it is alone with.
func fires(t *testing.T, sentence string, req *wire.Request) bool {
	t.Helper()
	return len(setOf(t, newWorker(), sentence).Handle(t.Context(), req).Fired) > 0
}

func TestRule_matches(t *testing.T) {
	orders := batchOf("orders", 2)
	wrapping := holding(orders, math.MaxInt32-1, 4) // 2147483646, 2147483647, 0 and 1
	tests := []struct {
		name    string
		rule    string // behind: disconnect after
		req     *wire.Request
		matches bool
	}{
		{"nothing asked", "produce", produce(orders), true},
		{"another API", "produce", fetch("orders", 0), false},

		{"topic", "produce topic=orders", produce(orders), true},
		{"another topic", "produce topic=order", produce(orders), false},
		{"one topic of a list", "produce topic=audit,orders", produce(orders), true},
		{"one topic of a request", "produce topic=orders", produce(batchOf("audit", 0), orders), true},
		{"topics are told apart by case", "produce topic=Orders", produce(orders), false},
		{"topic by its beginning", "produce topic=ord*", produce(orders), true},
		{"topic by a character", "produce topic=order?", produce(orders), true},
		{"no character for the question mark", "produce topic=orders?", produce(orders), false},
		{"a topic id that nobody knows is no topic", "produce topic=*", produce(batchOf("", 0)), false},
		{"topic of a fetch", "fetch topic=orders", fetch("orders", 0), true},
		{"another topic of a fetch", "fetch topic=audit", fetch("orders", 0), false},
		{"a fetch of nothing new", "fetch topic=*", fetch("orders"), false},
		{"a fetch of nothing new, nothing asked", "fetch", fetch("orders"), true},
		{"topic of a metadata request", "metadata topic=orders", metadata("audit", "orders"), true},
		{"metadata of all topics names none", "metadata topic=*", metadata(), false},
		{"metadata of all topics, nothing asked", "metadata", metadata(), true},

		{"partition", "produce partition=2", produce(orders), true},
		{"another partition", "produce partition=1", produce(orders), false},
		{"a range of partitions", "produce partition=0..2", produce(orders), true},
		{"below a range of partitions", "produce partition=3..9", produce(orders), false},
		{"topic and partition of two batches", "produce topic=audit partition=2", produce(batchOf("audit", 0), orders), false},
		{"topic and partition of one batch", "produce topic=audit partition=0", produce(batchOf("audit", 0), orders), true},

		{"client", "produce client=web", as("web", produce(orders)), true},
		{"another client", "produce client=web", produce(orders), false},
		{"client by its beginning", "produce client=web*", as("web/é 1", produce(orders)), true},
		{"client by its end", "produce client=*1", as("web/é 1", produce(orders)), true},
		{"client by a character of two bytes", `produce client="web/? 1"`, as("web/é 1", produce(orders)), true},
		{"no client id", `produce client=""`, as("", produce(orders)), true},
		{"a client id where none is asked for", `produce client=""`, produce(orders), false},
		{"client of a request without topics", "init_producer_id client=kgo", initProducer(-1), true},

		{"producer", "produce producer=7", produce(orders), true},
		{"another producer", "produce producer=8", produce(orders), false},
		{"a batch without producer id", "produce producer=-1", produce(plain(orders)), true},
		{"a batch without producer id has no other", "produce producer=0..9", produce(plain(orders)), false},
		{"a batch that cannot be read has none", "produce producer=-1..9", produce(unreadable(orders)), false},
		{"a batch that cannot be read has its partition", "produce partition=2 attempt=1", produce(unreadable(orders)), true},
		{"producer of a request", "init_producer_id producer=7", initProducer(7), true},
		{"another producer of a request", "init_producer_id producer=7", initProducer(8), false},
		{"no producer of a request", "init_producer_id producer=-1", initProducer(-1), true},

		{"attempt", "produce attempt=2", produce(delivered(orders, 2)), true},
		{"another attempt", "produce attempt=1", produce(delivered(orders, 2)), false},
		{"attempts that nobody counted", "produce attempt=1..2147483647", produce(delivered(orders, 0)), false},
		{"attempt of one batch", "produce attempt=1", produce(delivered(orders, 2), batchOf("orders", 3)), true},

		{"first sequence", "produce sequence=5", produce(holding(orders, 5, 3)), true},
		{"last sequence", "produce sequence=7", produce(holding(orders, 5, 3)), true},
		{"past the last sequence", "produce sequence=8", produce(holding(orders, 5, 3)), false},
		{"before the first sequence", "produce sequence=4", produce(holding(orders, 5, 3)), false},
		{"a range that ends in the batch", "produce sequence=0..5", produce(holding(orders, 5, 3)), true},
		{"a range that begins in the batch", "produce sequence=7..99", produce(holding(orders, 5, 3)), true},
		{"a range around the batch", "produce sequence=0..99", produce(holding(orders, 5, 3)), true},
		{"a range in the batch", "produce sequence=6", produce(holding(orders, 5, 3)), true},
		{"a range beside the batch", "produce sequence=0..4,8..9", produce(holding(orders, 5, 3)), false},
		{"before the wrap", "produce sequence=2147483647", produce(wrapping), true},
		{"past the wrap", "produce sequence=1", produce(wrapping), true},
		{"a range past the wrap", "produce sequence=1..100", produce(wrapping), true},
		{"beyond a batch that wraps", "produce sequence=2..2147483645", produce(wrapping), false},
		{"no sequence", "produce sequence=0..2147483647", produce(plain(orders)), false},
		{"a sequence without a producer id", "produce sequence=0", produce(from(orders, -1)), false},
		{"a batch that claims no records", "produce sequence=5", produce(holding(orders, 5, 0)), true},
		{"a batch that claims fewer than none", "produce sequence=6..9", produce(holding(orders, 5, math.MinInt32)), false},
		{"a batch that cannot be read has no sequence", "produce sequence=0..2147483647", produce(unreadable(orders)), false},

		{"first offset", "produce offset=0", produce(orders), true},
		{"last offset", "produce offset=2", produce(orders), true},
		{"past the last offset", "produce offset=3", produce(orders), false},
		{"offset of a batch that claims no records", "produce offset=0", produce(holding(orders, 0, 0)), true},
		{"past a batch that claims no records", "produce offset=1", produce(holding(orders, 0, 0)), false},
		{"offset of a batch that cannot be read", "produce offset=0", produce(unreadable(orders)), true},
		{"offset of a batch that was refused", "produce offset=0..99", produce(batchOf("orders", 95)), false},
		{"offset and partition of two batches", "produce offset=0 partition=95", produce(orders, batchOf("orders", 95)), false},
		{"offset that a fetch asks for", "fetch offset=15", fetch("orders", 5, 15), true},
		{"another offset than a fetch asks for", "fetch offset=6..14", fetch("orders", 5, 15), false},
		{"offset and partition of a fetch", "fetch offset=15 partition=1", fetch("orders", 5, 15), true},
		{"offset of another partition of a fetch", "fetch offset=15 partition=0", fetch("orders", 5, 15), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := fires(t, "disconnect after "+test.rule, test.req); got != test.matches {
				t.Errorf("%s: %t", test.rule, got)
			}
			if strings.Contains(test.rule, "produce offset") {
				return // nothing before
			}
			if got := fires(t, "disconnect before "+test.rule, test.req); got != test.matches {
				t.Errorf("%s, before: %t", test.rule, got)
			}
		})
	}
}

func TestRule_matches_the_offset_of_a_duplicate_by_its_first_copy(t *testing.T) {
	w := newWorker()
	s := setOf(t, w, "disconnect after produce offset=1")
	w.appended[wire.TopicPartition{Topic: "orders"}] = 3
	if got := handle(s, w, produce(batchOf("orders", 0))); got.Fired != nil {
		t.Errorf("offsets 3 to 5: %v", got)
	}
	w.appended[wire.TopicPartition{Topic: "orders"}] = 0 // so that the answer is the first copy's
	if got := handle(s, w, produce(batchOf("orders", 0))); len(got.Fired) != 1 {
		t.Errorf("offsets 0 to 2: %v", got)
	}
}

// matchSlowly is what a glob means, without a thought for its cost.
func matchSlowly(glob, name []rune) bool {
	switch {
	case len(glob) == 0:
		return len(name) == 0
	case glob[0] == '*':
		return matchSlowly(glob[1:], name) || len(name) > 0 && matchSlowly(glob, name[1:])
	default:
		return len(name) > 0 && (glob[0] == '?' || glob[0] == name[0]) && matchSlowly(glob[1:], name[1:])
	}
}

func TestMatchGlob_means_what_it_says(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.StringMatching(`[aä€*?]{0,7}`).Draw(t, "glob")
		name := rapid.StringMatching(`[aä€]{0,8}`).Draw(t, "name")
		if got, want := matchGlob(glob, name), matchSlowly([]rune(glob), []rune(name)); got != want {
			t.Fatalf("%q matches %q: %t", glob, name, got)
		}
	})
}

func TestMatchGlob_never_cuts_a_character(t *testing.T) {
	if matchGlob("*??bc", "€bc") {
		t.Error("one character matches two question marks")
	}
}

func TestMatchGlob_costs_little_however_many_stars(t *testing.T) {
	glob := strings.Repeat("*a", 100) + "b"
	if matchGlob(glob, strings.Repeat("a", 30000)) { // would not end in a lifetime if it tried all ways
		t.Error("it matches")
	}
}

func TestNear(t *testing.T) {
	candidates := []string{"produce", "fetch", "init_producer_id", "list_offsets"}
	for word, want := range map[string]string{
		"produce": "produce", "PRODUCE": "produce", "prodcue": "produce", "pordcue": "produce", "produces": "produce",
		"InitProducerID": "init_producer_id", "list": "list_offsets", "fetching": "fetch", "fe": "", "": "", "consume": "",
	} {
		if got := Near(word, candidates); got != want {
			t.Errorf("near %q is %q, want %q", word, got, want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "abc", 0}, {"abc", "ab", 1}, {"ab", "abc", 1}, {"abc", "axc", 1}, {"abcd", "acbd", 1},
		{"abcd", "badc", 2}, {"kitten", "sitting", 3}, {"", "abc", 3},
	} {
		if got := edits(test.a, test.b, 10); got != test.want {
			t.Errorf("from %q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
