package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kgo"
)

// copied is how many records are copied from topic to topic.
const copied = 300

// TestTxn_a_copy_in_transactions_is_exactly_once reads records as a group, and
// writes each to another topic in the transaction that also commits its offset.
// Acknowledgements of all kinds are lost on the way, and one transaction in three
// is aborted.
func TestTxn_a_copy_in_transactions_is_exactly_once(t *testing.T) {
	for name, rule := range map[string]string{
		"no acknowledgement is lost":               "",
		"acknowledgements of Produce are lost":     "disconnect after produce topic=copies every=4 times=all",
		"acknowledgements of EndTxn are lost":      "disconnect after end_txn every=3 times=all",
		"acknowledgements of the offsets are lost": "disconnect after txn_offset_commit every=3 times=all",
		"partitions are added twice":               "disconnect after add_partitions_to_txn every=3 times=all",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := []fencepost.Option{fencepost.Topic("originals", 2), fencepost.Topic("copies", 2), fencepost.Identity("key")}
			if rule != "" {
				options = append(options, fencepost.Fault(rule))
			}
			s := newStage(t, options...)
			producer := s.client(t, quick()...)
			for _, o := range produce(t, producer, "originals", upTo(copied)) {
				if o.err != nil {
					t.Fatal(o.err)
				}
			}
			producer.Close()
			copyAll(t, s)
			got := committedKeys(t, s)
			slices.Sort(got)
			var want []string
			for n := range copied {
				want = append(want, key(n))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d records were copied, and %d are committed: %v", copied, len(got), got)
			}
			// What was aborted and written again stands in the log twice, and is not
			// duplicated.
			if v := s.verdict(t, "copies"); !v.ExactlyOnce || v.Aborted == 0 || v.Open > 0 {
				t.Errorf("%d records aborted, %d open: %s", v.Aborted, v.Open, v)
			}
		})
	}
}

// copyAll copies every record once, in transactions of a few.
func copyAll(t *testing.T, s *stage) {
	t.Helper()
	session, err := kgo.NewGroupTransactSession(append(quick(), kgo.SeedBrokers(s.Addr()), kgo.TransactionalID("copier"),
		kgo.ConsumerGroup("copiers"), kgo.ConsumeTopics("originals"), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxBytes(1<<10), kgo.FetchMaxPartitionBytes(1<<10), kgo.DisableFetchSessions())...)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	ctx := patience(t)
	for done, turn := 0, 0; done < copied; turn++ {
		records := session.PollRecords(ctx, 20).Records()
		if err := ctx.Err(); err != nil {
			t.Fatalf("%d of %d records are copied: %v", done, copied, err)
		}
		if err := session.Begin(); err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			session.Produce(ctx, &kgo.Record{Topic: "copies", Key: r.Key, Value: r.Value}, nil)
		}
		if err := session.Client().Flush(ctx); err != nil { // else an abort would keep them
			t.Fatal(err)
		}
		committed, err := session.End(ctx, kgo.TransactionEndTry(turn%3 != 2))
		if err != nil {
			t.Fatalf("after %d of %d records: %v", done, copied, err)
		}
		if committed {
			done += len(records)
		}
	}
}

// committedKeys reads the topic of the copies as a reader of committed records:
// all that stands before a last record that is written to each of its partitions.
func committedKeys(t *testing.T, s *stage) (keys []string) {
	t.Helper()
	const last = "last"
	writer := s.client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer writer.Close()
	for n := range int32(2) {
		if err := writer.ProduceSync(patience(t), &kgo.Record{Topic: "copies", Partition: n, Key: fmt.Append(nil, last, n)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	consumer := s.client(t, kgo.ConsumeTopics("copies"), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer consumer.Close()
	ctx := patience(t)
	for open := 2; open > 0; {
		for _, r := range consumer.PollFetches(ctx).Records() {
			if strings.HasPrefix(string(r.Key), last) {
				open--
				continue
			}
			keys = append(keys, string(r.Key))
		}
		if err := ctx.Err(); err != nil {
			t.Fatalf("after %d records: %v", len(keys), err)
		}
	}
	return keys
}
