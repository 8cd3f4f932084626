package fault

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// An outcome is all that a handler above and a worker below can see of a
// request.
type outcome struct {
	Asked []string // what the worker was asked
	Done  string   // what it did
	Told  string
	Fate  string
	Fired []string
}

func handle(s *Set, w *worker, req *wire.Request) outcome {
	before := len(w.asked)
	reply := s.Handle(context.Background(), req)
	return outcome{w.asked[before:], tell(reply.Done), tell(reply.Told), fateOf(reply), firedIn(reply)}
}

func check(t *testing.T, what string, got, want outcome) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestSet_Handle_the_grid plays every verb at both places for four APIs of
// different shape.
func TestSet_Handle_the_grid(t *testing.T) {
	apis := []struct {
		name string
		req  func() *wire.Request
		come string // as the worker describes it
		good string // its answer
		bad  string // one that says 42 for all that was asked
	}{
		{"produce", func() *wire.Request { return produce(batchOf("orders", 0)) }, "Produce orders-0", "orders-0:0@0", "orders-0:42@-1"},
		{"init_producer_id", func() *wire.Request { return initProducer(-1) }, "InitProducerID", "0", "42"},
		{"metadata", func() *wire.Request { return metadata("orders") }, "Metadata orders--1", "orders:0", "42 orders:42"},
		{"fetch", func() *wire.Request { return fetch("orders", 5) }, "Fetch orders-0", "orders-0:0", "42 orders-0:42"},
	}
	for _, api := range apis {
		done, undone := api.good, "nothing"
		cells := []struct {
			verb, place      string
			asked            bool
			done, told, fate string
		}{
			{"drop", "before", false, undone, "nothing", "lose requests"},
			{"drop", "after", true, done, "nothing", "lose answers"},
			{"disconnect", "before", false, undone, "nothing", "close: a fault rule disconnected it"},
			{"disconnect", "after", true, done, "nothing", "close: a fault rule disconnected it"},
			{"error INVALID_REQUEST", "before", false, undone, api.bad, "send"},
			{"error INVALID_REQUEST", "after", true, done, api.bad, "send"},
			{"delay 1s", "before", true, done, api.good, "send"},
			{"delay 1s", "after", true, done, api.good, "send"},
		}
		for _, cell := range cells {
			sentence := cell.verb + " " + cell.place + " " + api.name
			t.Run(sentence, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorker()
					s := setOf(t, w, sentence)
					want := outcome{Done: cell.done, Told: cell.told, Fate: cell.fate, Fired: []string{sentence}}
					if cell.asked {
						want.Asked = []string{api.come}
					}
					check(t, "the request that fires it", handle(s, w, api.req()), want)
					check(t, "any other request", handle(s, w, apiVersions()), outcome{[]string{"ApiVersions"}, "0", "0", "send", nil})
				})
			})
		}
	}
}

func TestSet_Handle_the_error_message_names_the_rule(t *testing.T) {
	s := setOf(t, newWorker(), "error 42 before produce")
	reply := s.Handle(t.Context(), produce(batchOf("orders", 0)))
	message := reply.Told.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorMessage
	if want := "fault: error INVALID_REQUEST before produce"; message == nil || *message != want {
		t.Errorf("got %v, want %s", message, want)
	}
}

func TestSet_Handle_a_part_of_a_request(t *testing.T) {
	two := func() *wire.Request { return produce(batchOf("audit", 0), batchOf("orders", 0), batchOf("orders", 1)) }
	all := "audit-0:0@0 orders-0:0@0 orders-1:0@0"
	tests := []struct {
		name  string
		rules []string
		req   *wire.Request
		want  outcome
	}{
		{
			"an error before takes out the partitions that match and hands on the rest",
			[]string{"error 42 before produce topic=orders partition=1"}, two(),
			outcome{
				Asked: []string{"Produce audit-0 orders-0"}, Done: "audit-0:0@0 orders-0:0@0",
				Told: "audit-0:0@0 orders-0:0@0 orders-1:42@-1", Fate: "send",
				Fired: []string{"error INVALID_REQUEST before produce topic=orders partition=1 on orders-1"},
			},
		},
		{
			"an error after lies about the partitions that match",
			[]string{"error 42 after produce topic=orders partition=1"}, two(),
			outcome{
				Asked: []string{"Produce audit-0 orders-0 orders-1"}, Done: all,
				Told: "audit-0:0@0 orders-0:0@0 orders-1:42@-1", Fate: "send",
				Fired: []string{"error INVALID_REQUEST after produce topic=orders partition=1 on orders-1"},
			},
		},
		{
			"an error before that matches all of it asks nobody",
			[]string{"error 42 before produce topic=*"}, two(),
			outcome{
				Done: "nothing", Told: "audit-0:42@-1 orders-0:42@-1 orders-1:42@-1", Fate: "send",
				Fired: []string{"error INVALID_REQUEST before produce topic=* on audit-0 on orders-0 on orders-1"},
			},
		},
		{
			"an error after that matches all of it leaves nothing of the answer",
			[]string{"error 42 after produce topic=*"}, two(),
			outcome{
				Asked: []string{"Produce audit-0 orders-0 orders-1"}, Done: all,
				Told: "audit-0:42@-1 orders-0:42@-1 orders-1:42@-1", Fate: "send",
				Fired: []string{"error INVALID_REQUEST after produce topic=* on audit-0 on orders-0 on orders-1"},
			},
		},
		{
			"the rest is still subject to the rules after",
			[]string{"error 42 before produce partition=1", "error 41 after produce topic=orders"}, two(),
			outcome{
				Asked: []string{"Produce audit-0 orders-0"}, Done: "audit-0:0@0 orders-0:0@0",
				Told: "audit-0:0@0 orders-0:41@-1 orders-1:42@-1", Fate: "send",
				Fired: []string{
					"error INVALID_REQUEST before produce partition=1 on orders-1",
					"error NOT_CONTROLLER after produce topic=orders on orders-0",
				},
			},
		},
		{
			"what the rules after take away takes the refusal along",
			[]string{"error 42 before produce partition=1", "disconnect after produce"}, two(),
			outcome{
				Asked: []string{"Produce audit-0 orders-0"}, Done: "audit-0:0@0 orders-0:0@0",
				Told: "nothing", Fate: "close: a fault rule disconnected it",
				Fired: []string{"error INVALID_REQUEST before produce partition=1 on orders-1", "disconnect after produce"},
			},
		},
		{
			"no rule after applies to what nobody was asked",
			[]string{"error 42 before produce", "drop after produce"}, two(),
			outcome{
				Done: "nothing", Told: "audit-0:42@-1 orders-0:42@-1 orders-1:42@-1", Fate: "send",
				Fired: []string{"error INVALID_REQUEST before produce"},
			},
		},
		{
			"the same batch must match in all",
			[]string{"error 42 before produce topic=audit partition=1"}, two(),
			outcome{[]string{"Produce audit-0 orders-0 orders-1"}, all, all, "send", nil},
		},
		{
			"the offset of an answer picks the batch that took it",
			[]string{"error 42 after produce offset=0 partition=0"}, two(),
			outcome{
				Asked: []string{"Produce audit-0 orders-0 orders-1"}, Done: all,
				Told: "orders-1:0@0 orders-0:42@-1 audit-0:42@-1", Fate: "send",
				Fired: []string{"error INVALID_REQUEST after produce partition=0 offset=0 on audit-0 on orders-0"},
			},
		},
		{
			"a disconnect is the whole request's, whatever part of it matches",
			[]string{"disconnect after produce partition=1"}, two(),
			outcome{
				Asked: []string{"Produce audit-0 orders-0 orders-1"}, Done: all, Told: "nothing",
				Fate: "close: a fault rule disconnected it", Fired: []string{"disconnect after produce partition=1"},
			},
		},
		{
			"a fetch is split alike",
			[]string{"error 1 before fetch offset=10..20"}, fetch("orders", 5, 15, 25),
			outcome{
				Asked: []string{"Fetch orders-0 orders-2"}, Done: "orders-0:0 orders-2:0",
				Told: "orders-0:0 orders-2:0 orders-1:1", Fate: "send",
				Fired: []string{"error OFFSET_OUT_OF_RANGE before fetch offset=10..20 on orders-1"},
			},
		},
		{
			"a rule about partitions tells nothing at the top of an answer, even if it matches them all",
			[]string{"error 6 before fetch topic=orders"}, fetch("orders", 5),
			outcome{
				Done: "nothing", Told: "orders-0:6", Fate: "send",
				Fired: []string{"error NOT_LEADER_OR_FOLLOWER before fetch topic=orders on orders-0"},
			},
		},
		{
			"topics without partitions are split too",
			[]string{"error 3 after metadata topic=orders"}, metadata("audit", "orders"),
			outcome{
				Asked: []string{"Metadata audit--1 orders--1"}, Done: "audit:0 orders:0", Told: "audit:0 orders:3", Fate: "send",
				Fired: []string{"error UNKNOWN_TOPIC_OR_PARTITION after metadata topic=orders on orders--1"},
			},
		},
		{
			"a producer in a request without topics is the whole request's",
			[]string{"error 90 before init_producer_id producer=7"}, initProducer(7),
			outcome{
				Done: "nothing", Told: "90", Fate: "send",
				Fired: []string{"error PRODUCER_FENCED before init_producer_id producer=7"},
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorker()
			check(t, strings.Join(test.rules, "; "), handle(setOf(t, w, test.rules...), w, test.req), test.want)
		})
	}
}

func TestSet_Handle_a_split_answer_keeps_what_stands_above_the_topics(t *testing.T) {
	s := setOf(t, newWorker(), "error 3 before metadata topic=orders")
	reply := s.Handle(t.Context(), metadata("audit", "orders"))
	if told := reply.Told.(*kmsg.MetadataResponse); len(told.Brokers) != 1 || told.ErrorCode != 0 {
		t.Errorf("%d brokers, error %d", len(told.Brokers), told.ErrorCode)
	}
}

func TestSet_Handle_acks_0(t *testing.T) {
	two := func() *wire.Request { return acks0(produce(batchOf("orders", 0), batchOf("orders", 1))) }
	both, done := "Produce orders-0 orders-1", "orders-0:0@0 orders-1:0@0"
	refused := "close: a batch sent with acks=0 was refused"
	tests := []struct {
		name, rule string
		want       outcome
	}{
		{"no rule", "drop before metadata", outcome{[]string{both}, done, "nothing", "silent", nil}},
		{"drop after works", "drop after produce",
			outcome{[]string{both}, done, "nothing", "lose answers", []string{"drop after produce"}}},
		{"disconnect after works", "disconnect after produce",
			outcome{[]string{both}, done, "nothing", "close: a fault rule disconnected it", []string{"disconnect after produce"}}},
		{"delay after works", "delay 1s after produce",
			outcome{[]string{both}, done, "nothing", "silent", []string{"delay 1s after produce"}}},
		{"an error before closes", "error 42 before produce",
			outcome{nil, "nothing", "nothing", refused, []string{"error INVALID_REQUEST before produce"}}},
		{"an error before a part closes too, and the rest is done", "error 42 before produce partition=1",
			outcome{[]string{"Produce orders-0"}, "orders-0:0@0", "nothing", refused,
				[]string{"error INVALID_REQUEST before produce partition=1 on orders-1"}}},
		{"an error after cannot be told", "error 42 after produce", outcome{[]string{both}, done, "nothing", "silent", nil}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorker()
				s := setOf(t, w, test.rule)
				check(t, test.rule, handle(s, w, two()), test.want)
				st := s.Status()[0]
				unable := strings.HasPrefix(test.rule, "error") && strings.Contains(test.rule, "after")
				if (st.Unable == 1) != unable || st.Fired != len(test.want.Fired) {
					t.Errorf("unable %d, fired %d", st.Unable, st.Fired)
				}
			})
		})
	}
}

func TestSet_Handle_a_rule_that_could_not_act_gives_way_and_keeps_its_turn(t *testing.T) {
	w := newWorker()
	s := setOf(t, w, "error 42 after produce", "disconnect after produce")
	got := handle(s, w, acks0(produce(batchOf("orders", 0))))
	check(t, "with acks=0", got, outcome{[]string{"Produce orders-0"}, "orders-0:0@0", "nothing",
		"close: a fault rule disconnected it", []string{"disconnect after produce"}})
	got = handle(s, w, produce(batchOf("orders", 0)))
	check(t, "with an answer", got, outcome{[]string{"Produce orders-0"}, "orders-0:0@3", "orders-0:42@-1", "send",
		[]string{"error INVALID_REQUEST after produce"}})
}

func TestSet_Handle_the_worker_s_own_close_stays_unless_the_rule_says_otherwise(t *testing.T) {
	closing := wire.HandlerFunc(func(context.Context, *wire.Request) wire.Reply {
		return wire.Reply{Fate: wire.Close, Reason: wire.ReasonRefusedAcks0}
	})
	for rule, want := range map[string]string{
		"delay 1ns after produce":             "close: a batch sent with acks=0 was refused",
		"disconnect after produce":            "close: a fault rule disconnected it",
		"drop after produce":                  "lose answers",
		"error 42 after produce":              "close: a batch sent with acks=0 was refused",
		"error 42 before produce partition=1": "close: a batch sent with acks=0 was refused",
	} {
		s := setOf(t, closing, rule)
		reply := s.Handle(t.Context(), produce(batchOf("orders", 0), batchOf("orders", 1)))
		if got := fateOf(reply); got != want || reply.Told != nil {
			t.Errorf("%s: %s, told %s; want %s", rule, got, tell(reply.Told), want)
		}
		for _, st := range s.Unfired() {
			if want := "matched 1 produce request that got no answer: there is no answer to change"; st.NearMiss != want {
				t.Errorf("%s: %s", rule, st.NearMiss)
			}
		}
	}
}

func TestSet_Handle_a_path_that_went_dark_does_not_close_for_a_refusal(t *testing.T) {
	w := newWorker()
	s := setOf(t, w, "error 42 before produce partition=1", "drop after produce")
	got := handle(s, w, acks0(produce(batchOf("orders", 0), batchOf("orders", 1))))
	check(t, "with acks=0", got, outcome{[]string{"Produce orders-0"}, "orders-0:0@0", "nothing", "lose answers",
		[]string{"error INVALID_REQUEST before produce partition=1 on orders-1", "drop after produce"}})
}

func TestSet_Handle_in_front_of_another_set(t *testing.T) {
	w := newWorker()
	inner := setOf(t, w, "delay 1ns before produce", "delay 2ns after produce")
	outer := setOf(t, inner, "delay 3ns before produce", "disconnect after produce")
	got := handle(outer, w, produce(batchOf("orders", 0)))
	check(t, "both act in turn", got, outcome{[]string{"Produce orders-0"}, "orders-0:0@0", "nothing",
		"close: a fault rule disconnected it",
		[]string{"delay 3ns before produce", "delay 1ns before produce", "delay 2ns after produce", "disconnect after produce"}})
}

func TestSet_Handle_internal_requests_meet_no_rule(t *testing.T) {
	w := newWorker()
	s := setOf(t, w, "disconnect before fetch times=all")
	req := fetch("orders", 0)
	req.Internal = true
	check(t, "internal", handle(s, w, req), outcome{[]string{"Fetch orders-0"}, "orders-0:0", "orders-0:0", "send", nil})
	if st := s.Status()[0]; st.Seen != 0 {
		t.Errorf("it was counted: %+v", st)
	}
}

func TestSet_Handle_names_the_rule_that_fired(t *testing.T) {
	s := setOf(t, newWorker(), "drop after produce name=lost-ack")
	reply := s.Handle(t.Context(), produce(batchOf("orders", 0)))
	want := []wire.Firing{{Rule: "drop after produce name=lost-ack", Name: "lost-ack"}}
	if diff := cmp.Diff(want, reply.Fired); diff != "" {
		t.Error(diff)
	}
}

func TestSet_Handle_does_not_change_the_request(t *testing.T) {
	s := setOf(t, newWorker(), "error 42 before produce partition=1", "error 41 after produce partition=0")
	req := produce(batchOf("orders", 0), batchOf("orders", 1))
	s.Handle(t.Context(), req)
	if got := describe(req); got != "Produce orders-0 orders-1" {
		t.Error(got)
	}
}

// waited is how long a function takes on the bubble's clock.
func waited(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func TestSet_Handle_delays(t *testing.T) {
	for rule, want := range map[string]outcome{
		"delay 2s before produce":             {[]string{"Produce orders-0"}, "orders-0:0@0", "orders-0:0@0", "send", nil},
		"delay 2s after produce":              {[]string{"Produce orders-0"}, "orders-0:0@0", "orders-0:0@0", "send", nil},
		"delay 2s, drop before produce":       {nil, "nothing", "nothing", "lose requests", nil},
		"delay 2s, drop after produce":        {[]string{"Produce orders-0"}, "orders-0:0@0", "nothing", "lose answers", nil},
		"delay 2s, disconnect before produce": {nil, "nothing", "nothing", "close: a fault rule disconnected it", nil},
		"delay 2s, disconnect after produce": {[]string{"Produce orders-0"}, "orders-0:0@0", "nothing",
			"close: a fault rule disconnected it", nil},
		"delay 2s, error INVALID_REQUEST before produce": {nil, "nothing", "orders-0:42@-1", "send", nil},
		"delay 2s, error INVALID_REQUEST after produce":  {[]string{"Produce orders-0"}, "orders-0:0@0", "orders-0:42@-1", "send", nil},
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorker()
				s := setOf(t, w, rule)
				want.Fired = []string{rule}
				took := waited(func() { check(t, rule, handle(s, w, produce(batchOf("orders", 0))), want) })
				if took != 2*time.Second {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

func TestSet_Handle_a_delay_before_holds_the_work_and_one_after_only_the_answer(t *testing.T) {
	for rule, want := range map[string]time.Duration{"delay 2s before produce": 2 * time.Second, "delay 2s after produce": 0} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorker()
			start := time.Now()
			var worked time.Duration
			w.during = func() { worked = time.Since(start) }
			setOf(t, w, rule).Handle(t.Context(), produce(batchOf("orders", 0)))
			if worked != want {
				t.Errorf("%s: it was done after %s", rule, worked)
			}
		})
	}
}

func TestSet_Handle_a_delay_before_ends_with_the_server_and_nothing_more_is_begun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w := newWorker()
		s := setOf(t, w, "delay 1h before produce")
		var reply wire.Reply
		took := waited(func() { reply = s.Handle(ctx, produce(batchOf("orders", 0))) })
		if took != time.Second || len(w.asked) != 0 {
			t.Errorf("it took %s, asked %v", took, w.asked)
		}
		if reply.Fate != wire.Close || reply.Reason != wire.ReasonShutdown || len(reply.Fired) != 1 {
			t.Errorf("the reply is %+v", reply)
		}
	})
}

func TestSet_Handle_a_delay_holds_up_nobody_else(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setOf(t, newWorker(), "delay 1h before produce", "delay 2h after produce")
		var held sync.WaitGroup
		for range 2 {
			held.Go(func() { s.Handle(t.Context(), produce(batchOf("orders", 0))) })
			synctest.Wait()
		}
		took := waited(func() {
			s.Handle(t.Context(), produce(batchOf("orders", 0)))
			s.Status()
			add(t, s, "drop after metadata")
		})
		if took != 0 {
			t.Errorf("it took %s", took)
		}
		if more := waited(held.Wait); more != 2*time.Hour {
			t.Errorf("the others took %s", more)
		}
	})
}

func TestSet_Handle_no_lock_is_held_while_the_worker_works(t *testing.T) {
	w := newWorker()
	s := setOf(t, w, "delay 1ns before produce", "drop after produce")
	w.during = func() { s.Status(); s.Reset() } // would never return
	s.Handle(t.Context(), produce(batchOf("orders", 0)))
}
