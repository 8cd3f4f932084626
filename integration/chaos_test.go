package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	chaosTopic, chaosGroup = "orders", "readers"
	chaosPartitions        = 8
	chaosMembers           = 4
	// chaosTime is how long members are killed and started again, and with
	// FENCEPOST_LONG set.
	chaosTime, chaosLong = 10 * time.Second, time.Minute
	// chaosPace is the time between two kills at most, and chaosAway how long a killed
	// member stays away at most.
	chaosPace, chaosAway = 2500 * time.Millisecond, 500 * time.Millisecond
	// chaosBatch is how many records are written at a time, and chaosRest the pause
	// between.
	chaosBatch, chaosRest = 20, 10 * time.Millisecond
)

// chaosFaults are the rules of every run. Those of its protocol come on top.
var chaosFaults = []string{
	"disconnect after produce times=all chance=5%",
	"disconnect after offset_commit times=all chance=5%",
	"drop after offset_commit nth=10",
	"disconnect before fetch times=all chance=2%",
	"disconnect after fetch times=all chance=2%",
	"drop after fetch nth=20 times=3",
}

var chaosClassicFaults = []string{
	"disconnect after join_group nth=2",
	"disconnect after join_group nth=5 times=all chance=20%",
	"drop after heartbeat nth=3",
	"disconnect after heartbeat nth=4 times=all chance=20%",
}

var chaosConsumerFaults = []string{
	"drop after consumer_group_heartbeat nth=7",
	"disconnect after consumer_group_heartbeat nth=8 times=all chance=20%",
}

// A chaos is a broker, a group whose members are processes that are killed, and what
// those have noted.
type chaos struct {
	*fencepost.Broker
	t        *testing.T
	random   *rand.Rand
	asks     *kgo.Client
	admin    *kadm.Client          // over asks
	consumer func(member int) bool // whether a member is of the consumer protocol

	notes   bytes.Buffer
	write   *os.File      // what members write their notes to
	written chan struct{} // closed when no member can write any more
	members [chaosMembers]*chaosProcess
	starts  int
}

type chaosProcess struct {
	chaosMember
	cmd   *exec.Cmd
	ended chan struct{}
}

func newChaos(t *testing.T, seed uint64, consumer func(member int) bool, faults ...string) *chaos {
	t.Helper()
	options := []fencepost.Option{fencepost.Seed(seed), fencepost.Topic(chaosTopic, chaosPartitions)}
	for _, f := range faults {
		options = append(options, fencepost.Fault(f))
	}
	broker, err := fencepost.Run(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { broker.Close() })
	c := &chaos{Broker: broker, t: t, random: rand.New(rand.NewPCG(seed, 0)), consumer: consumer, written: make(chan struct{})}
	c.asks = c.client(kgo.RequestTimeoutOverhead(chaosPatience))
	c.admin = kadm.NewClient(c.asks)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.write = write
	go func() {
		defer close(c.written)
		defer read.Close()
		io.Copy(&c.notes, read) //nolint:errcheck // the check misses what is not read
	}()
	t.Cleanup(c.close)
	return c
}

func (c *chaos) client(options ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(c.Addr()))...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(client.Close)
	return client
}

// close kills whoever is left.
func (c *chaos) close() {
	for _, p := range c.members {
		if p != nil {
			p.cmd.Process.Kill() //nolint:errcheck // it may have ended
			<-p.ended
		}
	}
	c.write.Close()
	<-c.written
}

// start starts a member as a process. Those of even numbers have a static name in the
// classic protocol. (In the consumer protocol it would be kept for the dead until
// their session ends.)
func (c *chaos) start(member int, skips bool) {
	c.t.Helper()
	c.starts++
	m := chaosMember{Addr: c.Addr(), Name: fmt.Sprintf("member-%d-start-%d", member, c.starts), Consumer: c.consumer(member), Skips: skips}
	if member%2 == 0 && !m.Consumer {
		m.Instance = fmt.Sprintf("member-%d", member)
	}
	spec, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	p := &chaosProcess{chaosMember: m, cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), chaosEnv+"="+string(spec))
	p.cmd.Stdout, p.cmd.Stderr = c.write, os.Stderr
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.members[member] = p
	go func() {
		defer close(p.ended)
		p.cmd.Wait() //nolint:errcheck // stop looks at the state
	}()
}

// kill kills a member with signal 9, and with this chance has it leave the group.
func (c *chaos) kill(member int, signOut float64) {
	c.t.Helper()
	p := c.members[member]
	if err := p.cmd.Process.Kill(); err != nil {
		c.t.Fatalf("%s had ended before it was killed: %v", p.Name, err)
	}
	<-p.ended
	if c.random.Float64() < signOut && p.Instance == "" {
		c.signOut(p.chaosMember)
	}
}

// stop ends all members in good order.
func (c *chaos) stop() {
	c.t.Helper()
	for _, p := range c.members {
		if p != nil {
			p.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // its state tells
		}
	}
	for _, p := range c.members {
		if p == nil {
			continue
		}
		select {
		case <-p.ended:
		case <-patience(c.t).Done():
			c.t.Fatalf("%s does not end", p.Name)
		}
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			c.t.Errorf("%s ended with %d", p.Name, code)
		}
	}
	c.write.Close()
	<-c.written
}

// signOut has a dead member leave, as whoever watches over processes may do, so that
// the others need not wait for the end of its session.
func (c *chaos) signOut(m chaosMember) {
	ctx := patience(c.t)
	if !c.consumer(0) {
		c.leaveClassic(ctx, m.Name)
		return
	}
	groups, err := c.admin.DescribeConsumerGroups(ctx, chaosGroup)
	if err != nil {
		return // the session ends by itself
	}
	for _, member := range groups[chaosGroup].Members {
		if member.ClientID != m.Name {
			continue
		}
		leave := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		leave.Group, leave.MemberID, leave.MemberEpoch = chaosGroup, member.MemberID, -1
		leave.RequestWith(ctx, c.asks) //nolint:errcheck // the session ends by itself
	}
}

func (c *chaos) leaveClassic(ctx context.Context, name string) {
	groups, err := c.admin.DescribeGroups(ctx, chaosGroup)
	if err != nil {
		return // the session ends by itself
	}
	for _, member := range groups[chaosGroup].Members {
		if member.ClientID != name {
			continue
		}
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Group = chaosGroup
		leave.Members = []kmsg.LeaveGroupRequestMember{{MemberID: member.MemberID}}
		leave.RequestWith(ctx, c.asks) //nolint:errcheck // the session ends by itself
	}
}

// rampage kills members and starts them again at random.
func (c *chaos) rampage(duration time.Duration, signOut float64) (kills int) {
	c.t.Helper()
	for over := time.Now().Add(duration); time.Now().Before(over); kills++ {
		<-time.After(time.Duration(c.random.Int64N(int64(chaosPace))))
		member := c.random.IntN(chaosMembers)
		c.kill(member, signOut)
		<-time.After(time.Duration(c.random.Int64N(int64(chaosAway))))
		c.start(member, false)
	}
	return kills
}

// produce writes numbered records to the partitions in turn, until it is stopped, and
// gives their number.
func (c *chaos) produce() (stop func() (records int64)) {
	client := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(time.Millisecond))
	ctx, cancel := context.WithCancel(patience(c.t))
	ended := make(chan int64)
	go func() {
		var number int64
		for ctx.Err() == nil {
			for range chaosBatch * chaosPartitions {
				client.Produce(context.Background(), &kgo.Record{Topic: chaosTopic, Partition: int32(number % chaosPartitions),
					Value: strconv.AppendInt(nil, number, 10)}, nil)
				number++
			}
			select {
			case <-time.After(chaosRest * chaosPartitions):
			case <-ctx.Done():
			}
		}
		ended <- number
	}()
	return func() int64 {
		c.t.Helper()
		cancel()
		number := <-ended
		if err := client.Flush(patience(c.t)); err != nil {
			c.t.Fatal(err)
		}
		return number
	}
}

// untilCommitted waits until the group has committed the end of every partition.
func (c *chaos) untilCommitted(ends []int64) {
	c.t.Helper()
	ctx := patience(c.t)
	var last error
	for {
		if last = c.behind(ctx, ends); last == nil {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			c.t.Fatalf("the group does not come to the end: %v", last)
		}
	}
}

// behind tells how far the group has yet to go, nil if it is at the end.
func (c *chaos) behind(ctx context.Context, ends []int64) error {
	committed, err := c.admin.FetchOffsets(ctx, chaosGroup)
	if err != nil {
		return err
	}
	for p, end := range ends {
		if at, _ := committed.Lookup(chaosTopic, int32(p)); at.At != end {
			return fmt.Errorf("it has committed %d of partition %d, which ends at %d", at.At, p, end)
		}
	}
	return nil
}

// chaosEnds are the offsets at which partitions end that records were written to in turn.
func chaosEnds(records int64) (all []int64) {
	for p := range int64(chaosPartitions) {
		all = append(all, (records-p+chaosPartitions-1)/chaosPartitions)
	}
	return all
}

// complaints is what is wrong with what the members noted.
func (c *chaos) complaints(ends []int64) []string {
	c.t.Helper()
	notes, err := readNotes(c.notes.String())
	if err != nil {
		c.t.Fatal(err)
	}
	worked := map[string]bool{}
	reads := 0
	for _, n := range notes {
		switch n.verb {
		case "commits":
			worked[n.member] = true
		case "read":
			reads++
		}
	}
	c.t.Logf("%d notes, %d of records, by %d members that committed, of %d", len(notes), reads, len(worked), c.starts)
	return checkNotes(notes, ends)
}

// checkFired fails unless each rule has fired that does not leave it to chance.
func (c *chaos) checkFired() {
	c.t.Helper()
	for _, rule := range c.Faults() {
		c.t.Logf("%s: fired %d times", rule.Rule, rule.Fired)
	}
	for _, rule := range c.Unfired() {
		if !strings.Contains(rule.Rule.String(), "chance=") {
			c.t.Error(rule.Report())
		}
	}
}

// TestChaos_a_group_of_processes_misses_nothing_though_members_are_killed has four
// processes read what an idempotent producer writes, kills and restarts them at random,
// and loses acknowledgements and answers meanwhile.
//
// A killed member without a static name is made to leave, or its session would take up
// most of the time. Of one in ten in a long run the coordinator finds out by itself.
func TestChaos_a_group_of_processes_misses_nothing_though_members_are_killed(t *testing.T) {
	duration, signOut := chaosTime, 1.0
	if os.Getenv("FENCEPOST_LONG") != "" {
		duration, signOut = chaosLong, 0.9
	}
	for _, c := range []struct {
		name     string
		consumer func(member int) bool
		faults   []string
	}{
		{"classic protocol, cooperative-sticky", func(int) bool { return false }, chaosClassicFaults},
		{"consumer protocol", func(int) bool { return true }, chaosConsumerFaults},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			group := newChaos(t, seed, c.consumer, slices.Concat(chaosFaults, c.faults)...)
			for m := range chaosMembers {
				group.start(m, false)
			}
			stop := group.produce()
			kills := group.rampage(duration, signOut)
			records := stop()
			t.Logf("%d records, %d kills", records, kills)

			group.untilCommitted(chaosEnds(records))
			group.stop()
			for _, complaint := range group.complaints(chaosEnds(records)) {
				t.Error(complaint)
			}
			if err := group.behind(patience(t), chaosEnds(records)); err != nil {
				t.Errorf("after all have left: %v", err)
			}
			group.CheckExactlyOnce(t, chaosTopic)
			group.checkFired()
		})
	}
}

// A member that commits past records that it did not look at is found.
func TestChaos_a_member_that_skips_is_found(t *testing.T) {
	t.Parallel()
	group := newChaos(t, 1, func(int) bool { return false })
	stop := group.produce()
	group.start(0, true)
	<-time.After(time.Second)
	records := stop()
	group.untilCommitted(chaosEnds(records))
	group.stop()
	if len(group.complaints(chaosEnds(records))) == 0 {
		t.Error("nobody complains of records that were skipped")
	}
}
