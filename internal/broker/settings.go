package broker

import (
	"maps"
	"slices"
	"strconv"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// This file says what a topic's configs mean that change something here. Their
// table is topicConfigs.
//
// Difference from Apache Kafka: retention.ms is shown as 604800000, its default
// there, and nothing is deleted for its age unless retention.ms of the topic or
// log.retention.ms of the broker was set: a broker for tests throws nothing away
// that it was not told to.

// settings are a topic's configs, and what those mean that change something
// here. They are never changed, only replaced.
type settings struct {
	configs map[string]string // those that were set, as they were written

	maxMessageBytes int
	records         wire.RecordRules  // message.timestamp.type, its limits before and after, cleanup.policy=compact
	compression     *wire.Compression // compression.type and its level; nil leaves batches as they were sent
	retentionBytes  int64             // -1 keeps everything
	retentionMillis int64             // -1 keeps everything
	delete          bool              // cleanup.policy names delete
}

// defaultMaxMessageBytes is Kafka's default of max.message.bytes: 1 MiB and the
// overhead of a batch of old.
const defaultMaxMessageBytes = 1048588

// compressionTypes is compression.type by the numbers that batches have for them.
var compressionTypes = []string{"uncompressed", "gzip", "snappy", "lz4", "zstd"}

// newSettings reads the configs that a topic sets, over those that the broker
// sets for all. An unknown name or a bad value is refused in Kafka's words.
func newSettings(configs map[string]string, above []configLayer) (*settings, *refusal) {
	if r := checkNames(configs, topicConfig, kerr.InvalidConfig, "Unknown topic config name: %s"); r != nil {
		return nil, r
	}
	v := topicView(configs, above)
	values := make(map[string]string, len(topicConfigs))
	for i := range topicConfigs {
		c := &topicConfigs[i]
		raw, own := configs[c.name]
		if own {
			value, r := c.read(raw)
			if r != nil {
				return nil, r
			}
			values[c.name] = value
			continue
		}
		values[c.name] = c.shown(v.effective(c).value)
	}
	if len(v.given(topicConfig["retention.ms"])) == 0 {
		values["retention.ms"] = "-1"
	}
	if r := checkTogether(values); r != nil {
		return nil, r
	}
	return meant(configs, values), nil
}

// topicView is the configs of a topic.
func topicView(configs map[string]string, above []configLayer) configView {
	return configView{own: configLayer{kmsg.ConfigSourceDynamicTopicConfig, configs}, above: above}
}

// checkNames refuses a name that a table does not have.
func checkNames(configs map[string]string, table map[string]*config, code *kerr.Error, words string) *refusal {
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		if table[name] == nil {
			return refuse(code, words, name)
		}
	}
	return nil
}

// checkTogether judges values that are right by themselves.
func checkTogether(values map[string]string) *refusal {
	if low, high := whole(values["min.compaction.lag.ms"]), whole(values["max.compaction.lag.ms"]); low > high {
		return refuse(kerr.InvalidConfig, "conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)", low, high)
	}
	if values["remote.storage.enable"] == "true" {
		return refuse(kerr.InvalidConfig, "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
	}
	return nil
}

// meant says what values mean that have been found right.
func meant(configs, values map[string]string) *settings {
	policies := elements(values["cleanup.policy"])
	return &settings{
		configs:         configs,
		maxMessageBytes: int(whole(values["max.message.bytes"])),
		records: wire.RecordRules{
			Before:     whole(values["message.timestamp.before.max.ms"]),
			After:      whole(values["message.timestamp.after.max.ms"]),
			AppendTime: values["message.timestamp.type"] == "LogAppendTime",
			Keys:       slices.Contains(policies, "compact"),
		},
		compression:     compressionOf(values),
		retentionBytes:  max(whole(values["retention.bytes"]), -1),
		retentionMillis: max(whole(values["retention.ms"]), -1),
		delete:          slices.Contains(policies, "delete"),
	}
}

// compressionOf is how batches are to be compressed, nil for compression.type=producer.
func compressionOf(values map[string]string) *wire.Compression {
	name := values["compression.type"]
	codec := slices.Index(compressionTypes, name)
	if codec < 0 {
		return nil
	}
	return &wire.Compression{Codec: int8(codec), Level: int(whole(values["compression."+name+".level"]))}
}

// whole is a whole number that has been found right.
func whole(value string) int64 {
	n, _ := strconv.ParseInt(value, 10, 64)
	return n
}
