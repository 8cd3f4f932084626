package broker

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateTopics, versions 2 to 7 (topic ids in the answer from 7).
//
// A topic is there, with leaders, when the answer is. The replication factor
// has to be 1 or -1, and an assignment has to name the one broker.
//
// Differences from Apache Kafka: the configs in the answer are those that were
// set; only max.message.bytes changes what the broker does.

func (b *Broker) createTopics(r *kmsg.CreateTopicsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.CreateTopicsResponse)
	times := map[string]int{}
	for i := range r.Topics {
		times[r.Topics[i].Topic]++
	}
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

func (b *Broker) createTopic(asked *kmsg.CreateTopicsRequestTopic, validateOnly bool) kmsg.CreateTopicsResponseTopic {
	// The name comes first, as in Kafka: a program that makes its topics and is
	// content with TOPIC_ALREADY_EXISTS may ask for any number of replicas.
	if refused := b.free(asked.Topic); refused != nil {
		return notCreated(asked.Topic, refused)
	}
	spec, refused := specOf(asked)
	if refused != nil {
		return notCreated(asked.Topic, refused)
	}
	t, refused := b.create(spec, validateOnly)
	if refused != nil {
		return notCreated(asked.Topic, refused)
	}
	told := kmsg.NewCreateTopicsResponseTopic()
	told.Topic, told.TopicID = t.name, t.id
	told.NumPartitions, told.ReplicationFactor = int32(len(t.all())), 1
	told.Configs = []kmsg.CreateTopicsResponseTopicConfig{} // null breaks the Java client
	configs := t.settings.Load().configs
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.Source = name, kmsg.StringPtr(configs[name]), int8(kmsg.ConfigSourceDynamicTopicConfig)
		told.Configs = append(told.Configs, c)
	}
	return told
}

func notCreated(name string, r *refusal) kmsg.CreateTopicsResponseTopic {
	told := kmsg.NewCreateTopicsResponseTopic()
	told.Topic, told.ErrorCode, told.ErrorMessage = name, r.code, &r.text
	told.NumPartitions, told.ReplicationFactor = -1, -1
	told.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	return told
}

// specOf reads what is asked of a topic: a count or an assignment, and configs.
func specOf(asked *kmsg.CreateTopicsRequestTopic) (topicSpec, *refusal) {
	spec := topicSpec{name: asked.Topic, partitions: asked.NumPartitions, configs: map[string]string{}}
	for _, c := range asked.Configs {
		if c.Value == nil {
			return spec, refuse(kerr.InvalidConfig, "Null value not supported for topic configs: %s", c.Name)
		}
		spec.configs[c.Name] = *c.Value
	}
	if len(asked.ReplicaAssignment) > 0 {
		if asked.NumPartitions != -1 || asked.ReplicationFactor != -1 {
			return spec, refuse(kerr.InvalidRequest, "Replication factor and number of partitions must be -1 where replicas are assigned by hand.")
		}
		spec.partitions = int32(len(asked.ReplicaAssignment))
		return spec, checkAssignment(asked.ReplicaAssignment)
	}
	switch asked.ReplicationFactor {
	case 1, -1:
		return spec, nil
	}
	return spec, refuse(kerr.InvalidReplicationFactor, "The replication factor is %d, and with one broker it has to be 1.", asked.ReplicationFactor)
}

// checkAssignment wants partitions 0, 1, 2 ... in any order, each on the one
// broker.
func checkAssignment(assigned []kmsg.CreateTopicsRequestTopicReplicaAssignment) *refusal {
	seen := make([]bool, len(assigned))
	for _, a := range assigned {
		if a.Partition < 0 || int(a.Partition) >= len(seen) || seen[a.Partition] {
			return refuse(kerr.InvalidReplicaAssignment, "Partitions should be a consecutive 0-based integer sequence, and %d breaks it.", a.Partition)
		}
		if !slices.Equal(a.Replicas, []int32{NodeID}) {
			return refuse(kerr.InvalidReplicaAssignment, "Partition %d is assigned to %v, and the only broker is %d.", a.Partition, a.Replicas, NodeID)
		}
		seen[a.Partition] = true
	}
	return nil
}
