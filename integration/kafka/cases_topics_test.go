package kafka

import (
	"fmt"
	"math"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// filled is a name that is so long on the broker.
func filled(n int) string { return "=" + strings.Repeat("x", n) }

// Topics: made, deleted, grown.
var topicScripts = append([]script{
	{name: "names that cannot be", steps: []step{
		create(7, spec("=", 1)), create(7, spec("=.", 1)), create(7, spec("=..", 1)), create(7, spec(filled(250), 1)),
		create(7, spec("a b", 1)), create(7, spec("a/b", 1)), create(7, spec("a:b", 1)), create(7, spec("a,b", 1)),
		create(7, spec("ä", 1)), create(7, spec("a\x00b", 1)), create(7, spec("a\nb", 1)),
	}},
	{name: "names that can be", steps: []step{
		create(7, spec("-", 1), spec("a-b", 1), spec("A", 1), spec("...", 1), spec("__a", 1), spec("0", 1)),
		led("a-b", 1), led("A", 1), led("-", 1), led("...", 1), led("__a", 1), led("0", 1),
		metadata(12, "a-b", "A", "__a", "..."),
	}},
	{name: "names that collide", steps: []step{
		topic("a.b", 1),
		create(7, spec("a_b", 1)), create(7, spec("a.b", 1)), create(7, spec("A.B", 1)), create(7, spec("a-b", 1)),
		led("A.B", 1), led("a-b", 1),
		create(7, spec("c.d", 1), spec("c_d", 1)),
		metadata(12, "a_b", "a.b"),
	}},
	{name: "a topic that is there already", steps: []step{
		topic("t", 2),
		create(7, spec("t", 2)), create(5, spec("t", 3)), create(2, spec("t", 1)), validate(7, spec("t", 1)),
		create(7, spec("t", 0)), create(7, spec("t", 1, "nosuch=1")),
	}},
	{name: "a name twice in a request", steps: []step{
		create(7, spec("d", 1), spec("d", 2), spec("beside", 1)), led("beside", 1),
		create(7, spec("d", 1), spec("d", 1), spec("d", 1)),
		metadata(12, "d", "beside"),
	}},
	{name: "numbers of partitions", steps: []step{
		create(7, spec("t", 0)), create(7, spec("t", -2)), create(7, spec("t", math.MinInt32)),
		create(7, spec("t", -1)), led("t", 1), metadata(12, "t"),
		create(4, spec("u", -1)), led("u", 1), create(3, spec("v", -1)), led("v", 1), create(2, spec("w", -1)), led("w", 1),
	}},
	{name: "replication factors", steps: []step{
		create(7, spec("t", 1).replicas(0)), create(7, spec("t", 1).replicas(-2)), create(7, spec("t", 1).replicas(2)),
		create(7, spec("t", 1).replicas(math.MaxInt16)), create(7, spec("t", 0).replicas(0)), create(7, spec("t", 0).replicas(5)),
		create(7, spec("t", 1).replicas(-1)), led("t", 1),
		create(3, spec("u", 1).replicas(-1)), led("u", 1),
	}},
	{name: "partitions placed by hand", steps: []step{
		create(7, spec("t", -1).assigned([]int32{1}, []int32{1})), led("t", 2), metadata(12, "t"),
		create(7, spec("u", 2).placed(0, 1)),
		create(7, spec("u", -1).placed(0, 1)),
		create(7, spec("u", -1).assigned([]int32{2})), create(7, spec("u", -1).assigned([]int32{1, 1})),
		create(7, spec("u", -1).assigned([]int32{})), create(7, spec("u", -1).assigned([]int32{1}).placed(0, 1)),
		create(7, spec("u", -1).assigned().placed(1, 1)), create(7, spec("u", -1).assigned([]int32{1}).placed(2, 1)),
		create(7, spec("u", -1).assigned().placed(-1, 1)), create(7, spec("u", -1).assigned([]int32{1}, []int32{1, 2})),
		create(7, spec("u", -1).assigned([]int32{-1})),
	}},
	{name: "validate only", steps: []step{
		validate(7, spec("t", 3)), validate(5, spec("t", 3)), validate(2, spec("t", 3)), validate(7, spec("t", 0)),
		validate(7, spec("t", 1, "retention.ms=5")), validate(7, spec("t", 1, "retention.ms=x")), validate(7, spec("a b", 1)),
		metadata(12, "t"),
	}},
	{name: "configs when a topic is made", steps: []step{
		create(7, spec("a", 1, "nosuch.config=1")), create(7, spec("a", 1, "retention.ms=abc")), create(7, spec("a", 1, "retention.ms=-2")),
		create(7, spec("a", 1, "retention.ms")), create(7, spec("a", 1, "cleanup.policy=keep")), create(7, spec("a", 1, "segment.bytes=100")),
		create(7, spec("a", 1, "max.message.bytes=-1")), create(7, spec("a", 1, "max.message.bytes=9999999999")),
		create(7, spec("a", 1, "compression.type=none")), create(7, spec("a", 1, "compression.type=GZIP")),
		create(7, spec("a", 1, "message.timestamp.type=now")), create(7, spec("a", 1, "min.insync.replicas=0")),
		create(7, spec("a", 1, "unclean.leader.election.enable=perhaps")), create(7, spec("a", 1, "min.cleanable.dirty.ratio=2")),
		create(7, spec("a", 1, "min.compaction.lag.ms=10", "max.compaction.lag.ms=5")),
		create(7, spec("a", 1, "message.format.version=3.0")), create(7, spec("a", 1, "=1")), create(7, spec("a", 1, "retention.ms=")),
		create(7, spec("a", 1, "retention.ms= 5 ")), led("a", 1),
		create(7, spec("b", 1, "retention.ms=5", "retention.ms=6")), led("b", 1),
		describeConfigs(4, kmsg.ConfigResourceTypeTopic, "b", "retention.ms"),
		create(7, spec("c", 1, "cleanup.policy=compact,delete", "preallocate=TRUE")), led("c", 1),
		describeConfigs(4, kmsg.ConfigResourceTypeTopic, "c", "cleanup.policy", "preallocate"),
		create(7, spec("d", 1, "cleanup.policy=")), led("d", 1),
		create(4, spec("e", 1, "retention.ms=abc")), create(7, spec("e", 0, "retention.ms=abc")),
	}},
	{name: "nothing to make", steps: []step{create(7), create(2), validate(7)}},
	{name: "deleting topics", steps: []step{
		topic("t", 1), topic("u", 1), topic("v", 1),
		deleteTopics(6, "nosuch"), deleteTopics(5, "nosuch", "t"), gone("t", ""),
		deleteTopics(6, "u", "u"), deleteTopics(4, "u", "u"), metadata(12, "u"),
		deleteTopics(6, "v", "nosuch", "u"), gone("v", ""), gone("u", ""),
		deleteTopics(6, "v"), deleteTopics(6), deleteTopics(1),
		deleteTopics(6, "=", "=..", "a b"), deleteTopics(1, "nosuch"),
	}},
	{name: "deleting topics by id", steps: []step{
		topic("t", 1), topic("u", 1),
		deleteByID("of a made up id", kmsg.DeleteTopicsRequestTopic{TopicID: madeUp}),
		deleteByID("of no id", kmsg.DeleteTopicsRequestTopic{}),
		deleteByID("of name and id", kmsg.DeleteTopicsRequestTopic{Topic: kmsg.StringPtr("t"), TopicID: idOf("t")}),
		deleteByID("of an id twice", kmsg.DeleteTopicsRequestTopic{TopicID: idOf("t")}, kmsg.DeleteTopicsRequestTopic{TopicID: idOf("t")}),
		deleteByID("of name, and of id", kmsg.DeleteTopicsRequestTopic{TopicID: idOf("t")}, kmsg.DeleteTopicsRequestTopic{Topic: kmsg.StringPtr("t")}),
		deleteByID("of u's id", kmsg.DeleteTopicsRequestTopic{TopicID: idOf("u")}), gone("u", "older"),
		deleteByID("of u's id again", kmsg.DeleteTopicsRequestTopic{TopicID: idOf("older")}),
	}},
	{name: "a topic grows", steps: []step{
		topic("t", 1), producer("a"), send("t-0", by("a", 0, 2)),
		createPartitions(3, "t", 3), led("t", 3),
		send("t-2", by("a", 0, 1)), send("t-1", by("a", 2, 1).saying("3 records said", numRecords(3))), read(from("t-2", 0), from("t-0", 0)), metadata(12, "t"),
		createPartitions(2, "t", 4, []int32{1}), led("t", 4),
		end("t-3"), described("t-3"),
	}},
	{name: "growing that cannot be", steps: []step{
		topic("t", 3),
		createPartitions(3, "t", 3), createPartitions(3, "t", 2), createPartitions(3, "t", 0), createPartitions(3, "t", -1),
		createPartitions(3, "t", math.MinInt32), createPartitions(3, "nosuch", 5), createPartitions(3, "=", 5),
		createPartitions(3, "t", 5, []int32{1}), createPartitions(3, "t", 4, []int32{1}, []int32{1}), createPartitions(3, "t", 4, []int32{2}),
		createPartitions(3, "t", 4, []int32{1, 1}), createPartitions(3, "t", 4, []int32{}), createPartitions(0, "t", 2), createPartitions(1, "nosuch", 2),
		createPartitionsBut(3, "twice", func(r *kmsg.CreatePartitionsRequest) { r.Topics = append(r.Topics, r.Topics[0]) }, "t", 5),
		createPartitionsBut(3, "validate only", func(r *kmsg.CreatePartitionsRequest) { r.ValidateOnly = true }, "t", 5),
		createPartitionsBut(3, "validate only", func(r *kmsg.CreatePartitionsRequest) { r.ValidateOnly = true }, "t", 1),
		createPartitionsBut(3, "nothing", func(r *kmsg.CreatePartitionsRequest) { r.Topics = nil }, "t", 5),
		metadata(12, "t"),
	}},
	{name: "topics that Metadata makes", steps: []step{
		metadata(12, "t"), // not allowed
		metadata(3, "old"), led("old", 1), metadata(3, "old"),
		allowed(4, "new"), led("new", 1), allowed(13, "new"), allowed(12, "a b"), allowed(12, "="),
		topic("a.b", 1), allowed(12, "a_b"),
	}},
	{name: "topics that Metadata names", steps: []step{
		topic("t", 2), topic("u", 1),
		metadata(12, "t", "u", "nosuch"), metadata(12, "t", "t"), metadata(12), metadata(1), metadata(12, "a b", "=", "=.."),
		metadataBut(12, "by id", byIDs("t", "u")), metadataBut(12, "by id", byIDs("t", "t")), metadataBut(13, "by id", byIDs("nosuch", "t")),
		metadataBut(12, "by the zero id", func(r *kmsg.MetadataRequest) { r.Topics = append(r.Topics, kmsg.NewMetadataRequestTopic()) }),
		metadataBut(11, "by id", byIDs("t")), metadataBut(10, "by id", byIDs("t")),
		metadataBut(12, "by id", byIDs("u"), "t"),
		metadataBut(12, "with operations", func(r *kmsg.MetadataRequest) {
			r.IncludeTopicAuthorizedOperations, r.IncludeClusterAuthorizedOperations = true, true
		}, "t"),
		metadataBut(8, "with operations", func(r *kmsg.MetadataRequest) {
			r.IncludeTopicAuthorizedOperations, r.IncludeClusterAuthorizedOperations = true, true
		}, "t", "nosuch"),
	}},
}, append(everyMetadataVersion(), everyCreateVersion()...)...)

// allowed is a Metadata that may make topics.
func allowed(version int16, aliases ...string) step {
	return metadataBut(version, "allowed to make them", func(r *kmsg.MetadataRequest) { r.AllowAutoTopicCreation = true }, aliases...)
}

func everyMetadataVersion() (all []script) {
	for v := range int16(14) {
		all = append(all, script{name: fmt.Sprintf("Metadata in version %d", v), steps: []step{
			topic("t", 2), metadata(v, "t"), metadata(v, "a b"),
		}})
	}
	return all
}

func everyCreateVersion() (all []script) {
	for v := int16(2); v <= 7; v++ {
		all = append(all, script{name: fmt.Sprintf("CreateTopics in version %d", v), steps: []step{
			create(v, spec("t", 2, "retention.ms=3600000"), spec("a b", 1), spec("u", 0)), led("t", 2),
			deleteTopics(v-1, "t", "nosuch"), gone("t", ""),
		}})
	}
	return all
}
