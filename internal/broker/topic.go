package broker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
)

// A topic is a name, an id, configs and partitions. Whoever holds one reads it
// without a lock: what can change is replaced as a whole, under the broker's lock.
type topic struct {
	name       string
	id         [16]byte
	settings   atomic.Pointer[settings]
	partitions atomic.Pointer[[]*partition] // only ever grows
}

// all is the topic's partitions, in order.
func (t *topic) all() []*partition { return *t.partitions.Load() }

// partition finds a partition by number, nil if there is none.
func (t *topic) partition(n int32) *partition {
	if t == nil {
		return nil
	}
	if all := t.all(); n >= 0 && int(n) < len(all) {
		return all[n]
	}
	return nil
}

// A refusal is one of Kafka's error codes with words that say what was wrong.
type refusal struct {
	code int16
	text string
}

func refuse(err *kerr.Error, format string, args ...any) *refusal {
	return &refusal{err.Code, fmt.Sprintf(format, args...)}
}

// Error is the words, for callers in this process.
func (r *refusal) Error() string { return r.text }

// told is the refusal as an answer has it; nil is none.
func (r *refusal) told() (code int16, message *string) {
	switch {
	case r == nil:
		return 0, nil
	case r.text == "":
		return r.code, nil
	}
	return r.code, &r.text
}

// lookup finds a topic by name, nil if there is none.
func (b *Broker) lookup(name string) *topic {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.topics[name]
}

// lookupID finds a topic by id, nil if there is none.
func (b *Broker) lookupID(id [16]byte) *topic {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.byID[id]
}

// TopicName is the name of the topic with this id, "" if there is none.
func (b *Broker) TopicName(id [16]byte) string {
	if t := b.lookupID(id); t != nil {
		return t.name
	}
	return ""
}

// Topics lists the names of all topics, in order.
func (b *Broker) Topics() (names []string) {
	for _, t := range b.everyTopic() {
		names = append(names, t.name)
	}
	return names
}

// everyTopic lists the topics in order of their names. They are put in order
// without the lock: there may be very many, and nobody is to wait for that.
func (b *Broker) everyTopic() []*topic {
	b.mu.RLock()
	all := slices.Collect(maps.Values(b.topics))
	b.mu.RUnlock()
	slices.SortFunc(all, func(x, y *topic) int { return strings.Compare(x.name, y.name) })
	return all
}

// CreateTopic makes a topic with this many partitions; -1 takes the default.
// The error says what is wrong with the name, the count or a config.
func (b *Broker) CreateTopic(name string, partitions int32, configs map[string]string) error {
	_, r := b.create(topicSpec{name: name, partitions: partitions, configs: configs}, false)
	if r != nil {
		return r
	}
	return nil
}

// A topicSpec is what is asked of a new topic.
type topicSpec struct {
	name       string
	partitions int32 // -1 for the default
	configs    map[string]string

	misconfigured *refusal // what is wrong with the request for configs; told after the name
	misplaced     *refusal // what is wrong with replicas and where they are; told after the configs
}

// create makes a topic, or with validateOnly only says whether it could.
func (b *Broker) create(spec topicSpec, validateOnly bool) (*topic, *refusal) {
	if spec.partitions == -1 {
		spec.partitions = b.options.Partitions
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	settings, r := b.checkLocked(&spec)
	if r != nil {
		return nil, r
	}
	t := &topic{name: spec.name, id: b.uuidLocked()}
	t.settings.Store(settings)
	partitions := b.newPartitions(t, int(spec.partitions))
	t.partitions.Store(&partitions)
	if validateOnly {
		return t, nil
	}
	if r := b.keepLocked(nil, spec.configs); r != nil {
		return nil, r
	}
	b.topics[t.name], b.byID[t.id], b.byMetric[metricName(t.name)] = t, t, t.name
	b.viewed.topics = nil
	b.partitions += len(partitions)
	return t, nil
}

// checkLocked judges a new topic in Kafka's order: an existing name comes before
// all else, so that a program that makes its topics and is content with
// TOPIC_ALREADY_EXISTS may ask for any number of replicas.
func (b *Broker) checkLocked(spec *topicSpec) (*settings, *refusal) {
	if r := b.freeLocked(spec.name); r != nil {
		return nil, r
	}
	if spec.misconfigured != nil {
		return nil, spec.misconfigured
	}
	settings, r := b.settingsLocked(spec.configs)
	if r != nil {
		return nil, r
	}
	if spec.misplaced != nil {
		return nil, spec.misplaced
	}
	if r := checkCount(spec.partitions); r != nil {
		return nil, r
	}
	return settings, b.spaceLocked(int(spec.partitions))
}

var noPartitions = refuse(kerr.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")

// checkCount judges the number of partitions of one topic.
func checkCount(partitions int32) *refusal {
	if partitions < 1 {
		return noPartitions
	}
	if partitions > MaxTopicPartitions {
		return refuse(kerr.InvalidPartitions, "%d partitions are more than the %d that a topic may have here.", partitions, MaxTopicPartitions)
	}
	return nil
}

// freeLocked says why there cannot be a new topic of this name, nil if there can.
func (b *Broker) freeLocked(name string) *refusal {
	if problem := badTopicName(name); problem != "" {
		return refuse(kerr.InvalidTopicException, "Topic name is invalid: %s", problem)
	}
	if b.topics[name] != nil {
		return refuse(kerr.TopicAlreadyExists, "Topic '%s' already exists.", name)
	}
	if other := b.collisionLocked(name); other != "" {
		return refuse(kerr.InvalidTopicException, "Topic '%s' collides with existing topic: %s", name, other)
	}
	return nil
}

// spaceLocked says whether there may be so many more partitions.
func (b *Broker) spaceLocked(more int) *refusal {
	if b.partitions+more > MaxTotalPartitions {
		return refuse(kerr.PolicyViolation, "With %d more partitions there would be over %d, the most that this broker keeps.", more, MaxTotalPartitions)
	}
	return nil
}

// remove takes a topic away, with what groups committed for it, and wakes who
// waits for its records.
func (b *Broker) remove(t *topic) bool {
	b.mu.Lock()
	known := b.byID[t.id] == t
	if known {
		delete(b.topics, t.name)
		delete(b.byID, t.id)
		delete(b.byMetric, metricName(t.name))
		b.viewed.topics = nil
		b.partitions -= len(t.all())
		b.configBytes -= sizeOf(t.settings.Load().configs)
	}
	b.mu.Unlock()
	if known {
		for _, p := range t.all() {
			p.delete()
		}
		b.groups.ForgetTopic(t.name)
	}
	return known
}

// maxTopicName is the most bytes of a topic name (Kafka's Topic.MAX_NAME_LENGTH).
const maxTopicName = 249

// badTopicName says what is wrong with a topic name in the words of Kafka's
// Topic class, "" if nothing is.
func badTopicName(name string) string {
	switch {
	case name == "":
		return "the empty string is not allowed"
	case name == "." || name == "..":
		return fmt.Sprintf("'%s' is not allowed", name)
	case len(name) > maxTopicName:
		return fmt.Sprintf("the length of '%s' is longer than the max allowed length %d", name, maxTopicName)
	}
	legal := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
	}
	for _, r := range name {
		if !legal(r) {
			return fmt.Sprintf("'%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
		}
	}
	return ""
}

// collisionLocked finds a topic whose name differs in nothing but dots and
// underscores: both would be one name in a metric, so Kafka refuses the second.
func (b *Broker) collisionLocked(name string) string {
	if other := b.byMetric[metricName(name)]; b.topics[other] != nil {
		return other
	}
	return ""
}

// metricName is what a topic is called in a metric.
func metricName(topic string) string { return strings.ReplaceAll(topic, ".", "_") }
