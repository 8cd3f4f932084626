package main

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"
)

func TestSpreadOf(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want spread
		text string
	}{
		{[]float64{3}, spread{3, 3, 3}, "3.00"},
		{[]float64{4, 1}, spread{1, 2.5, 4}, "2.50 (1.00 to 4.00)"},
		{[]float64{0.9, 0.1, 0.5}, spread{0.1, 0.5, 0.9}, "0.500 (0.100 to 0.900)"},
		{[]float64{400, 100, 300, 200}, spread{100, 250, 400}, "250 (100 to 400)"},
	} {
		if got := spreadOf(c.of); got != c.want || got.String() != c.text {
			t.Errorf("of %v: %+v, %q; want %q", c.of, got, got, c.text)
		}
	}
	if none := spreadOf(nil); !math.IsNaN(none.mid) || none.String() != "not measured" {
		t.Errorf("of nothing: %s", none)
	}
}

// bytesIn is a sample of so many bytes in a second.
func bytesIn(n int64) sample { return sample{tally: tally{bytes: n, batches: 1, took: time.Second}} }

// A ratio is taken within a round: where the machine was ten times slower in one round,
// medians of all would say another thing.
func TestRatios_are_taken_within_a_round(t *testing.T) {
	ours := []sample{bytesIn(90e6), bytesIn(8e6), bytesIn(95e6)}
	floor := []sample{bytesIn(100e6), bytesIn(10e6), bytesIn(100e6)}
	if got := ratios(ours, floor, sample.megabytes); got != (spread{0.8, 0.9, 0.95}) {
		t.Errorf("%+v", got)
	}
	if got := medians(ours, sample.megabytes); got != 90 {
		t.Errorf("median %v", got)
	}
}

func TestSample_figures(t *testing.T) {
	s := sample{
		tally: tally{batches: 1000, bytes: 500e6, took: 2 * time.Second}, cpu: time.Second, peak: 7e6,
		read: tally{bytes: 500e6, took: 4 * time.Second}, readCPU: 250 * time.Millisecond, readPeak: 9e6,
		p50: 1500 * time.Nanosecond, p99: time.Millisecond,
	}
	for name, c := range map[string][2]float64{
		"MB/s":             {s.megabytes(), 250},
		"batches/s":        {s.batchRate(), 500},
		"CPU s/GB":         {s.cpuPerGB(), 2},
		"CPU us/batch":     {s.cpuPerBatch(), 1000},
		"us/batch":         {s.wallPerBatch(), 2000},
		"p50 us":           {s.median(), 1.5},
		"p99 us":           {s.slow(), 1000},
		"peak MB":          {s.peakMB(), 7},
		"peak MB, read":    {s.readPeakMB(), 9},
		"reading MB/s":     {s.readMegabytes(), 125},
		"reading CPU s/GB": {s.readCPUPerGB(), 0.5},
	} {
		if c[0] != c[1] {
			t.Errorf("%s is %v, want %v", name, c[0], c[1])
		}
	}
}

func TestSample_without_an_answer_has_no_latency(t *testing.T) {
	if got := number(sample{}.median()); got != "-" {
		t.Errorf("the median is %s", got)
	}
}

func TestInRounds_turns_about(t *testing.T) {
	var order []int
	all, err := inRounds(3, 2, func(i int) (sample, error) {
		order = append(order, i)
		return bytesIn(int64(i)), nil
	})
	if err != nil || !slices.Equal(order, []int{0, 1, 1, 0, 0, 1}) {
		t.Errorf("order %v: %v", order, err)
	}
	for i, samples := range all {
		for _, s := range samples {
			if len(samples) != 3 || s.bytes != int64(i) {
				t.Errorf("thing %d: %+v", i, samples)
			}
		}
	}
	broken := errors.New("broken")
	if _, err := inRounds(2, 2, func(int) (sample, error) { return sample{}, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestPercentile(t *testing.T) {
	var all []time.Duration
	for i := range 101 {
		all = append(all, time.Duration(i))
	}
	for share, want := range map[float64]time.Duration{0: 0, 0.5: 50, 0.99: 99, 1: 100} {
		if got := percentile(all, share); got != want {
			t.Errorf("%v: %d, want %d", share, got, want)
		}
	}
	if got := percentile(nil, 0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestGoal_judge(t *testing.T) {
	for _, c := range []struct {
		goal goal
		got  float64
		want string
	}{
		{goalThroughput, 0.9, "met"},
		{goalThroughput, 0.89, "short of the goal"},
		{goalThroughput, 0.75, "short of the goal"},
		{goalThroughput, 0.74, "not done"},
		{goalCPU, 1.25, "met"},
		{goalCPU, 1.6, "short of the goal"},
		{goalCPU, 1.61, "not done"},
		{goalMemory(1000), 1240, "met"},
		{goalMemory(1000), 1460, "short of the goal"},
		{goalMemory(1000), 1461, "not done"},
		{goalRead, math.NaN(), "not measured"},
	} {
		if got := c.goal.judge(c.got); got != c.want {
			t.Errorf("%s of %v: %s, want %s", c.goal.work, c.got, got, c.want)
		}
	}
}

func TestLimit_reached(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		limit limit
		want  bool
	}{
		"none":           {limit{}, false},
		"time is left":   {limit{until: now.Add(1)}, false},
		"time is up":     {limit{until: now}, true},
		"bytes left":     {limit{bytes: 11}, false},
		"bytes enough":   {limit{bytes: 10}, true},
		"batches left":   {limit{batches: 3}, false},
		"batches enough": {limit{batches: 2}, true},
	} {
		if got := c.limit.reached(now, &tally{batches: 2, bytes: 10}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSoak_says_what_grew(t *testing.T) {
	steady := func(resident int64, latency time.Duration) minute {
		return minute{tally: tally{latencies: []time.Duration{latency}}, resident: resident}
	}
	for name, c := range map[string]struct {
		last  minute
		after count
		want  string
	}{
		"nothing":     {steady(120, 12), count{10, 11}, ""},
		"less":        {steady(50, 5), count{9, 10}, ""},
		"goroutines":  {steady(100, 10), count{12, 11}, "2 goroutines are left over"},
		"descriptors": {steady(100, 10), count{10, 12}, "1 descriptors are left over"},
		"memory":      {steady(130, 10), count{10, 11}, "resident memory grew to 1.30 times what it was"},
		"latency":     {steady(100, 20), count{10, 11}, "the median latency grew to 2.00 times what it was"},
	} {
		s := &soak{before: count{10, 11}, minutes: []minute{steady(10, 1), steady(100, 10), c.last}}
		got := ""
		if err := s.unsteady(c.after); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
