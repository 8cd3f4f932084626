package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// What transactions leave in the logs, and what readers see of them.
var txnLogScripts = []script{
	{name: "every version of Produce in a transaction", steps: []step{
		coordinated(1, "x"), topic("t", 1),
		initTxn(4, "x", "a", nil), addTo(3, "x", "a", "t-0"),
		write(3, "x", to("t-0", by("a", 0, 1).inTxn())), write(4, "x", to("t-0", by("a", 1, 1).inTxn())), write(5, "x", to("t-0", by("a", 2, 1).inTxn())),
		write(6, "x", to("t-0", by("a", 3, 1).inTxn())), write(7, "x", to("t-0", by("a", 4, 1).inTxn())), write(8, "x", to("t-0", by("a", 5, 1).inTxn())),
		write(9, "x", to("t-0", by("a", 6, 1).inTxn())), write(10, "x", to("t-0", by("a", 7, 1).inTxn())), write(11, "x", to("t-0", by("a", 8, 1).inTxn())),
		write(12, "x", to("t-0", by("a", 9, 1).inTxn())), write(13, "x", to("t-0", by("a", 10, 1).inTxn())),
		write(13, "x", to("t-0", by("a", 10, 1).inTxn())), write(9, "x", to("t-0", by("a", 8, 1).inTxn())), write(9, "x", to("t-0", by("a", 12, 1).inTxn())), // a replay is a replay, and a gap a gap
		commitTxn(4, "x", "a"), ended("x"), readStable(from("t-0", 9)), write(13, "x", to("t-0", by("a", 10, 1).inTxn())), described("t-0"),
	}},
	{name: "a partition that was not added", alone: true, steps: []step{
		coordinated(1, "x"), topic("t", 3),
		initTxn(4, "x", "a", nil),
		write(3, "x", to("t-0", by("a", 0, 1).inTxn())), write(9, "x", to("t-0", by("a", 0, 1).inTxn())), write(10, "x", to("t-0", by("a", 0, 1).inTxn())), write(11, "x", to("t-0", by("a", 0, 1).inTxn())),
		addTo(3, "x", "a", "t-1"), write(11, "x", to("t-0", by("a", 0, 1).inTxn()), to("t-1", by("a", 0, 1).inTxn())), describeTxns("x"),
		write(12, "x", to("t-0", by("a", 0, 1).inTxn())), describeTxns("x"), write(3, "x", to("t-0", by("a", 1, 1).inTxn())),
		write(12, "x", to("t-2", by("a", 3, 1).inTxn().in(7))), write(12, "x", to("t-7", by("a", 0, 1).inTxn())), describeTxns("x"),
		commitTxn(4, "x", "a"), ended("x"), write(11, "x", to("t-0", by("a", 2, 1).inTxn())), readStable(from("t-0", 0), from("t-1", 0)),
	}},
	{name: "epochs that move with every end", steps: []step{
		coordinated(1, "x"), topic("t", 2),
		initTxn(5, "x", "a", nil), write(12, "x", to("t-0", by("a", 0, 2).inTxn())), describeTxns("x"), write(13, "x", to("t-1", by("a", 0, 1).inTxn())), describeTxns("x"),
		commitTxn(5, "x", "a"), ended("x"), describeTxns("x"), read(from("t-0", 0)), described("t-0", "t-1"),
		write(12, "x", to("t-0", by("a", 2, 1).inTxn())), write(12, "x", to("t-0", by("a", 2, 1).in(1).inTxn())), write(12, "x", to("t-0", by("a", 0, 1).in(1).inTxn())),
		abortTxn(5, "x", "a in 1"), ended("x"), readStable(from("t-0", 0)), described("t-0"),
		write(12, "x", to("t-0", by("a", 0, 1).in(2).inTxn())), write(12, "x", to("t-0", by("a", 0, 1).in(2).inTxn())), commitTxn(3, "x", "a in 2"), ended("x"), describeTxns("x"),
		write(12, "x", to("t-0", by("a", 1, 1).in(2).inTxn())), commitTxn(5, "x", "a in 2"), ended("x"), describeTxns("x"), readStable(from("t-0", 4)),
	}},
	{name: "who may not write in a transaction", steps: []step{
		coordinated(1, "x"), topic("t", 1),
		initTxn(4, "x", "a", nil), initTxn(4, "other", "b", nil), addTo(3, "x", "a", "t-0"),
		write(11, "x", to("t-0", by("b", 0, 1).inTxn())), write(11, "nosuch", to("t-0", by("a", 0, 1).inTxn())), write(12, "nosuch", to("t-0", by("a", 0, 1).inTxn())), write(10, "nosuch", to("t-0", by("a", 0, 1).inTxn())),
		write(11, "x", to("t-0", by("a", 0, 1).in(7).inTxn())), write(12, "x", to("t-0", by("a", 0, 1).in(7).inTxn())), write(12, "x", to("t-0", by("b", 0, 1).inTxn())), write(12, "=", to("t-0", by("a", 0, 1).inTxn())), write(9, "=", to("t-0", by("a", 0, 1).inTxn())),
		write(11, "x", to("t-0", by("a", 4, 1).inTxn())), sendIn(12, to("t-0", by("a", 0, 1).inTxn())),
		write(11, "x", to("t-0", by("a", 0, 1))), // no record of the transaction
		readStable(from("t-0", 0)), end("t-0"), described("t-0"), abortTxn(4, "x", "a"), ended("x"), readStable(from("t-0", 0)),
	}},
	{name: "acks in a transaction", steps: []step{
		coordinated(1, "x"), topic("t", 1),
		initTxn(4, "x", "a", nil), addTo(3, "x", "a", "t-0"), written(1, to("t-0", by("a", 0, 1).inTxn())), written(0, to("t-0", by("a", 1, 1).inTxn())), written(0, to("t-0", by("a", 9, 1).inTxn())),
		commitTxn(4, "x", "a"), ended("x"), readStable(from("t-0", 0)),
	}},
	{name: "transactions and others mixed", steps: []step{
		coordinated(1, "x"), coordinated(1, "y"), topic("t", 1), producer("p"),
		initTxn(4, "x", "a", nil), initTxn(4, "y", "b", nil), addTo(3, "x", "a", "t-0"), addTo(3, "y", "b", "t-0"),
		send("t-0", by("p", 0, 1)), write(11, "x", to("t-0", by("a", 0, 1).inTxn())), send("t-0", plain(1)), write(11, "y", to("t-0", by("b", 0, 2).inTxn())), send("t-0", by("p", 1, 1)), write(11, "x", to("t-0", by("a", 1, 1).inTxn())),
		readStable(from("t-0", 0)), readStable(from("t-0", 1)), readStable(from("t-0", 2)), readStable(from("t-0", 7)), readStable(from("t-0", 8)),
		listStable(byTime("t-0", -1)), listStable(byTime("t-0", -2)), listStable(byTime("t-0", -3)), listStable(byBase("t-0", 0)), described("t-0"),
		abortTxn(4, "y", "b"), ended("y"), readStable(from("t-0", 0)), listStable(byTime("t-0", -1)), // x is still open
		commitTxn(4, "x", "a"), ended("x"), readStable(from("t-0", 0)), readStable(from("t-0", 3)), readStable(from("t-0", 5)), readStable(from("t-0", 7)), readStable(from("t-0", 8)),
		read(from("t-0", 7)), fetchIn(4, committedReader, from("t-0", 6)), fetchIn(13, committedReader, from("t-0", 7)), fetchIn(18, committedReader, from("t-0", 8)), described("t-0"),
	}},
	{name: "times in transactions", steps: []step{
		coordinated(1, "x"), topic("t", 1),
		initTxn(4, "x", "a", nil), send("t-0", plain(2).at(0, 1000)), addTo(3, "x", "a", "t-0"), write(11, "x", to("t-0", by("a", 0, 2).inTxn().at(2000, 3000))), send("t-0", plain(1).at(2500)),
		listStable(byBase("t-0", 500)), listStable(byBase("t-0", 1500)), listStable(byBase("t-0", 2500)), listStable(byTime("t-0", -3)), listOffsets(7, byBase("t-0", 1500)), listOffsets(7, byTime("t-0", -3)),
		abortTxn(4, "x", "a"), ended("x"), listStable(byBase("t-0", 1500)), listStable(byBase("t-0", 2500)), listStable(byTime("t-0", -1)),
	}},
	{name: "trims in transactions", steps: []step{
		coordinated(1, "x"), topic("t", 1),
		initTxn(4, "x", "a", nil), addTo(3, "x", "a", "t-0"), write(11, "x", to("t-0", by("a", 0, 2).inTxn())), send("t-0", plain(2)),
		trim("t-0", 1), readStable(from("t-0", 1)), trim("t-0", 3), readStable(from("t-0", 3)), listStable(byTime("t-0", -1)), listStable(byTime("t-0", -2)), read(from("t-0", 3)),
		write(11, "x", to("t-0", by("a", 2, 1).inTxn())), described("t-0"), abortTxn(4, "x", "a"), ended("x"), readStable(from("t-0", 3)), readStable(from("t-0", 5)), listStable(byTime("t-0", -1)), described("t-0"),
		trim("t-0", -1), readStable(from("t-0", 6)), listStable(byTime("t-0", -1)),
	}},
	{name: "several transactions are aborted", steps: []step{
		coordinated(1, "x"), topic("t", 1),
		initTxn(4, "x", "a", nil),
		addTo(3, "x", "a", "t-0"), write(11, "x", to("t-0", by("a", 0, 1).inTxn())), abortTxn(4, "x", "a"), ended("x"), addTo(3, "x", "a", "t-0"), write(11, "x", to("t-0", by("a", 1, 1).inTxn())), commitTxn(4, "x", "a"), ended("x"),
		addTo(3, "x", "a", "t-0"), write(11, "x", to("t-0", by("a", 2, 1).inTxn())), abortTxn(4, "x", "a"), ended("x"),
		readStable(from("t-0", 0)), readStable(from("t-0", 1)), readStable(from("t-0", 2)), readStable(from("t-0", 4)), readStable(from("t-0", 5)), readStable(from("t-0", 6)),
		readStable(from("t-0", 0).upTo(1)), fetchIn(12, limited("read committed, up to 1 byte", func(r *kmsg.FetchRequest) { r.IsolationLevel, r.MaxBytes = 1, 1 }), from("t-0", 2)), readStable(from("t-0", 7)),
	}},
	{name: "a topic is deleted in the middle", steps: []step{
		coordinated(1, "x"), topic("t", 1), topic("u", 1),
		initTxn(4, "x", "a", nil), addTo(3, "x", "a", "t-0", "u-0"), write(11, "x", to("t-0", by("a", 0, 1).inTxn()), to("u-0", by("a", 0, 1).inTxn())),
		deleteTopics(6, "t"), gone("t", "older"), commitTxn(4, "x", "a"), ended("x"), describeTxns("x"), readStable(from("u-0", 0)),
	}},
	{name: "a reader of committed records in a session", steps: []step{
		coordinated(1, "x"), topic("t", 1),
		initTxn(4, "x", "a", nil), addTo(3, "x", "a", "t-0"), write(11, "x", to("t-0", by("a", 0, 1).inTxn())),
		on("reader"), begin("s", 12, from("t-0", 0)), on(""), goOnBut("s", "read committed", 12, func(r *kmsg.FetchRequest) { r.IsolationLevel = 1 }),
		abortTxn(4, "x", "a"), ended("x"), goOnBut("s", "read committed", 12, func(r *kmsg.FetchRequest) { r.IsolationLevel = 1 }), goOnBut("s", "read committed", 12, func(r *kmsg.FetchRequest) { r.IsolationLevel = 1 }),
	}},
}

// written is a Produce of the transactional id x with other acks.
func written(acks int16, deliveries ...delivery) step {
	return production{version: 11, acks: acks, txn: kmsg.StringPtr("x"), deliveries: deliveries}.step()
}
