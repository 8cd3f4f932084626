package fencepost_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func metadataRequest() *kmsg.MetadataRequest { return kmsg.NewPtrMetadataRequest() }

// brokersOf is what a client is told as the address of the one broker.
func brokersOf(t testing.TB, cl *kgo.Client) string {
	t.Helper()
	resp, err := cl.SeedBrokers()[0].Request(t.Context(), metadataRequest())
	if err != nil {
		t.Fatal(err)
	}
	b := resp.(*kmsg.MetadataResponse).Brokers
	if len(b) != 1 {
		t.Fatalf("%d brokers", len(b))
	}
	return fmt.Sprintf("%s:%d", b[0].Host, b[0].Port)
}
