// Package log keeps the records of one partition in memory: record batches in
// the order in which they came, back to back, each at the offset it was given.
//
// What always holds: every offset from Start up to, but not including, End is
// in exactly one batch; neither Start nor End ever goes down; a byte that a
// reader was given never changes.
//
// The package takes batches as validated by its caller and looks at their
// headers alone. It knows no Kafka error, no producer, no clock and no lock:
// whoever owns a Log calls one of its methods at a time.
package log

import (
	"errors"
	"slices"
	"sort"
	"unsafe"
)

// ErrOutOfRange says that an offset lies outside the log.
var ErrOutOfRange = errors.New("log: offset out of range")

// A Log is the records of one partition. The zero value is an empty log that
// begins at offset 0.
type Log struct {
	start int64 // log start offset
	end   int64 // log end offset: what the next batch gets

	pieces []piece // in order of offset, none of them empty
	stored int64   // bytes of all batches in the pieces
	held   int64   // bytes of memory of all pieces, their indexes included
	skip   int     // position in the first piece of the batch that holds start

	maxTimestamp       int64 // means nothing while end is 0
	maxTimestampOffset int64

	reuse bool    // see Reuse
	spare []piece // were trimmed and are to be written anew

	layout layout // zero for standardLayout; tests make everything smaller
}

// A Meta is what the caller knows of a batch that it has validated. Records and
// MaxTimestamp must agree with the batch's own header.
type Meta struct {
	Records           int32 // offsets that the batch takes, at least 1: its last offset delta plus one
	MaxTimestamp      int64 // greatest timestamp of its records, in milliseconds since 1970; -1 if they have none
	MaxTimestampDelta int32 // offset delta of the first record that has MaxTimestamp
}

// Append copies one batch to the end of the log and returns its base offset.
// The base offset and the leader epoch are written into the copy's header,
// where the batch's checksum does not reach; batch itself is left alone.
//
// Append panics if batch is not as long as its header says, or if its last
// offset delta does not go with m.Records: the log finds its way by those, and
// would be lost from there on.
func (l *Log) Append(batch []byte, leaderEpoch int32, m Meta) (baseOffset int64) {
	mustAgree(batch, m.Records)
	return l.append(l.room(len(batch)), batch, leaderEpoch, m)
}

// Adopt is Append of a batch that stays where it is: its memory is the log's from then
// on, base offset and leader epoch are written into it, and nobody else may touch it.
// It saves the copy of a large batch, and should be left alone unless Adopts.
func (l *Log) Adopt(batch []byte, leaderEpoch int32, m Meta) (baseOffset int64) {
	mustAgree(batch, m.Records)
	return l.append(l.add(adopt(batch)), batch, leaderEpoch, m)
}

// Adopts says whether a batch of n bytes had better stay where it is: it does not fit
// into memory that the log has already, and would leave little of that unused.
func (l *Log) Adopts(n int) bool {
	rest := l.rest()
	return rest < n && rest <= n/leastAdopted
}

// rest is how many bytes fit into the last piece.
func (l *Log) rest() int {
	if len(l.pieces) == 0 {
		return 0
	}
	return l.pieces[len(l.pieces)-1].free()
}

func (l *Log) append(to *piece, batch []byte, leaderEpoch int32, m Meta) (baseOffset int64) {
	base := l.end
	to.append(batch, base, leaderEpoch)
	l.stored += int64(len(batch))
	l.end += int64(m.Records)
	if base == 0 || m.MaxTimestamp > l.maxTimestamp {
		l.maxTimestamp = m.MaxTimestamp
		l.maxTimestampOffset = base + int64(m.MaxTimestampDelta)
	}
	return base
}

// room gives the last piece if n more bytes fit into it, else a new one.
func (l *Log) room(n int) *piece {
	if l.rest() >= n {
		return &l.pieces[len(l.pieces)-1]
	}
	return l.add(l.piece(n))
}

// add adds a piece that has no batch yet.
func (l *Log) add(p piece) *piece {
	l.held += p.resident()
	l.pieces = append(l.pieces, p)
	return &l.pieces[len(l.pieces)-1]
}

// Start is the log start offset: the lowest that can be read.
func (l *Log) Start() int64 { return l.start }

// End is the log end offset: one more than that of the last record.
func (l *Log) End() int64 { return l.end }

// Size is the bytes of the batches that hold an offset from Start on.
func (l *Log) Size() int64 { return l.stored - int64(l.skip) }

// Resident is the bytes of memory that the log holds for its batches: pieces as
// they were allocated, filled or not, and the index. From 256 MB on it is at
// most 1.2 times Size plus 1 MiB, if the batches are small beside the pieces and
// nothing was trimmed. In a smaller log half of it may be unused, since pieces
// double; after a trim, what lies before Start in the first piece is too, and with
// Reuse pieces may wait to be written anew.
func (l *Log) Resident() int64 {
	return l.held + l.spareBytes() + int64(cap(l.pieces)+cap(l.spare))*int64(unsafe.Sizeof(piece{}))
}

// MaxTimestamp is the greatest timestamp that was ever appended and the offset
// of the first record that has it, which may lie below Start: as in Kafka,
// trimming does not take it back. It is not ok if the log never held a record.
func (l *Log) MaxTimestamp() (timestamp, offset int64, ok bool) {
	return l.maxTimestamp, l.maxTimestampOffset, l.end > 0
}

// Trim makes offset the log start offset, as Kafka's DeleteRecords does, and
// releases the pieces of memory that lie wholly before it. The batch that holds
// offset stays whole. An offset at or below Start changes nothing; one below 0
// or above End is ErrOutOfRange.
func (l *Log) Trim(offset int64) error {
	if offset < 0 || offset > l.end {
		return ErrOutOfRange
	}
	l.trimTo(offset)
	return nil
}

// trimTo is Trim to an offset that is in range.
func (l *Log) trimTo(offset int64) {
	if offset <= l.start {
		return
	}
	l.start = offset
	l.release()
	l.skip = 0
	if len(l.pieces) > 0 {
		l.skip = l.pieces[0].find(offset)
	}
}

// release lets go of the pieces that hold no offset from start on. Readers may
// still hold bytes of them, so their memory is left to the garbage collector and
// never used again here, unless they are of those that Reuse is about.
func (l *Log) release() {
	n := 0
	for n < len(l.pieces) && l.pieceEnd(n) <= l.start {
		l.stored -= int64(len(l.pieces[n].buf))
		l.held -= l.pieces[n].resident()
		l.keep(l.pieces[n])
		n++
	}
	if n == len(l.pieces) {
		l.pieces = nil
		return
	}
	l.pieces = slices.Delete(l.pieces, 0, n)
}

// pieceEnd is the offset after the last one of piece i.
func (l *Log) pieceEnd(i int) int64 {
	if i+1 < len(l.pieces) {
		return l.pieces[i+1].base()
	}
	return l.end
}

// Read returns batches from the one that holds offset on, as they lie in
// memory. The first comes whole, whatever maxBytes says; what follows is cut at
// maxBytes, in the middle of a batch too, as Kafka does. Where a piece of memory
// ends so does what is returned, always after a whole batch: the reader asks
// again from there. At End it is nil; an offset below Start or above End is
// ErrOutOfRange.
//
// The bytes are the log's own memory, unless Reuse says otherwise: they must not
// be written to, and they stay as they are for as long as the caller holds them.
func (l *Log) Read(offset int64, maxBytes int) ([]byte, error) {
	if offset < l.start || offset > l.end {
		return nil, ErrOutOfRange
	}
	i, pos := l.locate(offset)
	if i < 0 {
		return nil, nil
	}
	p := &l.pieces[i]
	first := header(p.buf[pos:]).size()
	return p.bytes(pos, max(first, min(maxBytes, len(p.buf)-pos))), nil
}

// Batch returns the one batch that holds offset, whole; nil if offset lies below
// Start or is End or above. The bytes are those that Read would give.
func (l *Log) Batch(offset int64) []byte {
	if offset < l.start {
		return nil
	}
	i, pos := l.locate(offset)
	if i < 0 {
		return nil
	}
	return l.pieces[i].batch(pos)
}

// locate finds the piece and the position in it of the batch that holds offset,
// which is not below start. The piece is -1 from end on.
func (l *Log) locate(offset int64) (i, pos int) {
	if offset >= l.end {
		return -1, 0
	}
	i = sort.Search(len(l.pieces), func(i int) bool { return l.pieces[i].base() > offset }) - 1
	return i, l.pieces[i].find(offset)
}

// AtOrAfter returns the first batch, whole, that holds an offset from Start on
// and whose max timestamp (milliseconds since 1970) is timestamp or greater; nil
// if there is none. The record that has it is for the caller to find. In the
// batch that holds Start it may lie below Start: Batch gives what follows. The
// bytes are those that Read would give.
func (l *Log) AtOrAfter(timestamp int64) []byte {
	from := l.skip
	for i := range l.pieces {
		if b := l.pieces[i].atOrAfter(timestamp, from); b != nil {
			return b
		}
		from = 0
	}
	return nil
}
