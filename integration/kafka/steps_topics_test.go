package kafka

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A topicAsked is a topic that a CreateTopics asks for.
type topicAsked struct {
	words string
	kmsg.CreateTopicsRequestTopic
}

// spec is a topic of one replica. Configs are KEY=VALUE; KEY alone has a null value.
func spec(alias string, partitions int32, configs ...string) topicAsked {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = alias, partitions, 1
	for _, kv := range configs {
		key, value, set := strings.Cut(kv, "=")
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		if c.Name = key; set {
			c.Value = &value
		}
		t.Configs = append(t.Configs, c)
	}
	return topicAsked{strings.TrimSpace(fmt.Sprintf("%s of %d %s", short(alias), partitions, strings.Join(configs, " "))), t}
}

// short is a name with its repetitions counted.
func short(name string) string {
	if n := len(name); n > 40 {
		return fmt.Sprintf("%s... (%d characters)", name[:5], n)
	}
	return fmt.Sprintf("%q", name)
}

// replicas asks for another replication factor.
func (t topicAsked) replicas(n int16) topicAsked {
	t.words += fmt.Sprintf(" replicas %d", n)
	t.ReplicationFactor = n
	return t
}

// assigned places partitions 0, 1, ... by hand, and asks for no counts.
func (t topicAsked) assigned(replicas ...[]int32) topicAsked {
	t.NumPartitions, t.ReplicationFactor = -1, -1
	for i, r := range replicas {
		t = t.placed(int32(i), r...)
	}
	return t
}

// placed places one partition by hand.
func (t topicAsked) placed(partition int32, replicas ...int32) topicAsked {
	t.words += fmt.Sprintf(" %d on %v", partition, replicas)
	a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	a.Partition, a.Replicas = partition, replicas
	t.ReplicaAssignment = append(t.ReplicaAssignment[:len(t.ReplicaAssignment):len(t.ReplicaAssignment)], a)
	return t
}

func newTopics(version int16, topics ...topicAsked) *kmsg.CreateTopicsRequest {
	r := kmsg.NewPtrCreateTopicsRequest()
	r.Version, r.TimeoutMillis = version, 60_000
	for _, t := range topics {
		r.Topics = append(r.Topics, t.CreateTopicsRequestTopic)
	}
	return r
}

// create is a CreateTopics.
func create(version int16, topics ...topicAsked) step {
	return createStep(version, "", func(*kmsg.CreateTopicsRequest) {}, topics...)
}

// validate is a CreateTopics that makes nothing.
func validate(version int16, topics ...topicAsked) step {
	return createStep(version, "validate only ", func(r *kmsg.CreateTopicsRequest) { r.ValidateOnly = true }, topics...)
}

func createStep(version int16, how string, change func(r *kmsg.CreateTopicsRequest), topics ...topicAsked) step {
	words := make([]string, len(topics))
	for i, t := range topics {
		words[i] = t.words
	}
	return request(fmt.Sprintf("CreateTopics v%d %s%s", version, how, strings.Join(words, " | ")), func(*scene) kmsg.Request {
		r := newTopics(version, topics...)
		change(r)
		return r
	})
}

// deleteTopics is a DeleteTopics by name, in any version.
func deleteTopics(version int16, aliases ...string) step {
	return request(fmt.Sprintf("DeleteTopics v%d %v", version, aliases), func(*scene) kmsg.Request {
		r := kmsg.NewPtrDeleteTopicsRequest()
		r.Version, r.TimeoutMillis = version, 60_000
		for _, alias := range aliases {
			if version < 6 {
				r.TopicNames = append(r.TopicNames, alias)
				continue
			}
			t := kmsg.NewDeleteTopicsRequestTopic()
			t.Topic = kmsg.StringPtr(alias)
			r.Topics = append(r.Topics, t)
		}
		return r
	})
}

// deleteByID is a DeleteTopics v6 with names, ids, both or neither.
func deleteByID(what string, asked ...kmsg.DeleteTopicsRequestTopic) step {
	return request("DeleteTopics v6 "+what, func(*scene) kmsg.Request {
		r := kmsg.NewPtrDeleteTopicsRequest()
		r.Version, r.TimeoutMillis, r.Topics = 6, 10_000, append(r.Topics, asked...)
		return r
	})
}

// createPartitions is a CreatePartitions of one topic.
func createPartitions(version int16, alias string, count int32, assigned ...[]int32) step {
	return createPartitionsBut(version, "", func(*kmsg.CreatePartitionsRequest) {}, alias, count, assigned...)
}

func createPartitionsBut(version int16, how string, change func(r *kmsg.CreatePartitionsRequest), alias string, count int32, assigned ...[]int32) step {
	return request(strings.TrimSpace(fmt.Sprintf("CreatePartitions v%d %q to %d %v %s", version, alias, count, assigned, how)), func(*scene) kmsg.Request {
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = alias, count
		for _, replicas := range assigned {
			t.Assignment = append(t.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: replicas})
		}
		r := kmsg.NewPtrCreatePartitionsRequest()
		r.Version, r.TimeoutMillis, r.Topics = version, 60_000, []kmsg.CreatePartitionsRequestTopic{t}
		change(r)
		return r
	})
}

// metadata asks for topics by name.
func metadata(version int16, aliases ...string) step {
	return metadataBut(version, "", func(*kmsg.MetadataRequest) {}, aliases...)
}

func metadataBut(version int16, what string, change func(r *kmsg.MetadataRequest), aliases ...string) step {
	return request(strings.TrimSpace(fmt.Sprintf("Metadata v%d %v %s", version, aliases, what)), func(*scene) kmsg.Request {
		r := kmsg.NewPtrMetadataRequest()
		r.Version, r.Topics = version, []kmsg.MetadataRequestTopic{}
		for _, alias := range aliases {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(alias)
			r.Topics = append(r.Topics, t)
		}
		change(r)
		return r
	})
}

// byIDs asks Metadata for topics by id.
func byIDs(aliases ...string) func(r *kmsg.MetadataRequest) {
	return func(r *kmsg.MetadataRequest) {
		for _, alias := range aliases {
			t := kmsg.NewMetadataRequestTopic()
			t.TopicID = idOf(alias)
			r.Topics = append(r.Topics, t)
		}
	}
}

// describing asks for a resource's configs; no keys are all.
func describing(version int16, kind kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
	res := kmsg.NewDescribeConfigsRequestResource()
	res.ResourceType, res.ResourceName, res.ConfigNames = kind, name, keys
	r := kmsg.NewPtrDescribeConfigsRequest()
	r.Version, r.Resources = version, []kmsg.DescribeConfigsRequestResource{res}
	return r
}

// describeConfigs is a DescribeConfigs of one resource.
func describeConfigs(version int16, kind kmsg.ConfigResourceType, name string, keys ...string) step {
	return request(fmt.Sprintf("DescribeConfigs v%d %s %q %v", version, kind, name, keys), func(*scene) kmsg.Request {
		return describing(version, kind, name, keys...)
	})
}

// describeConfigsBut also changes the request.
func describeConfigsBut(version int16, what string, change func(r *kmsg.DescribeConfigsRequest), kind kmsg.ConfigResourceType, name string, keys ...string) step {
	return request(fmt.Sprintf("DescribeConfigs v%d %s %q %v %s", version, kind, name, keys, what), func(*scene) kmsg.Request {
		r := describing(version, kind, name, keys...)
		change(r)
		return r
	})
}

// A configChange is one operation of an IncrementalAlterConfigs.
type configChange struct {
	op    kmsg.IncrementalAlterConfigOp
	key   string
	value *string
}

func set(key, value string) configChange {
	return configChange{kmsg.IncrementalAlterConfigOpSet, key, &value}
}
func unset(key string) configChange {
	return configChange{kmsg.IncrementalAlterConfigOpDelete, key, nil}
}
func appendTo(key, value string) configChange {
	return configChange{kmsg.IncrementalAlterConfigOpAppend, key, &value}
}
func subtract(key, value string) configChange {
	return configChange{kmsg.IncrementalAlterConfigOpSubtract, key, &value}
}

func (c configChange) String() string {
	value := "null"
	if c.value != nil {
		value = *c.value
	}
	return fmt.Sprintf("%s %s %q", c.op, c.key, value)
}

// alter is an IncrementalAlterConfigs of one topic.
func alter(alias string, changes ...configChange) step {
	return alterResource(1, false, kmsg.ConfigResourceTypeTopic, alias, changes...)
}

func alterResource(version int16, validateOnly bool, kind kmsg.ConfigResourceType, name string, changes ...configChange) step {
	words := fmt.Sprintf("IncrementalAlterConfigs v%d %s %q %v", version, kind, name, changes)
	if validateOnly {
		words += " validate only"
	}
	return request(words, func(*scene) kmsg.Request {
		res := kmsg.NewIncrementalAlterConfigsRequestResource()
		res.ResourceType, res.ResourceName = kind, name
		for _, c := range changes {
			res.Configs = append(res.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Op: c.op, Name: c.key, Value: c.value})
		}
		r := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r.Version, r.ValidateOnly, r.Resources = version, validateOnly, []kmsg.IncrementalAlterConfigsRequestResource{res}
		return r
	})
}

// replaceConfigs is an AlterConfigs of one resource. Configs are KEY=VALUE; KEY alone
// has a null value.
func replaceConfigs(version int16, validateOnly bool, kind kmsg.ConfigResourceType, name string, configs ...string) step {
	words := fmt.Sprintf("AlterConfigs v%d %s %q %v", version, kind, name, configs)
	if validateOnly {
		words += " validate only"
	}
	return request(words, func(*scene) kmsg.Request {
		res := kmsg.NewAlterConfigsRequestResource()
		res.ResourceType, res.ResourceName = kind, name
		for _, c := range spec("", 0, configs...).Configs {
			res.Configs = append(res.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: c.Name, Value: c.Value})
		}
		r := kmsg.NewPtrAlterConfigsRequest()
		r.Version, r.ValidateOnly, r.Resources = version, validateOnly, []kmsg.AlterConfigsRequestResource{res}
		return r
	})
}
