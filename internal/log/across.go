package log

import "sort"

// maxJoined is the most bytes that ReadAcross takes from several pieces of
// memory for one read, 1 MiB: they have to be copied. It is what clients ask of
// a partition by default, and little beside a large piece, so that who reads a
// long log has hardly anything copied.
const maxJoined = 1 << 20

// A Stretch is batches that follow one another in the log but may lie in several
// pieces of memory.
type Stretch struct {
	First  []byte   // as Read gives it
	behind [][]byte // what follows in other pieces
	More   bool     // batches lie behind them all, though no limit was reached
}

// Size is the bytes of all of it.
func (s *Stretch) Size() int {
	n := len(s.First)
	for _, b := range s.behind {
		n += len(b)
	}
	return n
}

// Bytes is all of it in one: the log's own memory if it lies in one piece, else
// a copy.
func (s *Stretch) Bytes() []byte {
	if len(s.behind) == 0 {
		return s.First
	}
	joined := append(make([]byte, 0, s.Size()), s.First...)
	for _, b := range s.behind {
		joined = append(joined, b...)
	}
	return joined
}

// ReadAcross is Read, but what it gives does not end with a piece of memory: up
// to maxJoined bytes are taken from several. Nothing is copied before Bytes,
// which may be called whenever the caller likes.
func (l *Log) ReadAcross(offset int64, maxBytes int) (s Stretch, err error) {
	s.First, err = l.Read(offset, maxBytes)
	if err != nil || len(s.First) == 0 || len(s.First) >= maxBytes {
		return s, err
	}
	left := min(maxBytes, maxJoined) - len(s.First)
	next := sort.Search(len(l.pieces), func(i int) bool { return l.pieces[i].base() > offset })
	for ; next < len(l.pieces) && left > 0; next++ {
		p := &l.pieces[next]
		n := min(left, len(p.buf))
		s.behind, left = append(s.behind, p.bytes(0, n)), left-n
		if n < len(p.buf) {
			break
		}
	}
	s.More = next < len(l.pieces) && s.Size() < maxBytes
	return s, nil
}
