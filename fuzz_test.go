package fencepost_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// fuzzFaults are rules that take requests and answers apart.
var fuzzFaults = []string{
	"error NOT_LEADER_OR_FOLLOWER before produce partition=1 times=all",
	"error REQUEST_TIMED_OUT after produce partition=2 times=all",
	"error UNKNOWN_SERVER_ERROR after fetch partition=0 every=2",
	"delay 10ms after metadata every=3",
	"drop after list_offsets every=5",
}

// FuzzConnection puts arbitrary bytes on a connection of a whole broker. No
// request may make it fail, it ends, and its verdict can be drawn.
func FuzzConnection(f *testing.F) {
	for _, frame := range capturedFrames(f) {
		f.Add(frame)
	}
	for _, api := range wire.Served() {
		for v := api.Min; v <= api.Max; v++ {
			req := kmsg.RequestForKey(api.Key)
			req.SetVersion(v)
			f.Add(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1))
		}
	}
	f.Add(bytes.Repeat(producing(1, 2), 3))
	f.Add(append(producing(math.MaxInt32, 1), fetching()...))
	f.Fuzz(func(t *testing.T, sent []byte) {
		synctest.Test(t, func(t *testing.T) { serveFuzzed(t, sent) })
	})
}

// serveFuzzed runs a broker in virtual time and sends it the bytes.
func serveFuzzed(t *testing.T, sent []byte) {
	core, logs := observer.New(zapcore.ErrorLevel)
	options := []fencepost.Option{
		fencepost.InMemory(), fencepost.Topic("orders", 3), fencepost.Seed(1), fencepost.UnknownProducer("accept"),
		fencepost.Memory(64 << 20), fencepost.Log(zap.New(core)),
	}
	for _, rule := range fuzzFaults {
		options = append(options, fencepost.Fault(rule))
	}
	b, err := fencepost.Run(options...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, c) //nolint:errcheck // ends with the connection
	c.Write(sent)             //nolint:errcheck // the broker may close before it has read all
	synctest.Wait()
	c.Close()
	b.Close()
	if _, err := b.Verdict(context.Background()); err != nil {
		t.Errorf("the verdict: %v", err)
	}
	for _, e := range logs.All() {
		t.Errorf("%s: %v", e.Message, e.ContextMap())
	}
}

// capturedFrames are requests that stock clients sent, one by one and those of
// each client behind one another.
func capturedFrames(f *testing.F) (all [][]byte) {
	files, err := filepath.Glob("internal/wire/testdata/frames/*/*.hex")
	if err != nil || len(files) == 0 {
		f.Fatalf("there are no frames: %v", err)
	}
	byClient := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		raw, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
		if err != nil {
			f.Fatalf("%s: %v", file, err)
		}
		frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...)
		all = append(all, frame)
		byClient[filepath.Dir(file)] = append(byClient[filepath.Dir(file)], frame...)
	}
	for _, frames := range byClient {
		all = append(all, frames)
	}
	return all
}

// producing is a Produce of an idempotent batch without records in it for each
// partition.
func producing(sequence int32, partitions int32) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks = 9, -1
	topic := kmsg.ProduceRequestTopic{Topic: "orders"}
	for n := range partitions {
		batch := kmsg.RecordBatch{Length: 49, Magic: 2, ProducerID: 1, FirstSequence: sequence, NumRecords: 1}
		topic.Partitions = append(topic.Partitions, kmsg.ProduceRequestTopicPartition{Partition: n, Records: batch.AppendTo(nil)})
	}
	req.Topics = append(req.Topics, topic)
	return kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)
}

func fetching() []byte {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MinBytes, req.MaxWaitMillis = 11, 1, math.MaxInt32
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = "orders", append(t.Partitions, kmsg.NewFetchRequestTopicPartition())
	req.Topics = append(req.Topics, t)
	return kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)
}
