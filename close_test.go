package fencepost_test

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepostmq/fencepost"
)

// Whatever clients and rules keep under way, a broker ends within a second.
func TestBroker_Close_ends_within_a_second(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
		sent       []byte
		reads      bool
	}{
		{"while a Fetch waits", "", fetching(), true},
		{"while an answer is delayed", "delay 1h after produce", producing(0, 1), true},
		{"while a request is delayed", "delay 1h before produce", producing(0, 1), true},
		{"while a client does not read", "", producing(0, 1), false},
		{"in the middle of a request", "", producing(0, 1)[:20], true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				options := []fencepost.Option{fencepost.InMemory(), fencepost.Topic("orders", 1)}
				if tt.rule != "" {
					options = append(options, fencepost.Fault(tt.rule))
				}
				closeWithin(t, options, tt.sent, tt.reads)
			})
		})
	}
}

func closeWithin(t *testing.T, options []fencepost.Option, sent []byte, reads bool) {
	b, err := fencepost.Run(options...)
	if err != nil {
		t.Fatal(err)
	}
	var c net.Conn
	if c, err = b.Dial(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(sent); err != nil {
		t.Fatal(err)
	}
	if reads {
		go io.Copy(io.Discard, c) //nolint:errcheck // ends with the connection
	}
	synctest.Wait()
	begun := time.Now()
	b.Close()
	if took := time.Since(begun); took > time.Second {
		t.Errorf("it took %v", took)
	}
}
