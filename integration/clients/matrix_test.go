package clients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
)

// TestMatrix runs every client through everything, and holds what it saw against
// docs/clients.md; with -update it writes that page.
func TestMatrix(t *testing.T) {
	t.Parallel()
	p := openPage(t)
	t.Run("clients", func(t *testing.T) {
		for _, c := range stockClients {
			t.Run(strings.ReplaceAll(c.name, "/", "-"), func(t *testing.T) {
				t.Parallel()
				c.require(t)
				c.perform(t, p)
			})
		}
	})
	p.close(t)
}

// perform runs one client. kcat has its topic made by the broker, with as many
// partitions as the others ask for.
func (c *client) perform(t *testing.T, p *page) {
	b := fencepost.RunT(t, fencepost.Partitions(3))
	t.Run("administration", func(t *testing.T) { c.administer(t, p, b) })
	t.Run("lost acks", func(t *testing.T) { c.loseAcks(t, p, b) })
	if !c.tool {
		t.Run("errors", func(t *testing.T) { c.meetErrors(t, p, b) })
	}
	for _, protocol := range c.groups {
		t.Run("a group of two, "+protocol, func(t *testing.T) { c.group(t, p, groupBroker(t, b), protocol) })
	}
}

// administer has it make, list and describe a topic.
func (c *client) administer(t *testing.T, p *page, b *fencepost.Broker) {
	const topic = "made.by-the-client"
	run := c.start(t, b.Addr(), "admin", topic)
	line := <-run.lines
	if run.end(t); line == "" {
		t.Fatal("it was shown nothing")
	}
	s := decode[seen](t, line)
	if fmt.Sprint(s.Listed) != "["+topic+"]" || s.Partitions != 3 {
		t.Errorf("it was shown %+v", s)
	}
	p.set(t, "lost", c.name, "version", s.Version)
}

// verdictOn is the verdict on a topic.
func verdictOn(t *testing.T, b *fencepost.Broker, topic string) journal.TopicVerdict {
	t.Helper()
	v, err := b.Verdict(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tv := range v.Topics {
		if tv.Topic == topic {
			return tv
		}
	}
	t.Fatalf("there is no verdict on %s", topic)
	return journal.TopicVerdict{}
}

// findings names the kinds of what a verdict found: "exactly once" if nothing.
func findings(v journal.TopicVerdict) string {
	var kinds []string
	for _, k := range []struct {
		name  string
		found int
	}{
		{"duplicated", v.Totals.Duplicated}, {"missing", v.Totals.Missing},
		{"unconfirmed", v.Totals.Unconfirmed}, {"swallowed", v.Totals.Swallowed}, {"in hand", v.Totals.InHand},
	} {
		if k.found > 0 {
			kinds = append(kinds, k.name)
		}
	}
	if v.ExactlyOnce {
		return "exactly once"
	}
	return strings.Join(kinds, ", ")
}

// eventsOn are the deliveries to a topic, in order.
func eventsOn(b *fencepost.Broker, topic string) (all []journal.Event) {
	for _, e := range b.Events() {
		if e.Topic == topic && e.Kind == journal.KindBatch {
			all = append(all, e)
		}
	}
	return all
}
