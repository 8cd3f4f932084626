package kafka

import (
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// threeTimes is a topic with batches at 100..102, 50..60 and 200 of the base.
func threeTimes() []step {
	return prepare(
		topic("t", 1), topic("empty", 1), producer("a"),
		send("t-0", by("a", 0, 3).at(100, 101, 102)), send("t-0", by("a", 3, 2).at(60, 50).with(gzipCodec)), send("t-0", by("a", 5, 1).at(200)),
	)
}

// Offsets by time, ends and starts, epochs, and trims.
var listScripts = append([]script{
	{name: "ends, starts and special times", steps: append(threeTimes(),
		listOffsets(7, byTime("t-0", -1)), listOffsets(7, byTime("t-0", -2)), listOffsets(7, byTime("t-0", -3)),
		listOffsets(8, byTime("t-0", -4)), listOffsets(9, byTime("t-0", -5)), listOffsets(10, byTime("t-0", -5)),
		listOffsets(11, byTime("t-0", -6)),
		listOffsets(7, byTime("empty-0", -1)), listOffsets(7, byTime("empty-0", -2)), listOffsets(7, byTime("empty-0", -3)),
		listOffsets(8, byTime("empty-0", -4)), listOffsets(9, byTime("empty-0", -5)), listOffsets(11, byTime("empty-0", -6)),
	)},
	{name: "special times in versions that do not have them", steps: append(threeTimes(),
		listOffsets(6, byTime("t-0", -3)), listOffsets(7, byTime("t-0", -4)), listOffsets(8, byTime("t-0", -5)),
		listOffsets(10, byTime("t-0", -6)), listOffsets(11, byTime("t-0", -7)), listOffsets(1, byTime("t-0", -3)),
		listOffsets(7, byTime("t-0", math.MinInt64)), listOffsets(7, byTime("t-0", -100)),
	)},
	{name: "the first record at or after a time", steps: append(threeTimes(),
		listOffsets(7, byBase("t-0", 0)), listOffsets(7, byBase("t-0", 100)), listOffsets(7, byBase("t-0", 101)),
		listOffsets(7, byBase("t-0", 102)), listOffsets(7, byBase("t-0", 103)), listOffsets(7, byBase("t-0", 200)),
		listOffsets(7, byBase("t-0", 201)), listOffsets(7, byBase("t-0", 55)), listOffsets(7, byTime("t-0", 0)),
		listOffsets(7, byTime("t-0", math.MaxInt64)), listOffsets(7, byTime("t-0", 1)),
		listOffsets(7, byTime("empty-0", 0)), listOffsets(7, byBase("empty-0", 0)),
	)},
	{name: "by time after a trim", steps: append(threeTimes(),
		trim("t-0", 1),
		listOffsets(7, byBase("t-0", 0)), listOffsets(7, byBase("t-0", 101)), listOffsets(7, byTime("t-0", -2)),
		trim("t-0", 5),
		listOffsets(7, byBase("t-0", 0)), listOffsets(7, byBase("t-0", 100)), listOffsets(7, byTime("t-0", -3)),
		trim("t-0", -1),
		listOffsets(7, byBase("t-0", 0)), listOffsets(7, byTime("t-0", -3)), listOffsets(7, byTime("t-0", -1)),
	)},
	{name: "by time inside compressed batches", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 3).at(10, 20, 30).with(gzipCodec)), send("t-0", by("a", 3, 3).at(40, 60, 50).with(zstdCodec)),
		send("t-0", by("a", 6, 3).at(70, 70, 65).with(lz4Codec)),
		listOffsets(7, byBase("t-0", 15)), listOffsets(7, byBase("t-0", 30)), listOffsets(7, byBase("t-0", 41)),
		listOffsets(7, byBase("t-0", 51)), listOffsets(7, byBase("t-0", 61)), listOffsets(7, byTime("t-0", -3)),
	}},
	{name: "partitions that there are not, and named twice", steps: append(threeTimes(),
		listOffsets(7, byTime("t-1", -1), byTime("nosuch-0", -1), byTime("t-0", -1)),
		listOffsets(7, byTime("t-0", -1), byTime("t-0", -2)),
		listOffsets(7, byTime("t-0", -1), byTime("empty-0", -1), byTime("t-0", -1)),
		listOffsets(7),
		listOffsets(7, byTime("t-7", -1), byTime("t-7", -1)),
	)},
	{name: "the epoch that a client believes in", steps: append(threeTimes(),
		listOffsets(7, byTime("t-0", -1).believing(0)), listOffsets(7, byTime("t-0", -1).believing(1)),
		listOffsets(7, byTime("t-0", -1).believing(-2)), listOffsets(7, byTime("t-0", -1).believing(-5)),
		listOffsets(7, byTime("nosuch-0", -1).believing(5)), listOffsets(7, byTime("t-0", -100).believing(5)),
		listOffsets(4, byTime("t-0", -1).believing(1)), listOffsets(3, byTime("t-0", -1).believing(1)),
	)},
	{name: "who asks, and how", steps: append(threeTimes(),
		listOffsetsAs(7, "read committed", func(r *kmsg.ListOffsetsRequest) { r.IsolationLevel = 1 }, byTime("t-0", -1)),
		listOffsetsAs(7, "read committed", func(r *kmsg.ListOffsetsRequest) { r.IsolationLevel = 1 }, byTime("t-0", -3)),
		listOffsetsAs(7, "isolation 2", func(r *kmsg.ListOffsetsRequest) { r.IsolationLevel = 2 }, byTime("t-0", -1)),
		listOffsetsAs(7, "as replica 5", func(r *kmsg.ListOffsetsRequest) { r.ReplicaID = 5 }, byTime("t-0", -1)),
		listOffsetsAs(7, "as the debugger", func(r *kmsg.ListOffsetsRequest) { r.ReplicaID = -2 }, byTime("t-0", -1)),
		listOffsetsAs(10, "timeout 0", func(r *kmsg.ListOffsetsRequest) { r.TimeoutMillis = 0 }, byTime("t-0", -1)),
	)},
	{name: "where an epoch ends", steps: append(threeTimes(),
		epochEnd(4, "t-0", 0, -1), epochEnd(4, "t-0", 1, -1), epochEnd(4, "t-0", -1, -1), epochEnd(4, "t-0", math.MaxInt32, -1),
		epochEnd(4, "t-0", -2, -1),
		epochEnd(4, "t-0", 0, 0), epochEnd(4, "t-0", 0, 1), epochEnd(4, "t-0", 0, -2),
		epochEnd(4, "empty-0", 0, -1), epochEnd(4, "empty-0", 1, -1),
		epochEnd(4, "t-1", 0, -1), epochEnd(4, "nosuch-0", 0, 3),
		epochEnd(3, "t-0", 0, -1), epochEnd(2, "t-0", 0, -1), epochEnd(2, "t-0", 0, 7),
	)},
	{name: "trims at every edge", steps: []step{
		topic("t", 2), producer("a"),
		send("t-0", by("a", 0, 3)), send("t-0", by("a", 3, 3)),
		trim("t-0", 0), trim("t-0", 7), trim("t-0", -2), trim("t-0", math.MaxInt64), trim("t-0", math.MinInt64),
		trim("t-0", 4), start("t-0"), trim("t-0", 2), start("t-0"),
		trim("t-0", 6), start("t-0"), end("t-0"), trim("t-0", -1), trim("t-0", 6), trim("t-0", 7),
		trim("t-1", 0), trim("t-1", -1), trim("t-1", 1),
		trim("t-2", 0), trim("nosuch-0", 0),
		send("t-0", by("a", 6, 1)), end("t-0"), read(from("t-0", 6)),
	}},
	{name: "trims of several partitions", steps: []step{
		topic("t", 3), topic("u", 1), producer("a"),
		send("t-0", by("a", 0, 3)), send("t-1", by("a", 0, 3)), send("u-0", by("a", 0, 3)),
		trimIn(2, trimmed{"t-0", 1}, trimmed{"u-0", 2}, trimmed{"nosuch-0", 0}, trimmed{"t-1", 9}),
		trimIn(0, trimmed{"t-0", 2}), trimIn(1, trimmed{"t-0", 3}, trimmed{"u-0", -1}),
		trimIn(2),
		start("t-0"), start("t-1"), start("u-0"),
	}},
	{name: "trims of a compacted topic", steps: []step{
		topic("t", 1, "cleanup.policy=compact"), topic("u", 1, "cleanup.policy=compact,delete"), producer("a"),
		send("t-0", by("a", 0, 2).keyed("k")), send("u-0", by("a", 0, 2).keyed("k")),
		trim("t-0", 1), trim("u-0", 1), trim("t-0", -1), trim("t-0", 9),
		start("t-0"), start("u-0"),
	}},
}, everyListVersion()...)

func everyListVersion() (all []script) {
	for v := range int16(12) {
		if v == 0 {
			continue // closes the connection; see the versions
		}
		all = append(all, script{name: fmt.Sprintf("ListOffsets in version %d", v), steps: append(threeTimes(),
			listOffsets(v, byTime("t-0", -1), byTime("t-9", -1)), listOffsets(v, byBase("t-0", 101)),
		)})
	}
	return all
}
