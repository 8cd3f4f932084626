package broker

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/google/go-cmp/cmp"
)

// What Apache Kafka 4.4 says to values of topic configs. A value that it takes
// has what DescribeConfigs tells of it.
func TestTopicConfigs_ValuesAsKafkaTakesThem(t *testing.T) {
	const (
		aReplicaList = " must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."
		policies     = "String must be one of: compact, delete"
	)
	for _, tt := range []struct{ name, value, wrong, shown string }{
		{"segment.bytes", "1048576", "", "1048576"},
		{"segment.bytes", "1048575", "Value must be at least 1048576", ""},
		{"segment.bytes", "2147483648", "Not a number of type INT", ""},
		{"segment.ms", "0", "Value must be at least 1", ""},
		{"segment.jitter.ms", "-1", "Value must be at least 0", ""},
		{"segment.index.bytes", "3", "Value must be at least 4", ""},
		{"flush.messages", "0", "Value must be at least 1", ""},
		{"flush.ms", " +7\t", "", "7"},
		{"flush.ms", "", "Not a number of type LONG", ""},
		{"flush.ms", "0x10", "Not a number of type LONG", ""},
		{"flush.ms", "1.5", "Not a number of type LONG", ""},
		{"flush.ms", "9223372036854775808", "Not a number of type LONG", ""},
		{"retention.bytes", "-9", "", "-9"},
		{"retention.ms", "-1", "", "-1"},
		{"retention.ms", "-2", "Value must be at least -1", ""},
		{"max.message.bytes", "0", "", "0"},
		{"max.message.bytes", "-1", "Value must be at least 0", ""},
		{"max.decompressed.message.bytes", "0", "Value must be at least 1", ""},
		{"index.interval.bytes", "-1", "Value must be at least 0", ""},
		{"delete.retention.ms", "-1", "Value must be at least 0", ""},
		{"min.compaction.lag.ms", "-1", "Value must be at least 0", ""},
		{"max.compaction.lag.ms", "0", "Value must be at least 1", ""},
		{"file.delete.delay.ms", "-1", "Value must be at least 0", ""},
		{"min.cleanable.dirty.ratio", "1", "", "1.0"},
		{"min.cleanable.dirty.ratio", "1e-4", "", "1.0E-4"},
		{"min.cleanable.dirty.ratio", ".5f", "", "0.5"},
		{"min.cleanable.dirty.ratio", "NaN", "", "NaN"},
		{"min.cleanable.dirty.ratio", "nan", "Not a number of type DOUBLE", ""},
		{"cleanup.policy", "", "", ""},
		{"cleanup.policy", " compact , delete ", "", "compact,delete"},
		{"cleanup.policy", "delete,delete", "", "delete"},
		{"cleanup.policy", "Delete", policies, ""},
		{"unclean.leader.election.enable", " TRUE ", "", "true"},
		{"unclean.leader.election.enable", "1", "Expected value to be either true or false", ""},
		{"min.insync.replicas", "0", "Value must be at least 1", ""},
		{"compression.type", " gzip ", "", "gzip"},
		{"compression.type", "none", "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer", ""},
		{"compression.gzip.level", "-1", "", "-1"},
		{"compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1", ""},
		{"compression.lz4.level", "0", "Value must be at least 1", ""},
		{"compression.lz4.level", "18", "Value must be no more than 17", ""},
		{"compression.zstd.level", "-131072", "", "-131072"},
		{"compression.zstd.level", "-131073", "Value must be at least -131072", ""},
		{"compression.zstd.level", "23", "Value must be no more than 22", ""},
		{"preallocate", "yes", "Expected value to be either true or false", ""},
		{"message.timestamp.type", "createtime", "String must be one of: CreateTime, LogAppendTime", ""},
		{"message.timestamp.before.max.ms", "-1", "Value must be at least 0", ""},
		{"message.timestamp.after.max.ms", "-1", "Value must be at least 0", ""},
		{"leader.replication.throttled.replicas", "*", "", "*"},
		{"leader.replication.throttled.replicas", "0:1, 2:3", "", "0:1,2:3"},
		{"follower.replication.throttled.replicas", "", "", ""},
		{"local.retention.ms", "-3", "Value must be at least -2", ""},
		{"local.retention.bytes", "-3", "Value must be at least -2", ""},
		{"remote.copy.lag.ms", "-2", "Value must be at least -1", ""},
		{"remote.copy.lag.bytes", "-2", "Value must be at least -1", ""},
		{"remote.log.copy.disable", "true", "", "true"},
		{"remote.log.delete.on.disable", "true", "", "true"},
		{"remote.storage.enable", "false", "", "false"},
		{"errors.deadletterqueue.group.enable", "true", "", "true"},
	} {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			c := start(t, Options{}).dial()
			told := c.createOne(configured("t", tt.name+"="+tt.value))
			if tt.wrong != "" {
				wantCode(t, told.ErrorCode, "INVALID_CONFIG")
				want(t, "message", text(told.ErrorMessage), "Invalid value "+tt.value+" for configuration "+tt.name+": "+tt.wrong)
				return
			}
			wantCode(t, told.ErrorCode, "NONE")
			want(t, "as it is described", c.value(resource{ofTopic, "t"}, tt.name), tt.shown)
		})
	}
	for _, tt := range []struct{ configs, says string }{
		{"min.cleanable.dirty.ratio=-1", "Invalid value -1.0 for configuration min.cleanable.dirty.ratio: Value must be at least 0"},
		{"min.cleanable.dirty.ratio=99999999999", "Invalid value 9.9999999999E10 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
		{"min.cleanable.dirty.ratio=Infinity", "Invalid value Infinity for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
		{"min.cleanable.dirty.ratio=-Infinity", "Invalid value -Infinity for configuration min.cleanable.dirty.ratio: Value must be at least 0"},
		{"cleanup.policy=compact,bogus", "Invalid value bogus for configuration cleanup.policy: " + policies},
		{"cleanup.policy=delete,", "Configuration 'cleanup.policy' values must not be empty."},
		{"leader.replication.throttled.replicas=*,0:1",
			"Invalid value [*, 0:1] for configuration leader.replication.throttled.replicas: leader.replication.throttled.replicas" + aReplicaList},
		{"remote.storage.enable=true", "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
		{"min.compaction.lag.ms=10 max.compaction.lag.ms=9 remote.storage.enable=true",
			"conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (9)"},
	} {
		t.Run(tt.configs, func(t *testing.T) {
			c := start(t, Options{}).dial()
			told := c.createOne(configured("t", strings.Fields(tt.configs)...))
			wantCode(t, told.ErrorCode, "INVALID_CONFIG")
			want(t, "message", text(told.ErrorMessage), tt.says)
		})
	}
}

// The table is Kafka's, with its defaults: a value of it has to be one that it
// takes, in the form in which it is told.
func TestConfigs_EveryDefaultIsTakenAsItIsTold(t *testing.T) {
	for name, table := range map[string]map[string]*config{
		"topic": topicConfig, "broker": brokerConfig, "group": groupConfig, "client metrics": metricsConfig,
	} {
		for _, c := range sorted(table) {
			if c.value == null {
				continue
			}
			if value, r := c.read(c.value); r != nil || value != c.value {
				t.Errorf("%s config %s: its default %q reads as %q, refused: %v", name, c.name, c.value, value, r)
			}
			if c.doc == "" {
				t.Errorf("%s config %s has no documentation", name, c.name)
			}
		}
	}
}

func TestConfigs_WhatTopicsAndGroupsFollowIsOfTheSameKind(t *testing.T) {
	for _, c := range slices.Concat(topicConfigs, groupConfigs) {
		follows := brokerConfig[c.from]
		if follows != nil && follows.kind != c.kind && c.name != "streams.assignor.name" {
			t.Errorf("%s is a %v and follows %s, a %v", c.name, c.kind, c.from, follows.kind)
		}
	}
}

func TestSettings_OfATopicThatSetsNothing(t *testing.T) {
	n := start(t, Options{})
	n.make("t", 1, nil)
	wantSettings(t, n.lookup("t"), settings{
		maxMessageBytes: defaultMaxMessageBytes, records: wire.RecordRules{Before: 1<<63 - 1, After: 3_600_000},
		retentionBytes: -1, retentionMillis: -1, delete: true,
	})
}

func TestSettings_OfATopicThatSetsAll(t *testing.T) {
	n := start(t, Options{})
	n.make("t", 1, map[string]string{
		"max.message.bytes": "1", "message.timestamp.type": "LogAppendTime", "message.timestamp.before.max.ms": "2",
		"message.timestamp.after.max.ms": "3", "retention.bytes": "4", "retention.ms": " 5 ", "cleanup.policy": "compact", "compression.type": "zstd",
	})
	wantSettings(t, n.lookup("t"), settings{
		maxMessageBytes: 1, records: wire.RecordRules{Before: 2, After: 3, AppendTime: true, Keys: true},
		compression: &wire.Compression{Codec: 4, Level: 3}, retentionBytes: 4, retentionMillis: 5,
	})
}

// wantSettings compares all but the configs as they were written.
func wantSettings(t *testing.T, of *topic, want settings) {
	t.Helper()
	got := *of.settings.Load()
	got.configs = nil
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(settings{})); diff != "" {
		t.Errorf("the settings (-want +got):\n%s", diff)
	}
}
