package log

import (
	"math"
	"slices"
)

// Reuse says whether pieces that are made from now on are written anew once they
// have been trimmed, as suits a log that is trimmed all the time: what costs is
// the first touch of new memory. Readers are given copies of what such a piece
// holds, since it does not stay.
func (l *Log) Reuse(yes bool) {
	l.reuse = yes
	if !yes {
		l.spare = nil
	}
}

// piece gives a piece that n bytes fit into: one that was trimmed, if there is one,
// or else a new one.
func (l *Log) piece(n int) piece {
	if i := slices.IndexFunc(l.spare, func(p piece) bool { return cap(p.buf) >= n }); i >= 0 {
		p := l.spare[i]
		l.spare = slices.Delete(l.spare, i, i+1)
		return p
	}
	l.spare = nil // whatever waits is too small for what comes now
	y := l.layout.orStandard()
	size := y.next(l.held)
	if l.reuse {
		size = min(size, max(powerOfTwo(l.held/passingShare), y.smallest))
	}
	if last := len(l.pieces) - 1; last >= 0 && l.pieces[last].adopted {
		size = min(size, y.between)
	}
	p := newPiece(max(n, size), y.spacing)
	p.passing = l.reuse
	return p
}

// keep has a piece that was trimmed written anew, if nobody was given its own bytes and
// not much waits for that already.
func (l *Log) keep(p piece) {
	if !l.reuse || !p.passing || l.spareBytes() > l.held/passingShare {
		return
	}
	p.buf, p.marks, p.greatest = p.buf[:0], p.marks[:0], math.MinInt64
	l.spare = append(l.spare, p)
}

// spareBytes is the bytes of memory of the pieces that wait to be written anew.
func (l *Log) spareBytes() (n int64) {
	for i := range l.spare {
		n += l.spare[i].resident()
	}
	return n
}
