package kafka

// Transactions as clients of before and after KIP-890 drive them.
var txnScripts = []script{
	{name: "a transaction is committed", steps: []step{
		coordinated(1, "x"), topic("t", 2),
		initTxn(4, "x", "a", nil), describeTxns("x"), listTxns(0),
		addTo(3, "x", "a", "t-0"), describeTxns("x"), listTxns(0),
		write(11, "x", to("t-0", by("a", 0, 2).inTxn())), read(from("t-0", 0)), readStable(from("t-0", 0)), end("t-0"), listStable(byTime("t-0", -1)), described("t-0"),
		commitTxn(4, "x", "a"), ended("x"), describeTxns("x"), listTxns(0), readStable(from("t-0", 0)), read(from("t-0", 2)), end("t-0"), listStable(byTime("t-0", -1)), described("t-0"),
		addTo(3, "x", "a", "t-0", "t-1"), write(11, "x", to("t-0", by("a", 2, 1).inTxn())), write(11, "x", to("t-1", by("a", 0, 1).inTxn())),
		readStable(from("t-0", 0)), readStable(from("t-1", 0)), commitTxn(4, "x", "a"), ended("x"), readStable(from("t-0", 3), from("t-1", 0)), described("t-0", "t-1"),
	}},
	{name: "a transaction is aborted", steps: []step{
		coordinated(1, "x"), topic("t", 2),
		initTxn(4, "x", "a", nil), addTo(3, "x", "a", "t-0", "t-1"), write(11, "x", to("t-0", by("a", 0, 3).inTxn())),
		abortTxn(4, "x", "a"), ended("x"), describeTxns("x"), readStable(from("t-0", 0)), readStable(from("t-0", 2)), readStable(from("t-0", 3)), readStable(from("t-0", 4)),
		read(from("t-0", 0)), readStable(from("t-1", 0)), described("t-0", "t-1"), listStable(byTime("t-0", -1), byTime("t-1", -1)),
		addTo(3, "x", "a", "t-0"), write(11, "x", to("t-0", by("a", 3, 1).inTxn())), commitTxn(4, "x", "a"), ended("x"), readStable(from("t-0", 0)),
	}},
	{name: "every version of EndTxn", steps: []step{
		coordinated(1, "x"), topic("t", 1),
		initTxn(4, "x", "a", nil),
		addTo(0, "x", "a", "t-0"), commitTxn(0, "x", "a"), ended("x"), addTo(1, "x", "a", "t-0"), abortTxn(1, "x", "a"), ended("x"),
		addTo(2, "x", "a", "t-0"), commitTxn(2, "x", "a"), ended("x"), addTo(3, "x", "a", "t-0"), abortTxn(3, "x", "a"), ended("x"),
		addTo(3, "x", "a", "t-0"), commitTxn(4, "x", "a"), ended("x"), addTo(3, "x", "a", "t-0"), abortTxn(5, "x", "a"), ended("x"),
		describeTxns("x"), read(from("t-0", 0)), described("t-0"),
	}},
	{name: "nothing was added", steps: []step{
		coordinated(1, "x"), topic("t", 1),
		initTxn(4, "x", "a", nil), commitTxn(4, "x", "a"), abortTxn(4, "x", "a"), commitTxn(5, "x", "a"), describeTxns("x"), abortTxn(5, "x", "a"), ended("x"), describeTxns("x"),
		abortTxn(5, "x", "a in 1"), ended("x"), commitTxn(5, "x", "a in 2"), commitTxn(3, "x", "a in 2"), commitTxn(0, "x", "a in 2"), addTo(3, "x", "a in 2"), describeTxns("x"),
	}},
	{name: "ends that come again", steps: []step{
		coordinated(1, "x"), coordinated(1, "y"), topic("t", 1),
		initTxn(4, "x", "a", nil), addTo(3, "x", "a", "t-0"), commitTxn(4, "x", "a"), ended("x"), commitTxn(4, "x", "a"), abortTxn(4, "x", "a"), commitTxn(0, "x", "a"), commitTxn(5, "x", "a"),
		addTo(3, "x", "a", "t-0"), abortTxn(4, "x", "a"), ended("x"), abortTxn(4, "x", "a"), commitTxn(4, "x", "a"), describeTxns("x"),
		initTxn(5, "y", "b", nil), addTo(3, "y", "b", "t-0"), commitTxn(5, "y", "b"), ended("y"), commitTxn(5, "y", "b"), abortTxn(5, "y", "b"), commitTxn(5, "y", "b in 1"),
		addTo(3, "y", "b in 1", "t-0"), abortTxn(5, "y", "b in 1"), ended("y"), abortTxn(5, "y", "b in 1"), commitTxn(5, "y", "b in 1"), abortTxn(5, "y", "b in 9"), describeTxns("y"),
	}},
	{name: "who may not end a transaction", steps: []step{
		coordinated(1, "x"), topic("t", 1),
		initTxn(4, "x", "a", nil), initTxn(4, "other", "b", nil), addTo(3, "x", "a", "t-0"),
		commitTxn(5, "x", "a in 7"), commitTxn(4, "x", "a in 7"), commitTxn(2, "x", "a in 7"), commitTxn(1, "x", "a in 7"), commitTxn(0, "x", "a in -1"),
		commitTxn(4, "x", "b"), commitTxn(4, "nosuch", "a"), commitTxn(0, "nosuch", "a"), commitTxn(5, "nosuch", "a"), commitTxn(4, "=", "a"), abortTxn(5, "=", "a"), describeTxns("x"),
	}},
	{name: "partitions are added", steps: []step{
		coordinated(1, "x"), topic("t", 3), topic("u", 1),
		initTxn(4, "x", "a", nil), initTxn(4, "other", "b", nil),
		addTo(3, "x", "a", "t-0", "t-9"), addTo(0, "x", "a", "nosuch-0", "u-0", "t-0"), describeTxns("x"),
		addTo(3, "x", "a", "t-1", "u-0"), addTo(3, "x", "a", "t-1"), addTo(2, "x", "a", "t-0"), addTo(1, "x", "a", "t-2", "t-2"), describeTxns("x"),
		addTo(3, "x", "a in 7", "t-0"), addTo(2, "x", "a in 7", "t-0"), addTo(1, "x", "a in 7", "t-0"), addTo(0, "x", "a in -1", "t-0"),
		addTo(3, "x", "b", "t-0"), addTo(3, "nosuch", "a", "t-0"), addTo(0, "nosuch", "a", "t-0"), addTo(3, "=", "a", "t-0"), addTo(3, "x", "a in 7", "t-9", "t-0"), addTo(3, "x", "a"),
		abortTxn(4, "x", "a"), ended("x"), described("t-0", "t-1", "t-2", "u-0"),
	}},
	{name: "a producer begins again", steps: []step{
		coordinated(1, "x"), topic("t", 1),
		initTxn(4, "x", "a", nil), addTo(3, "x", "a", "t-0"), write(11, "x", to("t-0", by("a", 0, 2).inTxn())),
		initTxn(4, "x", "again", nil), // what was open is aborted
		ended("x"), describeTxns("x"), readStable(from("t-0", 0)), described("t-0"), listStable(byTime("t-0", -1)),
		write(11, "x", to("t-0", by("a", 2, 1).inTxn())), write(12, "x", to("t-0", by("a", 2, 1).inTxn())), write(3, "x", to("t-0", by("a", 0, 2).inTxn())),
		addTo(3, "x", "a", "t-0"), addTo(1, "x", "a", "t-0"), commitTxn(4, "x", "a"), commitTxn(1, "x", "a"), commitTxn(5, "x", "a"), abortTxn(5, "x", "a"),
		initTxn(4, "x", "zombie", epochOf("a", 0)), initTxn(3, "x", "zombie", epochOf("a", 0)), initTxn(4, "x", "zombie", epochOf("a", 30_000)),
		initTxn(4, "x", "again", epochOf("a", 2)), initTxn(4, "x", "again", epochOf("a", 2)), describeTxns("x"),
		addTo(3, "x", "a in 3", "t-0"), write(11, "x", to("t-0", by("a", 0, 1).in(3).inTxn())),
		initTxn(5, "x", "again", epochOf("a", 3)), // in the middle of its own
		ended("x"), describeTxns("x"), readStable(from("t-0", 3)), described("t-0"),
	}},
	{name: "a transaction that takes too long is aborted", steps: []step{
		coordinated(1, "x"), topic("t", 1),
		initTxn(4, "x", "a", timeout("x", 100)), addTo(3, "x", "a", "t-0"), write(11, "x", to("t-0", by("a", 0, 2).inTxn())),
		ended("x"), // Kafka looks every ten seconds
		describeTxns("x"), readStable(from("t-0", 0)), described("t-0"),
		addTo(3, "x", "a", "t-0"), commitTxn(4, "x", "a"), commitTxn(5, "x", "a"), write(11, "x", to("t-0", by("a", 2, 1).inTxn())), write(12, "x", to("t-0", by("a", 2, 1).inTxn())),
		initTxn(4, "x", "again", epochOf("a", 0)), describeTxns("x"),
	}},
	{name: "transactions are described", steps: []step{
		coordinated(1, "x"), topic("t", 2), topic("a", 1),
		initTxn(4, "x", "a", timeout("x", 12_345)), initTxn(4, "y", "b", nil),
		describeTxns("x", "y"), describeTxns("nosuch"), describeTxns("="), describeTxns(), describeTxns("x", "x"),
		addTo(3, "x", "a", "t-1", "t-0", "a-0"), describeTxns("x", "nosuch", "y"), commitTxn(4, "x", "a"), ended("x"), describeTxns("x"), initTxn(4, "x", "again", nil), describeTxns("x"),
	}},
	{name: "transactions are listed", steps: []step{
		coordinated(1, "x"), topic("t", 1),
		listTxns(0), initTxn(4, "open", "a", nil), initTxn(4, "done", "b", nil), initTxn(4, "new", "c", nil), initTxn(4, "undone", "d", nil),
		addTo(3, "open", "a", "t-0"), addTo(3, "done", "b", "t-0"), commitTxn(4, "done", "b"), addTo(3, "undone", "d", "t-0"), abortTxn(4, "undone", "d"), ended("done"), ended("undone"),
		listTxns(0), listTxns(1), listTxns(2),
		listTxns(0, with("StateFilters", []string{"Ongoing"})), listTxns(2, with("StateFilters", []string{"Empty", "CompleteAbort"})), listTxns(0, with("StateFilters", []string{"ongoing"})),
		listTxns(0, with("StateFilters", []string{"nosuch", "CompleteCommit", "Nothing"})), listTxns(0, with("StateFilters", []string{"PrepareCommit", "PrepareAbort", "Dead", "PrepareEpochFence"})),
		listTxns(0, ofProducers("a", "c")), listTxns(0, ofProducers("a"), with("StateFilters", []string{"Empty"})), listTxns(0, with("ProducerIDFilters", []int64{-1})),
		listTxns(1, with("DurationFilterMillis", 3_600_000)), listTxns(1, with("DurationFilterMillis", 0), ofProducers("c")), listTxns(1, with("DurationFilterMillis", -5)),
		listTxns(2, idsMatching("o.*")), listTxns(2, idsMatching("one")), listTxns(2, idsMatching("(new|open)")), listTxns(2, with("TransactionalIDPattern", "(")), listTxns(2, with("TransactionalIDPattern", "")),
		abortTxn(4, "open", "a"), ended("open"), listTxns(2, ofProducers("a")),
	}},
}
