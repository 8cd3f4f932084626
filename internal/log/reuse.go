package log

import "math"

// Reuse says whether pieces that are made from now on are written anew once they
// have been trimmed, as suits a log that is trimmed all the time: what costs is
// the first touch of new memory. Readers are given copies of what such a piece
// holds, since it does not stay.
func (l *Log) Reuse(yes bool) {
	l.reuse = yes
	if !yes {
		l.spare = piece{}
	}
}

// piece gives a piece that n bytes fit into: the one that was trimmed last, if
// there is one, or else a new one.
func (l *Log) piece(n int) piece {
	if p := l.spare; l.reuse && cap(p.buf) >= n {
		l.spare = piece{}
		return p
	}
	y := l.layout.orStandard()
	p := newPiece(max(n, y.next(l.held)), y.spacing)
	p.passing = l.reuse
	return p
}

// keep has a piece that was trimmed written anew, if nobody else holds bytes of
// it and it is larger than the one that waits for that already.
func (l *Log) keep(p piece) {
	if !l.reuse || !p.passing || cap(p.buf) <= cap(l.spare.buf) {
		return
	}
	p.buf, p.marks, p.greatest = p.buf[:0], p.marks[:0], math.MinInt64
	l.spare = p
}
