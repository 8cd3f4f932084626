package broker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// groupConfigs is the table of Kafka's configs of groups (GroupConfig). They are
// kept and shown.
//
// Differences from Apache Kafka: the limits are those of a broker without configs
// of its own, a duration of share.auto.offset.reset is not read, and those that
// DescribeConfigs does not tell there are unknown.
var groupConfigs = []config{
	{name: "consumer.assignment.interval.ms", kind: anInt, value: "1000", from: "group.consumer.assignment.interval.ms",
		check: both(atLeast(0), within(0, 15_000)), doc: "How often partitions of a consumer group are assigned anew at most."},
	{name: "consumer.heartbeat.interval.ms", kind: anInt, value: "5000", from: "group.consumer.heartbeat.interval.ms",
		check: both(atLeast(1), within(5_000, 15_000)), doc: "How often a member of a consumer group reports."},
	{name: "consumer.session.timeout.ms", kind: anInt, value: "45000", from: "group.consumer.session.timeout.ms",
		check: both(atLeast(1), within(45_000, 60_000)), doc: "How long a member of a consumer group may be silent."},
	{name: "errors.deadletterqueue.copy.record.enable", kind: aBool, value: "false", from: "errors.deadletterqueue.copy.record.enable",
		doc: "Whether a dead letter holds the record."},
	{name: "errors.deadletterqueue.topic.name", kind: aString, from: "errors.deadletterqueue.topic.name",
		doc: "The topic of dead letters."},
	{name: "share.assignment.interval.ms", kind: anInt, value: "1000", from: "group.share.assignment.interval.ms",
		check: both(atLeast(0), within(0, 15_000)), doc: "How often partitions of a share group are assigned anew at most."},
	{name: "share.auto.offset.reset", kind: aString, value: "latest", from: "share.auto.offset.reset", check: shareStart,
		doc: "Where a share group begins: earliest, latest or by_duration:P..."},
	{name: "share.delivery.count.limit", kind: anInt, value: "5", from: "group.share.delivery.count.limit",
		check: both(atLeast(2), within(2, 10)), doc: "How often a record is given out at most."},
	{name: "share.heartbeat.interval.ms", kind: anInt, value: "5000", from: "group.share.heartbeat.interval.ms",
		check: both(atLeast(1), within(5_000, 15_000)), doc: "How often a member of a share group reports."},
	{name: "share.isolation.level", kind: aString, value: "read_uncommitted", from: "share.isolation.level", check: oneOf("read_committed", "read_uncommitted"),
		doc: "Whether a share group sees records of open transactions."},
	{name: "share.partition.max.record.locks", kind: anInt, value: "2000", from: "group.share.partition.max.record.locks",
		check: both(atLeast(100), within(100, 4_000)), doc: "The most records of a partition that are given out at once."},
	{name: "share.record.lock.duration.ms", kind: anInt, value: "30000", from: "group.share.record.lock.duration.ms",
		check: both(atLeast(1_000), within(15_000, 60_000)), doc: "How long a record is given out for."},
	{name: "share.renew.acknowledge.enable", kind: aBool, value: "true", from: "share.renew.acknowledge.enable",
		doc: "Whether a member may ask for more time with a record."},
	{name: "share.session.timeout.ms", kind: anInt, value: "45000", from: "group.share.session.timeout.ms",
		check: both(atLeast(1), within(45_000, 60_000)), doc: "How long a member of a share group may be silent."},
	{name: "streams.assignment.interval.ms", kind: anInt, value: "1000", from: "group.streams.assignment.interval.ms",
		check: both(atLeast(0), within(0, 15_000)), doc: "How often tasks of a streams group are assigned anew at most."},
	{name: "streams.assignor.name", kind: aString, value: "sticky", from: "group.streams.assignors", check: taskAssignor,
		doc: "Who assigns the tasks of a streams group."},
	{name: "streams.heartbeat.interval.ms", kind: anInt, value: "5000", from: "group.streams.heartbeat.interval.ms",
		check: both(atLeast(1), within(5_000, 15_000)), doc: "How often a member of a streams group reports."},
	{name: "streams.initial.rebalance.delay.ms", kind: anInt, value: "3000", from: "group.streams.initial.rebalance.delay.ms",
		check: atLeast(0), doc: "How long a new streams group waits for more members."},
	{name: "streams.num.standby.replicas", kind: anInt, value: "0", from: "group.streams.num.standby.replicas",
		check: both(atLeast(0), atMost(2)), doc: "How many copies of its state a task has."},
	{name: "streams.rack.aware.assignment.tags", kind: aList, from: "group.streams.rack.aware.assignment.tags",
		doc: "Tags that keep the copies of a state apart."},
	{name: "streams.session.timeout.ms", kind: anInt, value: "45000", from: "group.streams.session.timeout.ms",
		check: both(atLeast(1), within(45_000, 60_000)), doc: "How long a member of a streams group may be silent."},
}

// metricsConfigs is the table of Kafka's configs of client metrics subscriptions
// (ClientMetricsConfigs). They are kept and shown, and nobody subscribes.
//
// Difference from Apache Kafka: the patterns of match are not compiled.
var metricsConfigs = []config{
	{name: "interval.ms", kind: anInt, value: "300000", check: metricsInterval, doc: "How often a client sends its metrics."},
	{name: "match", kind: aList, check: clientPatterns, doc: "Which clients are meant, as LABEL=PATTERN."},
	{name: "metrics", kind: aList, doc: "What the names of the metrics begin with."},
}

var (
	groupConfig   = byName(groupConfigs)
	metricsConfig = byName(metricsConfigs)
)

// within wants a number from low to high, in the words of Kafka's GroupConfig.
func within(low, high int) valueCheck {
	return func(name, value string) *refusal {
		if between(low, high)(name, value) == nil {
			return nil
		}
		return refuse(kerr.InvalidConfig, "%s must be in the range %d to %d inclusive.", name, low, high)
	}
}

// atMost wants a number of high or below, in the words of Kafka's GroupConfig.
func atMost(high int) valueCheck {
	return func(name, value string) *refusal {
		if whole(value) <= int64(high) {
			return nil
		}
		return refuse(kerr.InvalidConfig, "%s must be less than or equal to %d", name, high)
	}
}

func shareStart(name, value string) *refusal {
	if value == "earliest" || value == "latest" || strings.HasPrefix(value, "by_duration:P") {
		return nil
	}
	return invalid(name, value, fmt.Sprintf("Invalid value `%s` for configuration %s. The value must be either 'earliest', "+
		"'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.", value, name))
}

func taskAssignor(name, value string) *refusal {
	if value == "sticky" {
		return nil
	}
	return refuse(kerr.InvalidConfig, "%s '%s' is not a registered task assignor. Registered assignors are: [sticky].", name, value)
}

func metricsInterval(name, value string) *refusal {
	if between(100, 3_600_000)(name, value) == nil {
		return nil
	}
	return refuse(kerr.InvalidRequest, "Invalid value %s for %s, interval must be between 100 and 3600000 (1 hour)", value, name)
}

// clientLabels are what a client is known by.
var clientLabels = []string{"client_instance_id", "client_id", "client_software_name", "client_software_version", "client_source_address", "client_source_port"}

func clientPatterns(_, value string) *refusal {
	for _, pattern := range elements(value) {
		if label, _, ok := strings.Cut(pattern, "="); !ok || !slices.Contains(clientLabels, label) {
			return refuse(kerr.InvalidConfig, "Illegal client matching pattern: %s", pattern)
		}
	}
	return nil
}
