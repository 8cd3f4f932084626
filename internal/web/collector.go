package web

import (
	"github.com/fencepostmq/fencepost/internal/fault"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/prometheus/client_golang/prometheus"
)

// A sample is what journal, faults and the Kafka side know at one moment.
type sample struct {
	journal.Counts     // of all topics
	topics         int // that a batch came for
	rules          []fault.Status
	open, opened   int64 // connections
}

// A figure is one number of a sample.
type figure struct {
	name, help string
	kind       prometheus.ValueType
	of         func(*sample) uint64
}

// Kinds of figures: one that only grows, until a reset, and one that does not.
const (
	total = prometheus.CounterValue
	gauge = prometheus.GaugeValue
)

var figures = []figure{
	{"records_total", "Records accepted.", total, func(s *sample) uint64 { return s.Records }},
	{"replays_answered_total", "Duplicates whose client was told the first offset.", total, func(s *sample) uint64 { return s.Replayed }},
	{"acks_lost_total", "Answers of accepted batches and of duplicates that never reached the client.", total, func(s *sample) uint64 { return s.AcksLost }},
	{"acks_false_total", "Stored batches whose client was told an error instead.", total, func(s *sample) uint64 { return s.AcksFalse }},
	{"acks_not_due_total", "Batches that asked for no acknowledgement.", total, func(s *sample) uint64 { return s.AcksNotDue }},
	{"topics", "Topics that a batch came for.", gauge, func(s *sample) uint64 { return uint64(s.topics) }},
	{"fault_rules", "Fault rules in force.", gauge, func(s *sample) uint64 { return uint64(len(s.rules)) }},
	{"connections", "Connections of Kafka clients that are open.", gauge, func(s *sample) uint64 { return uint64(s.open) }},
	{"connections_opened_total", "Connections of Kafka clients that ever were.", total, func(s *sample) uint64 { return uint64(s.opened) }},
}

// A collector takes a sample for each scrape. Its counters begin anew with a
// reset, and what was counted of a topic goes with it when it is deleted;
// Prometheus takes either for a restart.
type collector struct {
	o       *Options
	figures []*prometheus.Desc // of each of figures
	batches *prometheus.Desc
	fired   *prometheus.Desc
	build   *prometheus.Desc
}

func newCollector(o *Options) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("fencepost_"+name, help, labels, nil)
	}
	c := &collector{
		o:       o,
		batches: desc("batches_total", "Deliveries of batches, by what the broker did with them.", "outcome"),
		fired:   desc("faults_fired_total", "Times that a fault rule in force has fired.", "rule"),
		build:   desc("build_info", "1, with the version as a label.", "version"),
	}
	for _, f := range figures {
		c.figures = append(c.figures, desc(f.name, f.help))
	}
	return c
}

// Describe lists what Collect may send. The registry calls it.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range append(c.figures[:len(c.figures):len(c.figures)], c.batches, c.fired, c.build) {
		to <- d
	}
}

// Collect sends a sample. The registry calls it.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, float64(value), labels...)
	}
	s := c.sample()
	for i, f := range figures {
		send(c.figures[i], f.kind, f.of(s))
	}
	for outcome, n := range map[journal.Outcome]uint64{
		journal.Accepted: s.Batches, journal.Duplicate: s.Duplicates, journal.OutOfOrder: s.OutOfOrder,
		journal.Fenced: s.Fenced, journal.Refused: s.Refused, journal.NotAsked: s.NotAsked,
	} {
		send(c.batches, total, n, outcome.String())
	}
	for sentence, n := range firings(s.rules) {
		send(c.fired, total, n, sentence)
	}
	send(c.build, gauge, 1, c.o.Version)
}

func (c *collector) sample() *sample {
	counts := c.o.Journal.Counts()
	s := &sample{topics: len(counts), rules: c.o.Faults.Status()}
	for _, t := range counts {
		s.add(&t)
	}
	if c.o.Connections != nil {
		s.open, s.opened = c.o.Connections()
	}
	return s
}

// add adds what was counted of a topic.
func (s *sample) add(t *journal.Counts) {
	s.Records += t.Records
	s.Batches += t.Batches
	s.Duplicates += t.Duplicates
	s.OutOfOrder += t.OutOfOrder
	s.Fenced += t.Fenced
	s.Refused += t.Refused
	s.NotAsked += t.NotAsked
	s.Replayed += t.Replayed
	s.AcksLost += t.AcksLost
	s.AcksFalse += t.AcksFalse
	s.AcksNotDue += t.AcksNotDue
}

// firings counts by sentence: two rules may say the same.
func firings(rules []fault.Status) map[string]uint64 {
	fired := map[string]uint64{}
	for _, s := range rules {
		fired[s.Rule.String()] += uint64(s.Fired)
	}
	return fired
}
