package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// chaosEnv holds the JSON of a chaosMember. A test binary that finds it is that
// member, and runs no tests.
const chaosEnv = "FENCEPOST_CHAOS_MEMBER"

// How soon a member of a chaos group takes something for lost.
const (
	// chaosSession is the shortest session that Apache Kafka allows in the classic protocol.
	chaosSession = 6 * time.Second
	// chaosPatience is how much longer than the broker may take a member waits for an answer.
	chaosPatience = time.Second
	// chaosPoll is how long a member waits for records before it commits again what it
	// could not commit.
	chaosPoll = 200 * time.Millisecond
)

const (
	// chaosRecords is how many records a member takes at a time, at most.
	chaosRecords = 100
	// chaosTurns is how often a member polls for each commit, so that most kills find
	// records that were read and not committed.
	chaosTurns = 3
)

// A chaosMember is a consumer in a process of its own. It reads, notes what it read on
// standard output, commits, and ends in good order at SIGTERM.
type chaosMember struct {
	Addr     string
	Name     string // also its client id
	Consumer bool   // by the consumer protocol (KIP-848), else cooperative-sticky by the classic one
	Instance string // its static name, "" for none
	Skips    bool   // it commits past records that it never looked at
}

// chaosMain is the whole program of a member.
func chaosMain(spec string) int {
	var m chaosMember
	if err := json.Unmarshal([]byte(spec), &m); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", chaosEnv, err)
		return 2
	}
	if err := m.run(os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", m.Name, err)
		return 1
	}
	return 0
}

func (m chaosMember) run(notes io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	client, err := kgo.NewClient(m.options(notes)...)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	for turn := 1; ctx.Err() == nil; turn++ {
		if err := m.read(ctx, client, notes); err != nil {
			return err
		}
		if turn%chaosTurns == 0 {
			m.commit(ctx, client, notes)
		}
		client.AllowRebalance()
	}
	return nil
}

func (m chaosMember) options(notes io.Writer) []kgo.Opt {
	options := []kgo.Opt{
		kgo.SeedBrokers(m.Addr), kgo.ClientID(m.Name), kgo.ConsumerGroup(chaosGroup), kgo.ConsumeTopics(chaosTopic),
		kgo.SessionTimeout(chaosSession), kgo.RebalanceTimeout(chaosSession), kgo.HeartbeatInterval(chaosSession / 12),
		kgo.RequestTimeoutOverhead(chaosPatience), kgo.FetchMaxWait(chaosPoll), kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			for _, p := range partitions[chaosTopic] {
				io.WriteString(notes, note{member: m.Name, verb: "owns", partition: p}.String()) //nolint:errcheck // the check misses what is not noted
			}
		}),
	}
	if m.Instance != "" {
		options = append(options, kgo.InstanceID(m.Instance))
	}
	if m.Consumer {
		return append(options, kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer())
	}
	return append(options, kgo.Balancers(kgo.CooperativeStickyBalancer()))
}

// read polls once, and notes what it got.
func (m chaosMember) read(ctx context.Context, client *kgo.Client, notes io.Writer) error {
	polling, cancel := context.WithTimeout(ctx, chaosPoll)
	defer cancel()
	records := client.PollRecords(polling, chaosRecords).Records()
	for i, r := range records {
		if m.Skips && i == len(records)/2 {
			continue
		}
		number, err := strconv.ParseInt(string(r.Value), 10, 64)
		if err != nil {
			return fmt.Errorf("offset %d of partition %d holds %q, and not a number", r.Offset, r.Partition, r.Value)
		}
		io.WriteString(notes, note{m.Name, "read", r.Partition, r.Offset, number}.String()) //nolint:errcheck // the check misses what is not noted
	}
	return nil
}

// commit commits what was read and was not committed yet. What fails is asked for
// again with the next.
func (m chaosMember) commit(ctx context.Context, client *kgo.Client, notes io.Writer) {
	for p, at := range client.UncommittedOffsets()[chaosTopic] {
		io.WriteString(notes, note{member: m.Name, verb: "commits", partition: p, offset: at.Offset}.String()) //nolint:errcheck // the check misses what is not noted
	}
	committing, cancel := context.WithTimeout(ctx, chaosSession)
	defer cancel()
	client.CommitUncommittedOffsets(committing) //nolint:errcheck // it is tried again
}
