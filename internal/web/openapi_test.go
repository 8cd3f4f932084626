package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
)

// A description is openapi.yaml.
type description struct{ root map[string]any }

var readDescription = sync.OnceValue(func() *description {
	text, err := page.ReadFile("page/openapi.yaml")
	if err != nil {
		panic(err)
	}
	d := &description{}
	if err := yaml.Unmarshal(text, &d.root); err != nil {
		panic(err)
	}
	return d
})

// find follows a reference such as #/components/schemas/Rule.
func (d *description) find(ref string) map[string]any {
	at := d.root
	for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		at, _ = at[step].(map[string]any)
	}
	if at == nil {
		panic("openapi.yaml has no " + ref)
	}
	return at
}

// operations lists what is described, as GET /verdict.
func (d *description) operations() map[string]map[string]any {
	all := map[string]map[string]any{}
	for path, item := range asSchema(d.root["paths"]) {
		for method, operation := range asSchema(item) {
			all[strings.ToUpper(method)+" "+path] = asSchema(operation)
		}
	}
	return all
}

// contents are the media types of a response or of a body.
func (d *description) contents(response any) map[string]any {
	r := asSchema(response)
	if ref, ok := r["$ref"].(string); ok {
		r = d.find(ref)
	}
	return asSchema(r["content"])
}

// checkAnswer fails a test whose request got what is not described.
func checkAnswer(t testing.TB, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	if err := readDescription().checkAnswer(r, w); err != nil {
		t.Errorf("%s %s is not as openapi.yaml has it: status %d: %v", r.Method, r.URL, w.Code, err)
	}
}

func (d *description) checkAnswer(r *http.Request, w *httptest.ResponseRecorder) error {
	path := r.URL.Path
	if rest, ok := strings.CutPrefix(path, "/faults/"); ok && rest != "" {
		path = "/faults/{name}"
	}
	operation, known := d.operations()[r.Method+" "+path]
	response, said := asSchema(operation["responses"])[fmt.Sprint(w.Code)]
	switch {
	case known && said:
		return d.checkBody(d.contents(response), w)
	case w.Code == http.StatusForbidden, w.Code == http.StatusMethodNotAllowed, known && w.Code == http.StatusBadRequest, !known && w.Code == http.StatusNotFound:
		return d.checkBody(d.contents(d.find("#/components/responses/Bad")), w) // whatever the path
	}
	return fmt.Errorf("not described")
}

func (d *description) checkBody(contents map[string]any, w *httptest.ResponseRecorder) error {
	if len(contents) == 0 {
		if w.Body.Len() > 0 {
			return fmt.Errorf("there is a body")
		}
		return nil
	}
	kind, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	content, ok := contents[kind]
	if err != nil || !ok {
		return fmt.Errorf("type %q", w.Header().Get("Content-Type"))
	}
	if kind != typeJSON {
		return nil
	}
	var body any
	if err := json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(&body); err != nil {
		return err
	}
	return d.check(asSchema(asSchema(content)["schema"]), body, "body")
}

func TestOpenAPI_describes_every_route_and_no_other(t *testing.T) {
	described := readDescription().operations()
	for _, r := range build(t).server.routes() {
		name := r.method + " " + r.path
		operation, ok := described[name]
		if !ok {
			t.Errorf("%s is served, and not described", name)
		}
		delete(described, name)
		if got := parameters(operation, "query"); !slices.Equal(got, slices.Sorted(slices.Values(r.query))) {
			t.Errorf("%s knows the parameters %q, and %q are described", name, r.query, got)
		}
	}
	for name := range described {
		t.Errorf("%s is described, and not served", name)
	}
}

func parameters(operation map[string]any, in string) (names []string) {
	for _, p := range asList(operation["parameters"]) {
		if p := asSchema(p); p["in"] == in {
			names = append(names, p["name"].(string))
		}
	}
	slices.Sort(names)
	return names
}

// TestOpenAPI_examples_are_of_their_schema goes over all content with examples,
// and wants one wherever the content is JSON.
func TestOpenAPI_examples_are_of_their_schema(t *testing.T) {
	d := readDescription()
	for name, operation := range d.operations() {
		responses := maps.Clone(asSchema(operation["responses"]))
		if body, ok := operation["requestBody"]; ok {
			responses["request"] = body
		}
		for status, response := range responses {
			for kind, content := range d.contents(response) {
				if kind == typeJSON {
					d.checkExamples(t, name+" "+status, asSchema(content))
				}
			}
		}
	}
}

func (d *description) checkExamples(t *testing.T, at string, content map[string]any) {
	examples := asSchema(content["examples"])
	if len(examples) == 0 {
		t.Errorf("%s: there is no example", at)
	}
	for name, example := range examples {
		if err := d.check(asSchema(content["schema"]), asSchema(example)["value"], name); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestSchema_check_finds_what_is_wrong(t *testing.T) {
	d := readDescription()
	problem := schema{"$ref": "#/components/schemas/Problem"}
	for _, c := range []struct {
		name  string
		s     schema
		value any
		want  string
	}{
		{"right", problem, map[string]any{"error": "e", "want": "w"}, ""},
		{"missing", problem, map[string]any{"want": "w"}, `v: "error" is required, and missing`},
		{"not described", problem, map[string]any{"error": "e", "wanted": "w"}, `v: "wanted" is not described`},
		{"another type", problem, map[string]any{"error": 1.0}, "v.error is 1, want string"},
		{"null", schema{"type": "array"}, nil, "v is <nil>, want array"},
		{"either", schema{"type": []any{"array", "null"}}, nil, ""},
		{"too low", schema{"type": "integer", "minimum": uint64(0)}, -1.0, "v is -1, want at least 0"},
		{"in a list", schema{"type": "array", "items": map[string]any{"type": "integer"}}, []any{1.0, 1.5}, "v[1] is 1.5, want integer"},
		{"not one of", schema{"type": "string", "enum": []any{"a"}}, "b", "v is b, want one of [a]"},
		{"unknown word", schema{"type": "string", "pattern": "a"}, "b", `v: the schema says "pattern", which this check does not know`},
		{"two at once", schema{"oneOf": []any{map[string]any{"type": "string"}, map[string]any{"type": "string"}}}, "b", "v: 2 of 2 schemas hold, want one: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if err := d.check(c.s, c.value, "v"); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
