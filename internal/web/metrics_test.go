package web

import (
	"bufio"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// scrape reads the metrics whose name begins with fencepost_, by name and
// labels.
func (h *house) scrape() map[string]string {
	h.t.Helper()
	all := map[string]string{}
	for s := bufio.NewScanner(h.get("/metrics").Body); s.Scan(); {
		if name, value, ok := cutLast(s.Text(), " "); ok && strings.HasPrefix(name, "fencepost_") {
			all[name] = value
		}
	}
	return all
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func wantMetrics(t *testing.T, got map[string]string, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
}

func TestMetrics_count_what_happened(t *testing.T) {
	h := build(t)
	h.lesson()
	h.rule("disconnect before produce")
	h.produce(batch{topic: "audit", records: 5})
	h.rule("error 14 after produce partition=1")
	h.produce(batch{topic: "audit", partition: 1, records: 5})
	h.produce(batch{topic: "audit", records: 1, acks: noAcks})
	h.produce(batch{topic: "nothing", records: 1})
	wantMetrics(t, h.scrape(), map[string]string{
		`fencepost_batches_total{outcome="accepted"}`:     "6",
		`fencepost_batches_total{outcome="duplicate"}`:    "1",
		`fencepost_batches_total{outcome="out_of_order"}`: "1",
		`fencepost_batches_total{outcome="fenced"}`:       "1",
		`fencepost_batches_total{outcome="refused"}`:      "1",
		`fencepost_batches_total{outcome="not_asked"}`:    "1",
		"fencepost_records_total":                         "14",
		"fencepost_replays_answered_total":                "1",
		"fencepost_acks_lost_total":                       "1",
		"fencepost_acks_false_total":                      "1",
		"fencepost_acks_not_due_total":                    "1",
		"fencepost_topics":                                "3",
		"fencepost_fault_rules":                           "3",
		"fencepost_connections":                           "3",
		"fencepost_connections_opened_total":              "7",
		`fencepost_build_info{version="v1.2.3"}`:          "1",
		`fencepost_faults_fired_total{rule="disconnect after produce topic=orders attempt=1 sequence=3"}`: "1",
		`fencepost_faults_fired_total{rule="disconnect before produce"}`:                                  "1",
	})
}

func TestMetrics_of_two_rules_that_say_the_same_are_one(t *testing.T) {
	h := build(t)
	h.rule(`drop before init_producer_id client="a \"b\" \xff*" times=all`)
	h.rule("drop before init_producer_id times=2")
	h.rule("drop before init_producer_id times=2")
	for range 3 {
		h.ask(kmsg.NewPtrInitProducerIDRequest())
	}
	wantMetrics(t, h.scrape(), map[string]string{
		`fencepost_faults_fired_total{rule="drop before init_producer_id times=2"}`: "3",
		"fencepost_fault_rules": "3",
	})
}

func TestMetrics_begin_anew_with_a_reset(t *testing.T) {
	h := build(t)
	h.lesson()
	h.server.o.Reset()
	wantMetrics(t, h.scrape(), map[string]string{`fencepost_batches_total{outcome="accepted"}`: "0", "fencepost_topics": "0"})
}

func TestMetrics_without_a_count_of_connections(t *testing.T) {
	h := build(t)
	h.server.o.Connections = nil
	wantMetrics(t, h.scrape(), map[string]string{"fencepost_connections": "0"})
}

func TestMetrics_keep_to_the_conventions(t *testing.T) {
	h := build(t)
	h.lesson()
	h.server.Observe("Produce", time.Millisecond, 100, 50)
	problems, err := promlint.New(h.get("/metrics").Body).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "fencepost_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestObserve_counts_by_API(t *testing.T) {
	h := build(t)
	var all sync.WaitGroup
	for range 8 { // at once, also the first of an API
		all.Go(func() {
			for range 100 {
				h.server.Observe("Produce", 30*time.Microsecond, 100, 50)
				h.server.Observe("Fetch", 2*time.Second, 10, 1000)
			}
		})
	}
	all.Wait()
	wantMetrics(t, h.scrape(), map[string]string{
		`fencepost_request_seconds_count{api="Produce"}`:               "800",
		`fencepost_request_seconds_bucket{api="Produce",le="2.5e-05"}`: "0",
		`fencepost_request_seconds_bucket{api="Produce",le="5e-05"}`:   "800",
		`fencepost_request_seconds_bucket{api="Fetch",le="1"}`:         "0",
		`fencepost_request_seconds_bucket{api="Fetch",le="5"}`:         "800",
		`fencepost_request_bytes_total{api="Produce"}`:                 "80000",
		`fencepost_response_bytes_total{api="Produce"}`:                "40000",
		`fencepost_response_bytes_total{api="Fetch"}`:                  "800000",
	})
}

func TestObserve_does_not_allocate(t *testing.T) {
	s := build(t).server
	s.Observe("Produce", time.Millisecond, 100, 50)
	if n := testing.AllocsPerRun(1000, func() { s.Observe("Produce", time.Millisecond, 100, 50) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkObserve(b *testing.B) {
	s := build(b).server
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			s.Observe("Produce", 80*time.Microsecond, 100_000, 60)
		}
	})
}
