package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestEvents_as_a_list(t *testing.T) {
	h := build(t)
	h.lesson()
	asJSON := map[string]string{"Accept": "application/json"}
	for _, c := range []struct {
		name string
		call call
		from int // index of the first event
	}{
		{"by parameter", call{path: "/events?follow=false"}, 0},
		{"by Accept", call{path: "/events", header: asJSON}, 0},
		{"since", call{path: "/events?follow=false&since=3"}, 3},
		{"since the newest", call{path: "/events?follow=false&since=7"}, 7},
		{"since before a reset", call{path: "/events?follow=false&since=8"}, 0},
		{"by header", call{path: "/events?follow=false&since=1", header: map[string]string{"Last-Event-ID": "5"}}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.call.method = "GET"
			got := decode[[]journal.Event](t, h.do(c.call))
			want := h.journal.Events()[c.from:]
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the events differ (-kept +served):\n%s", diff)
			}
		})
	}
}

func TestEvents_none_is_an_empty_list(t *testing.T) {
	if body := build(t).get("/events?follow=false").Body.String(); body != "[]\n" {
		t.Errorf("no events are %q", body)
	}
}

func TestEvents_errors(t *testing.T) {
	h := build(t)
	const want = "0 for all that are kept, or the number of the last event seen"
	wantProblem(t, h.get("/events?since=-1"), 400, Problem{What: `since "-1" is no number of an event`, Want: want})
	wantProblem(t, h.get("/events?since="), 400, Problem{What: `since "" is no number of an event`, Want: want})
	wantProblem(t, h.get("/events?follow=maybe"), 400, Problem{What: `follow "maybe" is neither yes nor no`, Want: "true or false"})
	w := h.do(call{method: "GET", path: "/events", header: map[string]string{"Last-Event-ID": "last"}})
	wantProblem(t, w, 400, Problem{What: `Last-Event-ID "last" is no number of an event`, Want: want})
}

func TestEvents_no_more_streams_than_the_limit(t *testing.T) {
	h := build(t)
	for range maxStreams {
		h.server.streams <- struct{}{}
	}
	wantProblem(t, h.get("/events"), http.StatusServiceUnavailable, Problem{
		What: "64 clients follow the events already, which is the most", Want: "GET /events?follow=false",
	})
	if w := h.get("/events?follow=false"); w.Code != http.StatusOK {
		t.Errorf("a list gives status %d", w.Code)
	}
}

// bubble runs a test of streams, over pipes and in virtual time.
func bubble(t *testing.T, f func(t *testing.T, h *house, p *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		h := build(t)
		f(t, h, h.serve())
	})
}

// producePlain produces batches that are nothing out of the ordinary.
func (h *house) producePlain(n int) {
	for range n {
		h.made++
		h.produce(batch{topic: "audit", first: h.made, records: 1})
	}
}

func TestStream_replays_what_is_kept_and_goes_on(t *testing.T) {
	bubble(t, func(t *testing.T, h *house, p *pipes) {
		h.lesson()
		r := follow(t, p.dial(), "/events")
		if got := r.resp.Header.Get("Content-Type"); got != typeStream {
			t.Errorf("the stream is of type %q", got)
		}
		r.want("retry 1000", "batch 1", "batch 2", "batch 3", "batch 4", "batch 5", "batch 6", "batch 7")
		h.rule("error 14 before init_producer_id")
		h.ask(kmsg.NewPtrInitProducerIDRequest())
		h.producePlain(1)
		r.want("request 8", "batch 9")
	})
}

func TestStream_data_is_the_event(t *testing.T) {
	bubble(t, func(t *testing.T, h *house, p *pipes) {
		h.lesson()
		r := follow(t, p.dial(), "/events?since=1")
		r.want("retry 1000")
		m, err := r.next()
		if err != nil {
			t.Fatal(err)
		}
		var got journal.Event
		if err := json.Unmarshal([]byte(m.data), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h.journal.Events()[1], got); diff != "" {
			t.Errorf("the event differs (-kept +served):\n%s", diff)
		}
		var raw any
		json.Unmarshal([]byte(m.data), &raw) //nolint:errcheck // it worked above
		d := readDescription()
		if err := d.check(d.find("#/components/schemas/Event"), raw, "event"); err != nil {
			t.Error(err)
		}
	})
}

func TestStream_takes_up_where_the_client_was(t *testing.T) {
	bubble(t, func(t *testing.T, h *house, p *pipes) {
		h.lesson()
		follow(t, p.dial(), "/events?since=5").want("retry 1000", "batch 6", "batch 7")
		r := follow(t, p.dial(), "/events?since=0", "Last-Event-ID: 6")
		r.want("retry 1000", "batch 7")
		h.producePlain(1)
		r.want("batch 8")
	})
}

func TestStream_follow_true_overrules_Accept(t *testing.T) {
	bubble(t, func(t *testing.T, h *house, p *pipes) {
		h.lesson()
		follow(t, p.dial(), "/events?since=6&follow=true", "Accept: application/json").want("retry 1000", "batch 7")
	})
}

func TestStream_tells_of_a_reset(t *testing.T) {
	bubble(t, func(t *testing.T, h *house, p *pipes) {
		h.lesson()
		r := follow(t, p.dial(), "/events?since=6")
		r.want("retry 1000", "batch 7")
		<-time.After(time.Millisecond) // events of one number and time are one
		h.journal.Reset()
		h.producePlain(2)
		r.want("reset", "batch 1", "batch 2")
		// Another one comes back with a number from before.
		follow(t, p.dial(), "/events", "Last-Event-ID: 7").want("retry 1000", "reset", "batch 1", "batch 2")
	})
}

func TestStream_tells_what_is_no_longer_kept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := buildWith(t, journal.Options{RingSize: 3})
		p := h.serve()
		h.producePlain(10)
		r := follow(t, p.dial(), "/events?since=2")
		r.want("retry 1000", `lost {"lost":5}`, "batch 8", "batch 9", "batch 10")
		h.producePlain(1)
		r.want("batch 11")
	})
}

func TestStream_is_alive_when_nothing_happens(t *testing.T) {
	bubble(t, func(t *testing.T, h *house, p *pipes) {
		r := follow(t, p.dial(), "/events")
		r.want("retry 1000")
		begin := time.Now()
		for i := range 40 { // far beyond the time for other answers
			r.want(": nothing new")
			if got, want := time.Since(begin), time.Duration(i+1)*heartbeat; got != want {
				t.Fatalf("heartbeat %d came after %v, want %v", i+1, got, want)
			}
		}
		h.producePlain(1)
		r.want("batch 1")
	})
}

func TestStream_tells_a_slow_reader_what_it_missed(t *testing.T) {
	bubble(t, func(t *testing.T, h *house, p *pipes) {
		r := follow(t, p.dial(), "/events")
		r.want("retry 1000")
		const many = 5000
		h.producePlain(many) // while nobody reads
		next, lost := uint64(1), uint64(0)
		for next <= many+1 {
			m, err := r.next()
			if err != nil {
				t.Fatalf("the stream ended before event %d: %v", next, err)
			}
			if m.comment != "" { // all is read; the next event tells of the gap
				h.producePlain(1)
				continue
			}
			var got struct{ Number, Lost uint64 }
			if err := json.Unmarshal([]byte(m.data), &got); err != nil {
				t.Fatalf("%v cannot be read: %v", m, err)
			}
			switch {
			case m.event == "lost":
				next, lost = next+got.Lost, lost+got.Lost
			case got.Number != next || got.Lost != 0:
				t.Fatalf("event %d says that %d were lost, and event %d is next", got.Number, got.Lost, next)
			default:
				next++
			}
		}
		if lost == 0 || lost > many {
			t.Errorf("of %d events, %d were lost", many, lost)
		}
	})
}

func TestStream_of_a_client_that_does_not_read_is_cut(t *testing.T) {
	bubble(t, func(t *testing.T, h *house, p *pipes) {
		r := follow(t, p.dial(), "/events")
		r.want("retry 1000")
		begin := time.Now()
		h.producePlain(1)
		synctest.Wait() // the server is writing now, and the client does not read
		if len(h.server.streams) != 1 {
			t.Fatalf("%d streams are open", len(h.server.streams))
		}
		<-time.After(eventTime) // virtual
		synctest.Wait()
		if len(h.server.streams) != 0 {
			t.Errorf("after %v the stream is still open", time.Since(begin))
		}
	})
}

func TestStream_ends_at_once_at_Shutdown(t *testing.T) {
	for _, reads := range []bool{true, false} {
		bubble(t, func(t *testing.T, h *house, p *pipes) {
			r := follow(t, p.dial(), "/events")
			r.want("retry 1000")
			if !reads {
				h.producePlain(1)
				synctest.Wait() // blocked in a write
			}
			begin := time.Now()
			go func() {
				for reads {
					if _, err := r.next(); err != nil {
						return
					}
				}
			}()
			if err := h.server.Shutdown(t.Context()); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if took := time.Since(begin); took > time.Second {
				t.Errorf("Shutdown took %v of virtual time", took)
			}
		})
	}
}

func TestStream_sends_once_what_came_while_it_replayed(t *testing.T) {
	h := build(t)
	h.producePlain(4)
	kept := h.journal.Events()
	coming := make(chan journal.Event, len(kept))
	for _, e := range kept[1:] {
		coming <- e
	}
	close(coming)
	w := httptest.NewRecorder()
	st := &stream{ctx: t.Context(), w: w, rc: http.NewResponseController(w), last: 3}
	if err := st.follow(coming, kept[:3]); err != nil {
		t.Error(err)
	}
	if got := strings.Count(w.Body.String(), "id: "); got != 1 || !strings.HasPrefix(w.Body.String(), "id: 4\n") {
		t.Errorf("of 2 and 3, which were replayed, and 4, the stream sends\n%s", w.Body)
	}
}

func TestReplayed_tells_a_repetition_from_an_event_after_a_reset(t *testing.T) {
	at := time.Unix(1000, 0)
	event := func(number uint64, seconds int) *journal.Event {
		return &journal.Event{Number: number, Time: at.Add(time.Duration(seconds) * time.Second)}
	}
	seen := replayed{*event(1, 0), *event(5, 5), *event(6, 6)}
	for _, c := range []struct {
		name string
		e    *journal.Event
		want bool
	}{
		{"a repetition", event(5, 5), true},
		{"a new one", event(7, 7), false},
		{"the same number after a reset", event(1, 9), false},
		{"one that was not kept", event(3, 3), true},
		{"a number that was not kept, after a reset", event(3, 9), false},
	} {
		if got := seen.has(c.e); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if replayed(nil).has(event(1, 0)) {
		t.Error("nothing was replayed")
	}
}
