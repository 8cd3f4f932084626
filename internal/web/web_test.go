package web

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/broker"
	"github.com/fencepostmq/fencepost/internal/fault"
	"github.com/fencepostmq/fencepost/internal/journal"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A house is a whole broker without a network, and the server under test.
type house struct {
	t       testing.TB
	journal *journal.Journal
	faults  *fault.Set
	server  *Server
	made    int32 // plain batches
}

const testSeed = 42

// build puts a house up with the topics orders and audit.
func build(t testing.TB) *house { return buildWith(t, journal.Options{}) }

func buildWith(t testing.TB, o journal.Options) *house {
	t.Helper()
	b := broker.New(broker.Options{})
	for _, topic := range []string{"orders", "audit"} {
		if err := b.CreateTopic(topic, 2, nil); err != nil {
			t.Fatal(err)
		}
	}
	o.Seed = testSeed
	h := &house{t: t, faults: fault.New(testSeed, b)}
	h.journal = journal.New(h.faults, o)
	h.server = New(Options{
		Journal: h.journal, Faults: h.faults, Seed: testSeed, Version: "v1.2.3", Kafka: []string{"127.0.0.1:9092"},
		Reset:       func() { h.faults.Reset(); h.journal.Reset() },
		Connections: func() (open, opened int64) { return 3, 7 },
	})
	return h
}

// rule puts a fault rule in force.
func (h *house) rule(sentence string) {
	h.t.Helper()
	r, err := fault.Parse(sentence)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.faults.Add(r); err != nil {
		h.t.Fatal(err)
	}
}

// A call is a request of a test.
type call struct {
	method, path string
	body         string
	header       map[string]string
}

// do sends a request, and fails the test if the answer is not what openapi.yaml
// says.
func (h *house) do(c call) *httptest.ResponseRecorder {
	h.t.Helper()
	r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.server.Handler().ServeHTTP(w, r)
	checkAnswer(h.t, r, w)
	return w
}

func (h *house) get(path string) *httptest.ResponseRecorder {
	h.t.Helper()
	return h.do(call{method: "GET", path: path})
}

// decode reads the JSON of an answer.
func decode[T any](t testing.TB, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("the answer is of type %q", got)
	}
	d := json.NewDecoder(w.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("the answer cannot be read: %v", err)
	}
	return v
}

// wantProblem checks an answer that is an error, all of it.
func wantProblem(t testing.TB, w *httptest.ResponseRecorder, status int, want Problem) {
	t.Helper()
	if w.Code != status {
		t.Errorf("status %d, want %d", w.Code, status)
	}
	got := decode[Problem](t, w)
	got.Syntax, want.Syntax = nil, nil
	if got != want {
		t.Errorf("the problem is\n%+v, want\n%+v", got, want)
	}
}

func TestServer_healthz(t *testing.T) {
	got := decode[Health](t, build(t).get("/healthz"))
	if got.Status != "ok" || got.Version != "v1.2.3" || got.Seed != testSeed || len(got.Kafka) != 1 || got.Kafka[0] != "127.0.0.1:9092" {
		t.Errorf("healthz is %+v", got)
	}
}

func TestServer_reset_forgets_events_and_counters_and_keeps_rules(t *testing.T) {
	h := build(t)
	h.lesson()
	if w := h.do(call{method: "POST", path: "/reset"}); w.Code != http.StatusNoContent {
		t.Fatalf("status %d", w.Code)
	}
	if n := len(h.journal.Events()); n != 0 {
		t.Errorf("%d events are left", n)
	}
	rules := decode[[]Rule](t, h.get("/faults"))
	if len(rules) != 1 || rules[0].Fired != 0 {
		t.Errorf("the rules are %+v", rules)
	}
}

func TestServer_page_needs_no_other_server(t *testing.T) {
	h := build(t)
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/app.js": "text/javascript; charset=utf-8",
		"/style.css": "text/css; charset=utf-8", "/icon.svg": "image/svg+xml", "/openapi.yaml": "application/yaml",
	} {
		w := h.get(path)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind {
			t.Errorf("%s: status %d, type %q", path, w.Code, w.Header().Get("Content-Type"))
		}
		text := strings.ReplaceAll(w.Body.String(), "http://www.w3.org/2000/svg", "")
		if path != "/openapi.yaml" && (strings.Contains(text, "//www.") || strings.Contains(text, "http:") || strings.Contains(text, "https:")) {
			t.Errorf("%s speaks of another server", path)
		}
		if strings.Contains(text, "<script>") || strings.Contains(text, " style=") || strings.Contains(text, " onclick=") {
			t.Errorf("%s holds what its own policy forbids", path)
		}
	}
}

func TestRouter_names_what_there_is(t *testing.T) {
	h := build(t)
	routes := "GET /, GET /app.js, GET /style.css, GET /icon.svg, GET /verdict, GET /events, GET /faults, POST /faults, DELETE /faults, " +
		"DELETE /faults/{name}, POST /reset, GET /metrics, GET /healthz, GET /openapi.yaml"
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
		want         Problem
	}{
		{"GET", "/fault", 404, "", Problem{What: "there is nothing at /fault", Want: routes, Near: "/faults"}},
		{"GET", "/Verdict", 404, "", Problem{What: "there is nothing at /Verdict", Want: routes, Near: "/verdict"}},
		{"GET", "/nothing", 404, "", Problem{What: "there is nothing at /nothing", Want: routes}},
		{"POST", "/", 405, "GET, HEAD", Problem{What: "POST cannot be done to /", Want: "GET, HEAD"}},
		{"PUT", "/faults", 405, "GET, HEAD, POST, DELETE", Problem{What: "PUT cannot be done to /faults", Want: "GET, HEAD, POST, DELETE"}},
		{"GET", "/faults/a", 405, "DELETE", Problem{What: "GET cannot be done to /faults/a", Want: "DELETE"}},
		{"GET", "/reset", 405, "POST", Problem{What: "GET cannot be done to /reset", Want: "POST"}},
		{"OPTIONS", "/verdict", 405, "GET, HEAD", Problem{What: "OPTIONS cannot be done to /verdict", Want: "GET, HEAD"}},
		{"GET", "/healthz?verbose=1", 400, "", Problem{What: `unknown parameter "verbose"`, Want: "no parameters"}},
		{"GET", "/verdict?topics=a", 400, "", Problem{What: `unknown parameter "topics"`, Want: "topic", Near: "topic"}},
	} {
		t.Run(c.method+c.path, func(t *testing.T) {
			w := h.do(call{method: c.method, path: c.path})
			if got := w.Header().Get("Allow"); got != c.allow {
				t.Errorf("Allow is %q, want %q", got, c.allow)
			}
			wantProblem(t, w, c.status, c.want)
		})
	}
}

func TestRouter_HEAD_is_GET(t *testing.T) {
	h := build(t)
	s := httptest.NewServer(h.server.Handler())
	defer s.Close()
	for _, path := range []string{"/", "/verdict", "/events", "/faults", "/metrics", "/healthz"} {
		resp, err := s.Client().Head(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || len(body) != 0 {
			t.Errorf("HEAD %s: status %d, %d bytes", path, resp.StatusCode, len(body))
		}
	}
}
