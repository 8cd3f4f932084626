package kafka

import (
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// threeBatches is a topic with batches of records 0..2, 3..4 and 5, and one with
// none.
func threeBatches() []step {
	return prepare(
		topic("t", 2), topic("empty", 1), producer("a"),
		send("t-0", by("a", 0, 3)), send("t-0", by("a", 3, 2)), send("t-0", by("a", 5, 1)), send("t-1", by("a", 0, 2)),
	)
}

// Fetch at every edge.
var fetchScripts = append([]script{
	{name: "a fetch from any offset of a batch gets it whole", steps: append(threeBatches(),
		read(from("t-0", 0)), read(from("t-0", 1)), read(from("t-0", 2)), read(from("t-0", 3)), read(from("t-0", 4)), read(from("t-0", 5)),
	)},
	{name: "at the end and beyond it", steps: append(threeBatches(),
		read(from("t-0", 6)), read(from("t-0", 7)), read(from("t-0", math.MaxInt64)), read(from("t-0", -1)), read(from("t-0", math.MinInt64)),
		read(from("empty-0", 0)), read(from("empty-0", 1)), read(from("empty-0", -1)),
	)},
	{name: "below the start", steps: append(threeBatches(),
		trim("t-0", 3),
		read(from("t-0", 2)), read(from("t-0", 0)), read(from("t-0", 3)),
		trim("t-0", 4),
		read(from("t-0", 3)), read(from("t-0", 4)),
		trim("t-0", -1),
		read(from("t-0", 5)), read(from("t-0", 6)),
	)},
	{name: "the first batch comes whole whatever the limits", steps: append(threeBatches(),
		read(from("t-0", 0).upTo(1)), read(from("t-0", 0).upTo(0)), read(from("t-0", 0).upTo(-1)), read(from("t-0", 0).upTo(math.MinInt32)),
		fetchIn(12, limited("max bytes 1", func(r *kmsg.FetchRequest) { r.MaxBytes = 1 }), from("t-0", 0)),
		fetchIn(12, limited("max bytes 0", func(r *kmsg.FetchRequest) { r.MaxBytes = 0 }), from("t-0", 0)),
		fetchIn(12, limited("max bytes -1", func(r *kmsg.FetchRequest) { r.MaxBytes = -1 }), from("t-0", 0)),
		fetchIn(12, limited("max bytes 1", func(r *kmsg.FetchRequest) { r.MaxBytes = 1 }), from("t-0", 0), from("t-1", 0)),
	)},
	{name: "what is beyond the limit is cut, in the middle of a batch", steps: append(threeBatches(),
		read(from("t-0", 0).upTo(150)), read(from("t-0", 0).upTo(110)), read(from("t-0", 0).upTo(250)),
		read(from("t-0", 3).upTo(100)), read(from("t-0", 5).upTo(1)),
		fetchIn(12, limited("max bytes 150", func(r *kmsg.FetchRequest) { r.MaxBytes = 150 }), from("t-0", 0), from("t-1", 0)),
		fetchIn(12, limited("max bytes 150", func(r *kmsg.FetchRequest) { r.MaxBytes = 150 }), from("empty-0", 0), from("t-1", 0), from("t-0", 0)),
	)},
	{name: "partitions that there are not", steps: append(threeBatches(),
		read(from("t-2", 0)), read(from("nosuch-0", 0)), read(from("t-2", 0), from("t-0", 5), from("nosuch-0", 0)),
		read(),
		fetchIn(12, nil, from("=-0", 0)),
		fetchIn(13, nil, from("t-2", 0)),
		fetchIn(13, nil, from("nosuch-0", 0), from("t-0", 5)),
	)},
	{name: "a partition named twice is asked for once", steps: append(threeBatches(),
		read(from("t-0", 0), from("t-0", 5)),
		read(from("t-0", 5), from("t-1", 0), from("t-0", 3)),
		read(from("t-0", 5), from("t-0", 99)),
	)},
	{name: "the epochs that a consumer knows", steps: append(threeBatches(),
		read(believing(from("t-0", 5), 0)), read(believing(from("t-0", 5), 1)), read(believing(from("t-0", 5), -2)),
		read(believing(from("t-0", 99), 1)), read(believing(from("nosuch-0", 0), 1)),
		read(lastFetched(from("t-0", 5), 0)), read(lastFetched(from("t-0", 99), 0)), read(lastFetched(from("t-0", 5), 1)),
		read(lastFetched(from("t-0", 5), -2)), read(lastFetched(from("empty-0", 0), 0)), read(lastFetched(from("empty-0", 7), 0)),
		fetchIn(11, nil, lastFetched(from("t-0", 99), 0)),
		fetchIn(8, nil, believing(from("t-0", 5), 1)),
	)},
	{name: "read committed without transactions", steps: append(threeBatches(),
		fetchIn(12, limited("read committed", func(r *kmsg.FetchRequest) { r.IsolationLevel = 1 }), from("t-0", 3)),
		fetchIn(12, limited("read committed", func(r *kmsg.FetchRequest) { r.IsolationLevel = 1 }), from("t-0", 6), from("t-0", 6)),
		fetchIn(12, limited("read committed", func(r *kmsg.FetchRequest) { r.IsolationLevel = 1 }), from("t-0", 7)),
		fetchIn(12, limited("isolation 2", func(r *kmsg.FetchRequest) { r.IsolationLevel = 2 }), from("t-0", 5)),
		fetchIn(4, limited("read committed", func(r *kmsg.FetchRequest) { r.IsolationLevel = 1 }), from("t-0", 5)),
	)},
	{name: "limits and waits below 0", steps: append(threeBatches(),
		fetchIn(12, limited("min bytes 0", func(r *kmsg.FetchRequest) { r.MinBytes = 0 }), from("empty-0", 0)),
		fetchIn(12, limited("min bytes -1", func(r *kmsg.FetchRequest) { r.MinBytes = -1 }), from("empty-0", 0)),
		fetchIn(12, limited("wait -1", func(r *kmsg.FetchRequest) { r.MaxWaitMillis = -1 }), from("empty-0", 0)),
		fetchIn(12, limited("wait least", func(r *kmsg.FetchRequest) { r.MaxWaitMillis = math.MinInt32 }), from("t-0", 5)),
		fetchIn(12, limited("min bytes greatest", func(r *kmsg.FetchRequest) { r.MinBytes = math.MaxInt32 }), from("t-0", 5)),
		fetchIn(12, limited("wait 100 for more", func(r *kmsg.FetchRequest) { r.MaxWaitMillis, r.MinBytes = 100, 10_000 }), from("t-0", 5)),
	)},
	{name: "fetching as a replica", steps: append(threeBatches(),
		fetchIn(12, limited("as replica 5", func(r *kmsg.FetchRequest) { r.ReplicaID = 5 }), from("t-0", 5)),
		fetchIn(12, limited("as the debugger", func(r *kmsg.FetchRequest) { r.ReplicaID = -2 }), from("t-0", 5)),
		fetchIn(12, limited("as nobody -3", func(r *kmsg.FetchRequest) { r.ReplicaID = -3 }), from("t-0", 5)),
		fetchIn(12, limited("from another rack", func(r *kmsg.FetchRequest) { r.Rack = "elsewhere" }), from("t-0", 5)),
		fetchIn(12, limited("of another cluster", func(r *kmsg.FetchRequest) { r.ClusterID = kmsg.StringPtr("another") }), from("t-0", 5)),
	)},
	{name: "a topic that was deleted, by its old id", steps: append(threeBatches(),
		fetchIn(13, nil, from("t-0", 5)),
		deleteTopics(6, "t"), gone("t", "older"),
		fetchIn(13, nil, from("older-0", 0)), read(from("t-0", 0)),
		topic("t", 1),
		fetchIn(13, nil, from("older-0", 0)), fetchIn(13, nil, from("t-0", 0)),
	)},
}, everyFetchVersion()...)

// believing adds the leader epoch that the consumer knows.
func believing(f fetched, epoch int32) fetched {
	return f.but(fmt.Sprintf("believing in epoch %d", epoch), func(p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = epoch })
}

// lastFetched adds the epoch of the last record that the consumer has.
func lastFetched(f fetched, epoch int32) fetched {
	return f.but(fmt.Sprintf("last fetched in epoch %d", epoch), func(p *kmsg.FetchRequestTopicPartition) { p.LastFetchedEpoch = epoch })
}

func everyFetchVersion() (all []script) {
	for v := int16(4); v <= 18; v++ {
		all = append(all, script{name: fmt.Sprintf("Fetch in version %d", v), steps: append(threeBatches(),
			fetchIn(v, nil, from("t-0", 3), from("t-1", 9)),
			fetchIn(v, nil, from("t-0", 6), from("t-5", 0)),
		)})
	}
	return all
}
