package main

import (
	"fmt"
	"time"
)

// A work is what is asked of a broker in one sample.
type work struct {
	name     string
	records  int // in a batch
	size     int // bytes of a record's value
	codec    string
	conns    int   // connections
	inFlight int   // requests that a connection has under way, at least 1
	acks     int16 // 0, 1 or -1 for all

	// Each connection sends to so many partitions of its own, and for so many
	// producers, in turn. One of the two is 1.
	partitions, producers int

	configs map[string]string // of the topic
	warm    bool              // every partition and producer is met once before the clock starts
	read    bool              // what was written is read back
}

// String names the work in a table.
func (w work) String() string {
	if w.name != "" {
		return w.name
	}
	return fmt.Sprintf("%d x %s, %s, %s, %d in flight, acks %s",
		w.records, bytesOf(w.size), w.codec, counted(w.conns, "connection"), w.inFlight, acksName(w.acks))
}

// bytesOf writes a size as the goals do.
func bytesOf(n int) string {
	if n >= 1000 {
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d B", n)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func acksName(acks int16) string {
	if acks == acksAll {
		return "all"
	}
	return fmt.Sprint(acks)
}

const acksAll = -1

// Works that the goals are set for.
var (
	large = work{records: 100, size: 1000, codec: codecNone, conns: 2, inFlight: 5, acks: acksAll, partitions: 1, producers: 1}
	small = work{records: 1, size: 100, codec: codecNone, conns: 2, inFlight: 5, acks: acksAll, partitions: 1, producers: 1}
)

// with is a copy of a work with something changed.
func (w work) with(change func(*work)) work {
	change(&w)
	return w
}

// light says whether so little is kept of the work that all subjects have room for it at
// the same time.
func (w work) light() bool { return w.records*w.size < 1000 }

// topicPartitions is how many partitions the work needs.
func (w work) topicPartitions() int { return w.conns * w.partitions }

// matrix is every cell that is measured in full: from large and small batches, one
// thing changed at a time.
func matrix() (all []work) {
	for _, base := range []work{large, small} {
		all = append(all, base, base.with(func(w *work) { w.inFlight = 1 }))
		for _, conns := range []int{1, 16} {
			all = append(all, base.with(func(w *work) { w.conns = conns }))
		}
		all = append(all, base.with(func(w *work) { w.conns, w.inFlight = 1, 1 }))
		for _, acks := range []int16{0, 1} {
			all = append(all, base.with(func(w *work) { w.acks = acks }))
		}
		for _, codec := range compressions {
			all = append(all, base.with(func(w *work) { w.codec = codec }))
		}
	}
	return all
}

// A limit ends a connection's part of a sample; what is zero does not.
type limit struct {
	until   time.Time
	bytes   int64 // of batches
	batches int64
}

func (l limit) reached(now time.Time, t *tally) bool {
	return !l.until.IsZero() && !now.Before(l.until) ||
		l.bytes > 0 && t.bytes >= l.bytes ||
		l.batches > 0 && t.batches >= l.batches
}
