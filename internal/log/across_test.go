package log

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

// three batches of 100 bytes and 5 offsets to a piece: pieces at 0, 15 and 30.
func eightBatches() (*Log, [][]byte) {
	l := Log{layout: threePerPiece}
	return &l, appendN(&l, 8, 5, 100)
}

func TestLog_ReadAcross(t *testing.T) {
	l, b := eightBatches()
	all := bytes.Join(b, nil)
	for name, c := range map[string]struct {
		offset   int64
		maxBytes int
		want     []byte
	}{
		"all pieces":                            {0, math.MaxInt, all},
		"all pieces at their size":              {0, 800, all},
		"into the last piece":                   {0, 799, all[:799]},
		"into the second piece":                 {0, 301, all[:301]},
		"no further than the first":             {0, 300, all[:300]},
		"from the last batch of a piece on":     {14, math.MaxInt, all[200:]},
		"from the second piece on":              {15, 350, all[300:650]},
		"the last piece alone":                  {30, math.MaxInt, all[600:]},
		"the first batch whole for no bytes":    {12, 0, b[2]},
		"the first batch whole for fewer bytes": {12, -1, b[2]},
		"nothing at the end":                    {40, math.MaxInt, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := l.ReadAcross(c.offset, math.MaxInt64, c.maxBytes)
			if err != nil || !bytes.Equal(got.Bytes(), c.want) || got.Size() != len(c.want) {
				t.Errorf("%d bytes instead of %d, error %v", got.Size(), len(c.want), err)
			}
		})
	}
	for _, offset := range []int64{-1, 41} {
		if got, err := l.ReadAcross(offset, math.MaxInt64, 100); got.Bytes() != nil || !errors.Is(err, ErrOutOfRange) {
			t.Errorf("read at %d: %d bytes, error %v", offset, got.Size(), err)
		}
	}
}

func TestLog_ReadAcross_WhatItGaveStays(t *testing.T) {
	l, b := eightBatches()
	got, err := l.ReadAcross(10, math.MaxInt64, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Trim(l.End()); err != nil {
		t.Fatal(err)
	}
	appendN(l, 8, 5, 100)
	if !bytes.Equal(got.Bytes(), bytes.Join(b[2:], nil)) {
		t.Error("what a reader was given changed")
	}
}

func TestLog_ReadAcross_EndsBeforeUntil(t *testing.T) {
	l, b := eightBatches()
	until := int64(0)
	for first := range b { // offsets of batches, five records each
		offset := int64(first) * 5
		for last := range b {
			until = int64(last) * 5
			want := bytes.Join(b[min(first, last):last], nil)
			got, err := l.ReadAcross(offset, until, math.MaxInt)
			if err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("from %d until %d: %d bytes instead of %d, error %v", offset, until, got.Size(), len(want), err)
			}
		}
	}
	if _, err := l.ReadAcross(l.End()+1, until, math.MaxInt); !errors.Is(err, ErrOutOfRange) {
		t.Errorf("beyond the end: %v", err)
	}
}

// What is written anew later has to be copied for each reader, and one that waits for
// more is not to hold all of the log.
func TestLog_ReadAcross_CopiesLittleOfWhatIsWrittenAnew(t *testing.T) {
	const size = 300 << 10
	l := Log{layout: layout{smallest: size, doubling: size, largest: size, spacing: size}}
	l.Reuse(true)
	all := bytes.Join(appendN(&l, 8, 1, size), nil)
	for maxBytes, want := range map[int]int{math.MaxInt: mostCopied, mostCopied: mostCopied, size: size, size + 1: size + 1} {
		got, err := l.ReadAcross(1, math.MaxInt64, maxBytes)
		if more := want < maxBytes; err != nil || got.Size() != want || got.More != more || got.Pinned != want || !bytes.HasPrefix(all[size:], got.Bytes()) {
			t.Errorf("of %d: %d bytes that pin %d, more %v, error %v", maxBytes, got.Size(), got.Pinned, got.More, err)
		}
	}
}

func TestLog_ReadAcross_TellsWhatItPins(t *testing.T) {
	l, _ := eightBatches()
	for _, c := range []struct{ maxBytes, want int }{{1, 300}, {300, 300}, {301, 600}, {math.MaxInt, 900}} {
		if got, err := l.ReadAcross(0, math.MaxInt64, c.maxBytes); err != nil || got.Pinned != c.want || got.More {
			t.Errorf("%d bytes pin %d instead of %d, more %v, error %v", got.Size(), got.Pinned, c.want, got.More, err)
		}
	}
}

// Batches that outgrow the memory that waits to be used again get new memory once.
func TestLog_Reuse_GoesOnWhenBatchesGrow(t *testing.T) {
	var l Log
	l.Reuse(true)
	for _, size := range []int{1_000, 3_000_000} {
		batch := newBatch(1, 0, size)
		write := func() {
			for range 40_000_000 / size {
				l.Append(batch, 0, Meta{Records: 1})
				l.TrimToSize(16_000_000)
			}
		}
		for range 3 {
			write()
		}
		if allocated := testing.AllocsPerRun(3, write); allocated > 2 {
			t.Errorf("%v allocations for 40 MB in batches of %d", allocated, size)
		}
	}
}
