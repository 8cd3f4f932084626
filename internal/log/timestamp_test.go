package log

import (
	"bytes"
	"math"
	"testing"
)

// appendTimes appends a batch of 3 records and 100 bytes for each timestamp, the
// second record having it, and returns what a reader must get for each.
func appendTimes(l *Log, timestamps ...int64) [][]byte {
	var want [][]byte
	for _, ts := range timestamps {
		b := newBatch(3, ts, 100)
		base := l.Append(b, 1, Meta{Records: 3, MaxTimestamp: ts, MaxTimestampDelta: 1})
		want = append(want, placed(b, base, 1))
	}
	return want
}

func TestLog_AtOrAfter(t *testing.T) {
	// Pieces of three batches: a piece break stands after each third timestamp.
	inOrder := []int64{10, 20, 30, 40, 50, 60, 70}
	outOfOrder := []int64{50, 10, 20, 5, 6, 7, 60, 60, 55}
	const none = -1
	for name, c := range map[string]struct {
		timestamps []int64
		trim       int64
		timestamp  int64
		want       int // index of the batch
	}{
		"before all is the first":                         {inOrder, 0, math.MinInt64, 0},
		"the first one's own":                             {inOrder, 0, 10, 0},
		"between two is the later":                        {inOrder, 0, 11, 1},
		"the last of a piece":                             {inOrder, 0, 30, 2},
		"after the last of a piece is the next piece":     {inOrder, 0, 31, 3},
		"the last one's own":                              {inOrder, 0, 70, 6},
		"after all is none":                               {inOrder, 0, 71, none},
		"far after all is none":                           {inOrder, 0, math.MaxInt64, none},
		"an early greater one hides later ones":           {outOfOrder, 0, 20, 0},
		"a piece of smaller ones is passed over":          {outOfOrder, 0, 51, 6},
		"the first of equal ones":                         {outOfOrder, 0, 60, 6},
		"a trim inside the batch leaves it":               {inOrder, 2, 10, 0},
		"a trim past the batch leaves the next":           {inOrder, 3, 10, 1},
		"a trim past a greater one uncovers later ones":   {outOfOrder, 3, 20, 2},
		"a trim past a piece's greatest finds none there": {outOfOrder, 3, 21, 6},
		"a trim past a piece":                             {outOfOrder, 9, 6, 4},
		"a trim inside the second of equal ones":          {outOfOrder, 22, 60, 7},
		"a trim past all that are as great":               {outOfOrder, 24, 60, none},
		"a trim to the end":                               {inOrder, 21, 10, none},
		"no timestamps":                                   {[]int64{-1, -1}, 0, -1, 0},
		"a timestamp among none":                          {[]int64{-1, -1, 0}, 0, 0, 2},
		"all before the epoch":                            {[]int64{-90, -80}, 0, -85, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := Log{layout: threePerPiece}
			b := appendTimes(&l, c.timestamps...)
			checkInvariants(t, &l)
			if err := l.Trim(c.trim); err != nil {
				t.Fatal(err)
			}
			var want []byte
			if c.want != none {
				want = b[c.want]
			}
			if got := l.AtOrAfter(c.timestamp); !bytes.Equal(got, want) || (got == nil) != (want == nil) {
				t.Errorf("got % x\ninstead of % x", got, want)
			}
		})
	}
}

func TestLog_MaxTimestamp(t *testing.T) {
	for name, c := range map[string]struct {
		timestamps []int64
		trim       int64
		timestamp  int64
		offset     int64
	}{
		"of one batch":                             {[]int64{5}, 0, 5, 1},
		"in order is the last":                     {[]int64{5, 6, 7, 8}, 0, 8, 10},
		"out of order is the greatest":             {[]int64{5, 9, 7, 8}, 0, 9, 4},
		"of equal ones is the first":               {[]int64{5, 9, 9, 9}, 0, 9, 4},
		"0":                                        {[]int64{0}, 0, 0, 1},
		"of records without timestamps":            {[]int64{-1, -1}, 0, -1, 1},
		"before the epoch":                         {[]int64{-90, -80}, 0, -80, 4},
		"stays when its batch is trimmed":          {[]int64{5, 9, 7, 8}, 6, 9, 4},
		"stays when its piece is trimmed":          {[]int64{5, 9, 7, 8}, 10, 9, 4},
		"stays when all is trimmed":                {[]int64{5, 9, 7, 8}, 12, 9, 4},
		"may be the least that a timestamp can be": {[]int64{math.MinInt64}, 0, math.MinInt64, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := Log{layout: threePerPiece}
			appendTimes(&l, c.timestamps...)
			if err := l.Trim(c.trim); err != nil {
				t.Fatal(err)
			}
			if ts, offset, ok := l.MaxTimestamp(); ts != c.timestamp || offset != c.offset || !ok {
				t.Errorf("%d at %d, %t, instead of %d at %d", ts, offset, ok, c.timestamp, c.offset)
			}
		})
	}
	t.Run("grows after a trim only with a greater one", func(t *testing.T) {
		l := Log{layout: threePerPiece}
		appendTimes(&l, 5, 9)
		if err := l.Trim(6); err != nil {
			t.Fatal(err)
		}
		appendTimes(&l, 9)
		if ts, offset, _ := l.MaxTimestamp(); ts != 9 || offset != 4 {
			t.Errorf("%d at %d after an equal one", ts, offset)
		}
		appendTimes(&l, 10)
		if ts, offset, _ := l.MaxTimestamp(); ts != 10 || offset != 10 {
			t.Errorf("%d at %d after a greater one", ts, offset)
		}
	})
}
