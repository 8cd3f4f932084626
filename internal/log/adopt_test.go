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
	if cap(got) != len(got) || l.HasRoom(1) {
		t.Error("there is room behind an adopted batch")
	}
	if !bytes.Equal(frame[1000:], []byte("behind it in its memory")) {
		t.Error("what lay behind the batch was written to")
	}
	checkInvariants(t, &l)
}

// Small batches between large ones that are adopted do not each cost a large piece.
func TestLog_Adopt_LittleIsUnusedBetweenAdoptedBatches(t *testing.T) {
	const large = 200_000
	var l Log
	for range 1000 {
		for range 2 {
			add := l.Adopt
			if l.HasRoom(large) {
				add = l.Append
			}
			add(newBatch(1, 0, large), 0, Meta{Records: 1})
		}
		l.Append(newBatch(1, 0, 100), 0, Meta{Records: 1})
	}
	if unused := l.Resident() - l.Size(); unused > l.Size()/5+1<<20 {
		t.Errorf("%d bytes are resident for %d", l.Resident(), l.Size())
	}
	checkInvariants(t, &l)
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
