package journal

import (
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
)

func TestUnconfirmed(t *testing.T) {
	t.Run("batches in a row are one line", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", func(r *wire.Request) bool { return r.Batches[0].Header.FirstSequence < 6 })
		p := s.peer("app")
		for i := range int32(4) {
			p.send(by(1000, 2*i, numbered(int(2*i), 2)...))
		}
		s.wantVerdict(`
orders is not exactly once (seed 0)
  unconfirmed offsets 0 to 5 hold sequences 0 to 5 of producer 1000, but no answer ever told client "app" (drop after produce)`)
	})
	t.Run("without a producer id, in one partition of several", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", func(r *wire.Request) bool { return r.Batches[0].Partition == 2 })
		p := s.peer("app")
		p.sendTo("orders", 2, plain("a=v", "b=v").raw())
		s.wantVerdict(`
orders is not exactly once (seed 0)
  unconfirmed offsets 0 to 1 of partition 2 hold a batch, but no answer ever told client "app" (drop after produce)`)
	})
	t.Run("is over with a replay that is confirmed, however it was compressed", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", attempt(1))
		p := s.peer("app")
		p.send(by(1000, 0, "o-0=v"))
		p.send(by(1000, 0, "o-0=v").repacked())
		s.wantVerdict("orders is exactly once: 1 record in 1 batch, 1 acknowledgement lost, 1 replay answered with the first offset")
	})
	t.Run("is not over with a replay whose answer was lost as well", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", anyProduce)
		p := s.peer("app")
		p.send(by(1000, 0, "o-0=v"))
		p.send(by(1000, 0, "o-0=v"))
		p.send(by(1000, 0, "o-0=v").repacked())
		s.wantVerdict(`
orders is not exactly once (seed 0)
  unconfirmed offset 0 holds sequence 0 of producer 1000, but no answer ever told client "app" (drop after produce)`)
	})
	t.Run("says the last that was told", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", attempt(1))
		s.on("error REQUEST_TIMED_OUT after produce", attempt(2))
		p := s.peer("app")
		p.send(by(1000, 0, "o-0=v"))
		p.send(by(1000, 0, "o-0=v"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  unconfirmed offset 0 holds sequence 0 of producer 1000, but client "app" was told REQUEST_TIMED_OUT (drop after produce)`)
	})
}

func TestSwallowed(t *testing.T) {
	t.Run("some records of several", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("app")
		p.send(by(1000, 0, "a=1", "b=1", "c=1"))
		p.send(by(1000, 0, "a=1", "b=2", "c=2"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  swallowed   sequences 0 to 2 of producer 1000 came again with 2 of 3 records changed: acknowledged as offsets 0 to 2, and not written`)
	})
	t.Run("the first of several, in one partition of several", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("app")
		p.sendTo("orders", 1, by(1000, 0, "a=1", "b=1").raw())
		p.sendTo("orders", 1, by(1000, 0, "c=1", "b=1").raw())
		s.wantVerdict(`
orders is not exactly once (seed 0)
  swallowed   sequences 0 to 1 of producer 1000 came again with 1 of 2 records changed, the first now key "c": acknowledged as offsets 0 to 1 of partition 1, where first key "a" stands, and not written`)
	})
	t.Run("without an answer", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", attempt(2))
		p := s.peer("app")
		p.send(by(1000, 0, "a=1"))
		p.send(by(1000, 0, "b=1"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  swallowed   sequence 0 of producer 1000 came again with another record, key "b": taken for a replay of offset 0, where key "a" stands, and not written`)
		p.send(by(1000, 0, "b=1")) // now acknowledged
		s.wantVerdict(`
orders is not exactly once (seed 0)
  swallowed   sequence 0 of producer 1000 came again with another record, key "b": acknowledged as offset 0, where key "a" stands, and not written`)
		p.send(by(1000, 0, "b=1").repacked()) // the same records: the same finding
		if v := s.verdict(); v.Totals.Swallowed != 1 {
			t.Errorf("%s", v)
		}
	})
	t.Run("and lost before or after that", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop before produce", func(r *wire.Request) bool { return attempt(2)(r) || attempt(4)(r) })
		p := s.peer("app")
		p.send(by(1000, 0, "a=1"))
		p.send(by(1000, 0, "b=1"))
		p.send(by(1000, 0, "b=1").repacked())
		p.send(by(1000, 0, "b=1").repacked())
		s.wantVerdict(`
orders is not exactly once (seed 0)
  swallowed   sequence 0 of producer 1000 came again with another record, key "b": acknowledged as offset 0, where key "a" stands, and not written`)
	})
	t.Run("but not the same records with other bytes", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("app")
		p.send(by(1000, 0, "a=1"))
		p.send(by(1000, 0, "a=1").repacked())
		p.send(by(1000, 0, "a=1").at(9000))
		s.wantVerdict("orders is exactly once: 1 record in 1 batch, 2 replays answered with the first offset")
	})
}
