package log

import "testing"

// Pieces double until they are large, so a log of a few kilobytes or megabytes
// may hold twice what is stored, and the index of all that. From 256 MB on it is
// at most 1.2 times, the index included.
func TestLog_Resident(t *testing.T) {
	const (
		size  = 170
		large = 256e6
		last  = 420 << 20 // past the first piece of 64 MiB, which comes at 384 MiB
	)
	var l Log
	batch := newBatch(1, 0, size)
	for l.Size() < last {
		l.Append(batch, 0, Meta{Records: 1})
		limit := l.Size()*202/100 + 8<<10
		if l.Size() >= large {
			limit = l.Size()*12/10 + 1<<20
		}
		if l.Resident() > limit {
			t.Fatalf("%d bytes for %d stored, %.3f times", l.Resident(), l.Size(), float64(l.Resident())/float64(l.Size()))
		}
	}
	if cap(l.pieces[len(l.pieces)-1].buf) != largestPiece {
		t.Errorf("the last piece has %d bytes: the test does not reach the largest", cap(l.pieces[len(l.pieces)-1].buf))
	}
	checkInvariants(t, &l)
}

func TestLog_Resident_OfALogThatIsKeptSmallStaysSmall(t *testing.T) {
	const kept = 1 << 20
	var l Log
	batch := newBatch(1, 0, 1000)
	for range 64_000 {
		l.Append(batch, 0, Meta{Records: 1})
		if l.Size() > kept {
			if err := l.Trim(l.End() - kept/1000); err != nil {
				t.Fatal(err)
			}
		}
		if l.Resident() > 4*kept {
			t.Fatalf("%d bytes for %d stored", l.Resident(), l.Size())
		}
	}
}

func TestLog_Resident_OfAPartitionThatJustBegan(t *testing.T) {
	var l Log
	appendN(&l, 1, 1, 170)
	if l.Resident() > 5<<10 {
		t.Errorf("%d bytes", l.Resident())
	}
}

func TestLayout_Next(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for _, c := range []struct {
		held int64
		want int
	}{
		{0, 4 * kib},
		{170, 4 * kib},
		{4 * kib, 4 * kib},
		{8*kib - 1, 4 * kib},
		{8 * kib, 8 * kib},
		{100 * kib, 64 * kib},
		{1 * mib, 1 * mib},
		{32 * mib, 32 * mib},
		{64 * mib, 32 * mib},
		{383 * mib, 32 * mib},
		{384 * mib, 64 * mib},
		{1 << 40, 64 * mib},
	} {
		if got := standardLayout.next(c.held); got != c.want {
			t.Errorf("a log that holds %d gets a piece of %d instead of %d", c.held, got, c.want)
		}
	}
}
