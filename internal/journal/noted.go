package journal

import "slices"

// gapsKept is how many gaps a partition remembers between the offsets that were
// noted. There is one for each batch whose answer is still on its way while
// later ones are noted; those at the lowest offsets are forgotten first.
const gapsKept = 128

// noted is where batches of a partition were noted to stand. A broker hands out
// offsets in order, but its answers come to be noted in any order: one that a
// fault holds back leaves a gap until it comes.
//
// Offsets that begin anew, as of a topic that was deleted and made again without
// the journal seeing it, look like those of replays.
type noted struct {
	end  int64 // one above the highest offset
	from int64 // gaps below it are forgotten
	gaps []gap // from there up to end, in order
}

// A gap is a row of offsets that no batch was noted at, without its end.
type gap struct{ start, end int64 }

// has says whether it is certain that a batch was noted at this base offset.
func (n *noted) has(base int64) bool {
	if base < n.from || base >= n.end {
		return false
	}
	_, open := n.gapAt(base)
	return !open
}

// add notes a batch that stands from base up to, and not including, end.
func (n *noted) add(base, end int64) {
	switch {
	case base > n.end:
		n.gaps = append(n.gaps, gap{n.end, base})
		n.forget()
	case base < n.end:
		n.fill(base, end)
	}
	n.end = max(n.end, end)
}

// gapAt finds the gap that holds an offset.
func (n *noted) gapAt(offset int64) (place int, ok bool) {
	return slices.BinarySearchFunc(n.gaps, offset, func(g gap, offset int64) int {
		switch {
		case g.end <= offset:
			return -1
		case g.start > offset:
			return 1
		}
		return 0
	})
}

// fill takes a batch out of the gap that it stands in, which may leave one on
// either side.
func (n *noted) fill(base, end int64) {
	i, ok := n.gapAt(base)
	if !ok {
		return
	}
	g := n.gaps[i]
	left, right := gap{g.start, base}, gap{end, g.end}
	switch {
	case left.empty() && right.empty():
		n.gaps = slices.Delete(n.gaps, i, i+1)
	case left.empty():
		n.gaps[i] = right
	case right.empty():
		n.gaps[i] = left
	default:
		n.gaps[i] = left
		n.gaps = slices.Insert(n.gaps, i+1, right)
		n.forget()
	}
}

func (g gap) empty() bool { return g.start >= g.end }

// forget makes sure that there are not too many gaps.
func (n *noted) forget() {
	if len(n.gaps) > gapsKept {
		n.from = n.gaps[0].end
		n.gaps = slices.Delete(n.gaps, 0, 1)
	}
}
