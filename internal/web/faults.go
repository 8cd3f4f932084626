package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"

	"github.com/fencepostmq/fencepost/internal/fault"
	"go.uber.org/zap"
)

// maxBody is the largest body of a request, in bytes. The longest sentence is
// far below.
const maxBody = 64 << 10

// A Rule is a fault rule and what came of it.
type Rule struct {
	Sentence string `json:"sentence"` // in its canonical form
	English  string `json:"english"`
	Name     string `json:"name,omitempty"`
	Seen     int    `json:"seen"`    // requests of its API
	Matched  int    `json:"matched"` // of these, those that it matches
	Fired    int    `json:"fired"`
	Unable   int    `json:"unable"` // times that there was no answer to change

	NearMiss string `json:"near_miss,omitempty"` // what it saw instead, until it has fired
	Near     string `json:"near,omitempty"`      // what was probably meant, such as topic=orders
}

func ruleOf(s fault.Status) Rule {
	return Rule{
		Sentence: s.Rule.String(), English: s.Rule.English(), Name: s.Rule.Name,
		Seen: s.Seen, Matched: s.Matched, Fired: s.Fired, Unable: s.Unable,
		NearMiss: s.NearMiss, Near: s.Near,
	}
}

func (s *Server) listFaults(w http.ResponseWriter, _ *http.Request) error {
	rules := []Rule{}
	for _, st := range s.o.Faults.Status() {
		rules = append(rules, ruleOf(st))
	}
	return writeJSON(w, http.StatusOK, rules)
}

func (s *Server) addFault(w http.ResponseWriter, r *http.Request) error {
	sentence, err := readSentence(w, r)
	if err != nil {
		return err
	}
	rule, err := fault.Parse(sentence)
	if err == nil {
		rule, err = s.o.Faults.Add(rule)
	}
	if err != nil {
		return faultProblem(err)
	}
	s.o.Log.Info("fault rule added", zap.Stringer("rule", rule))
	w.Header().Set("Location", "/faults/"+url.PathEscape(handle(rule)))
	return writeJSON(w, http.StatusCreated, ruleOf(fault.Status{Rule: rule}))
}

// handle is what a rule is removed by.
func handle(r fault.Rule) string {
	if r.Name != "" {
		return r.Name
	}
	return r.String()
}

func (s *Server) clearFaults(w http.ResponseWriter, _ *http.Request) error {
	s.o.Faults.Clear()
	s.o.Log.Info("all fault rules removed")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) removeFault(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := s.o.Faults.Remove(name); err != nil {
		return faultProblem(err)
	}
	s.o.Log.Info("fault rule removed", zap.String("rule", name))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// faultProblem is what to answer to an error of package fault.
func faultProblem(err error) *Problem {
	var syntax *fault.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return &Problem{Status: http.StatusBadRequest, What: syntax.Problem, Want: syntax.Want, Near: syntax.Near, Syntax: syntax}
	case errors.Is(err, fault.ErrNameTaken):
		return &Problem{Status: http.StatusConflict, What: err.Error(), Want: "another name, or none"}
	case errors.Is(err, fault.ErrFull):
		return &Problem{Status: http.StatusConflict, What: err.Error(), Want: "DELETE /faults first"}
	case errors.Is(err, fault.ErrNoSuchRule):
		return &Problem{Status: http.StatusNotFound, What: err.Error(), Want: "the name or the sentence of a rule that GET /faults lists"}
	}
	return &Problem{Status: http.StatusInternalServerError, What: err.Error()}
}

// readSentence is the sentence that a request holds.
func readSentence(w http.ResponseWriter, r *http.Request) (string, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != typeJSON && kind != typeText {
		return "", &Problem{
			Status: http.StatusUnsupportedMediaType,
			What:   fmt.Sprintf("a body of type %q is not read", r.Header.Get("Content-Type")),
			Want:   `Content-Type: text/plain with the sentence as the body, or application/json with {"sentence": "..."}`,
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return "", &Problem{
			Status: http.StatusRequestEntityTooLarge,
			What:   fmt.Sprintf("the body has more than %d bytes", maxBody),
			Want:   fmt.Sprintf("one sentence of at most %d bytes", fault.MaxSentence),
		}
	case err != nil:
		return "", err
	case kind == typeText:
		return string(body), nil
	}
	return sentenceIn(body)
}

// sentenceIn reads {"sentence": "..."} and nothing else.
func sentenceIn(body []byte) (string, error) {
	const want = `{"sentence": "disconnect after produce attempt=1 times=all"}`
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return "", &Problem{Status: http.StatusBadRequest, What: "the body is not a JSON object: " + err.Error(), Want: want}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "sentence" {
			return "", &Problem{
				Status: http.StatusBadRequest, What: fmt.Sprintf("unknown field %q", name),
				Want: want, Near: fault.Near(name, []string{"sentence"}),
			}
		}
	}
	var sentence *string
	if err := json.Unmarshal(fields["sentence"], &sentence); err != nil || sentence == nil {
		return "", &Problem{Status: http.StatusBadRequest, What: `the field "sentence" is missing, or is not a text`, Want: want}
	}
	return *sentence, nil
}
