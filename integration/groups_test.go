package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// theSession is the session timeout of the members in these tests.
const theSession = 10 * time.Second

// A party is a broker in virtual time, and the consumers of one group of it.
type party struct {
	*fencepost.Broker
	t        testing.TB
	protocol []kgo.Opt // how they balance
	number   int       // of records so far
}

// inParty runs a test with topic "orders" of four partitions.
func inParty(t *testing.T, protocol []kgo.Opt, faults []string, test func(p *party)) {
	synctest.Test(t, func(t *testing.T) {
		options := []fencepost.Option{fencepost.InMemory(), fencepost.Topic("orders", 4)}
		for _, f := range faults {
			options = append(options, fencepost.Fault(f))
		}
		test(&party{Broker: fencepost.RunT(t, options...), t: t, protocol: protocol})
	})
}

// produce writes records with keys that go on from those before.
func (p *party) produce(records int) {
	p.t.Helper()
	client := p.client(p.Dial)
	defer client.Close()
	for range records {
		r := &kgo.Record{Topic: "orders", Key: []byte(key(p.number))}
		if err := client.ProduceSync(p.t.Context(), r).FirstErr(); err != nil {
			p.t.Fatal(err)
		}
		p.number++
	}
}

func (p *party) client(dial func(context.Context, string, string) (net.Conn, error), options ...kgo.Opt) *kgo.Client {
	p.t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(p.Addr()), kgo.Dialer(dial), kgo.MetadataMinAge(100 * time.Millisecond)}, options...)...)
	if err != nil {
		p.t.Fatal(err)
	}
	return client
}

// A guest is a consumer of the group that reads and commits until it leaves.
type guest struct {
	*party
	client *kgo.Client
	cancel context.CancelFunc
	ended  chan struct{}

	mu    sync.Mutex
	keys  []string
	owns  map[int32]bool
	conns []net.Conn
	dead  bool
}

// invite lets a consumer join.
func (p *party) invite() *guest {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	g := &guest{party: p, cancel: cancel, ended: make(chan struct{}), owns: map[int32]bool{}}
	g.client = p.client(g.dial, append([]kgo.Opt{
		kgo.ConsumerGroup("readers"), kgo.ConsumeTopics("orders"), kgo.SessionTimeout(theSession), kgo.RebalanceTimeout(theSession),
		kgo.HeartbeatInterval(time.Second), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(g.take(true)), kgo.OnPartitionsRevoked(g.take(false)), kgo.OnPartitionsLost(g.take(false)),
	}, p.protocol...)...)
	go g.read(ctx)
	return g
}

func (g *guest) take(owned bool) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, n := range partitions["orders"] {
			if delete(g.owns, n); owned {
				g.owns[n] = true
			}
		}
	}
}

func (g *guest) dial(ctx context.Context, network, address string) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dead {
		return nil, errors.New("the consumer was killed")
	}
	c, err := g.Dial(ctx, network, address)
	g.conns = append(g.conns, c)
	return c, err
}

// read reads and commits what it has read, until it leaves.
func (g *guest) read(ctx context.Context) {
	defer close(g.ended)
	for ctx.Err() == nil {
		fetches := g.client.PollFetches(ctx)
		records := fetches.Records()
		g.client.CommitRecords(ctx, records...) //nolint:errcheck // what was not committed comes again
		g.mu.Lock()
		for _, r := range records {
			g.keys = append(g.keys, string(r.Key))
		}
		g.mu.Unlock()
		g.client.AllowRebalance()
	}
}

// leave ends a consumer in good order.
func (g *guest) leave() {
	g.cancel()
	<-g.ended
	g.client.CloseAllowingRebalance()
}

// kill ends a consumer so that the broker is not told.
func (g *guest) kill() {
	g.mu.Lock()
	g.dead = true
	for _, c := range g.conns {
		c.Close()
	}
	g.mu.Unlock()
	g.leave()
}

func (g *guest) owned() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.owns)
}

// until waits for something that has to come about within a minute.
func (p *party) until(what string, holds func() bool) (took time.Duration) {
	p.t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > time.Minute {
			p.t.Fatalf("it did not come about within a minute that %s", what)
		}
		<-time.After(10 * time.Millisecond)
	}
	return time.Since(began)
}

// untilOwned waits until each guest has this many partitions.
func (p *party) untilOwned(each int, guests ...*guest) time.Duration {
	p.t.Helper()
	return p.until(fmt.Sprintf("%d consumers have %d partitions each", len(guests), each), func() bool {
		return !slices.ContainsFunc(guests, func(g *guest) bool { return g.owned() != each })
	})
}

// wantRead waits until guests have read all records from a number on, each once.
func (p *party) wantRead(from int, guests ...*guest) {
	p.t.Helper()
	var wanted, got []string
	for n := from; n < p.number; n++ {
		wanted = append(wanted, key(n))
	}
	p.until(fmt.Sprintf("%d records are read", len(wanted)), func() bool {
		got = nil
		for _, g := range guests {
			g.mu.Lock()
			got = append(got, g.keys...)
			g.mu.Unlock()
		}
		return len(got) >= len(wanted)
	})
	slices.Sort(got)
	if !slices.Equal(got, wanted) {
		p.t.Errorf("%d records were read, and the %d from %s on should have been, once each:\n%v", len(got), len(wanted), key(from), got)
	}
}

// wantCommitted wants the group to go on behind all records.
func (p *party) wantCommitted() {
	p.t.Helper()
	client := p.client(p.Dial)
	defer client.Close()
	offsets, err := kadm.NewClient(client).FetchOffsets(p.t.Context(), "readers")
	if err != nil {
		p.t.Fatal(err)
	}
	var committed int64
	offsets.Each(func(o kadm.OffsetResponse) { committed += o.At })
	if committed != int64(p.number) {
		p.t.Errorf("offsets of %d records are committed, and %d were produced", committed, p.number)
	}
}

var protocols = map[string][]kgo.Opt{
	"range":              {kgo.Balancers(kgo.RangeBalancer())},
	"cooperative-sticky": {kgo.Balancers(kgo.CooperativeStickyBalancer())},
	"consumer, uniform":  {kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer()},
	"consumer, range":    {kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer()},
}

func TestGroup_shares_partitions_and_misses_nothing(t *testing.T) {
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			inParty(t, protocol, nil, func(p *party) {
				a := p.invite()
				p.produce(40)
				p.wantRead(0, a)

				b := p.invite()
				p.untilOwned(2, a, b)
				p.produce(40)
				p.wantRead(0, a, b)

				b.leave()
				if took := p.untilOwned(4, a); took >= theSession {
					t.Errorf("who left was missed after %v", took)
				}
				c := p.invite()
				p.untilOwned(2, a, c)
				c.kill()
				if took := p.untilOwned(4, a); took < theSession-2*time.Second {
					t.Errorf("who was killed was missed after %v, before the end of its session", took)
				}
				p.produce(40)
				p.wantRead(0, a, b, c)

				a.leave()
				p.wantCommitted()
				p.produce(40)
				d := p.invite()
				p.wantRead(120, d)
				d.leave()
				p.wantCommitted()
			})
		})
	}
}

func TestGroup_a_consumer_gets_over_faults(t *testing.T) {
	for _, fault := range []string{
		"disconnect after offset_commit",
		"disconnect after offset_commit times=3",
		"error REBALANCE_IN_PROGRESS before heartbeat",
		"error UNKNOWN_MEMBER_ID before heartbeat",
		"error NOT_COORDINATOR before offset_fetch topic=orders",
		"drop after join_group",
		"drop before sync_group",
		"delay 20s after join_group",
		"error COORDINATOR_NOT_AVAILABLE after sync_group",
	} {
		t.Run(fault, func(t *testing.T) {
			inParty(t, protocols["cooperative-sticky"], []string{fault}, func(p *party) {
				a := p.readOverFault()
				a.leave()
				p.wantCommitted()
			})
		})
	}
}

// readOverFault has one guest, who owns everything, read before the fault has fired
// and after.
func (p *party) readOverFault() *guest {
	p.t.Helper()
	g := p.invite()
	p.untilOwned(4, g)
	p.produce(20)
	p.wantRead(0, g)
	p.until("the fault fires", func() bool { return len(p.Unfired()) == 0 })
	p.produce(20)
	p.wantRead(0, g)
	return g
}

// Consumers of both protocols share a group, and go on by themselves when the
// others have left.
func TestGroup_moves_from_one_protocol_to_the_other_and_back(t *testing.T) {
	inParty(t, protocols["range"], nil, func(p *party) {
		old := p.invite()
		p.untilOwned(4, old)
		p.protocol = protocols["consumer, uniform"]
		young := p.invite()
		p.untilOwned(2, old, young)
		p.produce(40)
		p.wantRead(0, old, young)

		young.leave()
		p.untilOwned(4, old)
		p.produce(40)
		p.wantRead(0, old, young)

		young = p.invite()
		p.untilOwned(2, old, young)
		old.leave()
		p.untilOwned(4, young)
		p.produce(40)
		p.wantCommittedBy(young)
		young.leave()
	})
}

// wantCommittedBy waits until all records are committed while a guest is there.
func (p *party) wantCommittedBy(g *guest) {
	p.t.Helper()
	p.until("the last 40 records are read", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.keys) == 40
	})
	p.wantCommitted()
}

func TestGroup_a_consumer_of_the_consumer_protocol_gets_over_faults(t *testing.T) {
	for _, fault := range []string{
		"disconnect after consumer_group_heartbeat times=2",
		"error FENCED_MEMBER_EPOCH before consumer_group_heartbeat nth=4",
		"error UNKNOWN_MEMBER_ID before consumer_group_heartbeat nth=4",
		"drop after consumer_group_heartbeat nth=2",
		"error STALE_MEMBER_EPOCH before offset_commit topic=orders",
	} {
		t.Run(fault, func(t *testing.T) {
			inParty(t, protocols["consumer, uniform"], []string{fault}, func(p *party) {
				a := p.readOverFault()
				p.untilOwned(4, a)
				a.leave()
			})
		})
	}
}
