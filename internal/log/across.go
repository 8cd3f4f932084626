package log

import "sort"

// mostCopied is the most bytes that ReadAcross takes from several pieces that are written
// anew later, 1 MiB: they have to be copied.
const mostCopied = 1 << 20

// A Stretch is batches that follow one another in the log but may lie in several
// pieces of memory.
type Stretch struct {
	First  []byte   // as Read gives it
	Behind [][]byte // what follows in other pieces
	More   bool     // batches lie behind them all, though no limit of the reader's was reached
	Pinned int      // bytes of memory that it keeps from being given back
}

// Size is the bytes of all of it.
func (s *Stretch) Size() int {
	n := len(s.First)
	for _, b := range s.Behind {
		n += len(b)
	}
	return n
}

// Until is the offset behind the last batch that it holds whole, 0 if it holds
// none.
func (s *Stretch) Until() (until int64) {
	for _, b := range append([][]byte{s.First}, s.Behind...) {
		for len(b) >= headerSize && header(b).size() <= len(b) {
			until = header(b).lastOffset() + 1
			b = b[header(b).size():]
		}
	}
	return until
}

// Bytes is all of it in one: the log's own memory if it lies in one piece, else
// a copy.
func (s *Stretch) Bytes() []byte {
	if len(s.Behind) == 0 {
		return s.First
	}
	joined := append(make([]byte, 0, s.Size()), s.First...)
	for _, b := range s.Behind {
		joined = append(joined, b...)
	}
	return joined
}

// ReadAcross is Read, but what it gives does not end with a piece of memory. It ends
// before until, where a batch has to begin, or at End if that comes first. Nothing is
// copied before Bytes, which may be called whenever the caller likes, but what lies in
// pieces that are written anew later: of these it takes mostCopied bytes at most, unless
// one alone has more.
func (l *Log) ReadAcross(offset, until int64, maxBytes int) (s Stretch, err error) {
	if offset >= until && offset <= l.end && offset >= l.start {
		return s, nil
	}
	if until < l.end {
		maxBytes = min(maxBytes, l.between(offset, until))
	}
	s.First, err = l.Read(offset, maxBytes)
	if err != nil || len(s.First) == 0 {
		return s, err
	}
	left := maxBytes - len(s.First)
	next := sort.Search(len(l.pieces), func(i int) bool { return l.pieces[i].base() > offset })
	s.Pinned = l.pieces[next-1].pins(len(s.First))
	for ; next < len(l.pieces) && left > 0; next++ {
		p := &l.pieces[next]
		n := min(left, len(p.buf))
		if p.passing {
			n = max(0, min(n, mostCopied-s.Size()))
		}
		if n > 0 {
			s.Behind, left = append(s.Behind, p.bytes(0, n)), left-n
			s.Pinned += p.pins(n)
		}
		if n < len(p.buf) {
			break
		}
	}
	s.More = next < len(l.pieces) && left > 0
	return s, nil
}

// between is the bytes of the batches from the one that holds from up to, and not
// including, the one that begins at to; 0 if from is not in the log.
func (l *Log) between(from, to int64) int {
	if from < l.start || to <= from {
		return 0
	}
	first, pos := l.locate(from)
	last, end := l.locate(to)
	n := end - pos
	for i := first; i < last; i++ {
		n += len(l.pieces[i].buf)
	}
	return n
}
