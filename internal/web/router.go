package web

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/fencepostmq/fencepost/internal/fault"
)

// A route is one method of one path. openapi.yaml describes each.
type route struct {
	method string
	path   string   // {name} stands for one segment
	query  []string // the parameters it knows
	handle func(http.ResponseWriter, *http.Request) error
}

func (s *Server) routes() []route {
	return []route{
		{"GET", "/", nil, asset("index.html")},
		{"GET", "/app.js", nil, asset("app.js")},
		{"GET", "/style.css", nil, asset("style.css")},
		{"GET", "/icon.svg", nil, asset("icon.svg")},
		{"GET", "/verdict", []string{"topic"}, s.verdict},
		{"GET", "/events", []string{"since", "follow"}, s.events},
		{"GET", "/faults", nil, s.listFaults},
		{"POST", "/faults", nil, s.addFault},
		{"DELETE", "/faults", nil, s.clearFaults},
		{"DELETE", "/faults/{name}", nil, s.removeFault},
		{"POST", "/reset", nil, s.reset},
		{"GET", "/metrics", nil, s.metrics.serve},
		{"GET", "/healthz", nil, s.healthz},
		{"GET", "/openapi.yaml", nil, asset("openapi.yaml")},
	}
}

// newRouter makes a handler of routes that answers for every other path and
// method with a Problem.
func newRouter(routes []route) http.Handler {
	mux := http.NewServeMux()
	paths := map[string][]route{}
	for _, r := range routes {
		paths[r.path] = append(paths[r.path], r)
	}
	for path, methods := range paths {
		pattern := path
		if path == "/" {
			pattern = "/{$}"
		}
		mux.HandleFunc(pattern, byMethod(methods))
	}
	mux.HandleFunc("/", notFound(routes))
	return mux
}

// byMethod serves the routes of one path. HEAD is GET without a body.
func byMethod(routes []route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		i := slices.IndexFunc(routes, func(o route) bool { return o.method == method })
		if i < 0 {
			methodNotAllowed(w, r, routes)
			return
		}
		routes[i].serve(w, r)
	}
}

// serve answers a request, or says what is wrong with it.
func (o *route) serve(w http.ResponseWriter, r *http.Request) {
	err := o.checkQuery(r)
	if err == nil {
		err = o.handle(w, r)
	}
	var p *Problem
	if errors.As(err, &p) {
		p.write(w)
	}
	// Any other error is a client that went away.
}

// checkQuery refuses parameters that nobody would read.
func (o *route) checkQuery(r *http.Request) error {
	for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
		if slices.Contains(o.query, name) {
			continue
		}
		want := "no parameters"
		if len(o.query) > 0 {
			want = strings.Join(o.query, ", ")
		}
		return &Problem{
			Status: http.StatusBadRequest,
			What:   fmt.Sprintf("unknown parameter %q", name),
			Want:   want, Near: fault.Near(name, o.query),
		}
	}
	return nil
}

func methodNotAllowed(w http.ResponseWriter, r *http.Request, routes []route) {
	var allowed []string
	for _, o := range routes {
		allowed = append(allowed, o.method)
		if o.method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	p := Problem{
		Status: http.StatusMethodNotAllowed,
		What:   fmt.Sprintf("%s cannot be done to %s", r.Method, r.URL.Path),
		Want:   list,
	}
	p.write(w)
}

// notFound names the routes.
func notFound(routes []route) http.HandlerFunc {
	var list, paths []string
	for _, o := range routes {
		list = append(list, o.method+" "+o.path)
		if o.path != "/" {
			paths = append(paths, o.path)
		}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		p := Problem{
			Status: http.StatusNotFound,
			What:   fmt.Sprintf("there is nothing at %s", r.URL.Path),
			Want:   strings.Join(list, ", "),
			Near:   fault.Near(r.URL.Path, paths),
		}
		p.write(w)
	}
}
