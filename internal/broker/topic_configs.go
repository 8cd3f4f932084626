package broker

import "strconv"

// topicConfigs is the table of Kafka's topic configs (LogConfig, TopicConfig), in
// the order in which Kafka checks them: the first bad one is told. What has no
// field in settings is kept and shown, and changes nothing here.
var topicConfigs = []config{
	{name: "segment.bytes", kind: anInt, value: "1073741824", from: "log.segment.bytes", check: atLeast(1 << 20),
		doc: "Bytes after which a log starts a new file. There are no files here."},
	{name: "segment.ms", kind: aLong, value: "604800000", from: "log.roll.ms", check: atLeast(1),
		doc: "Time after which a log starts a new file. There are no files here."},
	{name: "segment.jitter.ms", kind: aLong, value: "0", from: "log.roll.jitter.ms", check: atLeast(0),
		doc: "What is taken off segment.ms at random. There are no files here."},
	{name: "segment.index.bytes", kind: anInt, value: "10485760", from: "log.index.size.max.bytes", check: atLeast(4),
		doc: "The size of an index file. There are no files here."},
	{name: "flush.messages", kind: aLong, value: maxLong, from: "log.flush.interval.messages", check: atLeast(1),
		doc: "Records after which a log is written to disk. There is no disk here."},
	{name: "flush.ms", kind: aLong, value: maxLong, from: "log.flush.interval.ms", check: atLeast(0),
		doc: "Time after which a log is written to disk. There is no disk here."},
	{name: "retention.bytes", kind: aLong, value: "-1", from: "log.retention.bytes",
		doc: "Bytes of a partition above which its oldest batches are deleted; -1 for no limit."},
	{name: "retention.ms", kind: aLong, value: "604800000", from: "log.retention.ms", check: atLeast(-1),
		doc: "Age at which batches are deleted, -1 for never. Nothing is deleted here unless this was set."},
	{name: "max.message.bytes", kind: anInt, value: strconv.Itoa(defaultMaxMessageBytes), from: "message.max.bytes", check: atLeast(0),
		doc: "The most bytes of a batch, as it is sent."},
	{name: "max.decompressed.message.bytes", kind: anInt, value: "2147483639", from: "max.decompressed.message.bytes", check: atLeast(1),
		doc: "The most bytes of a batch when it is unpacked. This broker has a limit of its own."},
	{name: "index.interval.bytes", kind: anInt, value: "4096", from: "log.index.interval.bytes", check: atLeast(0),
		doc: "Bytes of a log between two entries of its index. There are no files here."},
	{name: "delete.retention.ms", kind: aLong, value: "86400000", from: "log.cleaner.delete.retention.ms", check: atLeast(0),
		doc: "How long a compacted log keeps deletions. Nothing is compacted here."},
	{name: "min.compaction.lag.ms", kind: aLong, value: "0", from: "log.cleaner.min.compaction.lag.ms", check: atLeast(0),
		doc: "Age before which no record is compacted. Nothing is compacted here."},
	{name: "max.compaction.lag.ms", kind: aLong, value: maxLong, from: "log.cleaner.max.compaction.lag.ms", check: atLeast(1),
		doc: "Age at which records are compacted at last. Nothing is compacted here."},
	{name: "file.delete.delay.ms", kind: aLong, value: "60000", from: "log.segment.delete.delay.ms", check: atLeast(0),
		doc: "How long deleted files stay. There are no files here."},
	{name: "min.cleanable.dirty.ratio", kind: aDouble, value: "0.5", from: "log.cleaner.min.cleanable.ratio", check: between(0, 1),
		doc: "How much of a log has to be new before it is compacted. Nothing is compacted here."},
	{name: "cleanup.policy", kind: aList, value: "delete", from: "log.cleanup.policy", check: eachOf("compact", "delete"),
		doc: "What becomes of old records: delete, compact, both, or neither. With compact each record needs a key."},
	{name: "unclean.leader.election.enable", kind: aBool, value: "false", from: "unclean.leader.election.enable",
		doc: "Whether a replica that lags may lead. There is one replica here."},
	{name: "min.insync.replicas", kind: anInt, value: "1", from: "min.insync.replicas", check: atLeast(1),
		doc: "How many replicas acks=all needs. There is one here, and it is always enough."},
	{name: "compression.type", kind: aString, value: "producer", from: "compression.type",
		check: oneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
		doc:   "How batches are compressed when they are stored; producer leaves them as they come."},
	{name: "compression.gzip.level", kind: anInt, value: "-1", from: "compression.gzip.level", check: gzipLevel,
		doc: "The level where compression.type is gzip."},
	{name: "compression.lz4.level", kind: anInt, value: "9", from: "compression.lz4.level", check: between(1, 17),
		doc: "The level where compression.type is lz4."},
	{name: "compression.zstd.level", kind: anInt, value: "3", from: "compression.zstd.level", check: between(-1<<17, 22),
		doc: "The level where compression.type is zstd."},
	{name: "preallocate", kind: aBool, value: "false", from: "log.preallocate",
		doc: "Whether files are made in full size. There are no files here."},
	{name: "message.timestamp.type", kind: aString, value: "CreateTime", from: "log.message.timestamp.type",
		check: oneOf("CreateTime", "LogAppendTime"), doc: "Whose clock counts: that of the producer or that of the broker."},
	{name: "message.timestamp.before.max.ms", kind: aLong, value: maxLong, from: "log.message.timestamp.before.max.ms", check: atLeast(0),
		doc: "How far back of the broker's clock a record's time may lie."},
	{name: "message.timestamp.after.max.ms", kind: aLong, value: "3600000", from: "log.message.timestamp.after.max.ms", check: atLeast(0),
		doc: "How far ahead of the broker's clock a record's time may lie."},
	{name: "leader.replication.throttled.replicas", kind: aList, check: replicas,
		doc: "Replicas whose reading is slowed down, as PARTITION:BROKER. There is one replica here."},
	{name: "follower.replication.throttled.replicas", kind: aList, check: replicas,
		doc: "Replicas whose writing is slowed down, as PARTITION:BROKER. There is one replica here."},
	{name: "remote.storage.enable", kind: aBool, value: "false",
		doc: "Whether old parts of a log move to a remote store. There is none here, and true is refused."},
	{name: "local.retention.ms", kind: aLong, value: "-2", from: "log.local.retention.ms", check: atLeast(-2),
		doc: "Age up to which a log that moves to a remote store stays; -2 for that of retention.ms."},
	{name: "local.retention.bytes", kind: aLong, value: "-2", from: "log.local.retention.bytes", check: atLeast(-2),
		doc: "Bytes up to which a log that moves to a remote store stays; -2 for that of retention.bytes."},
	{name: "remote.log.copy.disable", kind: aBool, value: "false",
		doc: "Whether nothing more moves to a remote store. There is none here."},
	{name: "remote.copy.lag.ms", kind: aLong, value: "0", from: "log.remote.copy.lag.ms", check: atLeast(-1),
		doc: "Age before which nothing moves to a remote store. There is none here."},
	{name: "remote.copy.lag.bytes", kind: aLong, value: "-1", from: "log.remote.copy.lag.bytes", check: atLeast(-1),
		doc: "Bytes that stay behind of what moves to a remote store. There is none here."},
	{name: "remote.log.delete.on.disable", kind: aBool, value: "false",
		doc: "Whether the remote part of a log goes when remote.storage.enable does. There is no remote store here."},
	{name: "errors.deadletterqueue.group.enable", kind: aBool, value: "false",
		doc: "Whether share groups may put records here that they cannot handle. There are no share groups here."},
}

// maxLong is Kafka's word for no limit.
const maxLong = "9223372036854775807"

// topicConfig finds topic configs by name.
var topicConfig = byName(topicConfigs)

func byName(table []config) map[string]*config {
	found := make(map[string]*config, len(table))
	for i := range table {
		found[table[i].name] = &table[i]
	}
	return found
}
