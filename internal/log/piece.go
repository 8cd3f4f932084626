package log

import (
	"bytes"
	"math"
	"sort"
	"unsafe"
)

// A piece is one stretch of memory with whole batches back to back. It is
// allocated once, at its full capacity, and only ever written behind what is
// already there: that is why readers may keep slices of it, unless it is passing.
type piece struct {
	buf      []byte
	marks    []mark // in order of offset and position
	spacing  int    // bytes at least between two marks
	greatest int64  // greatest max timestamp of its batches
	passing  bool   // it may be written anew once it is trimmed: nobody is given its own bytes
	adopted  bool   // it is one batch in the memory that it came in
}

// A mark says where in a piece a batch begins; the first batch has one. It
// stands for the stretch of batches up to the next mark.
type mark struct {
	offset   int64 // the batch's base offset
	position int
	greatest int64 // greatest max timestamp of the stretch
}

// newPiece allocates a piece, and with it room for all the marks that it can
// get: an index that grew by itself would copy, and hold more than it needs.
func newPiece(size, spacing int) piece {
	return piece{
		buf:      make([]byte, 0, size),
		marks:    make([]mark, 0, 1+(size-1)/spacing),
		spacing:  spacing,
		greatest: math.MinInt64,
	}
}

// adopt makes a piece of one batch, where it is, and of its one mark.
func adopt(batch []byte) piece {
	return piece{buf: batch[:0:len(batch)], marks: make([]mark, 0, 1), spacing: len(batch), greatest: math.MinInt64, adopted: true}
}

// base is the offset of the first batch, which there must be.
func (p *piece) base() int64 { return p.marks[0].offset }

// free is how many more bytes fit.
func (p *piece) free() int { return cap(p.buf) - len(p.buf) }

// resident is the bytes of memory of the piece, its index included.
func (p *piece) resident() int64 {
	return int64(cap(p.buf)) + int64(cap(p.marks))*int64(unsafe.Sizeof(mark{}))
}

// append copies a batch, for which there must be room, behind the others; the one of
// a piece that is adopted is there already.
func (p *piece) append(batch []byte, baseOffset int64, leaderEpoch int32) {
	pos := len(p.buf)
	if p.adopted {
		p.buf = p.buf[:len(batch)]
	} else {
		p.buf = append(p.buf, batch...)
	}
	h := header(p.buf[pos:])
	h.place(baseOffset, leaderEpoch)
	if n := len(p.marks); n == 0 || pos-p.marks[n-1].position >= p.spacing {
		p.marks = append(p.marks, mark{offset: baseOffset, position: pos, greatest: math.MinInt64})
	}
	last := &p.marks[len(p.marks)-1]
	last.greatest = max(last.greatest, h.maxTimestamp())
	p.greatest = max(p.greatest, last.greatest)
}

// find is the position of the batch that holds offset, which must be one of the
// piece's own.
func (p *piece) find(offset int64) int {
	after := sort.Search(len(p.marks), func(i int) bool { return p.marks[i].offset > offset })
	pos := p.marks[after-1].position
	for h := header(p.buf[pos:]); h.lastOffset() < offset; h = header(p.buf[pos:]) {
		pos += h.size()
	}
	return pos
}

// atOrAfter is the first batch from position from on, where one must begin,
// whose max timestamp is timestamp or greater; nil if there is none. Only
// stretches that may hold one are walked: the partition waits meanwhile, and a
// large piece of small batches takes milliseconds to walk.
func (p *piece) atOrAfter(timestamp int64, from int) []byte {
	if p.greatest < timestamp {
		return nil
	}
	for i, m := range p.marks {
		if m.greatest < timestamp {
			continue
		}
		for pos := max(m.position, from); pos < p.stretchEnd(i); pos += header(p.buf[pos:]).size() {
			if header(p.buf[pos:]).maxTimestamp() >= timestamp {
				return p.batch(pos)
			}
		}
	}
	return nil
}

// stretchEnd is the position after the last batch that mark i stands for.
func (p *piece) stretchEnd(i int) int {
	if i+1 < len(p.marks) {
		return p.marks[i+1].position
	}
	return len(p.buf)
}

// batch is the one batch that begins at pos.
func (p *piece) batch(pos int) []byte { return p.bytes(pos, header(p.buf[pos:]).size()) }

// pins is how many bytes of memory a reader holds that has n bytes of the piece.
func (p *piece) pins(n int) int {
	if p.passing {
		return n // they are a copy
	}
	return cap(p.buf)
}

// bytes is n bytes from pos on, without the capacity behind them: a caller that
// appends to what it was given gets a copy and does not write into the log.
func (p *piece) bytes(pos, n int) []byte {
	if p.passing {
		return bytes.Clone(p.buf[pos : pos+n])
	}
	return p.buf[pos : pos+n : pos+n]
}
