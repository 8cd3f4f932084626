package broker

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// newTopic is a topic to create, with one replica.
func newTopic(name string, partitions int32) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 1
	return t
}

// configured is a topic with configs, each "name=value", or "name" for null.
func configured(name string, configs ...string) kmsg.CreateTopicsRequestTopic {
	t := newTopic(name, 1)
	for _, config := range configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		var value string
		var ok bool
		if c.Name, value, ok = strings.Cut(config, "="); ok {
			c.Value = &value
		}
		t.Configs = append(t.Configs, c)
	}
	return t
}

// assigned is a topic whose partitions, from the given one on, are put on these
// brokers.
func assigned(name string, first int32, replicas ...[]int32) kmsg.CreateTopicsRequestTopic {
	t := newTopic(name, -1)
	t.ReplicationFactor = -1
	for i, r := range replicas {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = first+int32(i), r
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	return t
}

func creating(version int16, topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis, req.Topics = version, 30_000, topics
	return req
}

// create asks for topics and lists what was told as "name code".
func (c *client) create(topics ...kmsg.CreateTopicsRequestTopic) []string {
	c.t.Helper()
	var told []string
	for _, t := range c.ask(creating(newest(c.t, kmsg.CreateTopics), topics...)).(*kmsg.CreateTopicsResponse).Topics {
		told = append(told, t.Topic+" "+codeName(t.ErrorCode))
	}
	return told
}

// createOne asks for one topic.
func (c *client) createOne(topic kmsg.CreateTopicsRequestTopic) kmsg.CreateTopicsResponseTopic {
	c.t.Helper()
	told := c.ask(creating(newest(c.t, kmsg.CreateTopics), topic)).(*kmsg.CreateTopicsResponse).Topics
	if len(told) != 1 {
		c.t.Fatalf("told of %d topics", len(told))
	}
	return told[0]
}

func TestCreateTopics_TellsWhatItMade(t *testing.T) {
	everyVersion(t, kmsg.CreateTopics, func(t *testing.T, version int16) {
		n := start(t, Options{Partitions: 4})
		c := n.dial()
		spec := configured("made", "retention.ms=1", "cleanup.policy=compact", "retention.ms=2")
		spec.NumPartitions, spec.ReplicationFactor = -1, -1
		told := c.ask(creating(version, spec)).(*kmsg.CreateTopicsResponse).Topics[0]
		wantCode(t, told.ErrorCode, "NONE")
		if version >= 5 {
			want(t, "partitions and replicas", []int32{told.NumPartitions, int32(told.ReplicationFactor)}, []int32{4, 1})
			var set []string
			for _, c := range told.Configs {
				if c.Source == int8(kmsg.ConfigSourceDynamicTopicConfig) {
					set = append(set, c.Name+"="+text(c.Value))
				}
			}
			want(t, "configs that were set", set, []string{"cleanup.policy=compact", "retention.ms=2"})
			want(t, "configs", len(told.Configs), len(topicConfigs))
		}
		if version >= 7 {
			want(t, "id", told.TopicID, n.id("made"))
		}
		want(t, "what there is", topicsTold(c.ask(allTopics(1))), []string{"made NONE 4"})
		want(t, "its end", c.end("made", 3), 0)
	})
}

// The Java client fails on null configs.
func TestCreateTopics_NeverTellsNullConfigs(t *testing.T) {
	c := start(t, Options{}).dial()
	for version := int16(5); version <= 7; version++ {
		for _, spec := range []kmsg.CreateTopicsRequestTopic{newTopic(fmt.Sprint("t", version), 1), newTopic("", 1)} {
			told := c.ask(creating(version, spec)).(*kmsg.CreateTopicsResponse).Topics[0]
			if told.Configs == nil {
				t.Errorf("version %d tells null configs with %s", version, codeName(told.ErrorCode))
			}
		}
	}
}

func TestCreateTopics_Refuses(t *testing.T) {
	long := strings.Repeat("x", 250)
	withFactor := func(factor int16, partitions int32) kmsg.CreateTopicsRequestTopic {
		spec := newTopic("t", partitions)
		spec.ReplicationFactor = factor
		return spec
	}
	both := assigned("t", 0, []int32{NodeID})
	both.NumPartitions, both.ReplicationFactor = 1, 1
	counted := assigned("t", 0, []int32{NodeID})
	counted.NumPartitions = 0
	twice := assigned("t", 0, []int32{NodeID}, []int32{NodeID})
	twice.ReplicaAssignment[1].Partition = 0
	illegal := "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
	unregistered := "The manual partition assignment includes broker 99, but no such broker is registered."
	consecutive := "partitions should be a consecutive 0-based integer sequence"
	noPartitions := "Number of partitions was set to an invalid non-positive value."
	noFactor := "Replication factor must be larger than 0, or -1 to use the default value."
	misconfigured := configured("t", "no.such.key=1")
	misconfigured.NumPartitions, misconfigured.ReplicationFactor = 0, 3
	for _, tt := range []struct {
		name string
		spec kmsg.CreateTopicsRequestTopic
		want string
		says string
	}{
		{"no partitions", newTopic("t", 0), "INVALID_PARTITIONS", noPartitions},
		{"minus two partitions", newTopic("t", -2), "INVALID_PARTITIONS", noPartitions},
		{"no replicas", withFactor(0, 1), "INVALID_REPLICATION_FACTOR", noFactor},
		{"minus two replicas", withFactor(-2, 1), "INVALID_REPLICATION_FACTOR", noFactor},
		{"three replicas", withFactor(3, 1), "INVALID_REPLICATION_FACTOR", "Unable to replicate the partition 3 time(s): The target " +
			"replication factor of 3 cannot be reached because only 1 broker(s) are registered or some brokers have all their log directories cordoned."},
		{"neither replicas nor partitions", withFactor(0, 0), "INVALID_REPLICATION_FACTOR", noFactor},
		{"no partitions of three replicas", withFactor(3, 0), "INVALID_PARTITIONS", noPartitions},
		{"the empty name", newTopic("", 1), "INVALID_TOPIC_EXCEPTION", "Topic name is invalid: the empty string is not allowed"},
		{"one dot", newTopic(".", 1), "INVALID_TOPIC_EXCEPTION", "Topic name is invalid: '.' is not allowed"},
		{"two dots", newTopic("..", 1), "INVALID_TOPIC_EXCEPTION", "Topic name is invalid: '..' is not allowed"},
		{"a name of 250 characters", newTopic(long, 1), "INVALID_TOPIC_EXCEPTION",
			"Topic name is invalid: the length of '" + long + "' is longer than the max allowed length 249"},
		{"a space", newTopic("a b", 1), "INVALID_TOPIC_EXCEPTION", "Topic name is invalid: 'a b" + illegal},
		{"a slash", newTopic("a/b", 1), "INVALID_TOPIC_EXCEPTION", "Topic name is invalid: 'a/b" + illegal},
		{"a letter beyond ASCII", newTopic("é", 1), "INVALID_TOPIC_EXCEPTION", "Topic name is invalid: 'é" + illegal},
		{"where Kafka keeps its metadata", newTopic("__cluster_metadata", 1), "INVALID_REQUEST",
			"Creation of internal topic __cluster_metadata is prohibited."},
		{"an existing name", newTopic("there", 1), "TOPIC_ALREADY_EXISTS", "Topic 'there' already exists."},
		{"an existing name with too many replicas and a null config", func() kmsg.CreateTopicsRequestTopic {
			spec := configured("there", "retention.ms")
			spec.ReplicationFactor = 3
			return spec
		}(), "TOPIC_ALREADY_EXISTS", "Topic 'there' already exists."},
		{"a collision", newTopic("dot.ted", 1), "INVALID_TOPIC_EXCEPTION", "Topic 'dot.ted' collides with existing topic: dot_ted"},
		{"an unknown config", configured("t", "no.such.key=1"), "INVALID_CONFIG", "Unknown topic config name: no.such.key"},
		{"an unknown config before counts", misconfigured, "INVALID_CONFIG", "Unknown topic config name: no.such.key"},
		{"an unknown config before a bad value", configured("t", "flush.ms=x", "no.such.key=1"), "INVALID_CONFIG", "Unknown topic config name: no.such.key"},
		{"a config that is gone", configured("t", "message.format.version=3.0"), "INVALID_CONFIG", "Unknown topic config name: message.format.version"},
		{"null configs", configured("t", "retention.ms", "no.such.key"), "INVALID_CONFIG", "Null value not supported for topic configs: retention.ms,no.such.key"},
		{"two bad values in the order of the table", configured("t", "retention.ms=x", "flush.ms=y"), "INVALID_CONFIG",
			"Invalid value y for configuration flush.ms: Not a number of type LONG"},
		{"counts and an assignment", both, "INVALID_REQUEST", "A manual partition assignment was specified, but replication factor was not set to -1."},
		{"a count and an assignment", counted, "INVALID_REQUEST", "A manual partition assignment was specified, but numPartitions was not set to -1."},
		{"an unknown broker", assigned("t", 0, []int32{99}), "INVALID_REPLICA_ASSIGNMENT", unregistered},
		{"a broker twice", assigned("t", 0, []int32{99, NodeID, NodeID}), "INVALID_REPLICA_ASSIGNMENT",
			"The manual partition assignment includes the broker 1 more than once."},
		{"no broker", assigned("t", 0, []int32{}), "INVALID_REPLICA_ASSIGNMENT", "The manual partition assignment includes an empty replica list."},
		{"partitions from one on", assigned("t", 1, []int32{NodeID}, []int32{NodeID}), "INVALID_REPLICA_ASSIGNMENT", consecutive},
		{"partitions from one on, on an unknown broker", assigned("t", 1, []int32{99}), "INVALID_REPLICA_ASSIGNMENT", unregistered},
		{"a partition twice", twice, "INVALID_REPLICA_ASSIGNMENT", "Found multiple manual partition assignments for partition 0"},
		{"partition minus one", assigned("t", -1, []int32{NodeID}), "INVALID_REPLICA_ASSIGNMENT", consecutive},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, c := startWith(t, "there", "dot_ted")
			told := c.createOne(tt.spec)
			wantCode(t, told.ErrorCode, tt.want)
			want(t, "message", text(told.ErrorMessage), tt.says)
			want(t, "counts", []int32{told.NumPartitions, int32(told.ReplicationFactor)}, []int32{-1, -1})
			want(t, "id", told.TopicID, [16]byte{})
			want(t, "topics", n.Topics(), []string{"dot_ted", "there"})
		})
	}
}

func TestCreateTopics_TakesOddNames(t *testing.T) {
	for _, name := range []string{"-leading", "_leading", "__two", "Az_9.z-", "...", strings.Repeat("x", 249)} {
		t.Run(name, func(t *testing.T) {
			c := start(t, Options{}).dial()
			want(t, "told", c.create(newTopic(name, 1)), []string{name + " NONE"})
			resp := c.ask(metadataOf(12, name)).(*kmsg.MetadataResponse)
			want(t, "internal", resp.Topics[0].IsInternal, false)
		})
	}
}

func TestCreateTopics_JudgesEachTopicByItself(t *testing.T) {
	n, c := startWith(t, "there")
	want(t, "told", c.create(newTopic("a", 1), newTopic("there", 1), newTopic("b c", 1), newTopic("d", 1)),
		[]string{"a NONE", "there TOPIC_ALREADY_EXISTS", "b c INVALID_TOPIC_EXCEPTION", "d NONE"})
	want(t, "topics", n.Topics(), []string{"a", "d", "there"})
	want(t, "of none", c.create(), nil)
}

func TestCreateTopics_OfTwoNamesThatCollideTheFirstIsMade(t *testing.T) {
	n := start(t, Options{})
	want(t, "told", n.dial().create(newTopic("a.b", 1), newTopic("a_b", 1)), []string{"a.b NONE", "a_b INVALID_TOPIC_EXCEPTION"})
	want(t, "topics", n.Topics(), []string{"a.b"})
}

func TestCreateTopics_ANameTwiceIsToldOnceAndNotMade(t *testing.T) {
	n := start(t, Options{})
	c := n.dial()
	want(t, "told", c.create(newTopic("a", 1), newTopic("twice", 1), newTopic("b", 1), newTopic("twice", 1)),
		[]string{"a NONE", "twice INVALID_REQUEST", "b NONE"})
	want(t, "topics", n.Topics(), []string{"a", "b"})
}

// Kafka counts all partitions of a request, but for topics named twice, before
// it looks at anything else.
func TestCreateTopics_TooManyPartitionsAreRefusedWhole(t *testing.T) {
	n, c := startWith(t, "there")
	for _, tt := range []struct {
		name   string
		topics []kmsg.CreateTopicsRequestTopic
		want   []string
	}{
		{"together", []kmsg.CreateTopicsRequestTopic{newTopic("a", maxRequestPartitions), newTopic("b", -1)},
			[]string{"a POLICY_VIOLATION", "b POLICY_VIOLATION"}},
		{"with bad names", []kmsg.CreateTopicsRequestTopic{newTopic("a b", maxRequestPartitions+1), newTopic("there", 1), newTopic("b", -5)},
			[]string{"a b POLICY_VIOLATION", "there POLICY_VIOLATION", "b POLICY_VIOLATION"}},
		{"of topics named twice", []kmsg.CreateTopicsRequestTopic{newTopic("a", maxRequestPartitions), newTopic("a", 1), newTopic("b", 1)},
			[]string{"a INVALID_REQUEST", "b NONE"}},
	} {
		t.Run(tt.name, func(t *testing.T) { want(t, "told", c.create(tt.topics...), tt.want) })
	}
	want(t, "topics", n.Topics(), []string{"b", "there"})
}

func TestCreateTopics_TakesAnAssignment(t *testing.T) {
	c := start(t, Options{}).dial()
	spec := assigned("a", 0, []int32{NodeID}, []int32{NodeID}, []int32{NodeID})
	spec.ReplicaAssignment[0], spec.ReplicaAssignment[2] = spec.ReplicaAssignment[2], spec.ReplicaAssignment[0]
	told := c.createOne(spec)
	wantCode(t, told.ErrorCode, "NONE")
	want(t, "partitions", told.NumPartitions, 3)
}

func TestCreateTopics_ValidateOnlyMakesNothing(t *testing.T) {
	n, c := startWith(t, "there")
	validate := func(spec kmsg.CreateTopicsRequestTopic) kmsg.CreateTopicsResponseTopic {
		req := creating(7, spec)
		req.ValidateOnly = true
		return c.ask(req).(*kmsg.CreateTopicsResponse).Topics[0]
	}
	told := validate(newTopic("a", 5))
	wantCode(t, told.ErrorCode, "NONE")
	want(t, "partitions", told.NumPartitions, 5)
	if told.TopicID == [16]byte{} {
		t.Error("no id is told, and Kafka tells one")
	}
	wantCode(t, validate(newTopic("there", 1)).ErrorCode, "TOPIC_ALREADY_EXISTS")
	want(t, "topics", n.Topics(), []string{"there"})
	want(t, "partitions in all", n.partitions, 2)
}

func TestCreateTopics_MaxMessageBytesTakesEffect(t *testing.T) {
	c := start(t, Options{}).dial()
	batch := plain(1).sized(500)
	size := len(batch.bytes())
	c.create(configured("fits", fmt.Sprint("max.message.bytes=", size)), configured("small", fmt.Sprint("max.message.bytes=", size-1)))
	wantCode(t, c.produce("fits", 0, batch).ErrorCode, "NONE")
	wantCode(t, c.produce("small", 0, batch).ErrorCode, "MESSAGE_TOO_LARGE")
}

func TestCreateTopics_OneOfManyAtOnceMakesIt(t *testing.T) {
	n := start(t, Options{})
	var made atomic.Int64
	var work sync.WaitGroup
	for range 8 {
		c := n.dial()
		work.Go(func() {
			resp, err := c.try(creating(7, newTopic("wanted", 3)))
			if err != nil {
				t.Error(err)
				return
			}
			switch code := codeName(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode); code {
			case "NONE":
				made.Add(1)
			case "TOPIC_ALREADY_EXISTS":
			default:
				t.Error(code)
			}
		})
	}
	work.Wait()
	want(t, "how often it was made", made.Load(), 1)
	want(t, "partitions in all", n.partitions, 3)
}
