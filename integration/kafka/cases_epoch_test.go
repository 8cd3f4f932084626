package kafka

import "math"

// Epochs: an older one is fenced, a newer one begins at sequence 0 with an empty
// window.
var epochScripts = []script{
	{name: "an older epoch is fenced, also when it replays", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 1).in(3)),
		send("t-0", by("a", 1, 1).in(3)),
		send("t-0", by("a", 0, 1).in(2)), // a replay but for the epoch
		send("t-0", by("a", 2, 1).in(2)), // next but for the epoch
		send("t-0", by("a", 0, 1).in(0)),
		send("t-0", by("a", 9, 1).in(2)),
		send("t-0", by("a", 1, 1).in(3)),
		send("t-0", by("a", 2, 1).in(3)),
		described("t-0"), end("t-0"),
	}},
	{name: "a newer epoch begins at sequence 0", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 2)), send("t-0", by("a", 2, 2)),
		send("t-0", by("a", 4, 1).in(1)), // goes on where the older one ended
		send("t-0", by("a", 1, 1).in(1)),
		send("t-0", by("a", 2, 2).in(1)), // a replay but for the epoch
		described("t-0"),                 // none of them raised the epoch
		send("t-0", by("a", 4, 1)),
		send("t-0", by("a", 0, 1).in(1)),
		send("t-0", by("a", 5, 1)),
		send("t-0", by("a", 1, 1).in(1)),
		described("t-0"), end("t-0"),
	}},
	{name: "a newer epoch empties the window", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 1)), send("t-0", by("a", 1, 1)), send("t-0", by("a", 2, 1)),
		send("t-0", by("a", 0, 1).in(1)), // the same sequences, and no replay
		send("t-0", by("a", 1, 1).in(1)),
		send("t-0", by("a", 2, 1)), send("t-0", by("a", 0, 1)),
		send("t-0", by("a", 2, 1).in(1)),
		send("t-0", by("a", 0, 1).in(1)), send("t-0", by("a", 2, 1).in(1)), send("t-0", by("a", 1, 1).in(1)),
		read(from("t-0", 0)), described("t-0"),
	}},
	{name: "epochs may be left out", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 1)),
		send("t-0", by("a", 0, 1).in(100)),
		send("t-0", by("a", 1, 1).in(99)),
		send("t-0", by("a", 0, 1).in(math.MaxInt16)),
		send("t-0", by("a", 1, 1).in(math.MaxInt16)),
		send("t-0", by("a", 2, 1).in(100)),
		send("t-0", by("a", 2, 1).in(math.MaxInt16)),
		described("t-0"),
	}},
	{name: "an epoch below 0 is none", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 1).in(-1)),
		send("t-0", by("a", 0, 1).in(-2)),
		send("t-0", by("a", 0, 1).in(math.MinInt16)),
		send("t-0", by("a", 0, 1)),
		send("t-0", by("a", 1, 1).in(-1)),
		send("t-0", by("a", 0, 1).in(-1)),
		send("t-0", by("a", 1, 1).in(-5)),
		send("t-0", by("a", 1, 1)),
		described("t-0"), end("t-0"),
	}},
	{name: "a partition learns of a newer epoch by itself", steps: []step{
		topic("t", 2), producer("a"),
		produce(to("t-0", by("a", 0, 1)), to("t-1", by("a", 0, 1))),
		send("t-0", by("a", 0, 1).in(1)),
		send("t-1", by("a", 1, 1)), // not told of epoch 1
		send("t-0", by("a", 1, 1)),
		send("t-1", by("a", 2, 1).in(1)),
		send("t-1", by("a", 0, 1).in(1)),
		send("t-1", by("a", 2, 1)),
		described("t-0", "t-1"),
	}},
	{name: "a producer first seen in a later epoch", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 2).in(7)),
		send("t-0", by("a", 0, 2).in(7)),
		send("t-0", by("a", 2, 1).in(7)),
		send("t-0", by("a", 3, 1).in(6)),
		send("t-0", by("a", 0, 2).in(8)),
		send("t-0", by("a", 0, 2).in(7)),
		described("t-0"),
	}},
	{name: "a gap of a newer epoch changes nothing", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 1)), send("t-0", by("a", 1, 1)),
		send("t-0", by("a", 7, 1).in(1)),
		send("t-0", by("a", 0, 1)), // the window is as it was
		send("t-0", by("a", 1, 1)),
		send("t-0", by("a", 2, 1)),
		send("t-0", by("a", 2, 1).in(1)),
		send("t-0", by("a", 3, 1)),
		described("t-0"), end("t-0"),
	}},
	{name: "a malformed batch of a newer epoch changes nothing", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 1)),
		send("t-0", by("a", 0, 1).in(1).damaged("checksum wrong", flip(crcAt))),
		send("t-0", by("a", 0, 2).in(1).saying("3 records said", numRecords(3))),
		send("t-0", by("a", 1, 1)),
		described("t-0"),
	}},
	{name: "epochs and trims", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 2)), send("t-0", by("a", 0, 2).in(1)),
		trim("t-0", -1),
		send("t-0", by("a", 2, 1)),
		send("t-0", by("a", 0, 2).in(1)),
		send("t-0", by("a", 0, 1).in(2)),
		send("t-0", by("a", 2, 2).in(1)),
		described("t-0"), start("t-0"), end("t-0"),
	}},
	{name: "two instances of one producer take turns", steps: []step{
		topic("t", 1), producer("a"),
		on("old"), send("t-0", by("a", 0, 1)), send("t-0", by("a", 1, 1)),
		on("new"), send("t-0", by("a", 0, 1).in(1)),
		on("old"), send("t-0", by("a", 2, 1)), send("t-0", by("a", 1, 1)),
		on("new"), send("t-0", by("a", 1, 1).in(1)),
		on("old"), send("t-0", by("a", 0, 1).in(2)),
		on("new"), send("t-0", by("a", 2, 1).in(1)), send("t-0", by("a", 1, 1).in(1)),
		described("t-0"),
	}},
}
