package fencepost_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const loseEveryAck = "disconnect after produce attempt=1 times=all"

// client is a stock producer that does not wait long before it tries again.
func client(t testing.TB, b *fencepost.Broker, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	options = append([]kgo.Opt{
		kgo.SeedBrokers(b.Addr()), kgo.DefaultProduceTopic("orders"),
		kgo.RetryBackoffFn(func(int) time.Duration { return time.Millisecond }), kgo.MetadataMinAge(10 * time.Millisecond),
	}, options...)
	cl, err := kgo.NewClient(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func produce(t testing.TB, cl *kgo.Client, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		r := kgo.KeyStringRecord(fmt.Sprintf("o-%d", i), fmt.Sprintf("order %d", i))
		if err := cl.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRunT_a_producer_that_loses_every_ack_writes_each_record_once(t *testing.T) {
	b := fencepost.RunT(t, fencepost.Topic("orders", 1), fencepost.Fault(loseEveryAck))
	produce(t, client(t, b), 0, 20)
	b.CheckExactlyOnce(t, "orders")
	records, err := b.Records("orders")
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 20 {
		t.Fatalf("%d records stand in the log", len(records))
	}
	for i, r := range records {
		if want := fmt.Sprintf("order %d", i); r.Offset != int64(i) || string(r.Value) != want {
			t.Errorf("offset %d holds %q, not %q", r.Offset, r.Value, want)
		}
	}
	if fired, err := b.Fired(loseEveryAck); fired != 20 || err != nil {
		t.Errorf("the rule fired %d times (%v)", fired, err)
	}
}

func TestInMemory_lives_in_a_bubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		b := fencepost.RunT(t, fencepost.InMemory(), fencepost.Topic("orders", 1),
			fencepost.Fault("delay 10m after produce attempt=1"))
		cl := client(t, b, kgo.Dialer(b.Dial), kgo.RequestTimeoutOverhead(15*time.Minute))
		produce(t, cl, 0, 3)
		b.CheckExactlyOnce(t, "orders")
		if waited := time.Since(began); waited < 10*time.Minute || waited > 11*time.Minute {
			t.Errorf("a delay of ten minutes took %s of the bubble's time", waited)
		}
		cl.Close()
	})
}

// A recorder is a test that notes what it is told.
type recorder struct {
	testing.TB
	errors, logs []string
	cleanups     []func()
}

func (r *recorder) Helper()                   {}
func (r *recorder) Failed() bool              { return len(r.errors) > 0 }
func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Logf(f string, a ...any)   { r.logs = append(r.logs, fmt.Sprintf(f, a...)) }
func (r *recorder) Errorf(f string, a ...any) { r.errors = append(r.errors, fmt.Sprintf(f, a...)) }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); panic(r) }
func (r *recorder) end()                      { r.cleanups[0]() }
func (r *recorder) said(text string) bool {
	return strings.Contains(strings.Join(r.errors, "\n"), text)
}
func (r *recorder) logged(text string) bool {
	return strings.Contains(strings.Join(r.logs, "\n"), text)
}
func fatally(r *recorder, do func()) (ended bool) {
	defer func() { ended = recover() == any(r) }()
	do()
	return false
}

func TestRunT_fails_on_a_rule_that_never_fired(t *testing.T) {
	var r recorder
	b := fencepost.RunT(&r, fencepost.Topic("orders", 1), fencepost.Seed(42), fencepost.Fault("error NOT_LEADER_OR_FOLLOWER before produce topic=order"))
	produce(t, client(t, b), 0, 2)
	r.end()
	want := "fault \"error NOT_LEADER_OR_FOLLOWER before produce topic=order\" never fired\n  saw 2 produce requests, 0 to \"order\": 2 to \"orders\""
	if !r.said(want) {
		t.Errorf("it says %q, and not %q", r.errors, want)
	}
	for _, want := range []string{"seed 42", "fired 0 times", "accepted at offset 1"} {
		if !r.logged(want) {
			t.Errorf("the log of the failed test does not say %q: %q", want, r.logs)
		}
	}
}

func TestRunT_says_nothing_about_a_test_that_passed(t *testing.T) {
	var r recorder
	b := fencepost.RunT(&r, fencepost.Topic("orders", 1), fencepost.Fault(loseEveryAck))
	produce(t, client(t, b), 0, 1)
	b.CheckExactlyOnce(&r)
	r.end()
	if len(r.errors)+len(r.logs) > 0 {
		t.Errorf("it says %q and logs %q", r.errors, r.logs)
	}
}

func TestRunT_ends_the_test_on_a_bad_option(t *testing.T) {
	var r recorder
	if !fatally(&r, func() { fencepost.RunT(&r, fencepost.Fault("disconect after produce")) }) {
		t.Error("the test went on")
	}
	if want := `did you mean "disconnect"?`; !r.said(want) {
		t.Errorf("it says %q, and not %q", r.errors, want)
	}
}

func TestCheckExactlyOnce_fails_on_duplicates_and_names_them(t *testing.T) {
	var r recorder
	b := fencepost.RunT(&r, fencepost.Topic("orders", 1), fencepost.Seed(42), fencepost.Fault("disconnect after produce attempt=1"))
	produce(t, client(t, b, kgo.DisableIdempotentWrite()), 41, 43)
	b.CheckExactlyOnce(&r, "orders")
	r.end()
	want := "orders is not exactly once (seed 42)\n  duplicated  offsets 0 and 1 hold one record, key \"o-41\": sent again without idempotence after its ack was lost"
	if !r.said(want) {
		t.Errorf("it says %q, and not %q", r.errors, want)
	}
}

func TestCheckExactlyOnce_fails_on_a_topic_that_nobody_wrote(t *testing.T) {
	var r recorder
	b := fencepost.RunT(&r, fencepost.Topic("orders", 1), fencepost.Seed(7))
	b.CheckExactlyOnce(&r, "orders")
	r.end()
	if want := "nothing was produced to orders (seed 7)"; !r.said(want) {
		t.Errorf("it says %q, and not %q", r.errors, want)
	}
}

func TestRun_says_what_is_wrong_with_an_option(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		name   string
		option fencepost.Option
		want   string
	}{
		{"a port in use", fencepost.Listen(taken.Addr().String()), taken.Addr().String() + " is in use by another program"},
		{"an HTTP port in use", fencepost.HTTP(taken.Addr().String()), taken.Addr().String() + " is in use by another program"},
		{"no port", fencepost.Listen("127.0.0.1"), `"127.0.0.1" is no address; write it as HOST:PORT, such as 127.0.0.1:9092`},
		{"an advertised address without host", fencepost.Listen("127.0.0.1:0=:9092"), `":9092" is no address; write it as HOST:PORT, such as 127.0.0.1:9092`},
		{"an advertised port 0", fencepost.Listen("127.0.0.1:0=broker:0"), `"broker:0" is no address; write it as HOST:PORT, such as 127.0.0.1:9092`},
		{"a topic name", fencepost.Topic("or ders", 1), `topic "or ders": Topic name is invalid: 'or ders' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'`},
		{"no partitions", fencepost.Topic("orders", 0), `topic "orders": Number of partitions was set to an invalid non-positive value.`},
		{"a config without value", fencepost.Topic("orders", 1, "retention.ms"), `topic orders: config "retention.ms" has no value; write it as key=value`},
		{"an unknown config", fencepost.Topic("orders", 1, "retention=1"), `topic "orders": Unknown topic config name: retention`},
		{"a topic spec", fencepost.TopicSpec("orders:many"), `topic "orders:many": "many" is no number of partitions; write it as NAME[:PARTITIONS[:key=value,...]], such as orders:3`},
		{"default partitions", fencepost.Partitions(0), "0 partitions cannot be; a topic has 1 to 10000"},
		{"a policy", fencepost.UnknownProducer("maybe"), `unknown producer policy "maybe": want refuse or accept`},
		{"memory", fencepost.Memory(0), "0 bytes of memory cannot keep a record"},
		{"a scenario", fencepost.Scenario("testdata/none.yaml"), "testdata/none.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := fencepost.Run(c.option)
			if err == nil {
				b.Close()
				t.Fatal("it is accepted")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("it says %q, and not %q", err, c.want)
			}
		})
	}
}

func TestListenError_keeps_the_cause(t *testing.T) {
	_, err := fencepost.Run(fencepost.Listen("127.0.0.1:99999"))
	var listen *fencepost.ListenError
	if !errors.As(err, &listen) || listen.Address != "127.0.0.1:99999" || errors.Unwrap(listen) == nil {
		t.Errorf("it says %v", err)
	}
}

func TestBroker_tells_two_listeners_apart(t *testing.T) {
	b := fencepost.RunT(t, fencepost.Topic("orders", 1), fencepost.Listen("127.0.0.1:0"), fencepost.Listen("127.0.0.1:0=localhost:4711"))
	addrs := b.Addrs()
	if len(addrs) != 2 || addrs[0] == addrs[1] || b.Addr() != addrs[0] {
		t.Fatalf("the addresses are %q", addrs)
	}
	cl := client(t, b, kgo.SeedBrokers(addrs[1]))
	if _, err := cl.SeedBrokers()[0].Request(t.Context(), metadataRequest()); err != nil {
		t.Fatal(err)
	}
	if got := brokersOf(t, cl); got != "localhost:4711" {
		t.Errorf("a client of the second listener is told %s", got)
	}
	if got := brokersOf(t, client(t, b)); got != addrs[0] {
		t.Errorf("a client of the first listener is told %s", got)
	}
}

func TestBroker_Reset_forgets_events_and_counters_and_keeps_records(t *testing.T) {
	b := fencepost.RunT(t, fencepost.Topic("orders", 1), fencepost.Fault(loseEveryAck))
	cl := client(t, b)
	produce(t, cl, 0, 2)
	b.Reset()
	if n := len(b.Events()); n > 0 {
		t.Errorf("%d events are left", n)
	}
	if fired, _ := b.Fired(""); fired != 0 {
		t.Errorf("rules have fired %d times", fired)
	}
	if records, err := b.Records("orders"); err != nil || len(records) != 2 {
		t.Errorf("%d records are left (%v)", len(records), err)
	}
	produce(t, cl, 2, 3)
	b.CheckExactlyOnce(t)
}

func TestBroker_faults_come_and_go_while_it_runs(t *testing.T) {
	b := fencepost.RunT(t)
	if err := b.Fault("drop after produce name=lost"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Fired("no such rule"); err == nil {
		t.Error("a rule that is not there is counted")
	}
	if err := b.RemoveFault("found"); err == nil {
		t.Error("a rule that is not there is removed")
	}
	if err := b.RemoveFault("lost"); err != nil {
		t.Error(err)
	}
	if n := len(b.Faults()); n > 0 {
		t.Errorf("%d rules are left", n)
	}
}

func TestBroker_Close_may_come_twice(t *testing.T) {
	b, err := fencepost.Run()
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	b.Close()
	if _, err := b.Dial(t.Context(), "", ""); err == nil {
		t.Error("a closed broker is reached")
	}
}

func TestBroker_Memory_refuses_what_does_not_fit_and_keeps_the_rest(t *testing.T) {
	b := fencepost.RunT(t, fencepost.Topic("orders", 1), fencepost.Memory(600))
	cl := client(t, b, kgo.RecordRetries(1), kgo.ProducerBatchCompression(kgo.NoCompression()))
	produce(t, cl, 0, 1)
	big := kgo.StringRecord(strings.Repeat("x", 1000))
	if err := cl.ProduceSync(t.Context(), big).FirstErr(); err == nil {
		t.Error("1000 bytes fit into 600")
	}
	records, err := b.Records("orders")
	if err != nil || len(records) != 1 {
		t.Errorf("%d records are left (%v)", len(records), err)
	}
}
