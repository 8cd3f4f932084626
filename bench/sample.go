package main

import (
	"context"
	"fmt"
	"iter"
	"math"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// A target is a server that is measured.
type target struct {
	address string
	pid     int
	fixed   bool   // a floor: it knows no topics, and answers the same bytes each time
	stays   bool   // it outlives the sample, so its topic is deleted
	stop    func() // ends it, if it was started for the sample
}

// A subject is a kind of server.
type subject struct {
	name  string
	start func(ctx context.Context, w work, topic string) (*target, error)
}

// A sample is what was measured of one subject at one work.
type sample struct {
	tally
	cpu      time.Duration // of the server, while it was written to
	peak     int64         // bytes that the server had resident at most, when all was written
	p50, p99 time.Duration
	read     tally
	readCPU  time.Duration
	readPeak int64 // like peak, when all was read back
}

// What tables and goals are made of. Each is a figure of one sample.
func (s sample) megabytes() float64   { return float64(s.bytes) / 1e6 / s.took.Seconds() }
func (s sample) batchRate() float64   { return float64(s.batches) / s.took.Seconds() }
func (s sample) cpuPerGB() float64    { return s.cpu.Seconds() / (float64(s.bytes) / gigabyte) }
func (s sample) cpuPerBatch() float64 { return float64(s.cpu.Microseconds()) / float64(s.batches) }
func (s sample) wallPerBatch() float64 {
	return float64(s.took.Nanoseconds()) / 1e3 / float64(s.batches)
}
func (s sample) peakMB() float64        { return float64(s.peak) / 1e6 }
func (s sample) readPeakMB() float64    { return float64(s.readPeak) / 1e6 }
func (s sample) readMegabytes() float64 { return float64(s.read.bytes) / 1e6 / s.read.took.Seconds() }
func (s sample) readCPUPerGB() float64 {
	return s.readCPU.Seconds() / (float64(s.read.bytes) / gigabyte)
}

func (s sample) median() float64 { return micros(s.p50) }
func (s sample) slow() float64   { return micros(s.p99) }

// micros is a latency, NaN where there was none: with acks=0 nothing is answered.
func micros(latency time.Duration) float64 {
	if latency == 0 {
		return math.NaN()
	}
	return float64(latency.Nanoseconds()) / 1e3
}

// topics counts the topics of this process, so that each sample has its own.
var topics atomic.Int64

func newTopic() string { return fmt.Sprintf("bench-%d-%d", os.Getpid(), topics.Add(1)) }

// measure takes one sample of a subject, in a process of its own where it can.
func (o *options) measure(ctx context.Context, by subject, w work) (sample, error) {
	topic := newTopic()
	t, err := by.start(ctx, w, topic)
	if err != nil {
		return sample{}, fmt.Errorf("%s: %w", by.name, err)
	}
	defer t.stop()
	s, err := o.sampleOf(ctx, t, w, topic)
	if err != nil {
		return s, fmt.Errorf("%s, %s: %w", by.name, w, err)
	}
	return s, nil
}

func (o *options) sampleOf(ctx context.Context, t *target, w work, topic string) (sample, error) {
	m, err := meet(ctx, t, w, topic, 2*o.each)
	if err != nil {
		return sample{}, err
	}
	defer m.end()
	if m.cpu, err = cpuWhile(t.pid, func() error { return m.write(ctx, o.each, o.volume) }); err != nil {
		return m.sample, err
	}
	return m.finish(ctx)
}

// A meeting is a target that is connected to, and what was measured of it so far.
type meeting struct {
	sample
	target *target
	load   *load
	before time.Duration // of the processor, when the turns began
	clean  func()
}

// meet makes the topic of a work and connects its lanes.
func meet(ctx context.Context, t *target, w work, topic string, meant time.Duration) (m *meeting, err error) {
	m = &meeting{target: t, clean: func() {}}
	if !t.fixed {
		if m.clean, err = prepare(ctx, t, w, topic); err != nil {
			return nil, err
		}
	}
	if m.load, err = openLoad(ctx, t, w, topic, meant); err != nil {
		m.clean()
		return nil, err
	}
	if w.warm {
		if err := m.load.warm(ctx); err != nil {
			m.end()
			return nil, err
		}
	}
	return m, nil
}

func (m *meeting) end() {
	m.load.close()
	m.clean()
}

// write writes for a time, or until so many bytes of batches are written.
func (m *meeting) write(ctx context.Context, each time.Duration, volume int64) error {
	t, err := m.load.run(ctx, limit{until: time.Now().Add(each), bytes: volume / int64(len(m.load.lanes))})
	m.add(t)
	m.took += t.took
	return err
}

// finish ends the writing part of a sample, and reads back what was written if that is to
// be measured.
func (m *meeting) finish(ctx context.Context) (_ sample, err error) {
	slices.Sort(m.latencies)
	m.p50, m.p99 = percentile(m.latencies, 0.5), percentile(m.latencies, 0.99)
	m.latencies = nil // of no use any more, and there may be millions
	if _, m.peak, err = memory(m.target.pid); err != nil || !m.load.work.read {
		return m.sample, err
	}
	m.readCPU, err = cpuWhile(m.target.pid, func() (err error) { m.read, err = m.load.readBack(ctx, m.target, m.bytes); return err })
	if err == nil {
		_, m.readPeak, err = memory(m.target.pid)
	}
	return m.sample, err
}

// cpuWhile is the CPU time that a process uses while something is done.
func cpuWhile(pid int, do func() error) (time.Duration, error) {
	before, err := cpuTime(pid)
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := cpuTime(pid)
	return after - before, err
}

// prepare makes the topic of a sample. clean takes it away from a server that stays.
func prepare(ctx context.Context, t *target, w work, topic string) (clean func(), err error) {
	c, err := dial(ctx, t.address, 0)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.createTopic(ctx, topic, w.topicPartitions(), w.configs); err != nil {
		return nil, err
	}
	return func() {
		if !t.stays {
			return
		}
		if c, err := dial(ctx, t.address, 0); err == nil {
			c.deleteTopic(topic) //nolint:errcheck // the sample stands all the same
			c.Close()
		}
	}, nil
}

// inTurn is n things in the order of a round, which turns about every round, so that
// whatever drifts meets all alike.
func inTurn(round, n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if round%2 == 1 {
				i = n - 1 - i
			}
			if !yield(i) {
				return
			}
		}
	}
}

// inRounds takes a sample of each of n things once a round. The outcome is by thing and
// round.
func inRounds(rounds, n int, take func(i int) (sample, error)) ([][]sample, error) {
	all := make([][]sample, n)
	for round := range rounds {
		for i := range inTurn(round, n) {
			s, err := take(i)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], s)
		}
	}
	return all, nil
}

// measureAll measures subjects at one work: in turns if what is kept of it is little, else
// one after the other, as memory that is new to a process is a good part of the work.
func (o *options) measureAll(ctx context.Context, by []subject, w work) ([][]sample, error) {
	if w.light() {
		return o.inTurns(ctx, by, w, o.volume)
	}
	return inRounds(o.rounds, len(by), func(i int) (sample, error) { return o.measure(ctx, by[i], w) })
}
