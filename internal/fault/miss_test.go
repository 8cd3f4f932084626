package fault

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// repeat is n copies of a request.
func repeat(n int, req func() *wire.Request) []*wire.Request {
	var reqs []*wire.Request
	for range n {
		reqs = append(reqs, req())
	}
	return reqs
}

func to(topic string) func() *wire.Request {
	return func() *wire.Request { return produce(batchOf(topic, 0)) }
}

func of(b wire.Batch) func() *wire.Request {
	return func() *wire.Request { return produce(b) }
}

func join(parts ...[]*wire.Request) []*wire.Request {
	var all []*wire.Request
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// numbered is a request for each number.
func numbered(n int, req func(i int) *wire.Request) []*wire.Request {
	var all []*wire.Request
	for i := range n {
		all = append(all, req(i))
	}
	return all
}

// misses are rules that do not fire, and what they meet. The first rule of each
// is the one that the golden file tells of.
var misses = []struct {
	name  string
	rules []string
	met   []*wire.Request
}{
	{"the topic is misspelt", []string{"error NOT_LEADER_OR_FOLLOWER before produce topic=order"},
		join(repeat(17, to("orders")), repeat(1, to("audit")))},
	{"the topic is another one", []string{"drop after produce topic=returns"}, repeat(3, to("orders"))},
	{"topics and globs", []string{"drop after produce topic=re*,x,order?"}, join(repeat(2, to("orders-eu")), repeat(1, to("Y")))},
	{"several topics in one request", []string{"drop after produce topic=x"},
		repeat(2, func() *wire.Request { return produce(batchOf("a", 0), batchOf("b", 0), batchOf("a", 1)) })},
	{"a topic id that nobody knows", []string{"drop after produce topic=x"}, repeat(1, to(""))},
	{"more topics than are remembered", []string{"drop after produce topic=x"},
		numbered(20, func(i int) *wire.Request { return produce(batchOf(fmt.Sprintf("t-%02d", i), 0)) })},
	{"topics of a fetch", []string{"drop after fetch topic=order"},
		join(repeat(2, func() *wire.Request { return fetch("orders", 0) }), repeat(1, func() *wire.Request { return fetch("orders") }))},
	{"topics of a metadata request", []string{"drop after metadata topic=orders"},
		join([]*wire.Request{metadata("audit", "Orders")}, []*wire.Request{metadata()})},

	{"the partition", []string{"drop after produce partition=3,7..9"},
		join(repeat(3, to("orders")), repeat(1, of(batchOf("orders", 2))))},
	{"no partition", []string{"drop after fetch partition=3"}, repeat(1, func() *wire.Request { return fetch("orders") })},
	{"the client", []string{"drop after produce client=web"}, join(repeat(12, to("orders")))},
	{"the client is misspelt", []string{"drop after produce client=web-1"},
		[]*wire.Request{as("web_1", produce(batchOf("orders", 0))), as("", produce(batchOf("orders", 0)))}},
	{"a client id without end", []string{"drop after produce client=web"},
		[]*wire.Request{as(strings.Repeat("ab€", 10000), produce(batchOf("orders", 0)))}},
	{"the client of a request without topics", []string{`drop after init_producer_id client="my app",x*`},
		repeat(2, func() *wire.Request { return initProducer(-1) })},
	{"the producer", []string{"drop after produce producer=1000"},
		join(repeat(3, of(from(batchOf("orders", 0), 4000))), repeat(2, of(plain(batchOf("orders", 0)))), repeat(1, of(unreadable(batchOf("orders", 0)))))},
	{"a producer without idempotence is wanted", []string{"drop after produce producer=-1"}, repeat(2, to("orders"))},
	{"the producer of a request", []string{"drop after init_producer_id producer=1000..1009"},
		[]*wire.Request{initProducer(-1), initProducer(1010)}},
	{"the attempt", []string{"drop after produce attempt=3"}, repeat(18, to("orders"))},
	{"attempts that nobody counts", []string{"drop after produce attempt=1"}, repeat(2, of(delivered(batchOf("orders", 0), 0)))},
	{"the sequence", []string{"drop after produce sequence=500"},
		join(numbered(10, func(i int) *wire.Request { return produce(holding(batchOf("orders", 0), int32(10*i), 10)) }),
			repeat(1, of(plain(batchOf("orders", 0)))))},
	{"the sequence, with a batch that wraps", []string{"drop after produce sequence=5"},
		repeat(1, of(holding(batchOf("orders", 0), 2147483646, 4)))},
	{"the offset", []string{"drop after produce offset=41"},
		join(repeat(10, to("orders")), repeat(2, of(batchOf("orders", 95))))},
	{"the offset that a fetch asks for", []string{"drop before fetch offset=41..43"},
		[]*wire.Request{fetch("orders", 5), fetch("orders", 50, 7), fetch("orders")}},
	{"one offset only", []string{"drop before fetch offset=41"}, []*wire.Request{fetch("orders", 5)}},

	{"from matcher to matcher", []string{"drop after produce topic=orders client=web attempt=3"},
		join(repeat(2, to("orders")), []*wire.Request{as("web", produce(batchOf("audit", 0)))},
			numbered(15, func(int) *wire.Request { return as("web", produce(batchOf("orders", 0))) }))},
	{"each by another batch", []string{"drop after produce topic=orders partition=5"},
		repeat(4, func() *wire.Request { return produce(batchOf("orders", 1), batchOf("audit", 5)) })},
	{"the topic is nearly right, but for few", []string{"drop after produce client=web topic=order"},
		[]*wire.Request{produce(batchOf("order", 0)), as("web", produce(batchOf("orders", 0)))}},

	{"a glob is no slip of the finger", []string{"drop after produce topic=orders?"}, repeat(1, to("orders"))},
	{"a topic was nearly right, and others were right", []string{"drop after produce topic=order nth=9"},
		join(repeat(2, to("orders")), repeat(1, to("order")))},

	{"nothing came", []string{"drop after produce"}, nil},
	{"other APIs came", []string{"drop after produce"},
		[]*wire.Request{apiVersions(), metadata(), metadata("orders"), metadata()}},
	{"nth was not reached", []string{"drop after produce nth=9"}, repeat(5, to("orders"))},
	{"nth was not reached by one", []string{"drop after produce nth=2"}, repeat(1, to("orders"))},
	{"every was not reached", []string{"drop after produce topic=orders every=9"}, join(repeat(5, to("orders")), repeat(9, to("audit")))},
	{"chance never came up", []string{"drop after produce chance=1% times=all"}, repeat(20, to("orders"))},
	{"another rule fired first", []string{"drop after produce topic=orders", "delay 1ns after produce times=all"},
		repeat(4, to("orders"))},
	{"another rule fired first on some", []string{"drop after produce nth=5", "delay 1ns after produce times=2"},
		repeat(4, to("orders"))},
	{"nobody was asked", []string{"drop after produce", "disconnect before produce times=all"}, repeat(3, to("orders"))},
	{"not all were carried out", []string{"drop after produce topic=x", "disconnect before produce times=2"}, repeat(3, to("orders"))},
	{"no answer to change with acks=0", []string{"error 42 after produce times=all"},
		repeat(3, func() *wire.Request { return acks0(produce(batchOf("orders", 0))) })},
	{"it fired", []string{"disconnect after produce topic=orders"}, join(repeat(1, to("audit")), repeat(1, to("orders")))},
}

func TestStatus_Report(t *testing.T) {
	var got strings.Builder
	for _, miss := range misses {
		// The rule that is told of comes last, so that the others go before it.
		s := New(42, newWorker())
		for i := range miss.rules {
			add(t, s, miss.rules[len(miss.rules)-1-i])
		}
		for _, req := range miss.met {
			s.Handle(t.Context(), req)
		}
		all := s.Status()
		fmt.Fprintf(&got, "# %s\n%s\n\n", miss.name, all[len(all)-1].Report())
	}
	golden(t, "testdata/misses.txt", got.String())
}

func TestStatus_Report_is_word_for_word_what_was_promised(t *testing.T) {
	s := setOf(t, newWorker(), "error NOT_LEADER_OR_FOLLOWER before produce topic=order")
	for _, req := range join(repeat(17, to("orders")), repeat(1, to("audit"))) {
		s.Handle(t.Context(), req)
	}
	want := `fault "error NOT_LEADER_OR_FOLLOWER before produce topic=order" never fired
  saw 18 produce requests, 0 to "order": 17 to "orders", 1 to "audit"`
	if got := s.Unfired()[0].Report(); !strings.HasPrefix(got, want+"\n") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestStatus_remembers_nothing_once_the_rule_has_fired(t *testing.T) {
	s := setOf(t, newWorker(), "drop after produce topic=orders")
	for _, req := range []*wire.Request{to("audit")(), to("orders")(), to("audit")()} {
		for i, m := range s.rules[0].misses {
			if s.rules[0].fired > 0 && m.requests > 0 {
				t.Errorf("matcher %d: %+v", i, m)
			}
		}
		s.Handle(t.Context(), req)
	}
	if s.rules[0].misses[topicMatcher].requests > 0 {
		t.Error("it goes on counting")
	}
}

func TestStatus_remembers_no_more_than_a_few_values(t *testing.T) {
	s := setOf(t, newWorker(), "drop after produce topic=x", "drop after produce sequence=2147483647")
	for i := range 1000 {
		s.Handle(t.Context(), produce(holding(batchOf(fmt.Sprint("topic-", i), 0), int32(i), 1)))
	}
	for _, a := range s.rules {
		for _, m := range a.misses {
			if len(m.seen) > maxSights {
				t.Errorf("%s remembers %d values", a.text, len(m.seen))
			}
		}
	}
}
