package integration

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// clientPatience is how long a test waits for a client before it gives up. It is
// far longer than any client takes, also on a machine with other work to do.
const clientPatience = 5 * time.Minute

// A stage is a broker and the kgo clients that a test runs against it.
type stage struct {
	*fencepost.Broker

	mu      sync.Mutex
	open    int           // connections of the clients that the broker has not ended
	changed chan struct{} // closed and made anew when open changes
}

// newStage starts a broker for a test, which fails if a fault never fires.
func newStage(t *testing.T, options ...fencepost.Option) *stage {
	t.Helper()
	s := &stage{changed: make(chan struct{})}
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{}), zapcore.AddSync(io.Discard), zap.DebugLevel),
		zap.Hooks(func(e zapcore.Entry) error {
			if e.Message == "connection closed" {
				s.count(-1)
			}
			return nil
		}))
	s.Broker = fencepost.RunT(t, append(options, fencepost.Log(log))...)
	return s
}

func (s *stage) count(connections int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open += connections
	close(s.changed)
	s.changed = make(chan struct{})
}

// dial connects a client, and counts that.
func (s *stage) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if err == nil {
		s.count(1)
	}
	return c, err
}

// settle waits until the broker has handled all that came from clients that are
// closed now, also what it holds back.
func (s *stage) settle(t testing.TB) {
	t.Helper()
	ctx := patience(t)
	for {
		s.mu.Lock()
		open, changed := s.open, s.changed
		s.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("the broker still handles %d connections", open)
		}
	}
}

// client makes a kgo client. The test closes it, or its end does.
func (s *stage) client(t testing.TB, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(s.Addr()), kgo.Dialer(s.dial)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// verdict is the verdict on one topic.
func (s *stage) verdict(t testing.TB, topic string) journal.TopicVerdict {
	t.Helper()
	v, err := s.Verdict(patience(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tv := range v.Topics {
		if tv.Topic == topic {
			return tv
		}
	}
	t.Fatalf("there is no verdict on %s", topic)
	return journal.TopicVerdict{}
}

// patience is a context that ends when a test has waited long enough.
func patience(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), clientPatience)
	t.Cleanup(cancel)
	return ctx
}
