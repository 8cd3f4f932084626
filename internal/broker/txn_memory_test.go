package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// openTxn is a producer with one batch of a transaction in partition 0 of "a".
func openTxn(c *client) (end func(commit bool)) {
	p := c.producerOf("t")
	want(c.t, "adding", addedTo(c.ask(addingTo("t", p, 3, "a", 0))), []string{"NONE"})
	wantCode(c.t, c.produceTxn(11, "t", "a", 0, by(p.ID, p.Epoch, 0, 5).inTxn()).ErrorCode, "NONE")
	return func(commit bool) { c.endTxn("t", p, commit) }
}

func TestTxn_the_last_stable_offset_where_the_log_was_cut_is_where_a_batch_begins(t *testing.T) {
	n := start(t, Options{})
	n.make("a", 1, nil)
	c := n.dial()
	end := openTxn(c)
	c.trimTo("a", 0, 3)
	want(t, "cut inside of the batch", c.committed("a", 0, 3), sight{End: 5, Stable: 0})
	c.store("a", 0, plain(1))
	c.trimTo("a", 0, 5)
	want(t, "cut between batches", c.committed("a", 0, 5), sight{End: 6, Stable: 5})
	end(true)
	want(t, "afterwards", c.committed("a", 0, 5), sight{End: 7, Stable: 7, Offsets: []int64{5, 6}})
}

func TestTxn_a_deleted_topic_leaves_nothing_in_an_open_transaction(t *testing.T) {
	n := start(t, Options{Memory: 10_000})
	n.make("a", 1, nil)
	c := n.dial()
	end := openTxn(c)
	p := n.at("a", 0)
	c.ask(deleting(6, "a"))
	want(t, "bytes that the log holds", p.log.Resident(), 0)
	want(t, "producers that are remembered", p.producers.Len(), 0)
	want(t, "bytes in use", n.memory.used.Load(), memberBytes)
	end(true)
	want(t, "bytes in use", n.memory.used.Load(), 0)
	want(t, "producers that are counted", n.memory.producers.Load(), 0)
}

func TestTxn_a_partition_is_added_only_where_there_is_memory_for_its_marker(t *testing.T) {
	n := start(t, Options{Memory: 2*memberBytes + 10})
	n.make("a", 3, nil)
	c := n.dial()
	p := c.producerOf("t")
	add := func(partitions ...int32) []string { return addedTo(c.ask(addingTo("t", p, 3, "a", partitions...))) }
	want(t, "three partitions", add(0, 1, 2), []string{storage, storage, storage})
	want(t, "two, one of them named twice", add(0, 1, 1), []string{"NONE", "NONE", "NONE"})
	want(t, "one that is in the transaction", add(1), []string{"NONE"})
	want(t, "one more", add(2), []string{storage})
	c.endTxn("t", p, false)
	size := n.at("a", 0).log.Size() + n.at("a", 1).log.Size()
	want(t, "bytes in use, of two markers", n.memory.used.Load(), size)
}

func TestTxn_a_partition_is_added_only_where_its_producer_can_be_remembered(t *testing.T) {
	n := start(t, Options{})
	n.make("a", 1, nil)
	c := n.dial()
	p := c.producerOf("t")
	n.memory.producers.Store(MaxProducers)
	want(t, "codes", addedTo(c.ask(addingTo("t", p, 3, "a", 0))), []string{"POLICY_VIOLATION"})
	want(t, "producers", n.memory.producers.Load(), MaxProducers)
}

func TestTxn_retention_forgets_what_was_aborted(t *testing.T) {
	n := start(t, Options{})
	n.make("a", 1, map[string]string{"retention.bytes": "1"})
	c := n.dial()
	openTxn(c)(false)
	c.store("a", 0, plain(1))
	want(t, "aborted transactions that are remembered", len(n.at("a", 0).txns.aborted), 0)
}

func TestTxn_a_reader_is_told_only_what_was_aborted_where_it_reads(t *testing.T) {
	n := start(t, Options{})
	n.make("a", 1, nil)
	c := n.dial()
	p := c.producerOf("t")
	for first := int32(0); first < 3; first++ {
		c.ask(addingTo("t", p, 3, "a", 0))
		c.produceTxn(11, "t", "a", 0, by(p.ID, p.Epoch, first, 1).inTxn())
		c.endTxn("t", p, false)
	}
	for maxBytes, aborted := range map[int32]int{1: 1, 1 << 20: 3} {
		req := c.fetching(fetchVersion, place{"a", 0, 0, maxBytes})
		req.IsolationLevel = 1
		told := c.ask(req).(*kmsg.FetchResponse).Topics[0].Partitions[0]
		want(t, "aborted transactions", len(told.AbortedTransactions), aborted)
	}
}
