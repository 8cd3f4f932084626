package clients

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// records is how many records a client sends to a topic, lostBatch how many in a batch.
	records, lostBatch = 1000, 10
	// leastLost is how many acknowledgements have to be lost. Some clients fill a
	// batch in their own way, and send fewer than records / lostBatch.
	leastLost = 5
)

var codecNames = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// loseAcks has it send records to a topic for each codec, and to one without
// idempotence, while every tenth batch loses its acknowledgement.
func (c *client) loseAcks(t *testing.T, p *page, b *fencepost.Broker) {
	var safe, unsafe []string
	if c.without != "idempotence" {
		safe = c.lostJobs(t, b, c.codecs, "idempotent")
	}
	if c.without != "plain" {
		unsafe = c.lostJobs(t, b, c.codecs[:1], "plain")
	}
	outcomes := c.outcomes(t, b.Addr(), append(safe, unsafe...))
	var did, verdicts []string
	var waits []time.Duration
	for _, job := range safe {
		topic := topicOf(job)
		log := readBack(t, b.Addr(), topic)
		checkOnce(t, log, outcomes[topic])
		checkLog(t, log, strings.Split(job, ",")[2])
		done, wait := recovered(t, eventsOn(b, topic))
		did, waits = append(did, done...), append(waits, wait...)
		v := verdictOn(t, b, topic)
		if verdicts = append(verdicts, findings(v)); !v.ExactlyOnce {
			t.Error(v)
		}
	}
	if len(safe) > 0 {
		p.set(t, "lost", c.name, "verdict", words(verdicts))
	} else {
		did, waits = recovered(t, eventsOn(b, topicOf(unsafe[0])))
		p.set(t, "lost", c.name, "verdict", "has no idempotence")
	}
	p.set(t, "lost", c.name, "when its ack is lost", words(did))
	p.set(t, "lost", c.name, recoveryColumn, median(waits))
	p.set(t, "lost", c.name, "codecs", strings.Join(c.codecs[1:], ", "))
	for _, job := range unsafe {
		c.checkTwice(t, p, b, topicOf(job))
	}
}

// checkTwice looks at what came of records that were sent without idempotence.
func (c *client) checkTwice(t *testing.T, p *page, b *fencepost.Broker, topic string) {
	v := verdictOn(t, b, topic)
	if findings(v) != "duplicated" {
		t.Errorf("without idempotence, and the verdict is %s", v)
	}
	p.set(t, "lost", c.name, "without idempotence", findings(v))
	checkLog(t, readBack(t, b.Addr(), topic), "none")
}

func (c *client) lostJobs(t *testing.T, b *fencepost.Broker, codecs []string, mode string) (jobs []string) {
	for _, codec := range codecs {
		topic := mode + "-" + codec
		makeTopic(t, b, topic, fmt.Sprintf("disconnect after produce topic=%s every=10 times=all", topic))
		jobs = append(jobs, fmt.Sprintf("%s,%d,%s,%d,%s", topic, records, codec, lostBatch, mode))
	}
	return jobs
}

func topicOf(job string) string { return strings.Split(job, ",")[0] }

func makeTopic(t *testing.T, b *fencepost.Broker, topic, sentence string) {
	t.Helper()
	if err := b.CreateTopic(topic, 1); err != nil {
		t.Fatal(err)
	}
	if err := b.Fault(sentence); err != nil {
		t.Fatal(err)
	}
}

// key is the key of record n.
func key(n int) string { return fmt.Sprintf("k-%d", n) }

// readBack reads a topic of one partition from end to end.
func readBack(t *testing.T, addr, topic string) (log []*kgo.Record) {
	t.Helper()
	consumer, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}))
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	ctx, cancel := context.WithTimeout(t.Context(), clientPatience)
	defer cancel()
	ends, err := kadm.NewClient(consumer).ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	for end, _ := ends.Lookup(topic, 0); int64(len(log)) < end.Offset; {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("reading %s: %v", topic, err)
		}
		log = append(log, fetches.Records()...)
	}
	return log
}

// checkOnce fails unless the log holds every record once, at the offset that the
// client was told, if it was told one.
func checkOnce(t *testing.T, log []*kgo.Record, outcomes []told) {
	t.Helper()
	if len(outcomes) != records || len(log) != records {
		t.Errorf("the client was told of %d records, and the log holds %d", len(outcomes), len(log))
		return
	}
	keys := map[string]int64{}
	for _, r := range log {
		keys[string(r.Key)] = r.Offset
	}
	for _, o := range outcomes {
		at, stands := keys[key(o.N)]
		if !stands || o.Error != "" || o.Offset >= 0 && o.Offset != at {
			t.Errorf("record %d stands at %d (%t), and the client was told %+v", o.N, at, stands, o)
		}
	}
}

// checkLog looks at the values, headers and codec of what the log holds.
func checkLog(t *testing.T, log []*kgo.Record, codec string) {
	t.Helper()
	for _, r := range log {
		_, n, _ := strings.Cut(string(r.Key), "-")
		if len(r.Headers) != 1 || r.Headers[0].Key != "from" || string(r.Headers[0].Value) != "matrix" || string(r.Value) != "value "+n {
			t.Errorf("offset %d holds %q = %q with headers %v", r.Offset, r.Key, r.Value, r.Headers)
			return
		}
	}
	compressed := func(r *kgo.Record) bool { return codecNames[r.Attrs.CompressionType()] == codec }
	if !slices.ContainsFunc(log, compressed) {
		t.Errorf("nothing in the log is compressed with %s", codec)
	}
}

// recovered says what a client did about each acknowledgement that it lost, and
// how long that took: from the loss to the answer that it got instead.
func recovered(t *testing.T, events []journal.Event) (did []string, waits []time.Duration) {
	t.Helper()
	for i, e := range events {
		if len(e.Rules) == 0 {
			continue
		}
		if i+1 == len(events) {
			return append(did, "nothing"), waits
		}
		did = append(did, delivered(e, events[i+1:]))
		waits = append(waits, events[i+1].Time.Sub(e.Time))
	}
	if len(did) < leastLost {
		t.Errorf("only %d acknowledgements were lost", len(did))
	}
	return did, waits
}

// delivered says how a producer went on after a batch that met a fault: with the
// same batch, or in a new epoch or with a new producer id, or not.
func delivered(lost journal.Event, behind []journal.Event) string {
	is := func(what func(e journal.Event) bool) bool { return slices.ContainsFunc(behind, what) }
	switch {
	case len(behind) == 0:
		return "nothing"
	case lost.ProducerID < 0:
		return "again"
	case is(func(e journal.Event) bool {
		return e.ProducerID == lost.ProducerID && e.Epoch == lost.Epoch && e.FirstSequence == lost.FirstSequence
	}):
		return "same"
	case is(func(e journal.Event) bool { return e.ProducerID != lost.ProducerID }):
		return "new id"
	case is(func(e journal.Event) bool { return e.Epoch != lost.Epoch }):
		return "new epoch"
	}
	return "next sequence"
}

// words are the distinct ones.
func words(all []string) string {
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

func median(waits []time.Duration) string {
	if len(waits) == 0 {
		return "never"
	}
	slices.Sort(waits)
	return fmt.Sprintf("%d ms", max(1, waits[len(waits)/2].Milliseconds()))
}
