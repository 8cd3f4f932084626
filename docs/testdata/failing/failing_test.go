// Package failing holds tests that fail, so that docs/go-test.md can show how. The
// go command leaves folders named testdata out of ./...
package failing

import (
	"fmt"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kgo"
)

// produce writes two orders.
func produce(t *testing.T, b *fencepost.Broker, options ...kgo.Opt) {
	t.Helper()
	cl, err := kgo.NewClient(append(options, kgo.SeedBrokers(b.Addr()), kgo.DefaultProduceTopic("orders"))...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for n := range 2 {
		order := kgo.KeyStringRecord(fmt.Sprintf("o-%d", n), fmt.Sprintf("order %d", n))
		if err := cl.ProduceSync(t.Context(), order).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWithoutIdempotence(t *testing.T) {
	b := fencepost.RunT(t, fencepost.Topic("orders", 1), fencepost.Seed(42),
		fencepost.Fault("disconnect after produce nth=2"))
	produce(t, b, kgo.DisableIdempotentWrite())
	b.CheckExactlyOnce(t, "orders")
}

func TestMisspeltTopic(t *testing.T) {
	b := fencepost.RunT(t, fencepost.Topic("orders", 1), fencepost.Seed(42),
		fencepost.Fault("disconnect after produce topic=order"))
	produce(t, b)
	b.CheckExactlyOnce(t, "orders")
}
