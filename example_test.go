package fencepost_test

import (
	"testing"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The README shows this test as it stands here.
func TestOrders_survive_a_lost_ack(t *testing.T) {
	b := fencepost.RunT(t, fencepost.Topic("orders", 3),
		fencepost.Fault("disconnect after produce attempt=1 times=all"))

	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.DefaultProduceTopic("orders"),
		kgo.MetadataMinAge(10*time.Millisecond)) // kgo waits 5 s before it tries again unless told
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.ProduceSync(t.Context(), kgo.StringRecord("order 1")).FirstErr(); err != nil {
		t.Fatal(err)
	}

	b.CheckExactlyOnce(t, "orders")
}
