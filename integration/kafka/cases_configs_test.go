package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

const (
	ofTopic  = kmsg.ConfigResourceTypeTopic
	ofBroker = kmsg.ConfigResourceTypeBroker
)

// Configs: described and altered.
var configScripts = []script{
	{name: "a topic's configs by name", steps: []step{
		topic("t", 1, "retention.ms=3600000", "cleanup.policy=compact"),
		describeConfigs(4, ofTopic, "t", "retention.ms", "cleanup.policy", "max.message.bytes"),
		describeConfigs(1, ofTopic, "t", "retention.ms"), describeConfigs(2, ofTopic, "t", "retention.ms"), describeConfigs(3, ofTopic, "t", "retention.ms"),
		describeConfigs(4, ofTopic, "t", "nosuch.config"), describeConfigs(4, ofTopic, "t", "retention.ms", "retention.ms"),
		describeConfigs(4, ofTopic, "nosuch", "retention.ms"), describeConfigs(4, ofTopic, "=", "retention.ms"), describeConfigs(4, ofTopic, "a b"),
		describeConfigsBut(4, "with synonyms", func(r *kmsg.DescribeConfigsRequest) { r.IncludeSynonyms = true }, ofTopic, "t",
			"retention.ms", "cleanup.policy", "max.message.bytes", "segment.bytes", "compression.type"),
		describeConfigsBut(4, "no keys", func(r *kmsg.DescribeConfigsRequest) { r.Resources[0].ConfigNames = []string{} }, ofTopic, "t", "x"),
	}},
	{name: "all of a topic's configs", steps: []step{
		topic("t", 1, "segment.bytes=2000000"),
		describeConfigs(4, ofTopic, "t"), describeConfigs(1, ofTopic, "t"),
		describeConfigsBut(4, "with synonyms", func(r *kmsg.DescribeConfigsRequest) { r.IncludeSynonyms = true }, ofTopic, "t"),
	}},
	{name: "resources that there are not", steps: []step{
		describeConfigs(4, ofBroker, "7", "num.partitions"), describeConfigs(4, ofBroker, "x", "num.partitions"),
		describeConfigs(4, kmsg.ConfigResourceTypeUnknown, "t"), describeConfigs(4, kmsg.ConfigResourceType(99), "t"),
		describeConfigsBut(4, "twice", func(r *kmsg.DescribeConfigsRequest) { r.Resources = append(r.Resources, r.Resources[0]) }, ofTopic, "nosuch", "retention.ms"),
		describeConfigsBut(4, "nothing", func(r *kmsg.DescribeConfigsRequest) { r.Resources = nil }, ofTopic, "t"),
	}},
	{name: "a broker's configs", steps: []step{
		describeConfigs(4, ofBroker, "1", "num.partitions", "auto.create.topics.enable", "message.max.bytes", "log.retention.hours", "nosuch"),
		describeConfigs(4, ofBroker, "1", "default.replication.factor", "log.segment.bytes", "transaction.max.timeout.ms", "producer.id.expiration.ms"),
		describeConfigs(4, ofBroker, "", "num.partitions"),
	}},
	{name: "configs are set and deleted", steps: []step{
		topic("t", 1),
		alter("t", set("retention.ms", "3600000"), set("segment.ms", "60000")), configured("t", "segment.ms", "60000"),
		describeConfigs(4, ofTopic, "t", "retention.ms", "segment.ms"),
		alter("t", unset("retention.ms")), configured("t", "retention.ms", "604800000"),
		describeConfigs(4, ofTopic, "t", "retention.ms", "segment.ms"),
		alter("t", unset("retention.ms"), unset("flush.ms")),
		alter("t", set("max.message.bytes", "150")), configured("t", "max.message.bytes", "150"),
		producer("a"), send("t-0", by("a", 0, 1).sized(100)), send("t-0", by("a", 0, 1)),
	}},
	{name: "configs that cannot be set", steps: []step{
		topic("t", 1),
		alter("t", set("nosuch.config", "1")), alter("t", set("retention.ms", "abc")), alter("t", set("retention.ms", "-2")),
		alter("t", set("cleanup.policy", "keep")), alter("t", set("retention.ms", "")), alter("t", configChange{0, "retention.ms", nil}),
		alter("t", set("retention.ms", "5"), set("retention.ms", "6")), alter("t", set("retention.ms", "5"), unset("retention.ms")),
		alter("t", set("segment.ms", "70000"), set("retention.ms", "abc")), // none is set
		alter("t", configChange{9, "retention.ms", kmsg.StringPtr("5")}), alter("t", unset("nosuch.config")),
		alter("t", set("min.compaction.lag.ms", "10"), set("max.compaction.lag.ms", "5")),
		alter("t", appendTo("retention.ms", "5")), alter("t", subtract("retention.ms", "5")), alter("t", set("", "5")),
		alter("nosuch", set("retention.ms", "5")), alter("=", set("retention.ms", "5")), alter("a b", set("retention.ms", "5")),
		alter("t"),
		describeConfigs(4, ofTopic, "t", "segment.ms", "retention.ms"),
	}},
	{name: "lists grow and shrink", steps: []step{
		topic("t", 1),
		alter("t", appendTo("cleanup.policy", "compact")), configured("t", "cleanup.policy", "delete,compact"),
		alter("t", appendTo("cleanup.policy", "compact")),
		alter("t", subtract("cleanup.policy", "delete")), configured("t", "cleanup.policy", "compact"),
		alter("t", subtract("cleanup.policy", "delete")), alter("t", appendTo("cleanup.policy", "keep")),
		alter("t", subtract("cleanup.policy", "compact")), configured("t", "cleanup.policy", ""),
		describeConfigs(4, ofTopic, "t", "cleanup.policy"),
	}},
	{name: "configs are validated only", steps: []step{
		topic("t", 1),
		alterResource(1, true, ofTopic, "t", set("retention.ms", "5000")), alterResource(1, true, ofTopic, "t", set("retention.ms", "x")),
		alterResource(0, true, ofTopic, "nosuch", set("retention.ms", "5")),
		replaceConfigs(2, true, ofTopic, "t", "retention.ms=5000"), replaceConfigs(2, true, ofTopic, "t", "retention.ms=x"),
		describeConfigs(4, ofTopic, "t", "retention.ms"),
	}},
	{name: "configs are replaced as a whole", steps: []step{
		topic("t", 1, "retention.ms=3600000", "segment.ms=60000"),
		replaceConfigs(2, false, ofTopic, "t", "retention.ms=7200000"), configured("t", "retention.ms", "7200000"),
		describeConfigs(4, ofTopic, "t", "retention.ms", "segment.ms"),
		replaceConfigs(1, false, ofTopic, "t", "nosuch.config=1"), replaceConfigs(0, false, ofTopic, "t", "retention.ms=x"),
		replaceConfigs(2, false, ofTopic, "t", "retention.ms"), replaceConfigs(2, false, ofTopic, "nosuch", "retention.ms=5"),
		replaceConfigs(2, false, ofTopic, "t", "retention.ms=5000", "retention.ms=6000"),
		replaceConfigs(2, false, ofTopic, "t"), configured("t", "retention.ms", "604800000"),
		describeConfigs(4, ofTopic, "t", "retention.ms", "segment.ms"),
	}},
	{name: "a broker's configs that cannot be altered", steps: []step{
		alterResource(1, true, ofBroker, "1", set("num.partitions", "3")), alterResource(1, true, ofBroker, "", set("nosuch.config", "3")),
		alterResource(1, true, ofBroker, "9", set("log.retention.ms", "5")), alterResource(1, true, ofBroker, "x", set("log.retention.ms", "5")),
		alterResource(1, true, ofBroker, "1", set("log.retention.ms", "x")), alterResource(1, true, ofBroker, "1", set("log.retention.ms", "60000")),
		alterResource(1, true, kmsg.ConfigResourceTypeUnknown, "1", set("a", "b")), alterResource(1, true, kmsg.ConfigResourceType(77), "1", set("a", "b")),
	}},
}
