package integration

import (
	"fmt"
	"slices"
	"strings"
)

// A note is one line that a member of a chaos group writes down, in one write, so
// that the notes of all members stand in the order in which things happened. Members
// come and go by signal 9, and what they have noted stays.
//
//	MEMBER owns PARTITION          a session with the partition begins
//	MEMBER read PARTITION OFFSET NUMBER
//	MEMBER commits PARTITION OFFSET   noted before the request is sent
type note struct {
	member    string // the name of the process, of which each start has another
	verb      string
	partition int32
	offset    int64
	number    int64 // of the record, counted from 0 over all partitions
}

func (n note) String() string {
	return fmt.Sprintf("%s %s %d %d %d\n", n.member, n.verb, n.partition, n.offset, n.number)
}

// readNotes takes the notes apart. A line that is not one is an error.
func readNotes(text string) (all []note, err error) {
	for line := range strings.Lines(text) {
		var n note
		if _, err := fmt.Sscan(line, &n.member, &n.verb, &n.partition, &n.offset, &n.number); err != nil {
			return nil, fmt.Errorf("%q is no note: %w", line, err)
		}
		all = append(all, n)
	}
	return all, nil
}

// A partitionNotes is what the notes so far tell of one partition.
type partitionNotes struct {
	seen    map[int64]bool   // offsets that somebody has read
	through int64            // all offsets below it were seen
	commits map[int64]bool   // offsets that somebody asked to commit, and 0
	next    map[string]int64 // by member, the offset it has to read next; -1 at the begin of its session
}

// An audit holds the notes of a group against what a group promises.
type audit struct {
	partitions []partitionNotes
	complaints []string
}

// checkNotes gives what is wrong with the notes of a group that read a topic whose
// partitions end at these offsets, and in which record n of partition n modulo the
// number of partitions stands at offset n divided by it.
//
// It wants each record read by somebody; no offset committed before all records below
// it were read; each session to begin where somebody committed, or at the begin of the
// partition; and each record of a session to stand behind the one before.
func checkNotes(notes []note, ends []int64) []string {
	a := &audit{}
	for range ends {
		a.partitions = append(a.partitions, partitionNotes{seen: map[int64]bool{}, commits: map[int64]bool{0: true}, next: map[string]int64{}})
	}
	for _, n := range notes {
		a.take(n)
	}
	for p, end := range ends {
		if through := a.partitions[p].through; through != end {
			a.complain("offset %d of partition %d was delivered to nobody, and the partition ends at %d", through, p, end)
		}
	}
	return a.complaints
}

func (a *audit) complain(format string, args ...any) {
	if said := fmt.Sprintf(format, args...); !slices.Contains(a.complaints, said) {
		a.complaints = append(a.complaints, said)
	}
}

func (a *audit) take(n note) {
	if n.partition < 0 || int(n.partition) >= len(a.partitions) {
		a.complain("%s notes partition %d, and there are %d", n.member, n.partition, len(a.partitions))
		return
	}
	r := &a.partitions[n.partition]
	switch n.verb {
	case "owns":
		r.next[n.member] = -1
	case "read":
		a.read(n, r)
	case "commits":
		if n.offset > r.through {
			a.complain("%s committed offset %d of partition %d, and nobody had seen %d", n.member, n.offset, n.partition, r.through)
		}
		r.commits[n.offset] = true
	default:
		a.complain("%s notes %q, which is no verb", n.member, n.verb)
	}
}

func (a *audit) read(n note, r *partitionNotes) {
	next, owned := r.next[n.member]
	switch {
	case !owned:
		a.complain("%s read offset %d of partition %d, which it did not own", n.member, n.offset, n.partition)
	case next < 0 && !r.commits[n.offset]:
		a.complain("%s began at offset %d of partition %d, which nobody had committed", n.member, n.offset, n.partition)
	case next >= 0 && n.offset != next:
		a.complain("%s read offset %d of partition %d, and %d was next", n.member, n.offset, n.partition, next)
	}
	if want := n.offset*int64(len(a.partitions)) + int64(n.partition); n.number != want {
		a.complain("at offset %d of partition %d stands record %d, and not %d", n.offset, n.partition, n.number, want)
	}
	r.next[n.member] = n.offset + 1
	r.seen[n.offset] = true
	for r.seen[r.through] {
		delete(r.seen, r.through)
		r.through++
	}
}
