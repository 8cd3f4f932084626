package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A producer hangs, another is started in its place with the same transactional
// id, and the first wakes up again: it is a zombie, and its fence is the epoch.
func TestZombie_IsFencedByTheProducerStartedInItsPlace(t *testing.T) {
	n := start(t, Options{})
	n.make("orders", 1, nil)
	before, after := n.dial(), n.dial()

	zombie := before.identify(latestInit, "orders-writer", unclaimed)
	want(t, "first base offset", before.store("orders", 0, by(zombie.ID, zombie.Epoch, 0, 3)), 0)

	heir := after.identify(latestInit, "orders-writer", unclaimed)
	want(t, "the heir", heir, identified{"NONE", zombie.ID, zombie.Epoch + 1})
	want(t, "the zombie may write until the heir does", before.store("orders", 0, by(zombie.ID, zombie.Epoch, 3, 1)), 3)
	want(t, "the heir's base offset", after.store("orders", 0, by(heir.ID, heir.Epoch, 0, 2)), 4)

	log := after.snapshot("orders", 0)
	for _, batch := range []*draft{
		by(zombie.ID, zombie.Epoch, 4, 1), // what it would have sent next
		by(zombie.ID, zombie.Epoch, 0, 3), // what it had sent
		by(zombie.ID, zombie.Epoch, 6, 1), // what would fit the log
	} {
		told := before.produce("orders", 0, batch)
		wantCode(t, told.ErrorCode, stale)
		want(t, "base offset", told.BaseOffset, -1)
		want(t, "message", text(told.ErrorMessage), "fenced by epoch 1")
	}
	want(t, "the zombie is told by the coordinator as well", before.identify(latestInit, "orders-writer", zombie).Code, "PRODUCER_FENCED")
	want(t, "the partition", after.snapshot("orders", 0), log)
	want(t, "the heir goes on", after.store("orders", 0, by(heir.ID, heir.Epoch, 2, 1)), 6)
}

// A producer without a transactional id has nobody to take its place: another
// gets another id, and both write.
func TestZombie_WithoutATransactionalIDBothWrite(t *testing.T) {
	n := start(t, Options{})
	n.make("orders", 1, nil)
	one, other := n.dial(), n.dial()
	a, b := one.identify(latestInit, "", unclaimed), other.identify(latestInit, "", unclaimed)
	one.store("orders", 0, by(a.ID, a.Epoch, 0, 1))
	other.store("orders", 0, by(b.ID, b.Epoch, 0, 1))
	one.store("orders", 0, by(a.ID, a.Epoch, 1, 1))
	want(t, "producers", writers(one.describe("orders", 0)), []writer{
		{a.ID, 0, 1, plainTime}, {b.ID, 0, 0, plainTime},
	})
}

// A bump whose answer is lost is asked for again and must not fence the one who
// asks (KIP-360).
func TestZombie_ALostBumpFencesNobody(t *testing.T) {
	n := start(t, Options{})
	n.make("orders", 1, nil)
	c := n.dial()
	me := c.identify(latestInit, "tx", unclaimed)
	c.store("orders", 0, by(me.ID, me.Epoch, 0, 1))

	lost := n.dial()
	req := identifying(latestInit, kmsg.StringPtr("tx"))
	req.ProducerID, req.ProducerEpoch = me.ID, me.Epoch
	lost.send(req)
	lost.receive(req) // and nobody looks at it

	me = c.identify(latestInit, "tx", me)
	want(t, "the second answer", me, identified{"NONE", firstProducerID, 1})
	want(t, "base offset", c.store("orders", 0, by(me.ID, me.Epoch, 0, 1)), 1)
	want(t, "the next bump", c.identify(latestInit, "tx", me), identified{"NONE", firstProducerID, 2})
}
