package clients

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// groupBroker is the address of the broker whose groups clients join: another one,
// such as Apache Kafka, if FENCEPOST_GROUPS_AT names it.
func groupBroker(t *testing.T, b *fencepost.Broker) string {
	t.Helper()
	if other := os.Getenv("FENCEPOST_GROUPS_AT"); other != "" {
		return other
	}
	return b.Addr()
}

const (
	// firstRecords is how many records a group finds, laterRecords how many come
	// when all of its members are gone.
	firstRecords, laterRecords = 1000, 100
	// feedEvery is how often further records come while the members gather: a member
	// that is late would find nothing else to read.
	feedEvery = 100 * time.Millisecond
)

// group has two members read a topic of two partitions, until each has read a part.
// They leave, and one comes back, which has to read on where they left off. While
// a group gathers, a record may be read by both, but none may be missed.
func (c *client) group(t *testing.T, p *page, addr, protocol string) {
	f := newFeed(t, addr, uniqueTopic(protocol))
	begin := func() *program {
		member := *c
		member.env = append([]string{"GROUP_PROTOCOL=" + protocol}, c.env...)
		return member.start(t, addr, "consume", f.topic, f.topic)
	}
	f.send(t, firstRecords)
	f.gather(t, begin(), begin())
	before := f.total

	f.send(t, laterRecords)
	f.drain(t, begin())
	if read := f.total - before; read < laterRecords || read > laterRecords && !c.rereads {
		t.Errorf("%d records came while nobody was there, and the member that came back read %d", laterRecords, read)
	}
	if addr != os.Getenv("FENCEPOST_GROUPS_AT") {
		p.set(t, "lost", c.name, "group, "+protocol, "reads on")
	}
}

// uniqueTopic is a name that no topic has, also not on a broker that others use.
func uniqueTopic(what string) string { return fmt.Sprintf("matrix-%s-%d", what, time.Now().UnixNano()) }

// A feed sends records to a topic of two partitions, and knows which were read.
type feed struct {
	topic  string
	client *kgo.Client
	sent   int
	read   map[string]bool // by key
	total  int             // counts each time that a record was read
}

func newFeed(t *testing.T, addr, topic string) *feed {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(t.Context(), 2, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), endGrace)
		defer cancel()
		admin.DeleteGroups(ctx, topic) //nolint:errcheck // others may use that broker too, and what is left harms none
		admin.DeleteTopics(ctx, topic) //nolint:errcheck
	})
	return &feed{topic: topic, client: client, read: map[string]bool{}}
}

// send sends further records, to each partition in turn.
func (f *feed) send(t *testing.T, records int) {
	t.Helper()
	var rs []*kgo.Record
	for range records {
		rs = append(rs, &kgo.Record{Key: []byte(key(f.sent)), Value: []byte("value"), Partition: int32(f.sent % 2),
			Headers: []kgo.RecordHeader{{Key: "from", Value: []byte("matrix")}}})
		f.sent++
	}
	if err := f.client.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// take notes one line of a member, which has to be there.
func (f *feed) take(t *testing.T, line string, ok bool) {
	t.Helper()
	if !ok {
		t.Fatalf("a member ended when %d of %d records were read", len(f.read), f.sent)
	}
	r := decode[read](t, line)
	if r.Topic != f.topic || r.Header != "matrix" {
		t.Errorf("it read %+v", r)
	}
	f.read[r.Key] = true
	f.total++
}

// gather feeds two members until both have read something, and then lets them read
// the rest and leave.
func (f *feed) gather(t *testing.T, first, second *program) {
	t.Helper()
	tick := time.NewTicker(feedEvery)
	defer tick.Stop()
	for a, b := false, false; !a || !b; {
		select {
		case line, ok := <-first.lines:
			a = true
			f.take(t, line, ok)
		case line, ok := <-second.lines:
			b = true
			f.take(t, line, ok)
		case <-tick.C:
			f.send(t, 2)
		}
	}
	for len(f.read) < f.sent {
		select {
		case line, ok := <-first.lines:
			f.take(t, line, ok)
		case line, ok := <-second.lines:
			f.take(t, line, ok)
		}
	}
	f.leave(t, first)
	f.leave(t, second)
}

// drain lets one member read what is left, and leave.
func (f *feed) drain(t *testing.T, p *program) {
	t.Helper()
	for len(f.read) < f.sent {
		line, ok := <-p.lines
		f.take(t, line, ok)
	}
	f.leave(t, p)
}

// leave has a member commit and leave, and notes what it read until then.
func (f *feed) leave(t *testing.T, p *program) {
	t.Helper()
	p.input.Close()
	late := time.AfterFunc(endGrace, p.cancel)
	defer late.Stop()
	for line := range p.lines {
		f.take(t, line, true)
	}
	if <-p.ended; p.err != nil {
		t.Errorf("a member ended with %v", p.err)
	}
}
