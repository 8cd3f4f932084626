package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/fencepostmq/fencepost/internal/fault"
	"github.com/fencepostmq/fencepost/internal/journal"
)

// verdict answers with the verdict on all topics or on one, as JSON or as the
// report that people read.
func (s *Server) verdict(w http.ResponseWriter, r *http.Request) error {
	select {
	case s.verdicts <- struct{}{}:
		defer func() { <-s.verdicts }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	v, err := s.draw(r.Context(), r.URL.Query())
	if err != nil {
		return err
	}
	if preferred(r, typeJSON, typeText) == typeJSON {
		return writeJSON(w, http.StatusOK, v)
	}
	w.Header().Set("Content-Type", typeText+"; charset=utf-8")
	_, err = io.WriteString(w, v.String())
	return err
}

// draw draws the verdict that is asked for.
func (s *Server) draw(ctx context.Context, query map[string][]string) (fmt.Stringer, error) {
	names := query["topic"]
	switch len(names) {
	case 0:
		v, err := s.o.Journal.Verdict(ctx)
		if v.Topics == nil {
			v.Topics = []journal.TopicVerdict{} // not null, in JSON
		}
		return v, err
	case 1:
		if err := s.knows(names[0]); err != nil {
			return nil, err
		}
		return s.o.Journal.VerdictOf(ctx, names[0])
	}
	return nil, &Problem{Status: http.StatusBadRequest, What: "topic is given more than once", Want: "one topic, or none for all of them"}
}

// knows says whether a batch came for the topic, be it deleted by now. There is no verdict on others,
// and a misspelt name is not exactly once.
func (s *Server) knows(topic string) error {
	known := s.o.Journal.Topics()
	if slices.Contains(known, topic) {
		return nil
	}
	want := "a topic that a batch came for: there is none yet"
	if len(known) > 0 {
		want = "one of " + shortList(known)
	}
	return &Problem{
		Status: http.StatusNotFound,
		What:   fmt.Sprintf("no batch came for topic %q", topic),
		Want:   want, Near: fault.Near(topic, known),
	}
}

// shortList names a few of many.
func shortList(names []string) string {
	const shown = 10
	list := ""
	for i, name := range names[:min(shown, len(names))] {
		if i > 0 {
			list += ", "
		}
		list += fmt.Sprintf("%q", name)
	}
	if more := len(names) - shown; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
