package clients

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost"
)

// console runs one of Kafka's console tools and gives what it prints.
func console(t *testing.T, addr string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "./console.sh", append([]string{"tool"}, args...)...)
	cmd.Env = append(os.Environ(), "KAFKA_BOOTSTRAP_SERVERS="+addr, "TOOLS="+cache(t, "clients/java/jars"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", args[0], err, shorten(string(out)))
	}
	return string(out)
}

func requireConsole(t *testing.T) {
	t.Helper()
	c := &client{name: "the console tools of Kafka", marker: "clients/java/stamp"}
	c.require(t)
}

func TestConsole_producer_perf_test_writes_each_record_once_though_acks_are_lost(t *testing.T) {
	t.Parallel()
	requireConsole(t)
	b := fencepost.RunT(t, fencepost.Topic("perf", 1), fencepost.Fault("disconnect after produce every=10 times=all"))
	out := console(t, b.Addr(), "ProducerPerformance", "--topic", "perf", "--num-records", "10000", "--record-size", "100",
		"--throughput", "-1", "--command-property", "batch.size=1000", "reconnect.backoff.ms=1", "reconnect.backoff.max.ms=10")
	if !strings.Contains(out, "10000 records sent") {
		t.Errorf("it says %s", out)
	}
	b.CheckExactlyOnce(t, "perf")
	if stored := len(readBack(t, b.Addr(), "perf")); stored != 10_000 {
		t.Errorf("the log holds %d records", stored)
	}
}

func TestConsole_configs_shows_what_it_has_set(t *testing.T) {
	t.Parallel()
	requireConsole(t)
	b := fencepost.RunT(t, fencepost.Topic("orders", 1))
	of := []string{"ConfigCommand", "--entity-type", "topics", "--entity-name", "orders"}
	console(t, b.Addr(), append(of, "--alter", "--add-config", "retention.ms=60000")...)
	const want = "retention.ms=60000"
	if out := console(t, b.Addr(), append(of, "--describe")...); !strings.Contains(out, want) {
		t.Errorf("it describes %s", out)
	}
}

func TestConsole_groups_shows_how_far_a_group_has_read(t *testing.T) {
	t.Parallel()
	requireConsole(t)
	b := fencepost.RunT(t)
	addr := groupBroker(t, b)
	f := newFeed(t, addr, uniqueTopic("console"))
	f.send(t, laterRecords)
	franz := stockClients[0]
	f.drain(t, franz.start(t, addr, "consume", f.topic, f.topic))
	if out := console(t, addr, "consumer.group.ConsumerGroupCommand", "--list"); !strings.Contains(out, f.topic) {
		t.Errorf("it lists %s", out)
	}
	out := console(t, addr, "consumer.group.ConsumerGroupCommand", "--describe", "--group", f.topic)
	behind := 0
	for line := range strings.Lines(out) {
		// GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG ...
		if words := strings.Fields(line); len(words) > 5 && words[1] == f.topic && words[3] == "50" && words[4] == "50" && words[5] == "0" {
			behind++
		}
	}
	if behind != 2 {
		t.Errorf("it describes %s", out)
	}
}
