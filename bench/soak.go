package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// modeSoak is the word for a soak.
const modeSoak = "soak"

// What a soak holds steady: connections are made anew and logs are emptied over and
// over, so that whatever is not given back adds up.
const (
	soakSession = 5 * time.Second        // that connections live
	soakTrim    = 250 * time.Millisecond // between two times that the logs are emptied
	soakSettle  = 10 * time.Second       // for goroutines and descriptors to go, at the end
	// soakGrowth is how much more memory or latency the last minute may have than the
	// second, which is the first one that is warm.
	soakGrowth = 1.25
)

// A soak is one broker under one load for minutes.
type soak struct {
	process *process
	topic   string
	load    *load
	minute  time.Duration // between two lines; a real one unless the soak is shorter
	before  count
	minutes []minute
}

// A count is what has to return to where it was.
type count struct{ goroutines, descriptors int }

// A minute is a line of the soak's table.
type minute struct {
	tally
	resident int64
}

func runSoak(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet(modeSoak, flag.ContinueOnError)
	length := flags.Duration("for", 5*time.Minute, "how long")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *length < time.Second || *length > time.Hour {
		return fmt.Errorf("-for %s cannot be; want 1s to 1h", *length)
	}
	shop, err := newWorkshop()
	if err != nil {
		return err
	}
	defer shop.remove()
	path, err := shop.build(ctx, "fencepost", ".", "./cmd/fencepost")
	if err != nil {
		return err
	}
	s := &soak{topic: newTopic(), minute: min(time.Minute, *length/4)}
	if s.process, err = launch(ctx, 2, path, oursArgs(httpOn)...); err != nil {
		return err
	}
	defer s.process.stop()
	return s.run(ctx, *length)
}

func (s *soak) run(ctx context.Context, length time.Duration) (err error) {
	t := &target{address: s.process.address, pid: s.process.pid()}
	if s.before, err = s.count(); err != nil { // when nobody has connected yet
		return err
	}
	if _, err := prepare(ctx, t, large, s.topic); err != nil {
		return err
	}
	if s.load, err = openLoad(ctx, t, large, s.topic, soakSession); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	trimmed := make(chan error, 1)
	go func() { trimmed <- s.trim(ctx, length) }()
	err = s.fill(ctx, length)
	cancel()
	s.load.close()
	if err := errors.Join(err, <-trimmed); err != nil {
		return err
	}
	after, err := s.settled(context.Background(), s.before)
	if err != nil {
		return err
	}
	return s.report(os.Stdout, after)
}

// fill writes for so long, a minute a line.
func (s *soak) fill(ctx context.Context, length time.Duration) error {
	for end := time.Now().Add(length); time.Now().Before(end); {
		m, err := s.oneMinute(ctx, end)
		if err != nil {
			return err
		}
		s.minutes = append(s.minutes, m)
		fmt.Fprint(os.Stderr, ".")
	}
	return nil
}

func (s *soak) oneMinute(ctx context.Context, end time.Time) (m minute, err error) {
	most := watchMemory(s.process.pid())
	defer func() {
		if m.resident = most(); err == nil && m.resident == 0 {
			err = errors.New("the system does not tell what is resident")
		}
	}()
	began := time.Now()
	next := began.Add(s.minute)
	if end.Before(next.Add(s.minute / 2)) {
		next = end // no line of less than half a minute
	}
	for time.Now().Before(next) {
		until := time.Now().Add(soakSession)
		if next.Before(until) {
			until = next
		}
		t, err := s.load.run(ctx, limit{until: until})
		if err != nil {
			return m, err
		}
		m.add(t)
		if err := s.load.reconnect(ctx, s.process.address, soakSession); err != nil {
			return m, err
		}
	}
	m.took = time.Since(began)
	slices.Sort(m.latencies)
	return m, nil
}

// watchMemory looks ten times a second at what a process has resident, and tells at the
// end how much that was at most: it goes up and down with every trim.
func watchMemory(pid int) (most func() int64) {
	stop, done := make(chan struct{}), make(chan int64)
	go func() {
		every := time.NewTicker(100 * time.Millisecond)
		defer every.Stop()
		for most := int64(0); ; {
			if now, _, err := memory(pid); err == nil {
				most = max(most, now)
			}
			select {
			case <-every.C:
			case <-stop:
				done <- most
				return
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-done
	}
}

// trim empties the logs over and over.
func (s *soak) trim(ctx context.Context, length time.Duration) error {
	c, err := dial(ctx, s.process.address, length)
	if err != nil {
		return err
	}
	defer c.Close()
	for every := time.NewTicker(soakTrim); ; {
		select {
		case <-ctx.Done():
			every.Stop()
			return nil
		case <-every.C:
		}
		if err := c.deleteRecords(s.topic, large.topicPartitions()); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// settled counts goroutines and descriptors once they have come down to what is wanted,
// or when they have not for too long.
func (s *soak) settled(ctx context.Context, want count) (c count, err error) {
	ctx, cancel := context.WithTimeout(ctx, soakSettle)
	defer cancel()
	for {
		if c, err = s.count(); err != nil || c.goroutines <= want.goroutines && c.descriptors <= want.descriptors {
			return c, err
		}
		select {
		case <-ctx.Done():
			return c, nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

var goroutinesIn = regexp.MustCompile(`(?m)^go_goroutines (\d+)$`)

// count asks the broker's metrics and the system.
func (s *soak) count() (c count, err error) {
	if c.descriptors, err = descriptors(s.process.pid()); err != nil { // before there is one for the metrics
		return c, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: soakSettle}
	resp, err := client.Get("http://" + s.process.http + "/metrics")
	if err != nil {
		return c, err
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		return c, err
	}
	m := goroutinesIn.FindSubmatch(page)
	if m == nil {
		return c, errors.New("the metrics tell no number of goroutines")
	}
	c.goroutines, err = strconv.Atoi(string(m[1]))
	return c, err
}

// report prints the table, and says what was not steady.
func (s *soak) report(to io.Writer, after count) error {
	t := newTable(s.minute.String(), "MB/s", "resident MB at most", "p50 us", "p99 us", "p99.9 us", "max us")
	for i, m := range s.minutes {
		us := func(share float64) string { return number(float64(percentile(m.latencies, share).Nanoseconds()) / 1e3) }
		t.row(fmt.Sprint(i+1), number(float64(m.bytes)/1e6/m.took.Seconds()), number(float64(m.resident)/1e6), us(0.5), us(0.99), us(0.999), us(1))
	}
	t.print(to)
	fmt.Fprintf(to, "before: %s, %s; after: %s, %s\n", counted(s.before.goroutines, "goroutine"), counted(s.before.descriptors, "descriptor"),
		counted(after.goroutines, "goroutine"), counted(after.descriptors, "descriptor"))
	return s.unsteady(after)
}

// unsteady says what grew.
func (s *soak) unsteady(after count) error {
	var grew []error
	if after.goroutines > s.before.goroutines {
		grew = append(grew, fmt.Errorf("%d goroutines are left over", after.goroutines-s.before.goroutines))
	}
	if after.descriptors > s.before.descriptors {
		grew = append(grew, fmt.Errorf("%d descriptors are left over", after.descriptors-s.before.descriptors))
	}
	if len(s.minutes) > 2 {
		warm, last := s.minutes[1], s.minutes[len(s.minutes)-1]
		grew = append(grew, grown("resident memory", float64(warm.resident), float64(last.resident)),
			grown("the median latency", percentile(warm.latencies, 0.5).Seconds(), percentile(last.latencies, 0.5).Seconds()))
	}
	return errors.Join(grew...)
}

func grown(what string, from, to float64) error {
	if to > soakGrowth*from {
		return fmt.Errorf("%s grew to %s times what it was", what, number(to/from))
	}
	return nil
}
