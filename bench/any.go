package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"time"
)

// modeLoad is the word that drives one broker that somebody else has started.
const modeLoad = "load"

// runLoad measures one work on any broker, once.
func runLoad(ctx context.Context, args []string) error {
	w := large
	o := &options{}
	t := &target{stop: func() {}, stays: true}
	var acks, topic string
	flags := flag.NewFlagSet(modeLoad, flag.ContinueOnError)
	flags.StringVar(&t.address, "addr", "127.0.0.1:9092", "the broker, `HOST:PORT`")
	flags.IntVar(&t.pid, "pid", 0, "its process (default: whoever listens on its port)")
	flags.BoolVar(&t.fixed, "fixed", false, "it answers fixed bytes and knows no topics")
	flags.StringVar(&topic, "topic", newTopic(), "the topic, which is made; of a server that answers fixed bytes the one in its answers")
	flags.IntVar(&w.records, "records", w.records, "records in a batch")
	flags.IntVar(&w.size, "size", w.size, "bytes of a record's value")
	flags.StringVar(&w.codec, "codec", w.codec, "`none|gzip|snappy|lz4|zstd`")
	flags.IntVar(&w.conns, "conns", w.conns, "connections, each with a partition and a producer of its own")
	flags.IntVar(&w.inFlight, "in-flight", w.inFlight, "requests that a connection has under way")
	flags.StringVar(&acks, "acks", "all", "`0|1|all`")
	flags.BoolVar(&w.read, "read", false, "read back what was written")
	flags.DurationVar(&o.each, "for", 5*time.Second, "how long is written")
	flags.Int64Var(&o.volume, "bytes", 4*gigabyte, "the most bytes of batches that are written")
	err := parse(flags, args)
	if err == nil {
		w.acks, err = parseAcks(acks)
	}
	if err == nil {
		err = w.check()
	}
	if err == nil && t.pid == 0 {
		t.pid, err = listenerAt(t.address)
	}
	if err != nil {
		return err
	}
	s, err := o.sampleOf(ctx, t, w, topic)
	if err != nil {
		return err
	}
	tellSample(w, s)
	return nil
}

func parseAcks(s string) (int16, error) {
	acks := map[string]int16{"0": 0, "1": 1, "all": acksAll}
	n, known := acks[s]
	if !known {
		return 0, fmt.Errorf("-acks %q is not known; want 0, 1 or all", s)
	}
	return n, nil
}

// check says what cannot be of a work that a person asks for.
func (w work) check() error {
	const most = 10_000
	for _, n := range []struct {
		flag  string
		value int
	}{{"records", w.records}, {"size", w.size}, {"conns", w.conns}, {"in-flight", w.inFlight}} {
		if n.value < 1 || n.value > most {
			return fmt.Errorf("-%s %d cannot be; want 1 to %d", n.flag, n.value, most)
		}
	}
	if w.codec != codecNone && !slices.Contains(compressions, w.codec) {
		return fmt.Errorf("-codec %q is not known; want %s or one of %q", w.codec, codecNone, compressions)
	}
	return nil
}

// listenerAt finds the process that listens on the port of an address.
func listenerAt(address string) (pid int, err error) {
	_, port, err := net.SplitHostPort(address)
	n, errPort := strconv.ParseUint(port, 10, 16)
	if err != nil || errPort != nil {
		return 0, fmt.Errorf("%q is no address; write it as HOST:PORT", address)
	}
	return listenerOf(int(n))
}

func tellSample(w work, s sample) {
	t := newTable(w.String(), "")
	for _, row := range []struct {
		name  string
		value float64
	}{
		{"MB/s", s.megabytes()}, {"batches/s", s.batchRate()}, {"p50 us", s.median()}, {"p99 us", s.slow()},
		{"CPU s/GB", s.cpuPerGB()}, {"CPU us/batch", s.cpuPerBatch()}, {"peak MB", s.peakMB()},
	} {
		t.row(row.name, number(row.value))
	}
	if w.read {
		t.row("reading MB/s", number(s.readMegabytes()))
		t.row("reading CPU s/GB", number(s.readCPUPerGB()))
		t.row("peak MB then", number(s.readPeakMB()))
	}
	t.print(os.Stdout)
}
