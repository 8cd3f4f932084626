package journal

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestNoted(t *testing.T) {
	for _, tt := range []struct {
		name  string
		add   [][2]int64
		has   []int64
		not   []int64
		gaps  []gap
		atEnd int64
	}{
		{"nothing", nil, nil, []int64{-1, 0, 7}, nil, 0},
		{"batches in order leave no gap", [][2]int64{{0, 3}, {3, 5}}, []int64{0, 2, 3, 4}, []int64{-1, 5}, nil, 5},
		{"what stood there before is a gap", [][2]int64{{500, 501}}, []int64{500}, []int64{0, 499}, []gap{{0, 500}}, 501},
		{"a batch that comes late fills its gap", [][2]int64{{3, 5}, {0, 3}}, []int64{0, 3}, []int64{5}, []gap{}, 5},
		{"at the beginning of a gap", [][2]int64{{5, 6}, {0, 2}}, []int64{0, 1}, []int64{2, 4}, []gap{{2, 5}}, 6},
		{"at the end of a gap", [][2]int64{{5, 6}, {3, 5}}, []int64{3, 4}, []int64{0, 2}, []gap{{0, 3}}, 6},
		{"in the middle of a gap", [][2]int64{{5, 6}, {2, 3}}, []int64{2}, []int64{0, 1, 3, 4}, []gap{{0, 2}, {3, 5}}, 6},
		{"over the end of a gap", [][2]int64{{5, 6}, {3, 9}}, []int64{3, 8}, []int64{2, 9}, []gap{{0, 3}}, 9},
		{"where something stands", [][2]int64{{0, 4}, {6, 8}, {0, 4}, {6, 8}}, []int64{0, 6}, []int64{4, 5}, []gap{{4, 6}}, 8},
		{"an answer without an offset", [][2]int64{{-1, 0}, {0, 1}}, []int64{0}, []int64{-1}, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var n noted
			for _, b := range tt.add {
				n.add(b[0], b[1])
			}
			for _, base := range tt.has {
				if !n.has(base) {
					t.Errorf("%d is not noted", base)
				}
			}
			for _, base := range tt.not {
				if n.has(base) {
					t.Errorf("%d is noted", base)
				}
			}
			if !slices.Equal(n.gaps, tt.gaps) || n.end != tt.atEnd {
				t.Errorf("gaps %v up to %d, want %v up to %d", n.gaps, n.end, tt.gaps, tt.atEnd)
			}
		})
	}
}

func TestNoted_forgets_the_lowest_gaps(t *testing.T) {
	var n noted
	for i := range int64(gapsKept + 3) { // 10 to 14, 20 to 24 and so on
		n.add(10*i+10, 10*i+15)
	}
	if len(n.gaps) != gapsKept || n.from != 30 {
		t.Errorf("%d gaps from %d on", len(n.gaps), n.from)
	}
	if n.has(10) || n.has(25) || !n.has(30) {
		t.Errorf("below %d nothing is certain, and from there on all", n.from)
	}
	n.add(27, 28)
	n.add(37, 38) // in the middle of a gap: one more
	if len(n.gaps) != gapsKept || n.from != 37 || !n.has(37) {
		t.Errorf("%d gaps from %d on", len(n.gaps), n.from)
	}
}

// Batches of a log, noted in any order, some of them never.
func TestNoted_is_what_was_added(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var batches []gap
		for end := int64(0); len(batches) < 30; {
			size := rapid.Int64Range(1, 4).Draw(t, "records")
			batches = append(batches, gap{end, end + size})
			end += size
		}
		order := rapid.Permutation(batches).Draw(t, "order")
		order = order[:rapid.IntRange(0, len(order)).Draw(t, "noted")]
		var n noted
		for i, b := range order {
			if n.has(b.start) {
				t.Fatalf("%v is noted before it comes", b)
			}
			n.add(b.start, b.end)
			for _, o := range batches {
				if want := slices.Contains(order[:i+1], o); n.has(o.start) != want || n.has(o.end-1) != want {
					t.Fatalf("%v is noted: %v, want %v", o, n.has(o.start), want)
				}
			}
		}
	})
}
