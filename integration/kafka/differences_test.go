package kafka

// differences is everything in which fencepost answers otherwise than Apache Kafka,
// with the reason. The page docs/differences.md is made from it.
//
// In the patterns * stands for anything, and so does an empty one.
var differences = []difference{
	{
		what:   "the first batch of a producer that a partition does not know does not begin at sequence 0",
		kafka:  "accepted, by versions 2.5 to 4.4",
		ours:   "OUT_OF_ORDER_SEQUENCE_NUMBER; `--unknown-producer accept` does as Kafka",
		reason: "records before it were lost, and a test has to see that; Kafka 4.5 refuses it on a partition that never held a record",
		where: append(
			outcome(unknownBeginsAt0, "NONE", "OUT_OF_ORDER_SEQUENCE_NUMBER"),
			spot{script: unknownBeginsAt0, step: "Produce v12 | t-3: b *", field: "*.ErrorCode", kafka: "OUT_OF_ORDER_SEQUENCE_NUMBER", ours: "NONE"},
			spot{script: unknownBeginsAt0, step: "Produce v12 | t-3: b *", field: "*.BaseOffset", kafka: "-1"},
			spot{script: unknownBeginsAt0, step: "ListOffsets *", field: "*.Offset"},
			spot{script: unknownOfNext, step: "Produce v12 | t-1: a 3+1", field: "*.ErrorCode", kafka: "NONE", ours: "OUT_OF_ORDER_SEQUENCE_NUMBER"},
			spot{script: unknownOfNext, step: "Produce v12 | t-1: a 3+1", field: "*.BaseOffset", kafka: "0", ours: "-1"},
		),
	},
	{
		what:   "a producer with epoch -1 that a partition does not know",
		kafka:  "accepted without a look at its sequence; a producer that it knows gets INVALID_PRODUCER_EPOCH",
		ours:   "INVALID_PRODUCER_EPOCH, always",
		reason: "epochs begin at 0, and what is not checked cannot be proved",
		where: append(
			outcome("an epoch below 0 is none", "NONE", "INVALID_PRODUCER_EPOCH"),
			spot{script: "an epoch below 0 is none", step: "Produce v12 | t-0: a *+1", field: "*.BaseOffset"}, // there is one batch more in Kafka
			spot{script: "an epoch below 0 is none", step: "ListOffsets *", field: "*.Offset", kafka: "3", ours: "2"},
		),
	},
	{
		what:   "a record set that is null",
		kafka:  "never answered: the client waits out its timeout",
		ours:   "INVALID_RECORD",
		reason: "a client has to be told what is wrong with what it sent",
		where:  []spot{{script: "malformed: a null record set", step: "Produce *", field: "answer", kafka: "no answer", ours: "*INVALID_RECORD*"}},
	},
	{
		what:   "records that cannot be read, and a length beyond all bounds",
		kafka:  "UNKNOWN_SERVER_ERROR",
		ours:   "INVALID_RECORD",
		reason: "the broker is not broken, the batch is, and these codes say so",
		where: []spot{
			{step: "Produce *", field: "*.ErrorCode", kafka: "UNKNOWN_SERVER_ERROR", ours: "INVALID_RECORD"},
		},
	},
	{
		what:   "a record whose offset delta is not its place in the batch",
		kafka:  "accepted, and served as it is, where the batch is not compressed; else UNKNOWN_SERVER_ERROR",
		ours:   "INVALID_RECORD",
		reason: "a consumer would see offsets twice, or none",
		where: append(
			outcome("an offset delta inside a record", "NONE", "INVALID_RECORD"),
			spot{script: "an offset delta inside a record", step: "ListOffsets *", field: "*.Offset", kafka: "2", ours: "0"},
			spot{script: "an offset delta inside a record", step: "Fetch *"}, // there is nothing to read
		),
	},
	{
		what:   "a partition that one Produce names twice",
		kafka:  "the last entry is judged and answered, and the others vanish",
		ours:   "each is judged and answered, in order",
		reason: "no batch may be lost without a word",
		where: []spot{
			{script: "a partition named twice", step: "Produce *", field: "*, again 1]", kafka: "-", ours: "there"},
			{script: "a partition named twice", step: "ListOffsets *", field: "*.Offset", kafka: "1", ours: "2"},
		},
	},
	{
		what:   "a refused batch",
		kafka:  "no error message, in most cases",
		ours:   "an error message that says what was wrong, where, and what would be right",
		reason: "a client's log should tell why",
		where:  []spot{{step: "Produce *", field: "*.ErrorMessage", kafka: "-", ours: `"*`}},
	},
	{
		what:   "an error message for which Kafka has its own words",
		kafka:  "its words for a magic or a record's size, a malformed request, a partition that there is not or that is in no transaction, or a group that cannot be taken over",
		ours:   "words that say what is wrong, and what would be right",
		reason: "clients go by the code, and people by the message",
		where: []spot{
			{step: "Produce *", field: "*.ErrorMessage", kafka: `"Record size *`, ours: `"*`},
			{step: "Produce *", field: "*.ErrorMessage", kafka: `"Invalid magic *`, ours: `"*`},
			{step: "Produce *", field: "*.ErrorMessage", kafka: `"Partition was not added *`, ours: `"the partition is not in an open transaction *`},
			{step: "ConsumerGroupHeartbeat *", field: "ErrorMessage", kafka: `"Cannot upgrade classic group *`, ours: `"Group g is not a consumer group."`},
			{step: "DescribeProducers *", field: "*.ErrorMessage", ours: `"*`},
			{step: "FindCoordinator *", field: "*ErrorMessage", kafka: `"*`, ours: `"*`},
			{step: "ElectLeaders *", field: "*.ErrorMessage", kafka: `"No such *`, ours: `"there is no such *`},
			{step: "DescribeConfigs *", field: "*.ErrorMessage", kafka: `"This most likely occurs *`, ours: `"Unknown resource type *`},
			{step: "IncrementalAlterConfigs *", field: "*.ErrorMessage", kafka: "-", ours: `"Unknown operations type *`},
		},
	},
	{
		what:   "FindCoordinator without an error",
		kafka:  `the error message is "NONE" in versions 1 to 3, and "" from 4 on`,
		ours:   "there is no error message",
		reason: "there is no error",
		where: []spot{
			{step: "FindCoordinator *", field: "ErrorMessage", kafka: `"NONE"`, ours: "-"},
			{step: "FindCoordinator *", field: "Coordinators[*].ErrorMessage", kafka: `""`, ours: "-"},
		},
	},
	{
		what:   "a Fetch of committed records that a limit cut",
		kafka:  "names every aborted transaction of the segment from the offset on",
		ours:   "names those in what was read",
		reason: "many small reads of a log with many aborts would be answered with nothing else",
		where: []spot{
			{script: "several transactions are aborted", step: "Fetch v12 read committed*", field: "*.AbortedTransactions[*", kafka: "there", ours: "-"},
		},
	},
	{
		what:   "an isolation level that there is not",
		kafka:  "UNKNOWN_SERVER_ERROR",
		ours:   "INVALID_REQUEST",
		reason: "the broker is not broken, the request is, and this code says so",
		where: []spot{
			{step: "ListOffsets v7 isolation 2 *", field: "*.ErrorCode", kafka: "UNKNOWN_SERVER_ERROR", ours: "INVALID_REQUEST"},
			{step: "Fetch v12 isolation 2 *", field: "*ErrorCode", kafka: "UNKNOWN_SERVER_ERROR", ours: "INVALID_REQUEST"},
		},
	},
	{
		what:   "two topics in one CreateTopics whose names differ in nothing but dots and underscores",
		kafka:  "both are made, though neither could be beside the other",
		ours:   "the second is refused, INVALID_TOPIC_EXCEPTION",
		reason: "the order in which topics are asked for must not decide what there is",
		where:  []spot{{script: "names that collide", step: `CreateTopics v7 "c.d" of 1 | "c_d" of 1`, field: "Topics[c_d]*"}},
	},
	{
		what:   "the size of the log directory, where there is no limit to memory",
		kafka:  "that of the disk",
		ours:   "unknown (-1)",
		reason: "there is no disk",
		where: []spot{
			{step: "DescribeLogDirs *", field: "*.TotalBytes", ours: "-"},
			{step: "DescribeLogDirs *", field: "*.UsableBytes", ours: "-"},
		},
	},
	{
		what:   "what ApiVersions names",
		kafka:  "77 APIs, and its features",
		ours:   "the APIs that are served, and no features",
		reason: "a client must not be told of what is not there",
		where: []spot{
			{step: "ApiVersions *", field: "ApiKeys[*]", kafka: "there", ours: "-"},
			{step: "ApiVersions *", field: "SupportedFeatures[*]", kafka: "there", ours: "-"},
			{step: "ApiVersions *", field: "FinalizedFeatures[*]", kafka: "there", ours: "-"},
		},
	},
	{
		what:   "when the last transaction began, of a producer that aborted none by EndTxn 5",
		kafka:  "the time of the EndTxn",
		ours:   "none (-1)",
		reason: "no transaction began",
		where:  []spot{{script: "nothing was added", step: "DescribeTransactions *", field: "*.StartTimestamp", kafka: "(now)", ours: "-1"}},
	},
	{
		what:   "ApiVersions of an unknown version whose header has no tags",
		kafka:  "the connection is closed: it reads tags",
		ours:   "UNSUPPORTED_VERSION, as where there are tags",
		reason: "a client of a later version is to learn of the versions that there are, and its header cannot be known",
		where:  []spot{{script: "versions of ApiVersions that there are not", field: "answer", kafka: "connection closed", ours: "answers *0023"}},
	},
}

// Scripts that several entries name.
const (
	unknownBeginsAt0 = "the first batch of an unknown producer begins at 0"
	unknownOfNext    = "a producer that knows one partition is unknown to the next"
)

// outcome is a Produce that one side accepts and fencepost refuses.
func outcome(script, kafka, ours string) []spot {
	return []spot{
		{script: script, step: "Produce *", field: "*.ErrorCode", kafka: kafka, ours: ours},
		{script: script, step: "Produce *", field: "*.BaseOffset", ours: "-1"},
	}
}
