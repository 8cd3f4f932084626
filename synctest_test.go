package fencepost_test

import (
	"testing"
	"testing/synctest"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kgo"
)

// What one bubble leaves behind, such as a decoder for the next batch, must be of
// use in the next one.
func TestInMemory_serves_each_codec_in_one_bubble_after_another(t *testing.T) {
	for name, codec := range map[string]kgo.CompressionCodec{
		"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		for range 3 {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { produceCompressed(t, codec) })
			})
		}
	}
}

func produceCompressed(t *testing.T, codec kgo.CompressionCodec) {
	b := fencepost.RunT(t, fencepost.InMemory(), fencepost.Topic("orders", 1))
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.Dialer(b.Dial), kgo.ProducerBatchCompression(codec))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 3 {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: make([]byte, 2000)}).FirstErr(); err != nil {
			t.Error(err)
		}
	}
}
