package kafka

import (
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a broker tells of itself, its topics and its producers.
var describeScripts = []script{
	{name: "the cluster", steps: []step{
		cluster(0, 0, false), cluster(1, 1, false), cluster(2, 1, false), cluster(2, 1, true), cluster(1, 2, false), cluster(1, 0, false), cluster(1, 9, false),
	}},
	{name: "topics' partitions", steps: []step{
		topic("t", 3), topic("u", 1),
		topicPartitions(2000, nil, "t"), topicPartitions(2000, nil, "u", "t"), topicPartitions(2, nil, "t", "u"), topicPartitions(3, nil, "t", "u"),
		topicPartitions(0, nil, "t"), topicPartitions(-1, nil, "u", "t"), topicPartitions(2000, nil, "nosuch", "t"), topicPartitions(2, nil, "nosuch", "t"),
		topicPartitions(2000, nil, "t", "t"), topicPartitions(2000, nil, "a b"),
		topicPartitions(2000, &place{"t", 1}, "t", "u"), topicPartitions(1, &place{"t", 1}, "t", "u"), topicPartitions(2000, &place{"t", 9}, "t", "u"),
		topicPartitions(2000, &place{"u", 0}, "t", "u"), topicPartitions(2000, &place{"zzz", 0}, "t", "u"), topicPartitions(2000, &place{"nosuch", 0}, "t", "u"),
		topicPartitions(2000, &place{"t", -1}, "t"),
	}},
	{name: "producers", steps: []step{
		topic("t", 2), producer("a", "b"),
		described("t-0"), described("t-9"), described("nosuch-0"), described(),
		send("t-0", by("a", 0, 3)), send("t-0", by("b", 0, 1).in(4)), send("t-0", plain(2)),
		described("t-0", "t-1", "t-2"), described("t-0", "t-0"),
	}},
	{name: "where records are kept", steps: []step{
		topic("t", 2), producer("a"), send("t-0", by("a", 0, 3)),
		logDirs(1, "t-0", "t-1"), logDirs(4, "t-0", "t-7"), logDirs(2, "nosuch-0"), logDirs(5, "t-0"),
	}},
	{name: "leaders are elected", steps: []step{
		topic("t", 2),
		elect(2, 0, "t-0"), elect(2, 1, "t-0"), elect(2, 0, "t-0", "t-5"), elect(2, 0, "nosuch-0"), elect(2, 9, "t-0"), elect(0, 0, "t-0"), elect(1, 1, "t-1"),
	}},
	{name: "coordinators", steps: []step{
		coordinated(0, "group"), coordinated(1, "txn"), coordinated(1, ""), coordinated(0, ""), coordinated(0, "one"), coordinated(0, "two"),
		coordinator(0, 0, "group"), coordinator(1, 0, "group"), coordinator(2, 1, "txn"), coordinator(3, 0, ""), coordinator(3, 1, ""),
		coordinator(3, 9, "key"), coordinator(3, -1, "key"), coordinator(2, 9, "key"),
		coordinator(4, 0, "one", "two"), coordinator(4, 0), coordinator(4, 0, "one", "one"), coordinator(5, 1, "txn"), coordinator(6, 0, "group"),
		coordinator(4, 9, "key"), coordinator(6, 2, "share"), coordinator(5, 2, "share"), coordinator(4, math.MaxInt8),
	}},
	{name: "producer ids", steps: []step{
		producer("first"),
		initIn(0, "a", nil), initIn(1, "b", nil), initIn(2, "c", nil), initIn(3, "d", nil), initIn(4, "e", nil), initIn(5, "f", nil),
		initIn(4, "g", func(s *scene, r *kmsg.InitProducerIDRequest) { r.ProducerID, r.ProducerEpoch = s.producers["a"].id, 0 }),
		initIn(4, "h", func(_ *scene, r *kmsg.InitProducerIDRequest) { r.ProducerID, r.ProducerEpoch = 1<<50, 77 }),
		initIn(4, "i", func(_ *scene, r *kmsg.InitProducerIDRequest) { r.TransactionTimeoutMillis = 0 }),
		initIn(4, "j", func(_ *scene, r *kmsg.InitProducerIDRequest) { r.TransactionTimeoutMillis = -1 }),
		initIn(4, "k", func(_ *scene, r *kmsg.InitProducerIDRequest) { r.TransactionalID = kmsg.StringPtr("=") }),
	}},
	{name: "producer ids of a transactional id", steps: []step{
		coordinated(1, "x"), topic("t", 1),
		initIn(4, "a", transactional("x", nil)), // epoch 0
		send("t-0", by("a", 0, 1)),
		initIn(4, "again", transactional("x", nil)),             // epoch 1
		initIn(5, "again", transactional("x", epochOf("a", 1))), // the present one: epoch 2
		initIn(5, "again", transactional("x", epochOf("a", 1))), // the same once more, as after a lost answer
		initIn(4, "again", transactional("x", epochOf("a", 0))), // a zombie
		initIn(3, "again", transactional("x", epochOf("a", 0))), initIn(4, "again", transactional("x", epochOf("a", 9))),
		initIn(2, "again", transactional("x", nil)), initIn(0, "again", transactional("x", nil)), // epochs 3 and 4
		send("t-0", by("a", 0, 1).in(4)), send("t-0", by("a", 1, 1)), // the zombie is fenced
		initIn(4, "other", transactional("y", epochOf("a", 4))), // ids of another are not looked at
		initIn(4, "none", timeout("z", 0)), initIn(4, "none", timeout("z", -1)), initIn(4, "none", timeout("z", 900_001)), initIn(4, "most", timeout("z", 900_000)),
	}},
}

// transactional asks for a producer under a transactional id.
func transactional(id string, more func(s *scene, r *kmsg.InitProducerIDRequest)) func(s *scene, r *kmsg.InitProducerIDRequest) {
	return func(s *scene, r *kmsg.InitProducerIDRequest) {
		if r.TransactionalID = &id; more != nil {
			more(s, r)
		}
	}
}

// epochOf says which producer the client is, by its name in the script.
func epochOf(name string, epoch int16) func(s *scene, r *kmsg.InitProducerIDRequest) {
	return func(s *scene, r *kmsg.InitProducerIDRequest) {
		r.ProducerID, r.ProducerEpoch = s.producers[name].id, epoch
	}
}

func timeout(id string, millis int32) func(s *scene, r *kmsg.InitProducerIDRequest) {
	return transactional(id, func(_ *scene, r *kmsg.InitProducerIDRequest) { r.TransactionTimeoutMillis = millis })
}

// cluster is a DescribeCluster for an endpoint type: 1 brokers, 2 controllers.
func cluster(version int16, endpoint int8, operations bool) step {
	said := words("DescribeCluster v%d endpoint type %d", version, endpoint)
	if operations {
		said += " with operations"
	}
	return request(said, func(*scene) kmsg.Request {
		r := kmsg.NewPtrDescribeClusterRequest()
		r.Version, r.EndpointType, r.IncludeClusterAuthorizedOperations = version, endpoint, operations
		return r
	})
}

func topicPartitions(limit int32, cursor *place, aliases ...string) step {
	said := words("DescribeTopicPartitions v0 %v limit %d", aliases, limit)
	if cursor != nil {
		said += fmt.Sprintf(" cursor %s-%d", cursor.topic, cursor.partition)
	}
	return request(said, func(*scene) kmsg.Request {
		r := kmsg.NewPtrDescribeTopicPartitionsRequest()
		r.ResponsePartitionLimit = limit
		for _, alias := range aliases {
			r.Topics = append(r.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: alias})
		}
		if cursor != nil {
			r.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: cursor.topic, Partition: cursor.partition}
		}
		return r
	})
}

func logDirs(version int16, places ...string) step {
	return request(words("DescribeLogDirs v%d %v", version, places), func(*scene) kmsg.Request {
		r := kmsg.NewPtrDescribeLogDirsRequest()
		r.Version = version
		for _, at := range places {
			p := placeOf(at)
			r.Topics = append(r.Topics, kmsg.DescribeLogDirsRequestTopic{Topic: p.topic, Partitions: []int32{p.partition}})
		}
		return r
	})
}

// elect is an ElectLeaders: type 0 is the preferred one, 1 any that there is.
func elect(version int16, kind int8, places ...string) step {
	return request(words("ElectLeaders v%d type %d %v", version, kind, places), func(*scene) kmsg.Request {
		r := kmsg.NewPtrElectLeadersRequest()
		r.Version, r.ElectionType, r.TimeoutMillis = version, kind, 10_000
		for _, at := range places {
			p := placeOf(at)
			r.Topics = append(r.Topics, kmsg.ElectLeadersRequestTopic{Topic: p.topic, Partitions: []int32{p.partition}})
		}
		return r
	})
}

// coordinator is a FindCoordinator; from version 4 on for a list of keys.
func coordinator(version int16, kind int8, coordinated ...string) step {
	return request(words("FindCoordinator v%d type %d %q", version, kind, coordinated), func(*scene) kmsg.Request {
		r := kmsg.NewPtrFindCoordinatorRequest()
		r.Version, r.CoordinatorType = version, kind
		if version >= 4 {
			r.CoordinatorKeys = coordinated
		} else {
			r.CoordinatorKey = coordinated[0]
		}
		return r
	})
}
