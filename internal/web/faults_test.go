package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/fault"
)

const loseEach = "disconnect after produce attempt=1 times=all"

func (h *house) post(contentType, body string) call {
	return call{method: "POST", path: "/faults", body: body, header: map[string]string{"Content-Type": contentType}}
}

func TestFaults_added_as_text_and_as_JSON(t *testing.T) {
	for _, c := range []struct{ kind, body string }{
		{"text/plain", "  disconnect  after produce times=all attempt=1\n"},
		{"text/plain; charset=utf-8", loseEach},
		{"application/json", `{"sentence": "Disconnect after Produce attempt=1..1 times=all"}`},
	} {
		t.Run(c.kind, func(t *testing.T) {
			h := build(t)
			w := h.do(h.post(c.kind, c.body))
			if w.Code != http.StatusCreated {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			rule, _ := fault.Parse(loseEach)
			want := Rule{Sentence: loseEach, English: rule.English()}
			if got := decode[Rule](t, w); got != want {
				t.Errorf("the answer is %+v", got)
			}
			if rules := h.faults.Status(); len(rules) != 1 || rules[0].Rule.String() != loseEach {
				t.Errorf("in force is %v", rules)
			}
			removed := h.do(call{method: "DELETE", path: w.Header().Get("Location")})
			if removed.Code != http.StatusNoContent || len(h.faults.Status()) != 0 {
				t.Errorf("Location %q does not remove it: status %d", w.Header().Get("Location"), removed.Code)
			}
		})
	}
}

func TestFaults_list_tells_counts_and_near_miss(t *testing.T) {
	h := build(t)
	if w := h.get("/faults"); w.Body.String() != "[]\n" {
		t.Errorf("no rules are %s", w.Body)
	}
	h.rule("disconnect after produce topic=orders name=lost")
	h.rule("error 6 before produce topic=order")
	h.produce(batch{topic: "orders", producer: 1000, records: 1})
	rules := decode[[]Rule](t, h.get("/faults"))
	if len(rules) != 2 {
		t.Fatalf("the rules are %+v", rules)
	}
	first, second := rules[0], rules[1]
	if first.Name != "lost" || first.Seen != 1 || first.Matched != 1 || first.Fired != 1 || first.NearMiss != "" {
		t.Errorf("the rule that fired is %+v", first)
	}
	if second.Sentence != "error NOT_LEADER_OR_FOLLOWER before produce topic=order" || second.English == "" || second.Fired != 0 ||
		second.NearMiss != `saw 1 produce request, 0 to "order": 1 to "orders"` || second.Near != "topic=orders" {
		t.Errorf("the rule that did not is %+v", second)
	}
}

func TestFaults_removed_by_name_by_sentence_and_all(t *testing.T) {
	h := build(t)
	for _, s := range []string{"drop after produce name=a.b-c", `drop before fetch client="a/b c?"`, loseEach, "drop after fetch"} {
		h.rule(s)
	}
	for _, c := range []struct {
		path string
		left int
	}{
		{"/faults/a.b-c", 3},
		{"/faults/" + url.PathEscape(`drop before fetch client="a/b c?"`), 2},
		{"/faults", 0},
		{"/faults", 0},
	} {
		if w := h.do(call{method: "DELETE", path: c.path}); w.Code != http.StatusNoContent {
			t.Errorf("DELETE %s: status %d: %s", c.path, w.Code, w.Body)
		}
		if got := len(h.faults.Status()); got != c.left {
			t.Errorf("DELETE %s leaves %d rules, want %d", c.path, got, c.left)
		}
	}
}

func TestFaults_errors(t *testing.T) {
	h := build(t)
	h.rule("drop after fetch name=taken")
	const wantJSON = `{"sentence": "disconnect after produce attempt=1 times=all"}`
	const wantType = `Content-Type: text/plain with the sentence as the body, or application/json with {"sentence": "..."}`
	for _, c := range []struct {
		name   string
		call   call
		status int
		want   Problem
	}{
		{"misspelt", h.post("text/plain", "disconect after produce"), 400,
			Problem{What: `unknown verb "disconect"`, Want: "drop, disconnect, error CODE or delay DURATION", Near: "disconnect"}},
		{"a name that is taken", h.post("text/plain", "drop after produce name=taken"), 409,
			Problem{What: `fault "drop after produce name=taken": that name is taken by "drop after fetch name=taken"`, Want: "another name, or none"}},
		{"no type", call{method: "POST", path: "/faults", body: loseEach}, 415,
			Problem{What: `a body of type "" is not read`, Want: wantType}},
		{"a form", h.post("application/x-www-form-urlencoded", loseEach), 415,
			Problem{What: `a body of type "application/x-www-form-urlencoded" is not read`, Want: wantType}},
		{"not JSON", h.post("application/json", "drop"), 400,
			Problem{What: "the body is not a JSON object: invalid character 'd' looking for beginning of value", Want: wantJSON}},
		{"more than one value", h.post("application/json", `{"sentence":"drop after fetch"} {}`), 400,
			Problem{What: "the body is not a JSON object: invalid character '{' after top-level value", Want: wantJSON}},
		{"a list", h.post("application/json", "[]"), 400,
			Problem{What: "the body is not a JSON object: json: cannot unmarshal array into Go value of type map[string]json.RawMessage", Want: wantJSON}},
		{"no sentence", h.post("application/json", "{}"), 400,
			Problem{What: `the field "sentence" is missing, or is not a text`, Want: wantJSON}},
		{"null", h.post("application/json", `{"sentence":null}`), 400,
			Problem{What: `the field "sentence" is missing, or is not a text`, Want: wantJSON}},
		{"another field", h.post("application/json", `{"Sentences":"drop after fetch"}`), 400,
			Problem{What: `unknown field "Sentences"`, Want: wantJSON, Near: "sentence"}},
		{"too large", h.post("text/plain", strings.Repeat(" ", maxBody+1)), 413,
			Problem{What: "the body has more than 65536 bytes", Want: "one sentence of at most 4096 bytes"}},
		{"removing what is not there", call{method: "DELETE", path: "/faults/nobody"}, 404,
			Problem{What: `no such fault rule: "nobody"; in force: "drop after fetch name=taken"`, Want: "the name or the sentence of a rule that GET /faults lists"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.t = t
			wantProblem(t, h.do(c.call), c.status, c.want)
			if n := len(h.faults.Status()); n != 1 {
				t.Errorf("%d rules are in force", n)
			}
		})
	}
}

func TestFaults_syntax_error_tells_the_place(t *testing.T) {
	h := build(t)
	const sentence = "drop after producee"
	got := decode[Problem](t, h.do(h.post("text/plain", sentence)))
	_, err := fault.Parse(sentence)
	if got.Syntax == nil || got.Error() != err.Error() {
		t.Errorf("the problem is %q, want %q", got.Error(), err)
	}
}

func TestFaults_no_more_than_the_set_holds(t *testing.T) {
	h := build(t)
	for range fault.MaxRules {
		h.rule("drop after fetch")
	}
	w := h.do(h.post("text/plain", "drop after fetch"))
	wantProblem(t, w, 409, Problem{What: fault.ErrFull.Error(), Want: "DELETE /faults first"})
}

func TestFaults_body_of_the_most_bytes_is_read(t *testing.T) {
	h := build(t)
	w := h.do(h.post("text/plain", strings.Repeat(" ", maxBody)))
	if w.Code != http.StatusBadRequest {
		t.Errorf("status %d, want that of a bad sentence", w.Code)
	}
}

func TestProblem_is_one_line(t *testing.T) {
	for _, c := range []struct {
		p    Problem
		want string
	}{
		{Problem{What: "a"}, "a"},
		{Problem{What: "a", Want: "b"}, "a: want b"},
		{Problem{What: "a", Want: "b", Near: "c"}, `a: want b; did you mean "c"?`},
	} {
		if got := c.p.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
