package broker

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestProduce_WithoutAcksIsStoredAndNotAnswered(t *testing.T) {
	everyVersion(t, kmsg.Produce, func(t *testing.T, version int16) {
		_, c := startWith(t, "there")
		for range 2 { // the second is a replay
			c.send(c.producing(version, 0, entry{"there", 0, by(7, 0, 0, 2).bytes()}))
		}
		// The next answer that comes has to be the one of this request.
		want(t, "end", c.end("there", 0), 2)
		want(t, "base offset of a replay with acks", c.store("there", 0, by(7, 0, 0, 2)), 0)
	})
}

func TestProduce_WithoutAcksARefusalCloses(t *testing.T) {
	broken := plain(1).damaged(func(b []byte) []byte { b[crcAt] ^= 1; return b }).bytes()
	for _, tt := range []struct {
		name   string
		refuse entry
	}{
		{"out of order", entry{"there", 1, by(7, 0, 9, 1).bytes()}},
		{"a zombie", entry{"there", 1, by(5, 0, 0, 1).bytes()}},
		{"a corrupt batch", entry{"there", 1, broken}},
		{"no such partition", entry{"there", 9, plain(1).bytes()}},
		{"no such topic", entry{"no such", 0, plain(1).bytes()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, c := startWith(t, "there")
			c.store("there", 1, by(5, 3, 0, 1))
			before := c.snapshot("there", 1)
			// What else the request holds is judged apart, before and behind.
			c.send(c.producing(produceVersion, 0, entry{"there", 0, plain(2).bytes()}, tt.refuse, entry{"there", 0, plain(3).bytes()}))
			c.wantClosed()

			again := n.dial()
			want(t, "the refusing partition", again.snapshot("there", 1), before)
			want(t, "end of the other", again.end("there", 0), 5)
		})
	}
}

func TestProduce_AcksOneIsAnsweredLikeAll(t *testing.T) {
	everyVersion(t, kmsg.Produce, func(t *testing.T, version int16) {
		_, c := startWith(t, "there")
		for i, acks := range []int16{1, -1} {
			told := onlyProduced(t, c.ask(c.producing(version, acks, entry{"there", 0, by(7, 0, int32(i), 1).bytes()})))
			wantCode(t, told.ErrorCode, "NONE")
			want(t, "base offset", told.BaseOffset, int64(i))
			told = onlyProduced(t, c.ask(c.producing(version, acks, entry{"there", 0, by(7, 0, 50, 1).bytes()})))
			wantCode(t, told.ErrorCode, ooo)
		}
	})
}

func TestProduce_OtherAcksAreRefusedForEachPartition(t *testing.T) {
	for _, acks := range []int16{2, -2, 32767} {
		t.Run(fmt.Sprintf("acks %d", acks), func(t *testing.T) {
			everyVersion(t, kmsg.Produce, func(t *testing.T, version int16) {
				_, c := startWith(t, "a", "b")
				resp := c.ask(c.producing(version, acks,
					entry{"a", 0, by(7, 0, 0, 1).bytes()}, entry{"a", 1, plain(1).bytes()}, entry{"b", 0, plain(1).bytes()})).(*kmsg.ProduceResponse)
				refused := 0
				for _, topic := range resp.Topics {
					for _, p := range topic.Partitions {
						refused++
						wantCode(t, p.ErrorCode, "INVALID_REQUIRED_ACKS")
						want(t, "base offset, time and start", []int64{p.BaseOffset, p.LogAppendTime, p.LogStartOffset}, []int64{-1, -1, -1})
						if version >= 8 && text(p.ErrorMessage) == "null" {
							t.Error("nothing says why")
						}
					}
				}
				want(t, "partitions told of", refused, 3)
				want(t, "ends", []int64{c.end("a", 0), c.end("a", 1), c.end("b", 0)}, []int64{0, 0, 0})
				want(t, "producers", len(c.describe("a", 0).ActiveProducers), 0)
			})
		})
	}
}
