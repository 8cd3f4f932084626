package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const loseEveryAck = "disconnect after produce topic=orders attempt=1 times=all"

// quick lets a client try again at once, where it would take its time against a
// cluster.
var quick = []kgo.Opt{
	kgo.RetryBackoffFn(func(int) time.Duration { return time.Millisecond }),
	kgo.MetadataMinAge(10 * time.Millisecond),
}

func TestOrders_survive_lost_acks(t *testing.T) {
	b := fencepost.RunT(t, fencepost.Topic("orders", 1), fencepost.Fault(loseEveryAck))

	if err := run(t.Context(), b.Addr(), 10, quick...); err != nil {
		t.Fatal(err)
	}

	b.CheckExactlyOnce(t, "orders")
	if lost, _ := b.Fired(loseEveryAck); lost != 10 {
		t.Errorf("%d acknowledgements were lost, not 10", lost)
	}
}

func TestOrders_are_duplicated_without_idempotence(t *testing.T) {
	b := fencepost.RunT(t, fencepost.Topic("orders", 1), fencepost.Fault(loseEveryAck))

	if err := run(t.Context(), b.Addr(), 10, append(quick, kgo.DisableIdempotentWrite())...); err != nil {
		t.Fatal(err)
	}

	v, err := b.Verdict(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v.ExactlyOnce || v.Topics[0].Totals.Duplicated != 10 {
		t.Errorf("the verdict is\n%s", v)
	}
}

// In a bubble a minute of waiting takes no time. The broker is reached without a
// network, through its Dial.
func TestOrders_survive_an_ack_that_never_comes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := fencepost.RunT(t, fencepost.InMemory(), fencepost.Topic("orders", 1),
			fencepost.Fault("drop after produce topic=orders nth=2"))

		if err := run(t.Context(), b.Addr(), 10, kgo.Dialer(b.Dial)); err != nil {
			t.Fatal(err)
		}

		b.CheckExactlyOnce(t, "orders")
	})
}

// TestOrders_survive_whatever_is_lost tries the cells of the grid, one after the
// other, but for those that it says: a fatal error is rightly told, a client waits
// out its timeouts where nothing comes, and kgo fails what it is to send when the
// connection is cut while it asks for a producer id.
func TestOrders_survive_whatever_is_lost(t *testing.T) {
	fencepost.Sweep(t, func(t *testing.T, b *fencepost.Broker) {
		if err := run(t.Context(), b.Addr(), 3, quick...); err != nil {
			t.Fatal(err)
		}
	}, fencepost.Skip("fatal", "drop", "delay", "init_producer_id/*/disconnect/*"), fencepost.With(fencepost.Topic("orders", 1)))
}
