package broker

import (
	"slices"
	"strings"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateTopics, versions 2 to 7 (configs in the answer from 5, topic ids from 7).
//
// A topic is there, with leaders, when the answer is. The replication factor
// has to be 1 or -1, and an assignment has to name the one broker. What is wrong
// is told in Kafka's order: the name, the configs, then counts and assignment.
//
// Differences from Apache Kafka: two new topics of one request whose names
// collide are not both made. There is a limit to the partitions of all topics.
// Kafka also refuses a request whose topics and partitions together are over
// 10,000.

// maxRequestPartitions is the most partitions that one request may ask for, as in
// Kafka (QuorumController.MAX_RECORDS_PER_USER_OP).
const maxRequestPartitions = 10_000

func (b *Broker) createTopics(r *kmsg.CreateTopicsRequest) kmsg.Response {
	times := map[string]int{}
	for i := range r.Topics {
		times[r.Topics[i].Topic]++
	}
	if b.wanted(r, times) > maxRequestPartitions {
		return wire.ErrorAnswer(r, kerr.PolicyViolation.Code, "Excessively large number of partitions per request.")
	}
	resp := r.ResponseKind().(*kmsg.CreateTopicsResponse)
	for i := range r.Topics {
		asked := &r.Topics[i]
		switch n := times[asked.Topic]; {
		case n == 1:
			resp.Topics = append(resp.Topics, b.createTopic(asked, r.ValidateOnly))
		case n > 1:
			resp.Topics = append(resp.Topics, notCreated(asked.Topic, refuse(kerr.InvalidRequest, "Duplicate topic name.")))
			times[asked.Topic] = 0 // told once
		}
	}
	return resp
}

// wanted counts the partitions that a request asks for, without those of topics
// that it names twice.
func (b *Broker) wanted(r *kmsg.CreateTopicsRequest, times map[string]int) (n int) {
	for i := range r.Topics {
		switch asked := &r.Topics[i]; {
		case times[asked.Topic] > 1:
		case len(asked.ReplicaAssignment) > 0:
			n += len(asked.ReplicaAssignment)
		case asked.NumPartitions == -1:
			n += int(b.options.Partitions)
		default:
			n += max(int(asked.NumPartitions), 0)
		}
	}
	return n
}

func (b *Broker) createTopic(asked *kmsg.CreateTopicsRequestTopic, validateOnly bool) kmsg.CreateTopicsResponseTopic {
	if asked.Topic == metadataTopic {
		return notCreated(asked.Topic, refuse(kerr.InvalidRequest, "Creation of internal topic %s is prohibited.", metadataTopic))
	}
	t, refused := b.create(specOf(asked), validateOnly)
	if refused != nil {
		return notCreated(asked.Topic, refused)
	}
	told := kmsg.NewCreateTopicsResponseTopic()
	told.Topic, told.TopicID = t.name, t.id
	told.NumPartitions, told.ReplicationFactor = int32(len(t.all())), 1
	told.Configs = b.configsCreated(t)
	return told
}

// metadataTopic is where Kafka keeps its cluster's metadata.
const metadataTopic = "__cluster_metadata"

// configsCreated is all configs of a topic, those that were set as they were
// written.
func (b *Broker) configsCreated(t *topic) (all []kmsg.CreateTopicsResponseTopicConfig) {
	_, above := b.setOf(thisBroker)
	v := topicView(t.settings.Load().configs, above)
	for _, config := range topicsByName {
		counts := v.effective(config)
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.Source = config.name, &counts.value, int8(counts.source)
		all = append(all, c)
	}
	return all
}

func notCreated(name string, r *refusal) kmsg.CreateTopicsResponseTopic {
	told := kmsg.NewCreateTopicsResponseTopic()
	told.Topic, told.ErrorCode, told.ErrorMessage = name, r.code, &r.text
	told.NumPartitions, told.ReplicationFactor = -1, -1
	told.Configs = []kmsg.CreateTopicsResponseTopicConfig{} // null breaks the Java client
	return told
}

// specOf reads what is asked of a topic: a count or an assignment, and configs.
// Of a config that is set twice the last counts.
func specOf(asked *kmsg.CreateTopicsRequestTopic) topicSpec {
	spec := topicSpec{name: asked.Topic, partitions: asked.NumPartitions, configs: map[string]string{}}
	var nulls []string
	for _, c := range asked.Configs {
		if c.Value == nil {
			nulls = append(nulls, c.Name)
			continue
		}
		spec.configs[c.Name] = *c.Value
	}
	if len(nulls) > 0 {
		spec.misconfigured = refuse(kerr.InvalidConfig, "Null value not supported for topic configs: %s", strings.Join(nulls, ","))
	}
	if len(asked.ReplicaAssignment) > 0 {
		spec.partitions = int32(len(asked.ReplicaAssignment))
		spec.misplaced = checkAssignment(asked)
	} else {
		spec.misplaced = checkFactor(asked)
	}
	return spec
}

// checkFactor judges a replication factor, and a count before one that is too
// high, as Kafka does.
func checkFactor(asked *kmsg.CreateTopicsRequestTopic) *refusal {
	factor := asked.ReplicationFactor
	if factor == 0 || factor < -1 {
		return refuse(kerr.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	}
	if asked.NumPartitions == 0 || asked.NumPartitions < -1 {
		return noPartitions
	}
	if factor > 1 {
		return refuse(kerr.InvalidReplicationFactor, "Unable to replicate the partition %d time(s): The target replication factor of %d "+
			"cannot be reached because only 1 broker(s) are registered or some brokers have all their log directories cordoned.", factor, factor)
	}
	return nil
}

// checkAssignment wants partitions 0, 1, 2 ... in any order, each on the one
// broker.
func checkAssignment(asked *kmsg.CreateTopicsRequestTopic) *refusal {
	switch {
	case asked.ReplicationFactor != -1:
		return refuse(kerr.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	case asked.NumPartitions != -1:
		return refuse(kerr.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	seen := map[int32]bool{}
	for _, a := range asked.ReplicaAssignment {
		if seen[a.Partition] {
			return refuse(kerr.InvalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", a.Partition)
		}
		if r := checkReplicas(a.Replicas); r != nil {
			return r
		}
		seen[a.Partition] = true
	}
	for i := range seen {
		if i < 0 || int(i) >= len(seen) {
			return refuse(kerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
	}
	return nil
}

// checkReplicas wants the one broker. It looks at the others in order, as Kafka
// does.
func checkReplicas(brokers []int32) *refusal {
	if len(brokers) == 0 {
		return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	ordered := slices.Sorted(slices.Values(brokers))
	for i, id := range ordered {
		if i > 0 && id == ordered[i-1] {
			return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", id)
		}
		if id != NodeID {
			return refuse(kerr.InvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", id)
		}
	}
	return nil
}
