package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimitListener_makes_further_connections_wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(loopbackAddress)
		l := limitListener(p, 2)
		accepted := make(chan net.Conn)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					close(accepted)
					return
				}
				accepted <- c
			}
		}()
		var clients, servers []net.Conn
		for range 2 {
			clients = append(clients, p.dial())
			servers = append(servers, <-accepted)
		}
		dialed := make(chan net.Conn, 1)
		go func() { dialed <- p.dial() }()
		synctest.Wait()
		if len(dialed) != 0 {
			t.Fatal("a third connection was accepted")
		}
		servers[0].Close()
		servers[0].Close() // gives back one place, not two
		third := <-accepted
		go func() { dialed <- p.dial() }()
		synctest.Wait()
		if len(dialed) != 1 {
			t.Fatal("a fourth connection was accepted")
		}
		l.Close() // ends the Accept that waits for a place
		<-accepted
		third.Close()
		servers[1].Close()
		for _, c := range clients {
			c.Close()
		}
		(<-dialed).Close()
		go func() { <-p.conns }() // lets the fourth end
		(<-dialed).Close()
	})
}

func TestLimitListener_keeps_its_places_when_accepting_fails(t *testing.T) {
	p := newPipes(loopbackAddress)
	p.Close()
	l := limitListener(p, 1)
	for range 3 {
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept: %v", err)
		}
	}
	l.Close()
	l.Close()
}

func TestServe_cuts_off_who_is_slow(t *testing.T) {
	const head = "POST /faults HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n"
	for _, c := range []struct {
		name, sends string
		after       time.Duration
	}{
		{"with the head", head, headerTime},
		{"with the body", head + "\r\ndrop", readTime},
		{"with the next request", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", idleTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, _ *house, p *pipes) {
				begin := time.Now()
				conn := p.dial()
				go fmt.Fprint(conn, c.sends)
				io.Copy(io.Discard, conn) //nolint:errcheck // ends when it is cut off
				if took := time.Since(begin); took.Round(time.Second) != c.after {
					t.Errorf("it was cut off after %v, want %v", took, c.after)
				}
			})
		})
	}
}

func TestServe_refuses_a_head_that_is_too_long(t *testing.T) {
	bubble(t, func(t *testing.T, _ *house, p *pipes) {
		conn := p.dial()
		go fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", strings.Repeat("x", 2*maxHeaderBytes))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("status %d", resp.StatusCode)
		}
		conn.Close()
		<-time.After(time.Second) // net/http lingers, so that the answer is not lost
	})
}

func TestServe_refuses_a_foreign_host_on_its_loopback_listener(t *testing.T) {
	bubble(t, func(t *testing.T, _ *house, p *pipes) {
		for host, want := range map[string]int{"localhost": 200, "evil.example": 403} {
			conn := p.dial()
			go fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body) //nolint:errcheck // so that the server ends
			if resp.StatusCode != want {
				t.Errorf("Host %s: status %d, want %d", host, resp.StatusCode, want)
			}
			conn.Close()
		}
	})
}

func TestShutdown_lets_a_request_end(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := build(t)
		entered, leave := make(chan struct{}), make(chan struct{})
		h.server.o.Reset = func() { close(entered); <-leave }
		p := newPipes(loopbackAddress)
		served := make(chan error, 1)
		go func() { served <- h.server.Serve(p) }()
		conn := p.dial()
		go fmt.Fprint(conn, "POST /reset HTTP/1.1\r\nHost: localhost\r\n\r\n")
		<-entered
		down := make(chan error, 1)
		go func() { down <- h.server.Shutdown(t.Context()) }()
		synctest.Wait()
		if len(down) != 0 {
			t.Fatal("Shutdown did not wait")
		}
		close(leave)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusNoContent {
			t.Errorf("the request got %v, %v", resp, err)
		}
		if err := <-down; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
		if err := h.server.Serve(newPipes(loopbackAddress)); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve after Shutdown: %v", err)
		}
	})
}

func TestShutdown_cuts_off_what_does_not_end_in_time(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := build(t)
		leave := make(chan struct{})
		h.server.o.Reset = func() { <-leave }
		p := newPipes(loopbackAddress)
		served := make(chan error, 1)
		go func() { served <- h.server.Serve(p) }()
		conn := p.dial()
		go fmt.Fprint(conn, "POST /reset HTTP/1.1\r\nHost: localhost\r\n\r\n")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := h.server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("the connection ended with %v", err)
		}
		close(leave)
		<-served
	})
}
