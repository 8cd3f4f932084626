package journal

import (
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
)

func TestPrint_tells_records_apart(t *testing.T) {
	b := func(s string) []byte { return []byte(s) }
	records := []wire.Record{
		{},
		{Key: b("")},
		{Value: b("")},
		{Key: b(""), Value: b("")},
		{Key: b("a"), Value: b("b")},
		{Key: b("ab"), Value: b("")},
		{Key: b(""), Value: b("ab")},
		{Value: b("ab")},
		{Key: b("b"), Value: b("a")},
		{Key: b("a"), Value: b("b"), Headers: []wire.Header{{}}},
		{Key: b("a"), Value: b("b"), Headers: []wire.Header{{Value: b("")}}},
		{Key: b("a"), Value: b("b"), Headers: []wire.Header{{Key: "h", Value: b("v")}}},
		{Key: b("a"), Value: b("b"), Headers: []wire.Header{{Key: "hv", Value: b("")}}},
		{Key: b("a"), Value: b("b"), Headers: []wire.Header{{Key: "h", Value: b("v")}, {Key: "h", Value: b("v")}}},
		{Key: b("a"), Value: b("b"), Headers: []wire.Header{{Key: "h", Value: b("v")}, {Key: "i", Value: b("w")}}},
		{Key: b("a"), Value: b("b"), Headers: []wire.Header{{Key: "i", Value: b("w")}, {Key: "h", Value: b("v")}}},
	}
	p := newPrinter()
	seen := make(map[uint64]int)
	for i := range records {
		r := &records[i]
		if other, ok := seen[p.content(r)]; ok {
			t.Errorf("records %d and %d have one print", other, i)
		}
		seen[p.content(r)] = i
		if again := newPrinter().print(r); again != p.print(r) {
			t.Errorf("record %d has two prints", i)
		}
		later := *r
		later.Created++
		if a, b := p.print(r), p.print(&later); a.content != b.content || a.dated == b.dated {
			t.Errorf("record %d: the time is not part of the dated print alone", i)
		}
	}
}

func TestSender_remembers_the_newest_batches(t *testing.T) {
	var s sender
	for i := range int32(windowKept + 1) {
		s.accept(storedBatch{first: 10 * i, last: 10*i + 9, epoch: 1, baseOffset: int64(i)})
	}
	for _, tt := range []struct {
		epoch       int16
		first, last int32
		want        int64 // -1 for none
	}{
		{1, 10, 19, 1}, {1, 10 * windowKept, 10*windowKept + 9, windowKept},
		{1, 0, 9, -1}, {0, 10, 19, -1}, {1, 10, 18, -1}, {1, 11, 19, -1},
	} {
		got := int64(-1)
		if b := s.stored(tt.epoch, tt.first, tt.last); b != nil {
			got = b.baseOffset
		}
		if got != tt.want {
			t.Errorf("epoch %d sequences %d to %d at offset %d, want %d", tt.epoch, tt.first, tt.last, got, tt.want)
		}
	}
	if s.begins(1, 0) || s.begins(0, 10) || !s.begins(1, 10) {
		t.Error("first sequences are not remembered as they were")
	}
}
