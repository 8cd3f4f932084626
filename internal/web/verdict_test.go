package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/journal"
)

func TestVerdict_of_all_topics(t *testing.T) {
	h := build(t)
	h.lesson()
	v := decode[journal.Verdict](t, h.get("/verdict"))
	if v.Seed != testSeed || v.ExactlyOnce || len(v.Topics) != 2 {
		t.Fatalf("the verdict is %+v", v)
	}
	if v.Topics[0].Topic != "audit" || !v.Topics[0].ExactlyOnce || v.Topics[1].Topic != "orders" || v.Topics[1].Totals.Missing == 0 {
		t.Errorf("the topics are %+v", v.Topics)
	}
}

func TestVerdict_of_nothing_has_a_list_of_no_topics(t *testing.T) {
	w := build(t).get("/verdict")
	if body := w.Body.String(); !strings.Contains(body, `"topics":[]`) {
		t.Errorf("the verdict is %s", body)
	}
}

func TestVerdict_of_one_topic(t *testing.T) {
	h := build(t)
	h.lesson()
	v := decode[journal.TopicVerdict](t, h.get("/verdict?topic=audit"))
	if v.Topic != "audit" || !v.ExactlyOnce || v.Counts.Records != 2 {
		t.Errorf("the verdict is %+v", v)
	}
}

// TestVerdict_findings sees each kind of finding in JSON, which do checks
// against the description.
func TestVerdict_findings(t *testing.T) {
	h := build(t)
	h.rule("disconnect after produce partition=1 times=all")
	h.produce(batch{topic: "orders", partition: 1, records: 3, client: "plain"})
	h.produce(batch{topic: "orders", partition: 1, records: 3, client: "plain"})
	h.produce(batch{topic: "orders", partition: 1, producer: 1000, records: 1})
	h.produce(batch{topic: "orders", producer: 1000, records: 2})
	h.produce(batch{topic: "orders", producer: 1000, first: 9, records: 2})
	changed := batch{topic: "orders", producer: 1001, first: 0, records: 2}
	h.produce(changed)
	changed.value = " that is another"
	h.produce(changed)
	v := decode[journal.TopicVerdict](t, h.get("/verdict?topic=orders"))
	if v.Totals.Duplicated == 0 || v.Totals.Missing == 0 || v.Totals.Unconfirmed == 0 || v.Totals.Swallowed == 0 {
		t.Errorf("a kind of finding is not there: %s", v)
	}
}

func TestVerdict_as_text_is_the_report(t *testing.T) {
	h := build(t)
	h.lesson()
	want, err := h.journal.Verdict(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	audit, _ := h.journal.VerdictOf(t.Context(), "audit")
	for path, report := range map[string]string{"/verdict": want.String(), "/verdict?topic=audit": audit.String()} {
		w := h.do(call{method: "GET", path: path, header: map[string]string{"Accept": "text/plain"}})
		if got := w.Header().Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("%s is of type %q", path, got)
		}
		if got := w.Body.String(); got != report {
			t.Errorf("%s is\n%s, want\n%s", path, got, report)
		}
	}
}

func TestVerdict_of_an_unknown_topic_is_an_error(t *testing.T) {
	h := build(t)
	wantProblem(t, h.get("/verdict?topic=orders"), 404, Problem{
		What: `no batch came for topic "orders"`, Want: "a topic that a batch came for: there is none yet",
	})
	h.lesson()
	wantProblem(t, h.get("/verdict?topic=order"), 404, Problem{
		What: `no batch came for topic "order"`, Want: `one of "audit", "orders"`, Near: "orders",
	})
	wantProblem(t, h.get("/verdict?topic=orders&topic=audit"), 400, Problem{
		What: "topic is given more than once", Want: "one topic, or none for all of them",
	})
}

func TestVerdict_waits_for_its_turn_and_leaves_with_its_client(t *testing.T) {
	h := build(t)
	for range maxVerdicts {
		h.server.verdicts <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	h.server.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/verdict", nil))
	if w.Body.Len() > 0 {
		t.Errorf("a verdict was drawn, though %d are being drawn: %s", maxVerdicts, w.Body)
	}
	<-h.server.verdicts
	if w := h.get("/verdict"); w.Code != http.StatusOK || len(h.server.verdicts) != maxVerdicts-1 {
		t.Errorf("status %d, and %d verdicts are being drawn", w.Code, len(h.server.verdicts))
	}
}

func TestShortList_names_no_more_than_ten(t *testing.T) {
	names := strings.Split("abcdefghijkl", "")
	if got := shortList(names[:2]); got != `"a", "b"` {
		t.Error(got)
	}
	if got := shortList(names); !strings.HasSuffix(got, `"i", "j" and 2 more`) {
		t.Error(got)
	}
}

func TestPreferred_goes_by_the_Accept_header(t *testing.T) {
	for _, c := range []struct{ accept, want string }{
		{"", typeJSON},
		{"*/*", typeJSON},
		{"text/plain", typeText},
		{"text/*", typeText},
		{"text/html, text/plain;q=0.5", typeText},
		{"application/json;q=0.4, text/plain;q=0.5", typeText},
		{"text/plain;q=0.1, */*;q=0.9", typeJSON},
		{"text/plain;q=0, */*;q=0.1", typeJSON},
		{"application/json;q=0, */*", typeText},
		{"image/png", typeJSON},
		{"text/plain;q=much, ;;", typeText},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", c.accept)
		if got := preferred(r, typeJSON, typeText); got != c.want {
			t.Errorf("Accept: %s gives %s, want %s", c.accept, got, c.want)
		}
	}
}
