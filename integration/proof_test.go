package integration

import (
	"testing"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The tests of this file and of its neighbours named proof play what can happen
// to a producer with a real client, and compare the report word for word.

// proofSeed stands in the reports.
const proofSeed = 42

func proofStage(t *testing.T, options ...fencepost.Option) *stage {
	t.Helper()
	return newStage(t, append(options, fencepost.Seed(proofSeed), fencepost.Topic("orders", 1))...)
}

// one makes a client of which each record is a batch: it waits for each before
// the next.
func (s *stage) one(t *testing.T, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	return s.client(t, append(quick(), options...)...)
}

// produceEach sends a record for each number, each when the one before is done.
func produceEach(t *testing.T, client *kgo.Client, topic string, numbers ...int) (outcomes []outcome) {
	t.Helper()
	for _, n := range numbers {
		outcomes = append(outcomes, produce(t, client, topic, []int{n})...)
	}
	return outcomes
}

// checkReport fails unless the verdict has so many findings and reads so.
func checkReport(t *testing.T, v journal.TopicVerdict, totals journal.Totals, text string) {
	t.Helper()
	if v.Totals != totals || v.ExactlyOnce != (totals == journal.Totals{}) {
		t.Errorf("the verdict finds %+v and says exactly once: %v", v.Totals, v.ExactlyOnce)
	}
	if diff := cmp.Diff(text, v.String()); diff != "" {
		t.Errorf("the report differs from what was wanted (-):\n%s", diff)
	}
}

// keysIn lists the keys in the log in its order.
func keysIn(log []*kgo.Record) (keys []string) {
	for _, r := range log {
		keys = append(keys, string(r.Key))
	}
	return keys
}

func checkKeys(t *testing.T, log []*kgo.Record, numbers ...int) {
	t.Helper()
	var want []string
	for _, n := range numbers {
		want = append(want, key(n))
	}
	if diff := cmp.Diff(want, keysIn(log)); diff != "" {
		t.Errorf("the log differs from what was wanted (-):\n%s", diff)
	}
}

// await waits until something that a client does by itself has happened.
func await(t testing.TB, what string, happened func() bool) {
	t.Helper()
	ctx := patience(t)
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !happened() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("in vain waited until %s", what)
		}
	}
}

// awaitEvents waits until the journal holds so many events.
func (s *stage) awaitEvents(t testing.TB, n int) {
	t.Helper()
	await(t, "the batches came", func() bool { return len(s.Events()) >= n })
}

func TestProof_idempotent_and_lost_ack(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault("disconnect after produce attempt=1 times=all"))
	outcomes := produceEach(t, s.one(t), "orders", 0, 1, 2)

	checkLog(t, s.log(t, "orders"), outcomes)
	checkReport(t, s.verdict(t, "orders"), journal.Totals{},
		"orders is exactly once: 3 records in 3 batches, 3 acknowledgements lost, 3 replays answered with the first offset\n")
}

func TestProof_not_idempotent_and_lost_ack(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault("disconnect after produce nth=2"))
	outcomes := produceEach(t, s.one(t, kgo.DisableIdempotentWrite()), "orders", 0, 1, 2)

	checkKeys(t, s.log(t, "orders"), 0, 1, 1, 2)
	if told := outcomes[1].offset; told != 2 {
		t.Errorf("the producer was told offset %d, and the second copy stands at 2", told)
	}
	checkReport(t, s.verdict(t, "orders"), journal.Totals{Duplicated: 1}, `orders is not exactly once (seed 42)
  duplicated  offsets 1 and 2 hold one record, key "o-00001": sent again without idempotence after its ack was lost
              caused by fault "disconnect after produce nth=2"
`)
}

func TestProof_application_resends_after_an_error(t *testing.T) {
	t.Parallel()
	const told = "error INVALID_RECORD after produce nth=2"
	for _, c := range []struct {
		name string
		kgo  kgo.Opt
		how  string
	}{
		{"idempotent", kgo.ClientID("kgo"), "with a new epoch"},
		{"not idempotent", kgo.DisableIdempotentWrite(), "without idempotence"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := proofStage(t, fencepost.Fault(told))
			client := s.one(t, c.kgo)
			if failures := failed(t, produceEach(t, client, "orders", 0, 1, 2)); len(failures) != 1 || failures[0] != 1 {
				t.Fatalf("the application was told that %v failed", failures)
			}
			checkKeys(t, s.log(t, "orders"), 0, 1, 2)
			if v := s.verdict(t, "orders"); v.Totals != (journal.Totals{Unconfirmed: 1}) {
				t.Errorf("before the application does anything:\n%s", v)
			}

			produceEach(t, client, "orders", 1)

			checkKeys(t, s.log(t, "orders"), 0, 1, 2, 1)
			checkReport(t, s.verdict(t, "orders"), journal.Totals{Duplicated: 1}, `orders is not exactly once (seed 42)
  duplicated  offsets 1 and 3 hold one record, key "o-00001": sent again `+c.how+` after it was told INVALID_RECORD
              caused by fault "`+told+`"
`)
		})
	}
}

func TestProof_application_resends_after_an_honest_error(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault("error INVALID_RECORD before produce nth=2"))
	client := s.one(t)
	failed(t, produceEach(t, client, "orders", 0, 1))
	checkReport(t, s.verdict(t, "orders"), journal.Totals{Missing: 1}, `orders is not exactly once (seed 42)
  missing     sequence 1 of producer 1000 was refused (error INVALID_RECORD before produce nth=2) and never accepted
`)

	produceEach(t, client, "orders", 1)

	checkKeys(t, s.log(t, "orders"), 0, 1)
	checkReport(t, s.verdict(t, "orders"), journal.Totals{}, "orders is exactly once: 2 records in 2 batches\n")
}

func TestProof_a_producer_restarted_with_a_new_id(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault("drop after produce nth=2"))
	first := s.one(t)
	produceEach(t, first, "orders", 0)
	first.Produce(patience(t), &kgo.Record{Topic: "orders", Key: []byte(key(1)), Value: []byte("value 1")}, nil)
	s.awaitEvents(t, 2)
	first.Close()
	checkReport(t, s.verdict(t, "orders"), journal.Totals{Unconfirmed: 1}, `orders is not exactly once (seed 42)
  unconfirmed offset 1 holds sequence 1 of producer 1000, but no answer ever told client "kgo" (drop after produce nth=2)
`)

	produceEach(t, s.one(t), "orders", 1, 2)

	checkKeys(t, s.log(t, "orders"), 0, 1, 1, 2)
	v := s.verdict(t, "orders")
	checkReport(t, v, journal.Totals{Duplicated: 1}, `orders is not exactly once (seed 42)
  duplicated  offsets 1 and 2 hold one record, key "o-00001": sent again with a new producer id after its ack was lost
              caused by fault "drop after produce nth=2"
`)
	if places := v.Duplicated[0].Places; places[0].ProducerID != 1000 || places[1].ProducerID != 1001 {
		t.Errorf("the copies are said to be of producers %d and %d", places[0].ProducerID, places[1].ProducerID)
	}
}

func TestProof_epoch_bumped_by_the_client_after_an_error(t *testing.T) {
	t.Parallel()
	const lie = "error OUT_OF_ORDER_SEQUENCE_NUMBER after produce nth=2"
	s := proofStage(t, fencepost.Fault(lie))
	produceEach(t, s.one(t), "orders", 0, 1, 2)

	checkKeys(t, s.log(t, "orders"), 0, 1, 1, 2)
	v := s.verdict(t, "orders")
	checkReport(t, v, journal.Totals{Duplicated: 1}, `orders is not exactly once (seed 42)
  duplicated  offsets 1 and 2 hold one record, key "o-00001": sent again with a new epoch after it was told OUT_OF_ORDER_SEQUENCE_NUMBER
              caused by fault "`+lie+`"
`)
	if places := v.Duplicated[0].Places; places[0].Epoch != 0 || places[1].Epoch != 1 {
		t.Errorf("the copies are said to be of epochs %d and %d", places[0].Epoch, places[1].Epoch)
	}
}

func TestProof_epoch_bumped_by_the_client_after_an_honest_error(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault("error OUT_OF_ORDER_SEQUENCE_NUMBER before produce nth=2"))
	outcomes := produceEach(t, s.one(t), "orders", 0, 1, 2)

	checkLog(t, s.log(t, "orders"), outcomes)
	checkReport(t, s.verdict(t, "orders"), journal.Totals{}, "orders is exactly once: 3 records in 3 batches\n")
	if e := s.Events()[2]; e.Epoch != 1 || e.FirstSequence != 0 || e.Done.Outcome != journal.Accepted {
		t.Errorf("the record came again as: %s", e)
	}
}

func TestProof_two_producers_with_one_key_each(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault("disconnect after produce attempt=1 times=all"), fencepost.Identity("key"))
	one, other := s.one(t), s.one(t)
	outcomes := append(produceEach(t, one, "orders", 0), produceEach(t, other, "orders", 1)...)
	checkLog(t, s.log(t, "orders"), outcomes)
	checkReport(t, s.verdict(t, "orders"), journal.Totals{},
		"orders is exactly once: 2 records in 2 batches, 2 acknowledgements lost, 2 replays answered with the first offset\n")

	produceEach(t, other, "orders", 0)

	checkKeys(t, s.log(t, "orders"), 0, 1, 0)
	checkReport(t, s.verdict(t, "orders"), journal.Totals{Duplicated: 1}, `orders is not exactly once (seed 42)
  duplicated  offsets 0 and 2 hold one record, key "o-00000": written by producers 1000 and 1001, and acknowledged each time
`)
}

// TestProof_two_producers_that_write_equal_records shows that what an
// application writes twice on purpose is no duplicate, whatever is lost beside
// it, unless a key is said to be an identity.
func TestProof_two_producers_that_write_equal_records(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault("disconnect after produce attempt=1 times=all"))
	one, other := s.one(t), s.one(t)
	produceEach(t, one, "orders", 0, 0)
	produceEach(t, other, "orders", 0, 0)
	checkKeys(t, s.log(t, "orders"), 0, 0, 0, 0)
	checkReport(t, s.verdict(t, "orders"), journal.Totals{},
		"orders is exactly once: 4 records in 4 batches, 4 acknowledgements lost, 4 replays answered with the first offset\n")
}
