package log

import "testing"

func TestLog_Reuse_WritesTrimmedPiecesAnew(t *testing.T) {
	const kept = 1 << 20
	var l Log
	l.Reuse(true)
	batch := newBatch(1, 0, 1000)
	write := func() {
		for range 4 * kept / len(batch) {
			l.Append(batch, 0, Meta{Records: 1})
			l.TrimToSize(kept)
		}
	}
	for range 5 { // pieces get as large as they may
		write()
	}
	before := l.Resident()
	if allocated := testing.AllocsPerRun(5, write); allocated > 0 {
		t.Errorf("four times what is kept was written with %v allocations", allocated)
	}
	if l.Resident() != before {
		t.Errorf("%d bytes are resident, and %d were", l.Resident(), before)
	}
	checkInvariants(t, &l)
	l.TrimToSize(0)
	if l.Reuse(false); l.Resident() > 1<<10 {
		t.Errorf("%d bytes are resident in an empty log that uses nothing again", l.Resident())
	}
}
