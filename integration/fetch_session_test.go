package integration

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A tap notes the fetches that a client sends.
type tap struct {
	mu      sync.Mutex
	fetches []*kmsg.FetchRequest
}

// dial connects through the tap.
func (p *tap) dial(dial func(context.Context, string, string) (net.Conn, error)) kgo.Opt {
	return kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return &tapped{c, p}, err
	})
}

type tapped struct {
	net.Conn
	tap *tap
}

// Write looks at a request, which kgo writes in one piece.
func (c *tapped) Write(frame []byte) (int, error) {
	r := kbin.Reader{Src: frame[4:]}
	if key, version := r.Int16(), r.Int16(); key == int16(kmsg.Fetch) {
		r.Int32() // correlation id
		r.NullableString()
		req := &kmsg.FetchRequest{Version: version}
		if req.IsFlexible() {
			kmsg.SkipTags(&r)
		}
		if err := req.ReadFrom(r.Src); err == nil {
			c.tap.mu.Lock()
			c.tap.fetches = append(c.tap.fetches, req)
			c.tap.mu.Unlock()
		}
	}
	return c.Conn.Write(frame)
}

// highest is the highest session epoch, and how many sessions began.
func (p *tap) sessions() (highest int32, begun int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.fetches {
		highest = max(highest, r.SessionEpoch)
		if r.SessionEpoch == 0 {
			begun++
		}
	}
	return highest, begun
}

// forgotten is how many partitions the client let its sessions forget.
func (p *tap) forgotten() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.fetches {
		for i := range r.ForgottenTopics {
			n += len(r.ForgottenTopics[i].Partitions)
		}
	}
	return n
}

// A reading is a consumer that reads while a producer writes.
type reading struct {
	*stage
	tap
	t                  *testing.T
	consumer, producer *kgo.Client
	written            int
}

// startReading begins to read topics from their beginning.
func startReading(t *testing.T, s *stage, topics ...string) *reading {
	t.Helper()
	r := &reading{stage: s, t: t, producer: s.client(t, quick()...)}
	r.consumer = s.client(t, append(quick(), r.tap.dial(s.dial),
		kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	return r
}

// round writes a few records to each topic and reads until they have come: each
// once, in order, and nothing else.
func (r *reading) round(topics ...string) {
	r.t.Helper()
	const records = 3
	want := map[string]bool{}
	for _, topic := range topics {
		for range records {
			value := fmt.Sprint("record ", r.written)
			r.written++
			want[topic+" "+value] = true
			if err := r.producer.ProduceSync(patience(r.t), &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr(); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	for ctx := patience(r.t); len(want) > 0; {
		for _, got := range r.consumer.PollFetches(ctx).Records() {
			if name := got.Topic + " " + string(got.Value); want[name] {
				delete(want, name)
			} else {
				r.t.Fatalf("%s came again, or before it was written", name)
			}
		}
		if ctx.Err() != nil {
			r.t.Fatalf("%v did not come", want)
		}
	}
}

func TestFetchSession_AConsumerStaysInOne(t *testing.T) {
	t.Parallel()
	r := startReading(t, newStage(t, fencepost.Topic("t", 3), fencepost.Topic("u", 1)), "t", "u")
	for range 20 {
		r.round("t", "u")
	}
	if highest, begun := r.sessions(); highest < 20 || begun != 1 {
		t.Errorf("it began %d sessions and came to epoch %d", begun, highest)
	}
}

// Each of these strikes a consumer in the middle of a session. What it names must
// be met although the session does not name it each time.
func TestFetchSession_Faults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault   string
		fired   int
		restart bool // the client begins another session
	}{
		{"error NOT_LEADER_OR_FOLLOWER before fetch topic=t nth=5 times=3", 3, false},
		{"error NOT_LEADER_OR_FOLLOWER after fetch topic=t nth=5 times=3", 3, false},
		{"error UNKNOWN_LEADER_EPOCH before fetch topic=t partition=1 nth=5 times=2", 2, false},
		{"error INVALID_FETCH_SESSION_EPOCH before fetch nth=5", 1, true},
		{"error FETCH_SESSION_ID_NOT_FOUND before fetch nth=5", 1, true},
		{"error FETCH_SESSION_ID_NOT_FOUND after fetch nth=5", 1, true},
		{"disconnect before fetch topic=t nth=5 times=2", 2, true},
		{"disconnect after fetch topic=t nth=5 times=2", 2, true},
		{"delay 5ms before fetch topic=t nth=5 times=2", 2, false},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			t.Parallel()
			r := startReading(t, newStage(t, fencepost.Topic("t", 3), fencepost.Topic("u", 1), fencepost.Fault(tt.fault)), "t", "u")
			for range 12 {
				r.round("u", "t")
			}
			if fired, err := r.Fired(""); err != nil || fired != tt.fired {
				t.Errorf("the fault fired %d times instead of %d, %v", fired, tt.fired, err)
			}
			if highest, begun := r.sessions(); highest < 3 || (begun > 1) != tt.restart {
				t.Errorf("the client began %d sessions and came to epoch %d", begun, highest)
			}
		})
	}
}

func TestFetchSession_ATopicDeletedAndMadeAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, fencepost.Topic("t", 2), fencepost.Topic("u", 1))
	r := startReading(t, s, "t", "u")
	for range 3 {
		r.round("t", "u")
	}
	admin := kadm.NewClient(s.client(t))
	if _, err := admin.DeleteTopic(patience(t), "t"); err != nil {
		t.Fatal(err)
	}
	r.round("u") // the other topic is read on
	if err := s.CreateTopic("t", 2); err != nil {
		t.Fatal(err)
	}
	r.producer = s.client(t, quick()...)  // it has no idea of the first one
	r.consumer.PurgeTopicsFromClient("t") // without this kgo holds on to the old id
	r.consumer.AddConsumeTopics("t")
	for range 3 {
		r.round("t", "u")
	}
}

func TestFetchSession_APartitionIsLetGoAndTakenBack(t *testing.T) {
	t.Parallel()
	r := startReading(t, newStage(t, fencepost.Topic("t", 1), fencepost.Topic("u", 1)), "t", "u")
	for range 3 {
		r.round("t", "u")
		r.consumer.PauseFetchTopics("t")
		r.round("u")
		r.round("u")
		r.consumer.ResumeFetchTopics("t")
		r.round("t", "u")
	}
	if r.forgotten() == 0 {
		t.Error("the client let its session forget nothing")
	}
}

// A cut connection in the middle of a session does not end what is read.
func TestFetchSession_OverBrokenConnections(t *testing.T) {
	t.Parallel()
	r := startReading(t, newStage(t, fencepost.Topic("t", 3),
		fencepost.Fault("disconnect after fetch every=7 times=all"), fencepost.Fault("disconnect before fetch every=11 times=all")), "t")
	for range 40 {
		r.round("t")
	}
	if highest, begun := r.sessions(); highest < 2 || begun < 3 {
		t.Errorf("the client began %d sessions and came to epoch %d", begun, highest)
	}
}

// A client that names what it reads but once is met by rules about a topic, and
// by rules about an offset, which are about what it reads now.
func TestFetchSession_TheVerdictAndTheEventsNameWhatWasMet(t *testing.T) {
	t.Parallel()
	r := startReading(t, newStage(t, fencepost.Topic("t", 1), fencepost.Topic("u", 1),
		fencepost.Fault("error NOT_LEADER_OR_FOLLOWER before fetch topic=t offset=3")), "t", "u")
	for range 3 {
		r.round("t", "u")
	}
	at := slices.IndexFunc(r.Events(), func(e fencepost.Event) bool { return e.API == "Fetch" })
	if at < 0 || r.Events()[at].Told.Error != "NOT_LEADER_OR_FOLLOWER" {
		t.Errorf("the events are %+v", r.Events())
	}
	if v := r.verdict(t, "t"); !v.ExactlyOnce {
		t.Errorf("the verdict is on %+v", v)
	}
}
