package integration

import (
	"context"
	"errors"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// administer connects kadm to a broker.
func administer(t *testing.T, b *fencepost.Broker) (context.Context, *kadm.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientPatience)
	t.Cleanup(cancel)
	cl, err := kgo.NewClient(append(quick(), kgo.SeedBrokers(b.Addr()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return ctx, kadm.NewClient(cl)
}

// described gives the value of one config of a topic.
func described(ctx context.Context, t *testing.T, adm *kadm.Client, topic, config string) string {
	t.Helper()
	all, err := adm.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	r, err := all.On(topic, nil)
	if err = errors.Join(err, r.Err); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Configs {
		if c.Key == config {
			return c.MaybeValue()
		}
	}
	t.Fatalf("%s has no config %s", topic, config)
	return ""
}

func TestAdmin_a_topic_is_made_grown_altered_and_written_by_stock_clients(t *testing.T) {
	t.Parallel()
	b := fencepost.RunT(t)
	ctx, adm := administer(t, b)
	retention := "5000"
	made, err := adm.CreateTopic(ctx, 2, 1, map[string]*string{"retention.ms": &retention}, "orders")
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Configs) != 37 || made.NumPartitions != 2 {
		t.Errorf("kadm was told of %d configs and %d partitions, want 37 and 2", len(made.Configs), made.NumPartitions)
	}
	if grown, err := adm.UpdatePartitions(ctx, 5, "orders"); err != nil || grown.Error() != nil {
		t.Fatal(err, grown.Error())
	}
	size := "2000"
	altered, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{
		{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &size}, {Op: kadm.DeleteConfig, Name: "retention.ms"},
	}, "orders")
	if err != nil || altered[0].Err != nil {
		t.Fatal(err, altered)
	}
	for config, want := range map[string]string{"max.message.bytes": "2000", "retention.ms": "604800000"} {
		if got := described(ctx, t, adm, "orders", config); got != want {
			t.Errorf("%s is %s, want %s", config, got, want)
		}
	}

	cl, err := kgo.NewClient(append(quick(), kgo.SeedBrokers(b.Addr()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	small := &kgo.Record{Topic: "orders", Partition: 4, Value: make([]byte, 1000)}
	if err := cl.ProduceSync(ctx, small).FirstErr(); err != nil {
		t.Errorf("a record for a new partition: %v", err)
	}
	large := &kgo.Record{Topic: "orders", Partition: 4, Value: make([]byte, 3000)}
	if err := cl.ProduceSync(ctx, large).FirstErr(); !errors.Is(err, kerr.MessageTooLarge) {
		t.Errorf("a record that is too large now: %v", err)
	}
}

func TestAdmin_faults_reach_the_APIs_of_configs_and_partitions(t *testing.T) {
	t.Parallel()
	b := fencepost.RunT(t, fencepost.Topic("orders", 1), fencepost.Topic("audit", 1),
		fencepost.Fault("error POLICY_VIOLATION before describe_configs"),
		fencepost.Fault("error INVALID_CONFIG before incremental_alter_configs"),
		fencepost.Fault("error INVALID_PARTITIONS before create_partitions topic=orders"))
	ctx, adm := administer(t, b)

	configs, err := adm.DescribeTopicConfigs(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	if r, _ := configs.On("orders", nil); !errors.Is(r.Err, kerr.PolicyViolation) {
		t.Errorf("describing configs: %v", r.Err)
	}
	value := "1"
	altered, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "flush.ms", Value: &value}}, "orders")
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(altered[0].Err, kerr.InvalidConfig) {
		t.Errorf("altering configs: %v", altered[0].Err)
	}
	grown, err := adm.UpdatePartitions(ctx, 3, "orders", "audit")
	if err != nil {
		t.Fatal(err)
	}
	if err := grown["orders"].Err; !errors.Is(err, kerr.InvalidPartitions) {
		t.Errorf("growing the topic that the rule is for: %v", err)
	}
	if err := grown["audit"].Err; err != nil {
		t.Errorf("growing the other one: %v", err)
	}
	if got := described(ctx, t, adm, "orders", "flush.ms"); got == value {
		t.Error("what was refused was altered")
	}
}
