package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// pictured starts a broker with two topics, 30 records in one partition and 12 in
// another, a group that has committed 20 of the first and one whose only member
// has all partitions.
func pictured(t *testing.T) (context.Context, *kadm.Client, *fencepost.Broker) {
	t.Helper()
	b := fencepost.RunT(t, fencepost.Topic("orders", 3, "retention.ms=3600000"), fencepost.Topic("audit", 1))
	ctx, adm := administer(t, b)
	writer := pictureClient(t, b, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for partition, records := range []int{30, 12} {
		for range records {
			r := &kgo.Record{Topic: "orders", Partition: int32(partition)}
			if err := writer.ProduceSync(ctx, r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var offsets kadm.Offsets
	offsets.AddOffset("orders", 0, 20, -1)
	if err := adm.CommitAllOffsets(ctx, "readers", offsets); err != nil {
		t.Fatal(err)
	}
	assigned := make(chan struct{})
	pictureClient(t, b, kgo.ClientID("reader"), kgo.InstanceID("r-1"), kgo.ConsumerGroup("live"), kgo.ConsumeTopics("orders"),
		kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { close(assigned) }))
	select {
	case <-assigned:
	case <-ctx.Done():
		t.Fatal("the member is assigned nothing")
	}
	return ctx, adm, b
}

func pictureClient(t *testing.T, b *fencepost.Broker, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(b.Addr()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

const kcatPicture = `Metadata for all topics (from broker 1: ADDRESS/1):
 1 brokers:
  broker 1 at ADDRESS (controller)
 2 topics:
  topic "audit" with 1 partitions:
    partition 0, leader 1, replicas: 1, isrs: 1
  topic "orders" with 3 partitions:
    partition 0, leader 1, replicas: 1, isrs: 1
    partition 1, leader 1, replicas: 1, isrs: 1
    partition 2, leader 1, replicas: 1, isrs: 1
`

const kcatPictureOfNone = `Metadata for none (from broker 1: ADDRESS/1):
 1 brokers:
  broker 1 at ADDRESS (controller)
 1 topics:
  topic "none" with 0 partitions: Broker: Unknown topic or partition
`

func TestTools_kcat_lists_brokers_topics_and_partitions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"of all topics", nil, kcatPicture},
		{"of a topic that there is not", []string{"-t", "none", "-X", "allow.auto.create.topics=false"}, kcatPictureOfNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kcat := kcatCommand(t)
			b := fencepost.RunT(t, fencepost.Topic("orders", 3), fencepost.Topic("audit", 1), fencepost.AutoCreate(false))
			p := start(t, nil, "", kcat, append([]string{"-L", "-b", b.Addr()}, c.args...)...)
			if code := p.wait(t); code != 0 {
				t.Errorf("kcat -L ended with %d", code)
			}
			if diff := cmp.Diff(c.want, strings.ReplaceAll(p.out.String(), b.Addr(), "ADDRESS")); diff != "" {
				t.Errorf("kcat shows other than wanted (-):\n%s", diff)
			}
		})
	}
}

const kadmPicture = `broker 1, controller 1
topic audit
  partition 0 leader 1 epoch 0 replicas [1] in sync [1] ends at 0
topic orders
  partition 0 leader 1 epoch 0 replicas [1] in sync [1] ends at 30
  partition 1 leader 1 epoch 0 replicas [1] in sync [1] ends at 12
  partition 2 leader 1 epoch 0 replicas [1] in sync [1] ends at 0
group live classic Stable consumer range
  member reader r-1 /127.0.0.1 map[orders:[0 1 2]]
  orders 0 committed -1 lag 30
  orders 1 committed -1 lag 12
  orders 2 committed -1 lag 0
group readers classic Empty  
  orders 0 committed 20 lag 10
  orders 1 committed -1 lag 12
  orders 2 committed -1 lag 0
`

func TestTools_kadm_describes_topics_groups_and_lags(t *testing.T) {
	t.Parallel()
	ctx, adm, _ := pictured(t)
	var picture strings.Builder
	if err := kadmTopics(ctx, adm, &picture); err != nil {
		t.Fatal(err)
	}
	if err := kadmGroups(ctx, adm, &picture); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kadmPicture, picture.String()); diff != "" {
		t.Errorf("kadm shows other than wanted (-):\n%s", diff)
	}
}

func kadmTopics(ctx context.Context, adm *kadm.Client, picture *strings.Builder) error {
	metadata, err := adm.Metadata(ctx)
	if err != nil {
		return err
	}
	ends, err := adm.ListEndOffsets(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(picture, "broker %d, controller %d\n", metadata.Brokers[0].NodeID, metadata.Controller)
	for _, topic := range metadata.Topics.Sorted() {
		fmt.Fprintf(picture, "topic %s\n", topic.Topic)
		for _, p := range topic.Partitions.Sorted() {
			end, _ := ends.Lookup(topic.Topic, p.Partition)
			fmt.Fprintf(picture, "  partition %d leader %d epoch %d replicas %v in sync %v ends at %d\n",
				p.Partition, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR, end.Offset)
		}
	}
	return nil
}

func kadmGroups(ctx context.Context, adm *kadm.Client, picture *strings.Builder) error {
	listed, err := adm.ListGroups(ctx)
	if err != nil {
		return err
	}
	lags, err := adm.Lag(ctx, listed.Groups()...)
	if err != nil {
		return err
	}
	for _, group := range lags.Sorted() {
		fmt.Fprintf(picture, "group %s %s %s %s %s\n", group.Group, listed[group.Group].GroupType, group.State, group.ProtocolType, group.Protocol)
		for _, m := range group.Members {
			assigned := map[string][]int32{}
			if c, ok := m.Assigned.AsConsumer(); ok {
				for _, topic := range c.Topics {
					assigned[topic.Topic] = slices.Sorted(slices.Values(topic.Partitions))
				}
			}
			fmt.Fprintf(picture, "  member %s %s %s %v\n", m.ClientID, *m.InstanceID, m.ClientHost, assigned)
		}
		for _, l := range group.Lag.Sorted() {
			fmt.Fprintf(picture, "  %s %d committed %d lag %d\n", l.Topic, l.Partition, l.Commit.At, l.Lag)
		}
	}
	return nil
}
