package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/broker"
)

func TestLoad_writes_and_reads_back_every_byte(t *testing.T) {
	tiny := large.with(func(w *work) { w.records, w.size = 3, 10 })
	for name, w := range map[string]work{
		"one in flight":   tiny.with(func(w *work) { w.inFlight = 1 }),
		"five in flight":  tiny,
		"16 connections":  tiny.with(func(w *work) { w.conns = 16 }),
		"many partitions": tiny.with(func(w *work) { w.partitions, w.warm = 7, true }),
		"acks 0":          tiny.with(func(w *work) { w.acks = 0 }),
		"acks 1":          tiny.with(func(w *work) { w.acks = 1 }),
		"zstd":            tiny.with(func(w *work) { w.codec, w.size = "zstd", 1000 }),
	} {
		for _, bare := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, without journal %v", name, bare), func(t *testing.T) {
				to := servingChain(t, bare)
				l := opened(t, to, w)
				const batches = 40 // of each lane
				got, err := l.run(t.Context(), limit{batches: batches})
				if err != nil {
					t.Fatal(err)
				}
				wantTally(t, l, got, batches)
				wantReadBack(t, l, to, got)
			})
		}
	}
}

func wantTally(t *testing.T, l *load, got tally, batches int) {
	t.Helper()
	sent := int64(len(l.lanes) * batches)
	answered := sent
	if l.work.acks == 0 {
		answered = 0
	}
	if got.batches != sent || got.bytes != sent*int64(len(l.lanes[0].frame.batch)) || int64(len(got.latencies)) != answered {
		t.Errorf("%d batches, %d bytes, %d answers; want %d batches", got.batches, got.bytes, len(got.latencies), sent)
	}
}

// wantReadBack wants every byte. With acks=0 no offset was told, so the ends are set to
// what they have to be.
func wantReadBack(t *testing.T, l *load, to *target, written tally) {
	t.Helper()
	if l.work.acks == 0 {
		for i := range l.ends {
			l.ends[i] = written.batches * int64(l.work.records) / int64(len(l.ends))
		}
	}
	read, err := l.readBack(t.Context(), to, written.bytes)
	if err != nil || read.bytes != written.bytes {
		t.Errorf("%d of %d bytes: %v", read.bytes, written.bytes, err)
	}
}

func TestLoad_of_many_producers_is_accepted(t *testing.T) {
	w := small.with(func(w *work) { w.conns, w.producers, w.warm = 1, 50, true })
	l := opened(t, servingChain(t, false), w)
	if err := l.warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.ends[0] != 50 {
		t.Errorf("%d records, want one of each producer", l.ends[0])
	}
	if _, err := l.run(t.Context(), limit{batches: 120}); err != nil || l.ends[0] != 170 {
		t.Errorf("%d records: %v", l.ends[0], err)
	}
}

func TestLoad_goes_on_over_new_connections(t *testing.T) {
	to := servingChain(t, false)
	l := opened(t, to, small)
	for range 3 {
		if _, err := l.run(t.Context(), limit{batches: 10}); err != nil {
			t.Fatal(err)
		}
		if err := l.reconnect(t.Context(), to.address, 0); err != nil {
			t.Fatal(err)
		}
	}
	if l.ends[0] != 30 || l.ends[1] != 30 {
		t.Errorf("the logs end at %v", l.ends)
	}
}

// What a broker does wrong ends a run.
func TestLoad_counts_nothing_that_is_wrong(t *testing.T) {
	one := small.with(func(w *work) { w.conns = 1 })
	for name, c := range map[string]struct {
		spoil func(*load)
		want  string
	}{
		"a refused batch":         {func(l *load) { l.lanes[0].sources[0].sequence = 5 }, "a batch was refused: OUT_OF_ORDER_SEQUENCE_NUMBER"},
		"an unknown partition":    {func(l *load) { l.lanes[0].sources[0].partition = 1 }, "a batch was refused: UNKNOWN_TOPIC_OR_PARTITION"},
		"another offset":          {func(l *load) { l.ends[0] = 9 }, "a batch of partition 0 was written at offset 0, and 9 was next"},
		"another correlation id":  {func(l *load) { l.lanes[0].flights = []flight{{correlation: 77}} }, "request 77 was answered with correlation id 1"},
		"the reason of a refusal": {func(l *load) { l.lanes[0].sources[0].sequence = 5 }, "out of order"},
	} {
		t.Run(name, func(t *testing.T) {
			l := opened(t, servingChain(t, true), one)
			l.lanes[0].conn.correlation = 0
			c.spoil(l)
			_, err := l.run(t.Context(), limit{batches: 1})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestReader_finds_what_is_missing(t *testing.T) {
	to := servingChain(t, true)
	l := opened(t, to, small)
	if _, err := l.run(t.Context(), limit{batches: 10}); err != nil {
		t.Fatal(err)
	}
	one := int64(len(l.lanes[0].frame.batch))
	for _, c := range []struct {
		from int64
		want int64
		err  string
	}{
		{0, 10 * one, ""},
		{4, 6 * one, ""},
		{0, 11 * one, "partition 0 ends at offset 10 after"},
		{0, 9 * one, "gave"},
		{11, one, "OFFSET_OUT_OF_RANGE"},
	} {
		got, err := readFrom(t, to, l.topic, c.from, c.want)
		if c.err == "" && (err != nil || got != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("from %d: %d bytes, %v; want %d, %q", c.from, got, err, c.want, c.err)
		}
	}
}

func readFrom(t *testing.T, to *target, topic string, offset, want int64) (int64, error) {
	t.Helper()
	c, err := dial(t.Context(), to.address, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := newReader(c, topic, 0, false)
	r.asked.FetchOffset = offset
	return r.read(want)
}

func TestReader_follow_wants_batches_without_a_gap(t *testing.T) {
	f, err := newFrame(large, "orders")
	if err != nil {
		t.Fatal(err)
	}
	f.stamp(0, &source{})
	two := append(append([]byte{}, f.batch...), f.batch...)
	whole := int64(len(f.batch))

	r := newReader(nil, "orders", 0, false)
	if n, err := r.follow(two); err == nil || n != whole || !strings.Contains(err.Error(), "a batch begins at offset 0, and 100 was next") {
		t.Errorf("%d bytes, %v", n, err)
	}
	r = newReader(nil, "orders", 0, false)
	if n, err := r.follow(two[:len(two)-1-len(f.batch)/2]); err != nil || n != whole || r.asked.FetchOffset != 100 {
		t.Errorf("a batch that is cut: %d bytes up to %d, %v", n, r.asked.FetchOffset, err)
	}
}

func TestDial_ends_with_its_context(t *testing.T) {
	to := servingChain(t, true)
	ctx, cancel := context.WithCancel(t.Context())
	c, err := dial(ctx, to.address, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	if _, err := c.read(0); err == nil {
		t.Error("a read went on")
	}
}

func TestChain_puts_journal_and_faults_before_the_broker(t *testing.T) {
	for _, bare := range []bool{true, false} {
		h, err := chain(nil, bare)
		if err != nil {
			t.Fatal(err)
		}
		if _, direct := h.(*broker.Broker); direct != bare {
			t.Errorf("bare %v: requests go to a %T first", bare, h)
		}
	}
}
