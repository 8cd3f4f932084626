package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// policy lets the page load what this server serves, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard refuses what pages of other origins send through a browser, and puts
// the headers on every answer that keep a browser to the letter.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		for _, foreign := range []func(*http.Request) *Problem{foreignHost, foreignOrigin} {
			if p := foreign(r); p != nil {
				p.write(w)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// foreignHost refuses a request over a loopback listener that was addressed to
// another name: a name of somebody else's that was made to point here (DNS
// rebinding), so that the browser takes their page for this server's own.
func foreignHost(r *http.Request) *Problem {
	if !isLoopback(listenerOf(r)) || isLoopback(r.Host) {
		return nil
	}
	return &Problem{
		Status: http.StatusForbidden,
		What:   fmt.Sprintf("the request is addressed to %q, and this server listens on loopback only", r.Host),
		Want:   "localhost, 127.0.0.1 or [::1] as the host",
	}
}

// foreignOrigin refuses a request that a page of another origin sends. Clients
// that are no browsers send no Origin.
func foreignOrigin(r *http.Request) *Problem {
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
			continue
		}
		return &Problem{
			Status: http.StatusForbidden,
			What:   fmt.Sprintf("the request comes from a page of %q, not of this server", origin),
			Want:   fmt.Sprintf("the page at http://%s/, or a client that sends no Origin", r.Host),
		}
	}
	return nil
}

// isLoopback says whether a HOST or HOST:PORT can only be this machine.
func isLoopback(address string) bool {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

type listenerKey struct{}

// withListener makes the address of the listener known to the requests that
// come over it.
func withListener(l net.Listener) context.Context {
	return context.WithValue(context.Background(), listenerKey{}, l.Addr())
}

// listenerOf is the address that a request was listened for on: the
// connection's own where only that is known, "" where nothing is.
func listenerOf(r *http.Request) string {
	for _, key := range []any{listenerKey{}, http.LocalAddrContextKey} {
		if a, ok := r.Context().Value(key).(net.Addr); ok {
			return a.String()
		}
	}
	return ""
}
