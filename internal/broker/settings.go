package broker

import (
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
)

// settings are the topic configs that mean something here.
type settings struct {
	maxMessageBytes int
}

// defaultMaxMessageBytes is Kafka's default of max.message.bytes: 1 MiB and the
// overhead of a batch of old.
const defaultMaxMessageBytes = 1048588

// topicConfigs are the names of Kafka's topic configs (TopicConfig). Those that
// settings does not read are kept and shown, and change nothing.
var topicConfigs = []string{
	"cleanup.policy", "compression.gzip.level", "compression.lz4.level", "compression.type", "compression.zstd.level",
	"delete.retention.ms", "file.delete.delay.ms", "flush.messages", "flush.ms",
	"follower.replication.throttled.replicas", "index.interval.bytes", "leader.replication.throttled.replicas",
	"local.retention.bytes", "local.retention.ms", "max.compaction.lag.ms", "max.message.bytes",
	"message.timestamp.after.max.ms", "message.timestamp.before.max.ms", "message.timestamp.type",
	"min.cleanable.dirty.ratio", "min.compaction.lag.ms", "min.insync.replicas", "preallocate",
	"remote.copy.disable", "remote.log.delete.on.disable", "remote.storage.enable", "retention.bytes", "retention.ms",
	"segment.bytes", "segment.index.bytes", "segment.jitter.ms", "segment.ms", "unclean.leader.election.enable",
}

// parseSettings reads a topic's configs. An unknown name or a bad value is
// refused in Kafka's words.
func parseSettings(configs map[string]string) (settings, *refusal) {
	s := settings{maxMessageBytes: defaultMaxMessageBytes}
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		if !slices.Contains(topicConfigs, name) {
			return s, refuse(kerr.InvalidConfig, "Unknown topic config name: %s", name)
		}
		if name == "max.message.bytes" {
			n, err := strconv.ParseInt(configs[name], 10, 32)
			if err != nil {
				return s, refuse(kerr.InvalidConfig, "Invalid value %s for configuration %s: Not a number of type INT", configs[name], name)
			}
			if n < 0 {
				return s, refuse(kerr.InvalidConfig, "Invalid value %d for configuration %s: Value must be at least 0", n, name)
			}
			s.maxMessageBytes = int(n)
		}
	}
	return s, nil
}
