package log

import (
	"bytes"
	"testing"
)

func TestLog_Adopt_KeepsABatchWhereItIs(t *testing.T) {
	var l Log
	frame := append(newBatch(3, 10, 1000), "behind it in its memory"...)
	l.Append(newBatch(2, 5, 100), 7, Meta{Records: 2, MaxTimestamp: 5})
	want := placed(frame[:1000], 2, 7)
	if base := l.Adopt(frame[:1000], 7, Meta{Records: 3, MaxTimestamp: 10}); base != 2 {
		t.Fatalf("base offset %d instead of 2", base)
	}
	got, err := l.Read(4, 1<<20)
	if err != nil || !bytes.Equal(got, want) || &got[0] != &frame[0] {
		t.Errorf("%d bytes instead of %d, error %v, in their own memory: %t", len(got), len(want), err, &got[0] == &frame[0])
	}
	if cap(got) != len(got) || l.rest() > 0 {
		t.Error("there is room behind an adopted batch")
	}
	if !bytes.Equal(frame[1000:], []byte("behind it in its memory")) {
		t.Error("what lay behind the batch was written to")
	}
	checkInvariants(t, &l)
}

// Whatever sizes alternate, little of the log's memory is unused.
func TestLog_Adopt_LittleIsUnused(t *testing.T) {
	for _, sizes := range [][]int{
		{100_000}, {200_000, 200_000, 100}, {50_000, 1_000_000}, {100, 1_048_588}, {1_000, 2_000_000}, {70_000, 300, 900_000}, {5_000_000, 64_000},
	} {
		var l Log
		var batches [][]byte
		for _, size := range sizes {
			batches = append(batches, newBatch(1, 0, size))
		}
		for i := 0; l.Size() < 260_000_000; i++ {
			batch := batches[i%len(sizes)]
			if len(batch) >= 64<<10 && l.Adopts(len(batch)) {
				l.Adopt(bytes.Clone(batch), 0, Meta{Records: 1})
			} else {
				l.Append(batch, 0, Meta{Records: 1})
			}
		}
		if float64(l.Resident()) > 1.25*float64(l.Size()) {
			t.Errorf("%d bytes are resident for %d in batches of %v", l.Resident(), l.Size(), sizes)
		}
		checkInvariants(t, &l)
	}
}

func TestLog_Adopt_PanicsWhereAppendDoes(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a batch that is not as long as it says was adopted")
		}
	}()
	var l Log
	l.Adopt(newBatch(1, 0, 100)[:99], 0, Meta{Records: 1})
}
