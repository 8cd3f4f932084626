package clients

import (
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A topology of Kafka Streams reads as a group and writes with an idempotent
// producer: what it writes stands once, though acks are lost.
func TestStreams_writes_each_record_once_though_acks_are_lost(t *testing.T) {
	t.Parallel()
	c := &client{name: "Kafka Streams", marker: "clients/java/stamp",
		argv: []string{"java", quietJava, "-cp", "@clients/java/jars/*:@clients/java/classes", "Streams"}}
	c.require(t)
	b := fencepost.RunT(t, fencepost.Partitions(2))
	addr := groupBroker(t, b)
	from, to := newFeed(t, addr, uniqueTopic("streams-from")), newFeed(t, addr, uniqueTopic("streams-to"))
	if addr == b.Addr() {
		if err := b.Fault("disconnect after produce topic=" + to.topic + " every=10 times=all"); err != nil {
			t.Fatal(err)
		}
	}
	from.send(t, firstRecords)
	p := c.start(t, addr, uniqueTopic("streams"), from.topic, to.topic, t.TempDir())
	written := map[string]int{}
	consumer, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(to.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	for len(written) < firstRecords {
		consumer.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			if written[string(r.Key)]++; string(r.Value) != "VALUE" {
				t.Errorf("it wrote %q", r.Value)
			}
		})
	}
	p.end(t)
	for key, copies := range written {
		if copies != 1 {
			t.Errorf("%s stands %d times", key, copies)
		}
	}
	if addr == b.Addr() {
		b.CheckExactlyOnce(t, to.topic)
	}
}
