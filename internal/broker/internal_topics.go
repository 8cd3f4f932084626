package broker

import "strings"

// internalTopics are the topics in which Kafka keeps its own state (Topic.INTERNAL_TOPICS),
// with the configs that it gives them. Here nothing is kept in them: they are made
// when a client asks for one, so that a tool that looks for it finds it.
var internalTopics = map[string]map[string]string{
	consumerOffsets: {
		"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600",
	},
	"__transaction_state": {
		"cleanup.policy": "compact", "compression.type": "uncompressed", "min.insync.replicas": "1",
		"segment.bytes": "104857600", "unclean.leader.election.enable": "false",
	},
	"__share_group_state": {
		"cleanup.policy": "delete", "compression.type": "producer", "min.insync.replicas": "1",
		"retention.ms": "-1", "segment.bytes": "104857600",
	},
}

// consumerOffsets is where Kafka keeps the offsets of groups
// (Topic.GROUP_METADATA_TOPIC_NAME).
const consumerOffsets = "__consumer_offsets"

// internalPartitions is how many partitions an internal topic gets
// (offsets.topic.num.partitions, transaction.state.log.num.partitions).
const internalPartitions = 50

// clusterMetadata is the name of the controllers' own log. It is no topic, and
// there cannot be one of the name (Topic.CLUSTER_METADATA_TOPIC_NAME).
const clusterMetadata = "__cluster_metadata"

// isInternal says whether a topic of this name is Kafka's own, which no client
// may write to or delete records of.
func isInternal(name string) bool {
	if !strings.HasPrefix(name, "__") {
		return false // most of them, and each Produce asks
	}
	_, ok := internalTopics[name]
	return ok
}

// specOnFirstUse is what a topic gets that is made because a client asked for it.
func specOnFirstUse(name string) topicSpec {
	if isInternal(name) {
		return topicSpec{name: name, partitions: internalPartitions, configs: internalTopics[name]}
	}
	return topicSpec{name: name, partitions: -1}
}
