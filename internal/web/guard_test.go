package web

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestGuard_refuses_foreign_hosts_and_origins(t *testing.T) {
	const loopback, public = "127.0.0.1:9644", "10.0.0.5:9644"
	hostProblem := func(host string) *Problem {
		return &Problem{
			What: `the request is addressed to "` + host + `", and this server listens on loopback only`,
			Want: "localhost, 127.0.0.1 or [::1] as the host",
		}
	}
	originProblem := func(origin, host string) *Problem {
		return &Problem{
			What: `the request comes from a page of "` + origin + `", not of this server`,
			Want: "the page at http://" + host + "/, or a client that sends no Origin",
		}
	}
	for _, c := range []struct {
		name, listener, host, origin string
		refused                      *Problem
	}{
		{"by address", loopback, "127.0.0.1:9644", "", nil},
		{"by name", loopback, "localhost:9644", "", nil},
		{"by name without a port", loopback, "LocalHost", "", nil},
		{"by a name under localhost", loopback, "fencepost.localhost:9644", "", nil},
		{"by another loopback address", loopback, "127.8.8.8:9644", "", nil},
		{"by the IPv6 address", "[::1]:9644", "[::1]:9644", "", nil},
		{"by the IPv6 address without a port", "[::1]:9644", "[::1]", "", nil},
		{"a name that was made to point here", loopback, "evil.example:9644", "", hostProblem("evil.example:9644")},
		{"a name that begins like localhost", loopback, "localhost.evil.example", "", hostProblem("localhost.evil.example")},
		{"another address", loopback, "10.0.0.5:9644", "", hostProblem("10.0.0.5:9644")},
		{"no host", loopback, "", "", hostProblem("")},
		{"any name where all may come", public, "fencepost:9644", "", nil},
		{"any name where all may come from any address", "[::]:9644", "fencepost:9644", "", nil},

		{"own page", loopback, "localhost:9644", "http://localhost:9644", nil},
		{"own page behind TLS", public, "broker.example", "https://Broker.example", nil},
		{"a foreign page", loopback, "localhost:9644", "http://evil.example", originProblem("http://evil.example", "localhost:9644")},
		{"a page of another port", loopback, "localhost:9644", "http://localhost:8080", originProblem("http://localhost:8080", "localhost:9644")},
		{"a page of the other name", loopback, "localhost:9644", "http://127.0.0.1:9644", originProblem("http://127.0.0.1:9644", "localhost:9644")},
		{"a page without an origin", loopback, "localhost:9644", "null", originProblem("null", "localhost:9644")},
		{"a page without an origin and no host", public, "", "null", originProblem("null", "")},
		{"a foreign page where all may come", public, "broker:9644", "http://evil.example", originProblem("http://evil.example", "broker:9644")},
		{"what is no origin", loopback, "localhost:9644", "http://%", originProblem("http://%", "localhost:9644")},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := build(t)
			at, err := net.ResolveTCPAddr("tcp", c.listener)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest("POST", "/reset", nil)
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(at)))
			r.Host = c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			h.lesson()
			w := httptest.NewRecorder()
			h.server.Handler().ServeHTTP(w, r)
			checkAnswer(t, r, w)
			if c.refused == nil {
				if w.Code != http.StatusNoContent {
					t.Errorf("status %d: %s", w.Code, w.Body)
				}
				return
			}
			wantProblem(t, w, http.StatusForbidden, *c.refused)
			if len(h.journal.Events()) == 0 {
				t.Error("it was refused and done all the same")
			}
		})
	}
}

func TestGuard_goes_by_the_listener_not_by_the_connection(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	if got := listenerOf(r); got != "" {
		t.Errorf("without an address the listener is %q", got)
	}
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9644}
	ctx := context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(loopback))
	if got := listenerOf(r.WithContext(ctx)); got != "127.0.0.1:9644" {
		t.Errorf("with a connection only, the listener is %q", got)
	}
	all := newPipes(&net.TCPAddr{IP: net.IPv4zero, Port: 9644})
	ctx = context.WithValue(withListener(all), http.LocalAddrContextKey, net.Addr(loopback))
	if got := listenerOf(r.WithContext(ctx)); got != "0.0.0.0:9644" {
		t.Errorf("with both, the listener is %q", got)
	}
}

func TestGuard_headers(t *testing.T) {
	h := build(t)
	for _, path := range []string{"/", "/verdict", "/nothing", "/metrics"} {
		header := h.get(path).Header()
		for name, want := range map[string]string{
			"Content-Security-Policy":      policy,
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
			"Referrer-Policy":              "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Access-Control-Allow-Origin":  "",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}
