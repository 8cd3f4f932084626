package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// firings plays n equal Produce requests and marks those on which a rule fired.
func firings(s *Set, n int) string {
	var marks strings.Builder
	for range n {
		if len(s.Handle(context.Background(), produce(batchOf("orders", 0))).Fired) > 0 {
			marks.WriteByte('x')
		} else {
			marks.WriteByte('.')
		}
	}
	return marks.String()
}

func TestSet_schedule(t *testing.T) {
	for rule, want := range map[string]string{
		"":                  "x.........",
		"times=3":           "xxx.......",
		"times=all":         "xxxxxxxxxx",
		"nth=4":             "...x......",
		"nth=4 times=2":     "...xx.....",
		"nth=4 times=all":   "...xxxxxxx",
		"every=3":           "..x.......",
		"every=3 times=2":   "..x..x....",
		"every=3 times=all": "..x..x..x.",
		"every=11":          "..........",
	} {
		if got := firings(setOf(t, newWorker(), "disconnect after produce "+rule), 10); got != want {
			t.Errorf("%s: %s, want %s", rule, got, want)
		}
	}
}

func TestSet_schedule_counts_matching_requests_only(t *testing.T) {
	w := newWorker()
	s := setOf(t, w, "disconnect after produce topic=orders nth=2")
	for i, req := range []*wire.Request{
		produce(batchOf("audit", 0)), produce(batchOf("orders", 0), batchOf("orders", 1)),
		fetch("orders", 0), produce(batchOf("audit", 0)), produce(batchOf("orders", 0)),
	} {
		if fired := len(handle(s, w, req).Fired) > 0; fired != (i == 4) {
			t.Errorf("request %d: %t", i, fired)
		}
	}
}

// byChance plays a rule of chance with a seed, beside others.
func byChance(t *testing.T, seed uint64, rules ...string) string {
	s := New(seed, newWorker())
	for _, rule := range rules {
		add(t, s, rule)
	}
	return firings(s, 200)
}

func TestSet_chance(t *testing.T) {
	const rule = "disconnect after produce times=all chance=30%"
	first := byChance(t, 1, rule)
	if n := strings.Count(first, "x"); n < 30 || n > 90 {
		t.Errorf("a chance of 30%% fired on %d of 200", n)
	}
	if again := byChance(t, 1, rule); again != first {
		t.Error("the same seed gives another result")
	}
	if other := byChance(t, 2, rule); other == first {
		t.Error("another seed gives the same result")
	}
	if other := byChance(t, 1, rule+" name=x"); other == first {
		t.Error("another text gives the same result")
	}
	if beside := byChance(t, 1, "drop after produce nth=1000 chance=0.5", rule, "drop before fetch chance=0.5"); beside != first {
		t.Error("other rules reshuffle it")
	}
}

func TestSet_chance_draws_once_for_each_match(t *testing.T) {
	every := byChance(t, 1, "disconnect after produce times=all chance=30%")
	s := New(1, newWorker())
	add(t, s, "disconnect after produce times=all chance=30%")
	for i := range every {
		s.Handle(t.Context(), fetch("orders", 0)) // no match
		if got := firings(s, 1); got != every[i:i+1] {
			t.Fatalf("match %d: %s", i, got)
		}
	}
}

func TestSet_the_first_rule_that_fires_wins(t *testing.T) {
	w := newWorker()
	s := setOf(t, w, "drop after produce", "disconnect after produce times=2", "delay 1ns before produce times=all")
	var got []string
	for range 4 {
		got = append(got, strings.Join(handle(s, w, produce(batchOf("orders", 0))).Fired, ", "))
	}
	want := []string{
		"delay 1ns before produce times=all, drop after produce",
		"delay 1ns before produce times=all, disconnect after produce times=2",
		"delay 1ns before produce times=all, disconnect after produce times=2",
		"delay 1ns before produce times=all",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	matched := []int{4, 3, 4}
	for i, st := range s.Status() {
		if st.Matched != matched[i] {
			t.Errorf("%s matched %d, want %d", st.Rule, st.Matched, matched[i])
		}
	}
}

func TestSet_Add_gives_back_the_canonical_rule(t *testing.T) {
	s := New(1, newWorker())
	got, err := s.Add(Rule{Verb: Error, Code: 6, API: 0, Topic: []string{"b", "a"}, Partition: Ranges{{3, 3}, {1, 2}}})
	if err != nil {
		t.Fatal(err)
	}
	want := Rule{Verb: Error, Code: 6, Topic: []string{"a", "b"}, Partition: Ranges{{1, 3}}, Nth: 1, Every: 1, Times: 1, Chance: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSet_Add_refuses(t *testing.T) {
	s := setOf(t, newWorker(), "drop after produce name=a")
	for what, r := range map[string]Rule{
		"no verb":              {},
		"a verb that is none":  {Verb: 9},
		"a place that is none": {Verb: Drop, Place: 9},
		"an API not served":    {Verb: Drop, API: 999},
		"a key that can never": {Verb: Drop, Offset: Ranges{{1, 1}}},
		"a backward range":     {Verb: Drop, Partition: Ranges{{2, 1}}},
		"nth with every":       {Verb: Drop, Nth: 2, Every: 2},
		"a name with spaces":   {Verb: Drop, Name: "a times=all"},
		"a chance above one":   {Verb: Drop, Chance: 2},
		"an unknown error":     {Verb: Error, Code: 999},
		"an endless delay":     {Delay: MaxDelay + 1},
	} {
		var syntax *SyntaxError
		if got, err := s.Add(r); !errors.As(err, &syntax) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	_, err := s.Add(Rule{Verb: Drop, Place: Before, Name: "a"})
	want := `fault "drop before produce name=a": that name is taken by "drop after produce name=a"`
	if !errors.Is(err, ErrNameTaken) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if n := len(s.Status()); n != 1 {
		t.Errorf("%d rules in force", n)
	}
}

func TestSet_Add_is_limited(t *testing.T) {
	s := New(1, newWorker())
	for range MaxRules {
		add(t, s, "drop after produce")
	}
	if _, err := s.Add(Rule{Verb: Drop}); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
}

func inForce(s *Set) []string {
	var rules []string
	for _, st := range s.Status() {
		rules = append(rules, st.Rule.String())
	}
	return rules
}

func TestSet_Remove(t *testing.T) {
	s := setOf(t, newWorker(), "drop after produce name=a", "drop after produce", "drop after fetch", "drop after produce")
	for _, remove := range []string{"a", "DROP  after Produce times=1"} {
		if err := s.Remove(remove); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"drop after fetch", "drop after produce"}, inForce(s)); diff != "" {
		t.Error(diff)
	}
	for remove, want := range map[string]string{
		"a":                   `no such fault rule: "a"; in force: "drop after fetch", "drop after produce"`,
		"":                    `no such fault rule: ""; in force: "drop after fetch", "drop after produce"`,
		"drop before produce": `no such fault rule: "drop before produce"; in force: "drop after fetch", "drop after produce"`,
	} {
		if err := s.Remove(remove); !errors.Is(err, ErrNoSuchRule) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestSet_Remove_lists_no_more_than_a_few(t *testing.T) {
	s := New(1, newWorker())
	if err := s.Remove("x"); err == nil || err.Error() != `no such fault rule: "x"; none is in force` {
		t.Error(err)
	}
	for range 13 {
		add(t, s, "drop after produce")
	}
	if err := s.Remove("x"); err == nil || !strings.HasSuffix(err.Error(), " and 3 more") {
		t.Error(err)
	}
}

func TestSet_a_rule_taken_out_of_force_no_longer_fires(t *testing.T) {
	w := newWorker()
	s := setOf(t, w, "drop after produce name=a times=all", "drop after fetch times=all")
	w.during = func() { s.Remove("a") } // while the request is under way
	if got := firings(s, 2); got != ".." {
		t.Errorf("removed: %s", got)
	}
	w.during = nil
	s.Clear()
	if got := handle(s, w, fetch("orders", 0)); got.Fired != nil || len(s.Status()) != 0 {
		t.Errorf("cleared: %v", got)
	}
}

func TestSet_Reset_starts_anew_with_the_same_rules(t *testing.T) {
	s := setOf(t, newWorker(), "disconnect after produce times=5 chance=30%", "drop after produce nth=3")
	before, first := s.Status(), firings(s, 100)
	s.Reset()
	if diff := cmp.Diff(before, s.Status()); diff != "" {
		t.Error(diff)
	}
	if again := firings(s, 100); again != first {
		t.Errorf("%s, before the reset %s", again, first)
	}
}

func TestSet_Status_counts(t *testing.T) {
	w := newWorker()
	s := setOf(t, w, "error 42 after produce topic=orders times=2")
	handle(s, w, fetch("orders", 0))
	add(t, s, "drop after fetch topic=audit")
	for _, req := range []*wire.Request{
		produce(batchOf("audit", 0)), produce(batchOf("orders", 0)), acks0(produce(batchOf("orders", 0))),
		produce(batchOf("orders", 0)), produce(batchOf("orders", 0)), fetch("orders", 0),
	} {
		handle(s, w, req)
	}
	got := s.Status()
	want := []Status{
		{Seen: 5, Matched: 4, Fired: 2, Unable: 1},
		{Seen: 1, NearMiss: `saw 1 fetch request, 0 for "audit": 1 for "orders"`},
	}
	for i := range want {
		want[i].Rule = got[i].Rule
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[1:], s.Unfired()); diff != "" {
		t.Error(diff)
	}
}

func TestStatus_as_JSON_shows_the_sentence(t *testing.T) {
	s := setOf(t, newWorker(), "drop after  produce")
	text, err := json.Marshal(s.Status()[0])
	want := `{"rule":"drop after produce","seen":0,"matched":0,"fired":0,"unable":0,"near_miss":"saw no produce request, nor any other"}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	var back Status
	if err := json.Unmarshal(text, &back); err != nil || back.Rule.Verb != Drop {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestSet_under_many_hands(t *testing.T) {
	const hands, requests, times = 8, 300, 100
	s := New(1, wire.HandlerFunc(func(_ context.Context, req *wire.Request) wire.Reply { return sent(req.Body.ResponseKind()) }))
	add(t, s, fmt.Sprintf("disconnect after produce topic=orders times=%d", times))
	var fired sync.Map
	var work sync.WaitGroup
	for hand := range hands {
		work.Go(func() {
			n := 0
			for range requests {
				n += len(s.Handle(t.Context(), produce(batchOf("orders", 0))).Fired)
				s.Handle(t.Context(), fetch("orders", 0))
			}
			fired.Store(hand, n)
		})
	}
	work.Go(func() {
		for i := range requests {
			name := fmt.Sprintf("r%d", i)
			add(t, s, "drop before fetch topic=audit name="+name)
			s.Status()
			if err := s.Remove(name); err != nil {
				t.Error(err)
			}
		}
	})
	work.Wait()
	sum := 0
	fired.Range(func(_, n any) bool { sum += n.(int); return true })
	st := s.Status()[0]
	if sum != times || st.Fired != times || st.Matched != hands*requests || st.Seen != hands*requests {
		t.Errorf("fired %d times, says %+v", sum, st)
	}
}
