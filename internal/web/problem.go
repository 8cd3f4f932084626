package web

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/fencepostmq/fencepost/internal/fault"
)

// A Problem is the body of every answer that is an error.
type Problem struct {
	Status int    `json:"-"`              // the HTTP status
	What   string `json:"error"`          // what was wrong
	Want   string `json:"want,omitempty"` // what would be right
	Near   string `json:"near,omitempty"` // what was probably meant, "" for no idea

	// Syntax is where a fault sentence went wrong.
	Syntax *fault.SyntaxError `json:"syntax,omitempty"`
}

// Error is one line.
func (p *Problem) Error() string {
	if p.Syntax != nil {
		return p.Syntax.Error()
	}
	text := p.What
	if p.Want != "" {
		text += ": want " + p.Want
	}
	if p.Near != "" {
		text += fmt.Sprintf("; did you mean %q?", p.Near)
	}
	return text
}

func (p *Problem) write(w http.ResponseWriter) {
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Connection", "close") // there are too many already
	}
	writeJSON(w, p.Status, p) //nolint:errcheck // there is nobody left to tell
}

// writeJSON answers with a value as JSON.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // no browser takes it for HTML: see guard
	return e.Encode(v)
}
