package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// A spread is the median of some figures, and the least and the greatest of them.
type spread struct{ low, mid, high float64 }

// spreadOf needs at least one figure; of none it is NaN.
func spreadOf(figures []float64) spread {
	if len(figures) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	s := slices.Sorted(slices.Values(figures))
	n := len(s)
	return spread{s[0], (s[(n-1)/2] + s[n/2]) / 2, s[n-1]}
}

// ratios divides what was measured in the same round: a machine that is busy is so for
// both. It takes the spread of the quotients, never the quotient of medians.
func ratios(of, to []sample, figure func(sample) float64) spread {
	var all []float64
	for i := range min(len(of), len(to)) {
		all = append(all, figure(of[i])/figure(to[i]))
	}
	return spreadOf(all)
}

func medians(of []sample, figure func(sample) float64) float64 {
	var all []float64
	for _, s := range of {
		all = append(all, figure(s))
	}
	return spreadOf(all).mid
}

// String is the median, with the rest behind it where there is one.
func (s spread) String() string {
	switch {
	case math.IsNaN(s.mid):
		return "not measured"
	case s.low == s.high:
		return number(s.mid)
	}
	return fmt.Sprintf("%s (%s to %s)", number(s.mid), number(s.low), number(s.high))
}

// number writes a figure with three digits that count, thousands in full.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1 || a == 0:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// percentile is the latency that this share of requests did not exceed, 0 without any.
func percentile(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(share*float64(len(sorted)-1))]
}
