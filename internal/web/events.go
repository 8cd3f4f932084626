package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sort"
	"strconv"

	"github.com/fencepostmq/fencepost/internal/journal"
)

// An eventsQuery is what a client wants of GET /events.
type eventsQuery struct {
	since  uint64 // the number of the last event that it knows, 0 for none
	follow bool   // whether it waits for further ones
}

// readEventsQuery prefers the header to the parameter: a browser that comes back
// sends the address it first had, and in the header what it has seen since.
func readEventsQuery(r *http.Request) (q eventsQuery, err error) {
	values := r.URL.Query()
	q.follow, err = followOf(r, values)
	if err != nil {
		return q, err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		q.since, err = eventNumber("Last-Event-ID", last)
	} else if values.Has("since") {
		q.since, err = eventNumber("since", values.Get("since"))
	}
	return q, err
}

func eventNumber(name, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, &Problem{
			Status: http.StatusBadRequest,
			What:   fmt.Sprintf("%s %q is no number of an event", name, text),
			Want:   "0 for all that are kept, or the number of the last event seen",
		}
	}
	return n, nil
}

// followOf goes by the parameter if there is one, and else by what the client
// accepts.
func followOf(r *http.Request, values url.Values) (bool, error) {
	switch values.Get("follow") {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	if values.Has("follow") {
		return false, &Problem{
			Status: http.StatusBadRequest,
			What:   fmt.Sprintf("follow %q is neither yes nor no", values.Get("follow")),
			Want:   "true or false",
		}
	}
	return preferred(r, typeStream, typeJSON) == typeStream, nil
}

// events answers with the events that are kept, and unless told otherwise goes
// on with those that come.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	q, err := readEventsQuery(r)
	if err != nil {
		return err
	}
	if !q.follow {
		events, _ := after(s.o.Journal.Events(), q.since)
		return writeJSON(w, http.StatusOK, events)
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		return &Problem{
			Status: http.StatusServiceUnavailable,
			What:   fmt.Sprintf("%d clients follow the events already, which is the most", maxStreams),
			Want:   "GET /events?follow=false",
		}
	}
	w.Header().Set("Content-Type", typeStream)
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	return s.stream(ctx, w, q.since)
}

// after lists the events behind number since. A number that is yet to come is
// from before a reset: all events are news to whoever has it.
func after(events []journal.Event, since uint64) (rest []journal.Event, reset bool) {
	newest := uint64(0)
	if len(events) > 0 {
		newest = events[len(events)-1].Number
	}
	if since > newest {
		return events, true
	}
	return events[sort.Search(len(events), func(i int) bool { return events[i].Number > since }):], false
}
