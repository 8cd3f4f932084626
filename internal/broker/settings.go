package broker

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// settings are a topic's configs, and what those mean that change something
// here. They are never changed, only replaced.
type settings struct {
	configs map[string]string // those that were set

	maxMessageBytes int
	logAppendTime   bool  // message.timestamp.type
	timestampBefore int64 // message.timestamp.before.max.ms: how far back of now a record's time may be
	timestampAfter  int64 // message.timestamp.after.max.ms: how far ahead
	retentionBytes  int64 // -1 keeps everything
	retentionMillis int64 // -1 keeps everything
	compact         bool  // cleanup.policy names compact: every record needs a key
	delete          bool  // cleanup.policy names delete
	codec           int8  // compression.type, a wire codec; keepCodec leaves batches as they were sent
}

// keepCodec is compression.type=producer.
const keepCodec = -1

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
func parseSettings(configs map[string]string) (*settings, *refusal) {
	s := &settings{
		configs: configs, maxMessageBytes: defaultMaxMessageBytes, timestampBefore: math.MaxInt64, timestampAfter: 3_600_000,
		retentionBytes: -1, retentionMillis: -1, delete: true, codec: keepCodec,
	}
	if r := tooManyConfigBytes(configs); r != nil {
		return nil, r
	}
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		if !slices.Contains(topicConfigs, name) {
			return nil, refuse(kerr.InvalidConfig, "Unknown topic config name: %s", name)
		}
		if r := s.set(name, configs[name]); r != nil {
			return nil, r
		}
	}
	return s, nil
}

func (s *settings) set(name, value string) (r *refusal) {
	switch name {
	case "max.message.bytes":
		n, r := number(name, value, 32, 0)
		s.maxMessageBytes = int(n)
		return r
	case "message.timestamp.type":
		s.logAppendTime = value == "LogAppendTime"
	case "message.timestamp.before.max.ms":
		s.timestampBefore, r = number(name, value, 64, 0)
	case "message.timestamp.after.max.ms":
		s.timestampAfter, r = number(name, value, 64, 0)
	case "retention.bytes":
		s.retentionBytes, r = number(name, value, 64, -1)
	case "retention.ms":
		s.retentionMillis, r = number(name, value, 64, -1)
	case "cleanup.policy":
		s.compact, s.delete = strings.Contains(value, "compact"), strings.Contains(value, "delete")
	case "compression.type":
		s.codec = int8(slices.Index([]string{"uncompressed", "gzip", "snappy", "lz4", "zstd"}, value))
	}
	return r
}

// number reads a value of type INT or LONG.
func number(name, value string, bits int, least int64) (int64, *refusal) {
	n, err := strconv.ParseInt(value, 10, bits)
	if err != nil {
		kind := map[int]string{32: "INT", 64: "LONG"}[bits]
		return 0, refuse(kerr.InvalidConfig, "Invalid value %s for configuration %s: Not a number of type %s", value, name, kind)
	}
	if n < least {
		return 0, refuse(kerr.InvalidConfig, "Invalid value %d for configuration %s: Value must be at least %d", n, name, least)
	}
	return n, nil
}
