package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestIncrementalAlterConfigs_ChangesWhatItNames(t *testing.T) {
	everyVersion(t, kmsg.IncrementalAlterConfigs, func(t *testing.T, version int16) {
		n, c := startWith(t)
		n.make("t", 1, map[string]string{"retention.ms": "5", "flush.ms": "7"})
		at := resource{ofTopic, "t"}
		want(t, "told", altered(c.ask(operating(version, at, "set segment.ms=60000", "delete flush.ms", "delete no.such.key"))), []string{"t NONE null"})
		want(t, "configs", c.configs(at, "retention.ms", "flush.ms", "segment.ms"), []string{
			"flush.ms=9223372036854775807 5", "retention.ms=5 1 < retention.ms=5 1", "segment.ms=60000 1 < segment.ms=60000 1",
		})
		want(t, "nothing", altered(c.ask(operating(version, at))), []string{"t NONE null"})
	})
}

// As seen on Apache Kafka 4.4, one after the other.
func TestIncrementalAlterConfigs_Lists(t *testing.T) {
	_, c := startWith(t, "t")
	at := resource{ofTopic, "t"}
	const policy, throttled = "cleanup.policy", "leader.replication.throttled.replicas"
	for _, step := range []struct{ operation, config, want string }{
		{"append cleanup.policy=delete", policy, "delete"},
		{"append cleanup.policy=compact", policy, "delete,compact"},
		{"subtract cleanup.policy=delete", policy, "compact"},
		{"subtract cleanup.policy=compact", policy, ""},
		{"subtract cleanup.policy=compact", policy, ""},
		{"append cleanup.policy=compact", policy, "compact"},
		{"delete cleanup.policy=whatever", policy, "delete"},
		{"append cleanup.policy=compact,delete,compact", policy, "delete,compact"},
		{"set cleanup.policy=compact,compact", policy, "compact"},
		{"subtract cleanup.policy=compact", policy, "compact"}, // it was there twice
		{"subtract cleanup.policy=compact,", policy, ""},
		{"set cleanup.policy=delete, compact", policy, "delete,compact"},
		{"subtract cleanup.policy=compact", policy, "delete,compact"}, // a space stands before it
		{"append " + throttled + "=0:1", throttled, "0:1"},
		{"append " + throttled + "=1:1,0:1", throttled, "0:1,1:1"},
		{"subtract " + throttled + "=1:1,0:1", throttled, ""},
		{"append " + throttled + "=,", throttled, ""},
	} {
		want(t, step.operation, c.operate(at, step.operation), "NONE null")
		want(t, "after "+step.operation, c.value(at, step.config), step.want)
	}
}

func TestIncrementalAlterConfigs_Refuses(t *testing.T) {
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			n, c := startWith(t, "there")
			var operations []string
			for _, config := range tt.configs {
				operations = append(operations, "set "+config)
			}
			want(t, "told", c.operate(tt.of, operations...), tt.want)
			n.wantUntouched(c)
		})
	}
	for _, tt := range []struct {
		name      string
		of        resource
		operation string
		want      string
	}{
		{"appending to what is no list", resource{ofTopic, "there"}, "append retention.ms=5",
			"INVALID_CONFIG Can't APPEND to key retention.ms because its type is not LIST."},
		{"subtracting from what is unknown, before the name", resource{ofTopic, "a b"}, "subtract no.such.key=5",
			"INVALID_CONFIG Can't SUBTRACT to key no.such.key because its type is not LIST."},
		{"appending nothing", resource{ofTopic, "there"}, "append cleanup.policy=", "INVALID_CONFIG Configuration 'cleanup.policy' values must not be empty."},
		{"appending a bad value", resource{ofTopic, "there"}, "append cleanup.policy=x",
			"INVALID_CONFIG Invalid value x for configuration cleanup.policy: String must be one of: compact, delete"},
		{"an unknown operation", resource{ofTopic, "there"}, "unknown flush.ms=1", "UNKNOWN_SERVER_ERROR Unknown operations type 9"},
		{"an unknown operation with a null", resource{ofTopic, "there"}, "unknown flush.ms", "INVALID_REQUEST Null value not supported for : flush.ms"},
		{"an unknown operation on a broker", resource{ofBroker, "1"}, "unknown log.retention.ms=1", "INVALID_REQUEST Unknown operations type 9"},
		{"appending to what is no list of a broker", resource{ofBroker, "1"}, "append log.retention.ms=1",
			"INVALID_CONFIG Config value append is not allowed for config key: log.retention.ms"},
		{"appending to what a broker does not know", resource{ofBroker, "1"}, "append no.such.key=1", "INVALID_CONFIG Unknown config name: no.such.key"},
		{"appending a bad value for a broker", resource{ofBroker, "1"}, "append log.cleanup.policy=x",
			"INVALID_REQUEST Invalid value x for configuration log.cleanup.policy: String must be one of: compact, delete"},
		{"appending to metrics", resource{ofMetrics, "m"}, "append metrics=x", "INVALID_CONFIG Can't APPEND to key metrics because its type is not LIST."},
		{"deleting the cluster's count of replicas", resource{ofBroker, ""}, "delete min.insync.replicas",
			"INVALID_CONFIG Cluster-level min.insync.replicas cannot be removed while ELR is enabled."},
		{"deleting a broker's count of replicas", resource{ofBroker, "1"}, "delete min.insync.replicas",
			"INVALID_CONFIG Broker-level min.insync.replicas cannot be altered while ELR is enabled."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, c := startWith(t, "there")
			want(t, "told", c.operate(tt.of, tt.operation), tt.want)
			n.wantUntouched(c)
		})
	}
}

func TestIncrementalAlterConfigs_AResourceTwiceIsRefusedEachTime(t *testing.T) {
	_, c := startWith(t, "a")
	req := operating(1, resource{ofTopic, "a"}, "set flush.ms=1")
	req.Resources = append(req.Resources, operationsOn(resource{ofTopic, "a"}), operationsOn(resource{ofGroup, "a"}))
	const twice = "a INVALID_REQUEST Each resource must appear at most once."
	want(t, "told", altered(c.ask(req)), []string{twice, twice, "a NONE null"})
}

func TestIncrementalAlterConfigs_OfTheBrokerIsKeptAndShown(t *testing.T) {
	_, c := startWith(t)
	broker, cluster := resource{ofBroker, "1"}, resource{ofBroker, ""}
	for _, step := range []struct {
		of              resource
		operation, name string
		ofBroker        string
	}{
		{cluster, "set log.cleaner.threads= 2 ", "log.cleaner.threads", "log.cleaner.threads=2 3 < log.cleaner.threads=2 3 < log.cleaner.threads=1 5"},
		{broker, "set log.cleaner.threads=3", "log.cleaner.threads",
			"log.cleaner.threads=3 2 < log.cleaner.threads=3 2 < log.cleaner.threads=2 3 < log.cleaner.threads=1 5"},
		{broker, "delete log.cleaner.threads", "log.cleaner.threads", "log.cleaner.threads=2 3 < log.cleaner.threads=2 3 < log.cleaner.threads=1 5"},
		{broker, "append log.cleanup.policy=compact", "log.cleanup.policy",
			"log.cleanup.policy=delete,compact 2 < log.cleanup.policy=delete,compact 2 < log.cleanup.policy=delete 5"},
		{broker, "set no.such.key=secret", "no.such.key", "no.such.key=null 2 < no.such.key=null 2"},
		{broker, "delete num.partitions", "num.partitions", "num.partitions=1 5 < num.partitions=1 5"},
	} {
		want(t, step.operation, c.operate(step.of, step.operation), "NONE null")
		want(t, "after "+step.operation, c.configs(broker, step.name), []string{step.ofBroker})
	}
	want(t, "of the cluster", c.configs(cluster), []string{
		"log.cleaner.threads=2 3 < log.cleaner.threads=2 3", "min.insync.replicas=1 3 < min.insync.replicas=1 3",
	})
}

func TestIncrementalAlterConfigs_OfAGroupIsKeptAndShown(t *testing.T) {
	n, c := startWith(t)
	at := resource{ofGroup, "g"}
	want(t, "told", c.operate(at, "set consumer.session.timeout.ms= 50000 "), "NONE null")
	want(t, "set", c.configs(at, "consumer.session.timeout.ms"), []string{"consumer.session.timeout.ms=50000 8 " +
		"< consumer.session.timeout.ms=50000 8 < group.consumer.session.timeout.ms=45000 5"})
	want(t, "of another", c.value(resource{ofGroup, "h"}, "consumer.session.timeout.ms"), "45000")
	want(t, "told of deleting", c.operate(at, "delete consumer.session.timeout.ms", "delete no.such.key"), "NONE null")
	want(t, "deleted", c.value(at, "consumer.session.timeout.ms"), "45000")
	want(t, "resources that are kept", len(n.set), 1)
}

func TestIncrementalAlterConfigs_OfMetricsIsKeptAndShown(t *testing.T) {
	_, c := startWith(t)
	at := resource{ofMetrics, "m"}
	want(t, "told", c.operate(at, "set metrics=a, b", "set match=client_id=x"), "NONE null")
	want(t, "set", c.configs(at), []string{"interval.ms=300000 5", "match=client_id=x 7 < match=client_id=x 7", "metrics=a,b 7 < metrics=a,b 7"})
}
