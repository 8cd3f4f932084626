package log

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// threePerPiece has pieces that hold three batches of 100 bytes each, with marks
// at the first and the third.
var threePerPiece = layout{smallest: 300, doubling: 300, largest: 300, spacing: 120}

// newBatch makes a batch of size bytes, 61 at least, as a producer would send
// it: base offset 0, leader epoch -1, a checksum that is right. Its records are
// bytes that only tell one batch from another.
func newBatch(records int32, maxTimestamp int64, size int) []byte {
	b := make([]byte, size)
	binary.BigEndian.PutUint32(b[8:], uint32(size-12))
	binary.BigEndian.PutUint32(b[12:], 0xffffffff)
	b[16] = 2
	binary.BigEndian.PutUint32(b[23:], uint32(records-1))
	binary.BigEndian.PutUint64(b[27:], uint64(maxTimestamp-5))
	binary.BigEndian.PutUint64(b[35:], uint64(maxTimestamp))
	binary.BigEndian.PutUint32(b[57:], uint32(records))
	for i := 61; i < size; i++ {
		b[i] = byte(int(maxTimestamp)*31 + int(records)*7 + i)
	}
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b
}

// placed is what a reader must get for a batch: the producer's bytes with base
// offset and leader epoch in their places.
func placed(batch []byte, baseOffset int64, leaderEpoch int32) []byte {
	b := append([]byte(nil), batch...)
	binary.BigEndian.PutUint64(b[0:8], uint64(baseOffset))
	binary.BigEndian.PutUint32(b[12:16], uint32(leaderEpoch))
	return b
}

// appendN appends n batches of the same kind and returns what a reader must get
// for each.
func appendN(l *Log, n int, records int32, size int) [][]byte {
	var want [][]byte
	for range n {
		ts := 1000 + l.End()
		b := newBatch(records, ts, size)
		base := l.Append(b, 7, Meta{Records: records, MaxTimestamp: ts})
		want = append(want, placed(b, base, 7))
	}
	return want
}

// A failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// checkInvariants looks at how the log keeps its batches: nothing that a reader
// can see, but all that it relies on.
func checkInvariants(t failer, l *Log) {
	t.Helper()
	var stored, held int64
	for i := range l.pieces {
		p := &l.pieces[i]
		stored += int64(len(p.buf))
		held += p.resident()
		if len(p.buf) == 0 {
			t.Fatalf("piece %d is empty", i)
		}
		if most := 1 + (cap(p.buf)-1)/p.spacing; cap(p.marks) != most {
			t.Fatalf("piece %d has room for %d marks instead of %d", i, cap(p.marks), most)
		}
		marks, end := marksOf(t, p)
		if !slices.Equal(p.marks, marks) {
			t.Fatalf("piece %d has marks %v instead of %v", i, p.marks, marks)
		}
		if greatest := slices.MaxFunc(marks, func(a, b mark) int { return cmp.Compare(a.greatest, b.greatest) }).greatest; p.greatest != greatest {
			t.Fatalf("piece %d has greatest timestamp %d instead of %d", i, p.greatest, greatest)
		}
		if end != l.pieceEnd(i) {
			t.Fatalf("piece %d ends at %d, the next begins at %d", i, end, l.pieceEnd(i))
		}
	}
	if stored != l.stored || held != l.held {
		t.Fatalf("log counts %d bytes in %d, it has %d in %d", l.stored, l.held, stored, held)
	}
	if len(l.pieces) > 0 && l.pieceEnd(0) <= l.start {
		t.Fatalf("the first piece ends at %d, the log starts at %d", l.pieceEnd(0), l.start)
	}
}

// marksOf walks over the batches of a piece, whose base offsets must follow one
// another, and returns the marks that it ought to have and the offset after it.
func marksOf(t failer, p *piece) (marks []mark, end int64) {
	t.Helper()
	end = p.base()
	for pos := 0; pos < len(p.buf); {
		b := p.buf[pos:]
		if got := int64(binary.BigEndian.Uint64(b)); got != end {
			t.Fatalf("base offset %d at %d instead of %d", got, pos, end)
		}
		timestamp := int64(binary.BigEndian.Uint64(b[35:]))
		if len(marks) == 0 || pos >= marks[len(marks)-1].position+p.spacing {
			marks = append(marks, mark{offset: end, position: pos, greatest: timestamp})
		}
		m := &marks[len(marks)-1]
		m.greatest = max(m.greatest, timestamp)
		end += int64(binary.BigEndian.Uint32(b[23:])) + 1
		pos += int(binary.BigEndian.Uint32(b[8:])) + 12
	}
	return marks, end
}

// requirePanic calls f, which must panic.
func requirePanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	f()
}
