package log

import "testing"

func TestLog_TrimToSize(t *testing.T) {
	// Ten batches of 3 records and 100 bytes, three to a piece.
	for name, c := range map[string]struct{ trim, keep, start, size int64 }{
		"more than there is":                 {0, 2000, 0, 1000},
		"all there is":                       {0, 1000, 0, 1000},
		"a byte less keeps all":              {0, 999, 0, 1000},
		"a batch less":                       {0, 900, 3, 900},
		"a batch and a byte less":            {0, 899, 3, 900},
		"past a piece":                       {0, 500, 15, 500},
		"one byte keeps the last":            {0, 1, 27, 100},
		"nothing":                            {0, 0, 30, 0},
		"a batch of which a part is deleted": {4, 800, 6, 800},
		"of which all is deleted":            {30, 0, 30, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := Log{layout: threePerPiece}
			appendN(&l, 10, 3, 100)
			if err := l.Trim(c.trim); err != nil {
				t.Fatal(err)
			}
			l.TrimToSize(c.keep)
			if l.Start() != c.start || l.Size() != c.size || l.End() != 30 {
				t.Errorf("from %d to %d, %d bytes, instead of %d, %d bytes", l.Start(), l.End(), l.Size(), c.start, c.size)
			}
			checkInvariants(t, &l)
		})
	}
	t.Run("an empty log", func(t *testing.T) {
		var l Log
		l.TrimToSize(0)
		if l.Start() != 0 || l.Size() != 0 {
			t.Errorf("from %d, %d bytes", l.Start(), l.Size())
		}
	})
}

func TestLog_TrimBefore(t *testing.T) {
	for name, c := range map[string]struct {
		timestamps []int64
		before     int64
		start      int64
	}{
		"none is older":                      {[]int64{10, 20, 30, 40}, 10, 0},
		"the first":                          {[]int64{10, 20, 30, 40}, 11, 3},
		"past a piece":                       {[]int64{10, 20, 30, 40}, 31, 9},
		"all":                                {[]int64{10, 20, 30, 40}, 41, 12},
		"a newer one keeps what lies behind": {[]int64{10, 50, 20, 40}, 45, 3},
		"one without a time keeps what is behind": {[]int64{10, -1, 20, 40}, 45, 3},
		"0 is a time": {[]int64{0, 20}, 20, 3},
	} {
		t.Run(name, func(t *testing.T) {
			l := Log{layout: threePerPiece}
			appendTimes(&l, c.timestamps...)
			l.TrimBefore(c.before)
			if l.Start() != c.start {
				t.Errorf("starts at %d instead of %d", l.Start(), c.start)
			}
			checkInvariants(t, &l)
		})
	}
}
