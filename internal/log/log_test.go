package log

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"weak"
)

func TestLog_Empty(t *testing.T) {
	var l Log
	if l.Start() != 0 || l.End() != 0 || l.Size() != 0 || l.Resident() != 0 {
		t.Errorf("start %d, end %d, size %d, resident %d", l.Start(), l.End(), l.Size(), l.Resident())
	}
	if b, err := l.Read(0, 100); b != nil || err != nil {
		t.Errorf("read at the end: %v, %v", b, err)
	}
	for _, offset := range []int64{-1, 1, math.MinInt64, math.MaxInt64} {
		if b, err := l.Read(offset, 100); b != nil || !errors.Is(err, ErrOutOfRange) {
			t.Errorf("read at %d: %v, %v", offset, b, err)
		}
		if err := l.Trim(offset); !errors.Is(err, ErrOutOfRange) {
			t.Errorf("trim to %d: %v", offset, err)
		}
	}
	if err := l.Trim(0); err != nil {
		t.Errorf("trim to 0: %v", err)
	}
	if b := l.Batch(0); b != nil {
		t.Errorf("batch: %v", b)
	}
	if b := l.AtOrAfter(math.MinInt64); b != nil {
		t.Errorf("at or after: %v", b)
	}
	if ts, offset, ok := l.MaxTimestamp(); ok {
		t.Errorf("max timestamp: %d at %d", ts, offset)
	}
}

func TestLog_Append(t *testing.T) {
	t.Run("gives each batch the offset after the last record", func(t *testing.T) {
		var l Log
		want := int64(0)
		for _, records := range []int32{1, 5, 1, 1000, math.MaxInt32, 2} {
			if got := l.Append(newBatch(records, 0, 80), 0, Meta{Records: records}); got != want {
				t.Errorf("base offset %d instead of %d", got, want)
			}
			want += int64(records)
		}
		if l.End() != want || l.Start() != 0 {
			t.Errorf("log from %d to %d instead of 0 to %d", l.Start(), l.End(), want)
		}
		checkInvariants(t, &l)
	})
	t.Run("writes base offset and leader epoch and leaves the rest and its checksum alone", func(t *testing.T) {
		var l Log
		appendN(&l, 1, 70000, 90)
		sent := newBatch(3, 5, 200)
		l.Append(sent, 0x01020304, Meta{Records: 3, MaxTimestamp: 5})
		got := l.Batch(70001)
		if base := binary.BigEndian.Uint64(got[0:8]); base != 70000 {
			t.Errorf("base offset %d", base)
		}
		if epoch := binary.BigEndian.Uint32(got[12:16]); epoch != 0x01020304 {
			t.Errorf("leader epoch %x", epoch)
		}
		if !bytes.Equal(got[8:12], sent[8:12]) || !bytes.Equal(got[16:], sent[16:]) {
			t.Errorf("stored % x\n  sent % x", got, sent)
		}
		if crc := crc32.Checksum(got[21:], castagnoli); crc != binary.BigEndian.Uint32(got[17:21]) {
			t.Errorf("checksum %x instead of %x", binary.BigEndian.Uint32(got[17:21]), crc)
		}
	})
	t.Run("copies the batch and does not write into it", func(t *testing.T) {
		var l Log
		appendN(&l, 1, 1, 90)
		sent := newBatch(3, 5, 200)
		before := slices.Clone(sent)
		l.Append(sent, 9, Meta{Records: 3, MaxTimestamp: 5})
		if !bytes.Equal(sent, before) {
			t.Error("the caller's batch was changed")
		}
		clear(sent)
		if got := l.Batch(1); !bytes.Equal(got, placed(before, 1, 9)) {
			t.Error("the log changed with the caller's batch")
		}
	})
	t.Run("gives a batch larger than the next piece a piece of its own size", func(t *testing.T) {
		l := Log{layout: threePerPiece}
		appendN(&l, 1, 1, 100)
		appendN(&l, 1, 1, 5000)
		appendN(&l, 1, 1, 100)
		var got []int
		for _, p := range l.pieces {
			got = append(got, cap(p.buf))
		}
		if want := []int{300, 5000, 300}; !slices.Equal(got, want) {
			t.Errorf("pieces of %v instead of %v", got, want)
		}
		checkInvariants(t, &l)
	})
	t.Run("fills a piece to its last byte", func(t *testing.T) {
		l := Log{layout: threePerPiece}
		appendN(&l, 3, 1, 100)
		if len(l.pieces) != 1 {
			t.Errorf("%d pieces", len(l.pieces))
		}
	})
}

func TestLog_Append_RefusesABatchItCouldNotWalkOver(t *testing.T) {
	headless := newBatch(1, 0, 61)[:60]
	binary.BigEndian.PutUint32(headless[8:], 60-12)
	long := newBatch(1, 0, 100)
	binary.BigEndian.PutUint32(long[8:], 100-12+1)
	short := newBatch(1, 0, 100)
	binary.BigEndian.PutUint32(short[8:], 100-12-1)
	negative := newBatch(1, 0, 100)
	binary.BigEndian.PutUint32(negative[8:], math.MaxUint32)
	for name, c := range map[string]struct {
		batch   []byte
		records int32
	}{
		"nothing at all":                          {nil, 1},
		"less than a header":                      {headless, 1},
		"a length beyond the batch":               {long, 1},
		"a length within the batch":               {short, 1},
		"a negative length":                       {negative, 1},
		"two batches at once":                     {append(newBatch(1, 0, 100), newBatch(1, 0, 100)...), 1},
		"fewer records than the header has":       {newBatch(3, 0, 100), 2},
		"more records than the header has":        {newBatch(3, 0, 100), 4},
		"no records":                              {newBatch(0, 0, 100), 0},
		"a negative number of records, as header": {newBatch(-1, 0, 100), -1},
	} {
		t.Run(name, func(t *testing.T) {
			var l Log
			appendN(&l, 1, 1, 100)
			requirePanic(t, func() { l.Append(c.batch, 0, Meta{Records: c.records}) })
			if l.End() != 1 || l.Size() != 100 {
				t.Errorf("end %d, size %d", l.End(), l.Size())
			}
			checkInvariants(t, &l)
		})
	}
}

func TestLog_Read(t *testing.T) {
	// Two pieces: offsets 0 to 14 in batches of 5 records, then 15 to 24.
	l := Log{layout: threePerPiece}
	b := appendN(&l, 5, 5, 100)
	checkInvariants(t, &l)
	first, second := slices.Concat(b[0], b[1], b[2]), slices.Concat(b[3], b[4])
	for name, c := range map[string]struct {
		offset   int64
		maxBytes int
		want     []byte
	}{
		"the first batch at its first offset":        {0, 100, b[0]},
		"the first batch at an offset inside":        {2, 100, b[0]},
		"the first batch at its last offset":         {4, 100, b[0]},
		"the second batch at its first offset":       {5, 100, b[1]},
		"the third batch, which has a mark":          {10, 100, b[2]},
		"the third batch at its last offset":         {14, 100, b[2]},
		"a batch whole though more than was asked":   {7, 99, b[1]},
		"a batch whole though one byte was asked":    {7, 1, b[1]},
		"a batch whole though nothing was asked":     {7, 0, b[1]},
		"a batch whole though less was asked":        {7, -1, b[1]},
		"a batch and one byte of the next":           {0, 101, first[:101]},
		"a batch and half of the next":               {0, 150, first[:150]},
		"a batch and all but one byte of the next":   {0, 199, first[:199]},
		"two batches exactly":                        {0, 200, first[:200]},
		"two batches from an offset inside":          {9, 200, first[100:]},
		"a whole piece exactly":                      {0, 300, first},
		"no more than the piece":                     {0, 301, first},
		"no more than the piece for any size":        {0, math.MaxInt, first},
		"the last batch of a piece, not into next":   {12, 150, b[2]},
		"the second piece at its first offset":       {15, 1000, second},
		"the second piece at its second batch":       {20, 1000, b[4]},
		"the last batch at its last offset":          {24, math.MaxInt, b[4]},
		"the second piece cut in its second batch":   {17, 120, second[:120]},
		"nothing at the end":                         {25, 1000, nil},
		"nothing at the end though nothing is asked": {25, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := l.Read(c.offset, c.maxBytes)
			if err != nil || !bytes.Equal(got, c.want) || (got == nil) != (c.want == nil) {
				t.Errorf("%d bytes instead of %d, error %v", len(got), len(c.want), err)
			}
		})
	}
	for _, offset := range []int64{-1, 26, math.MinInt64, math.MaxInt64} {
		if got, err := l.Read(offset, 100); got != nil || !errors.Is(err, ErrOutOfRange) {
			t.Errorf("read at %d: %d bytes, error %v", offset, len(got), err)
		}
	}
}

func TestLog_Read_GoesFromStartToEnd(t *testing.T) {
	for _, size := range []int{61, 99, 100, 101, 150, 299, 300, 301, 1000} {
		l := Log{layout: layout{smallest: 256, doubling: 512, largest: 1024, spacing: 150}}
		want := bytes.Join(appendN(&l, 100, 3, size), nil)
		checkInvariants(t, &l)
		var got []byte
		for offset := l.Start(); offset < l.End(); {
			b, err := l.Read(offset, math.MaxInt)
			if err != nil || len(b) == 0 {
				t.Fatalf("batches of %d bytes: stuck at offset %d: %v", size, offset, err)
			}
			got = append(got, b...)
			offset += int64(len(b)/size) * 3
		}
		if !bytes.Equal(got, want) {
			t.Errorf("batches of %d bytes: not what was appended", size)
		}
	}
}

func TestLog_Batch(t *testing.T) {
	l := Log{layout: threePerPiece}
	b := appendN(&l, 5, 5, 100)
	for offset := range l.End() {
		if got := l.Batch(offset); !bytes.Equal(got, b[offset/5]) {
			t.Errorf("offset %d: not batch %d", offset, offset/5)
		}
	}
	if err := l.Trim(7); err != nil {
		t.Fatal(err)
	}
	for _, offset := range []int64{math.MinInt64, -1, 0, 5, 6, 25, math.MaxInt64} {
		if got := l.Batch(offset); got != nil {
			t.Errorf("offset %d: %d bytes", offset, len(got))
		}
	}
	if got := l.Batch(7); !bytes.Equal(got, b[1]) {
		t.Error("offset 7, the start: not the batch that holds it")
	}
}

func TestLog_Trim(t *testing.T) {
	const nine = 9 * 100
	for name, c := range map[string]struct {
		trims  []int64
		start  int64
		size   int64
		pieces int
		err    error // of the last trim
	}{
		"to 0 changes nothing":                        {[]int64{0}, 0, nine, 3, nil},
		"inside a batch keeps the batch":              {[]int64{3}, 3, nine, 3, nil},
		"to a batch's last offset keeps the batch":    {[]int64{4}, 4, nine, 3, nil},
		"to a batch's first offset drops those below": {[]int64{5}, 5, nine - 100, 3, nil},
		"inside the last batch of a piece":            {[]int64{14}, 14, nine - 200, 3, nil},
		"to the first offset of a piece":              {[]int64{15}, 15, nine - 300, 2, nil},
		"inside the last piece":                       {[]int64{37}, 37, 200, 1, nil},
		"inside the last batch":                       {[]int64{44}, 44, 100, 1, nil},
		"to the end":                                  {[]int64{45}, 45, 0, 0, nil},
		"to the end twice":                            {[]int64{45, 45}, 45, 0, 0, nil},
		"beyond the end changes nothing":              {[]int64{46}, 0, nine, 3, ErrOutOfRange},
		"beyond the end after a trim":                 {[]int64{12, 46}, 12, nine - 200, 3, ErrOutOfRange},
		"below 0 changes nothing":                     {[]int64{-1}, 0, nine, 3, ErrOutOfRange},
		"below 0 after a trim":                        {[]int64{12, math.MinInt64}, 12, nine - 200, 3, ErrOutOfRange},
		"twice goes on":                               {[]int64{12, 31}, 31, 300, 1, nil},
		"twice to the same":                           {[]int64{12, 12}, 12, nine - 200, 3, nil},
		"back does not lower the start":               {[]int64{31, 12}, 31, 300, 1, nil},
		"back to 0 does not lower the start":          {[]int64{31, 0}, 31, 300, 1, nil},
		"back from the end":                           {[]int64{45, 12}, 45, 0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := Log{layout: threePerPiece}
			b := appendN(&l, 9, 5, 100)
			var err error
			for _, offset := range c.trims {
				err = l.Trim(offset)
			}
			if !errors.Is(err, c.err) || l.Start() != c.start || l.End() != 45 || l.Size() != c.size || len(l.pieces) != c.pieces {
				t.Errorf("start %d, end %d, size %d, %d pieces, error %v", l.Start(), l.End(), l.Size(), len(l.pieces), err)
			}
			checkInvariants(t, &l)
			if _, err := l.Read(l.Start()-1, 100); !errors.Is(err, ErrOutOfRange) {
				t.Errorf("read below the start: %v", err)
			}
			var want []byte
			if l.Start() < 45 {
				want = b[l.Start()/5]
			}
			if got, err := l.Read(l.Start(), 0); err != nil || !bytes.Equal(got, want) {
				t.Errorf("read at the start: %d bytes instead of %d, error %v", len(got), len(want), err)
			}
		})
	}
}

func TestLog_Trim_LetsTheLogGoOn(t *testing.T) {
	for _, offset := range []int64{3, 5, 15, 37, 45} {
		l := Log{layout: threePerPiece}
		appendN(&l, 9, 5, 100)
		if err := l.Trim(offset); err != nil {
			t.Fatal(err)
		}
		size := l.Size()
		want := appendN(&l, 4, 5, 100)
		checkInvariants(t, &l)
		if l.Start() != offset || l.End() != 65 || l.Size() != size+400 {
			t.Errorf("trimmed to %d: start %d, end %d, size %d", offset, l.Start(), l.End(), l.Size())
		}
		for i, w := range want {
			if got := l.Batch(45 + 5*int64(i)); !bytes.Equal(got, w) {
				t.Errorf("trimmed to %d: batch %d after it is not what was appended", offset, i)
			}
		}
	}
}

func TestLog_Trim_GivesMemoryBack(t *testing.T) {
	l := Log{layout: threePerPiece}
	appendN(&l, 9, 5, 100)
	var pieces []weak.Pointer[byte]
	for _, p := range l.pieces {
		pieces = append(pieces, weak.Make(&p.buf[0]))
	}
	resident := l.Resident()
	if err := l.Trim(32); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	for i, kept := range []bool{false, false, true} {
		if got := pieces[i].Value() != nil; got != kept {
			t.Errorf("piece %d is in memory: %t", i, got)
		}
	}
	if want := resident - 2*(300+3*24); l.Resident() != want {
		t.Errorf("resident %d instead of %d", l.Resident(), want)
	}
	if err := l.Trim(45); err != nil {
		t.Fatal(err)
	}
	if l.Resident() != 0 {
		t.Errorf("resident %d with nothing kept", l.Resident())
	}
	runtime.KeepAlive(&l)
}

func TestLog_Read_StaysAsItWas(t *testing.T) {
	l := Log{layout: threePerPiece}
	appendN(&l, 2, 5, 100)
	var read, before [][]byte
	note := func() {
		for offset := l.Start(); offset < l.End(); offset += 5 {
			b, err := l.Read(offset, 150)
			if err != nil {
				t.Fatal(err)
			}
			for _, got := range [][]byte{b, l.Batch(offset), l.AtOrAfter(1000 + offset)} {
				read, before = append(read, got), append(before, slices.Clone(got))
			}
		}
	}
	note()
	for range 5 {
		appendN(&l, 4, 5, 100)
		note()
		if err := l.Trim(l.End() - 12); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Trim(l.End()); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	appendN(&l, 30, 5, 100)
	for i := range read {
		if !bytes.Equal(read[i], before[i]) {
			t.Errorf("what was read %dth has changed", i)
		}
	}
}

func TestLog_Read_CannotBeAppendedToInPlace(t *testing.T) {
	l := Log{layout: threePerPiece}
	b := appendN(&l, 2, 5, 100)
	read, err := l.Read(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range [][]byte{read, l.Batch(0), l.AtOrAfter(0)} {
		_ = append(got, make([]byte, 100)...)
	}
	if got := l.Batch(5); !bytes.Equal(got, b[1]) {
		t.Error("the second batch was overwritten")
	}
}

// The race detector is the judge: what was read is looked at without the
// caller's lock while the log goes on.
func TestLog_Read_NeedsNoLockAfterwards(t *testing.T) {
	l := Log{layout: layout{smallest: 1 << 20, doubling: 1 << 20, largest: 1 << 20, spacing: 4096}}
	appendN(&l, 2, 5, 100)
	read, err := l.Read(0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(read)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 1000 {
			if !bytes.Equal(read, want) {
				t.Error("what was read has changed")
				return
			}
		}
	})
	appendN(&l, 1000, 5, 100)
	if err := l.Trim(l.End()); err != nil {
		t.Error(err)
	}
	wg.Wait()
}
