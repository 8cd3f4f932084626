package fault

import (
	"context"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// idle answers nothing, so that what is measured is the set alone.
var idle = wire.HandlerFunc(func(context.Context, *wire.Request) wire.Reply { return wire.Reply{} })

// common lists what a request commonly meets.
var common = []struct{ name, rule string }{
	{"no rule", ""},
	{"a rule for another API", "drop after fetch times=all"},
	{"a rule that does not match", "drop after produce topic=audit* attempt=2 times=all"},
	{"a rule that has fired its last", "delay 1ns before produce topic=orders"},
}

func commonSet(tb testing.TB, rule string) *Set {
	s := New(1, idle)
	if rule != "" {
		add(tb, s, rule)
	}
	return s
}

func BenchmarkSet_Handle(b *testing.B) {
	for _, bench := range common {
		b.Run(bench.name, func(b *testing.B) {
			s, req := commonSet(b, bench.rule), produce(batchOf("orders", 0))
			b.ReportAllocs()
			for b.Loop() {
				s.Handle(b.Context(), req)
			}
		})
		b.Run(bench.name+", from all sides", func(b *testing.B) {
			s := commonSet(b, bench.rule)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				req := produce(batchOf("orders", 0))
				for pb.Next() {
					s.Handle(b.Context(), req)
				}
			})
		})
	}
}

func TestSet_Handle_does_not_allocate_where_no_rule_fires(t *testing.T) {
	for _, test := range common {
		s, req := commonSet(t, test.rule), produce(batchOf("orders", 0), batchOf("orders", 1))
		s.Handle(t.Context(), req) // the first one makes room
		if n := testing.AllocsPerRun(100, func() { s.Handle(t.Context(), req) }); n > 0 {
			t.Errorf("%s: %v allocations", test.name, n)
		}
	}
}
