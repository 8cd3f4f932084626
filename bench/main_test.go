package main

import (
	"net"
	"testing"

	"github.com/fencepostmq/fencepost/internal/broker"
	"github.com/fencepostmq/fencepost/internal/wire"
	"go.uber.org/goleak"
	"go.uber.org/zap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serving serves a listener for as long as a test runs.
func serving(t *testing.T, serve func(net.Listener) error, fixed bool) *target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { serve(l); close(ended) }()
	t.Cleanup(func() { l.Close(); <-ended })
	return &target{address: l.Addr().String(), fixed: fixed}
}

// servingChain serves a broker, behind journal and faults unless it is bare.
func servingChain(t *testing.T, bare bool) *target {
	t.Helper()
	b := broker.New(broker.Options{})
	h, err := chain(b, bare)
	if err != nil {
		t.Fatal(err)
	}
	server := wire.NewServer(h, b.TopicName, zap.NewNop())
	to := serving(t, func(l net.Listener) error { return server.Serve(l, wire.Advertised{}) }, false)
	t.Cleanup(func() { server.Shutdown(t.Context()) })
	return to
}

// opened is a load whose topic is there.
func opened(t *testing.T, to *target, w work) *load {
	t.Helper()
	const topic = "measured"
	if !to.fixed {
		if _, err := prepare(t.Context(), to, w, topic); err != nil {
			t.Fatal(err)
		}
	}
	l, err := openLoad(t.Context(), to, w, topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	return l
}
