package integration

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// batchBytes makes batches of about 150 records, so that 10,000 records are
// enough batches for a fault in the middle.
const batchBytes = 4 << 10

// quick makes a client try again at once. The waits that kgo has by default are
// for clusters.
func quick() []kgo.Opt {
	return []kgo.Opt{
		kgo.RetryBackoffFn(func(int) time.Duration { return time.Millisecond }),
		kgo.MetadataMinAge(10 * time.Millisecond),
		kgo.ProducerBatchMaxBytes(batchBytes),
		kgo.ProducerLinger(0),
	}
}

// impatience is how long an impatient client waits for the answer to a Produce:
// the timeout that it asks for, and as much on top.
const impatience = 400 * time.Millisecond

// impatient makes a client give an answer up soon.
func impatient() []kgo.Opt {
	return []kgo.Opt{
		kgo.ProduceRequestTimeout(impatience / 2),
		kgo.RequestTimeoutOverhead(impatience / 2),
	}
}

// oneInFlight makes an idempotent client send one Produce at a time, as it does
// with the brokers of Kafka 0.11.
func oneInFlight() kgo.Opt {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.Produce), 3)
	return kgo.MaxVersions(versions)
}

// An outcome is what a producer was told of one record.
type outcome struct {
	key       string
	partition int32
	offset    int64
	err       error
}

// key is the key of the record with a number. Numbers grow in the order in which
// records are produced.
func key(number int) string { return fmt.Sprintf("o-%05d", number) }

// produce sends a record for each number and waits until the client was told of
// all of them, or gave them up.
func produce(t testing.TB, client *kgo.Client, topic string, numbers []int) []outcome {
	t.Helper()
	outcomes := make([]outcome, len(numbers))
	var told sync.WaitGroup
	told.Add(len(numbers))
	ctx := patience(t)
	for i, n := range numbers {
		r := &kgo.Record{Topic: topic, Key: []byte(key(n)), Value: fmt.Appendf(nil, "value %d", n)}
		client.Produce(ctx, r, func(r *kgo.Record, err error) {
			outcomes[i] = outcome{string(r.Key), r.Partition, r.Offset, err}
			told.Done()
		})
	}
	told.Wait()
	return outcomes
}

// upTo lists the numbers from 0 to n-1.
func upTo(n int) (numbers []int) {
	for i := range n {
		numbers = append(numbers, i)
	}
	return numbers
}

// log reads a topic from end to end, in the order of partitions and offsets.
func (s *stage) log(t testing.TB, topic string) []*kgo.Record {
	t.Helper()
	starts, left := s.ends(t, topic)
	consumer := s.client(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: starts}))
	defer consumer.Close()
	var all []*kgo.Record
	for ctx := patience(t); left > 0; {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("reading %s, %d records before its end: %v", topic, left, err)
		}
		left -= int64(fetches.NumRecords())
		all = append(all, fetches.Records()...)
	}
	slices.SortStableFunc(all, func(a, b *kgo.Record) int { return int(a.Partition - b.Partition) })
	return all
}

// ends gives the start of each partition and how many records there are in all.
func (s *stage) ends(t testing.TB, topic string) (starts map[int32]kgo.Offset, records int64) {
	t.Helper()
	client := s.client(t)
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(patience(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	starts = map[int32]kgo.Offset{}
	ends.Each(func(o kadm.ListedOffset) {
		starts[o.Partition] = kgo.NewOffset().At(0)
		records += o.Offset
	})
	return starts, records
}

// checkLog fails unless the log holds exactly the records that were
// acknowledged, each at the place that the producer was told, and the records of
// a partition in the order in which they were produced.
func checkLog(t testing.TB, log []*kgo.Record, outcomes []outcome) {
	t.Helper()
	for i, r := range log {
		if i > 0 && log[i-1].Partition == r.Partition && string(log[i-1].Key) >= string(r.Key) {
			t.Errorf("in partition %d %s stands behind %s", r.Partition, r.Key, log[i-1].Key)
		}
	}
	checkEachOnce(t, log, outcomes)
}

// checkEachOnce is checkLog without an eye on the order.
func checkEachOnce(t testing.TB, log []*kgo.Record, outcomes []outcome) {
	t.Helper()
	at := map[string][]*kgo.Record{}
	for _, r := range log {
		at[string(r.Key)] = append(at[string(r.Key)], r)
	}
	for _, o := range outcomes {
		if wrong := o.wrong(at[o.key]); wrong != "" {
			t.Fatal(wrong)
		}
		delete(at, o.key)
	}
	if len(at) > 0 {
		t.Errorf("the log holds %d keys that were not acknowledged", len(at))
	}
}

// wrong says what is wrong with where a record stands, "" if nothing is.
func (o outcome) wrong(places []*kgo.Record) string {
	switch {
	case o.err != nil:
		return fmt.Sprintf("%s was not acknowledged: %v", o.key, o.err)
	case len(places) != 1:
		return fmt.Sprintf("%s stands in the log %d times", o.key, len(places))
	case places[0].Partition != o.partition || places[0].Offset != o.offset:
		return fmt.Sprintf("%s was acknowledged at %d in partition %d, and stands at %d in partition %d",
			o.key, o.offset, o.partition, places[0].Offset, places[0].Partition)
	}
	return ""
}

// A pipeline counts the Produce requests that a client has in flight.
type pipeline struct{ now, most atomic.Int64 }

var _ kgo.HookBrokerWrite = (*pipeline)(nil)
var _ kgo.HookBrokerE2E = (*pipeline)(nil)
var _ kgo.HookBrokerConnect = (*pipeline)(nil)

// OnBrokerConnect begins anew: a client may be told that a request was cut off
// only after it has sent it again over the next connection.
func (p *pipeline) OnBrokerConnect(kgo.BrokerMetadata, time.Duration, net.Conn, error) {
	p.now.Store(0)
}

func (p *pipeline) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if key != int16(kmsg.Produce) || err != nil {
		return
	}
	now := p.now.Add(1)
	for most := p.most.Load(); now > most && !p.most.CompareAndSwap(most, now); most = p.most.Load() {
	}
}

func (p *pipeline) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	switch {
	case key != int16(kmsg.Produce) || e2e.WriteErr != nil:
	case e2e.ReadErr != nil: // the others of its connection end without a word
		p.now.Store(0)
	default:
		p.now.Add(-1)
	}
}

// check fails unless one request was in flight at a time, or several.
func (p *pipeline) check(t testing.TB, inFlight int) {
	t.Helper()
	if most := p.most.Load(); (most > 1) != (inFlight > 1) {
		t.Errorf("%d requests were in flight, and not %d", most, inFlight)
	}
}
