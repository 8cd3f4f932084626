package broker

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// This file is what AlterConfigs and IncrementalAlterConfigs share: what is wrong
// with a change, in which order it is told, and where it is kept.

// MaxConfigBytes is the most bytes of names and values of configs that are kept,
// of all topics, groups and other resources together.
const MaxConfigBytes = 32 << 20

// A resource is what has configs and is no topic.
type resource struct {
	kind kmsg.ConfigResourceType
	name string
}

var (
	thisBroker = resource{kmsg.ConfigResourceTypeBroker, strconv.Itoa(NodeID)}
	allBrokers = resource{kind: kmsg.ConfigResourceTypeBroker} // the cluster's defaults
)

// A configChange is what is asked for the configs of one resource.
type configChange struct {
	resource
	keys  []string // as they were named, twice if they were
	nulls []string // that were to be set to null
	// apply makes the new set of the present one.
	apply func(table map[string]*config, now map[string]string) (map[string]string, *refusal)
}

// add notes a config that a change names.
func (c *configChange) add(name string, null bool) {
	c.keys = append(c.keys, name)
	if null {
		c.nulls = append(c.nulls, name)
	}
}

// alter makes changes, each whole or not at all, and says for each why not, nil if
// it was made. With validateOnly it only says.
func (b *Broker) alter(changes []configChange, validateOnly bool) []*refusal {
	times := map[resource]int{}
	for i := range changes {
		times[changes[i].resource]++
	}
	refused := make([]*refusal, len(changes))
	for i := range changes {
		if times[changes[i].resource] > 1 {
			refused[i] = refuse(kerr.InvalidRequest, "Each resource must appear at most once.")
			continue
		}
		refused[i] = b.alterOne(&changes[i], validateOnly)
	}
	return refused
}

func (b *Broker) alterOne(c *configChange, validateOnly bool) *refusal {
	if len(unique(c.keys)) < len(c.keys) {
		return refuse(kerr.InvalidRequest, "Error due to duplicate config keys")
	}
	if len(c.nulls) > 0 {
		return refuse(kerr.InvalidRequest, "Null value not supported for : %s", strings.Join(c.nulls, ", "))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch c.kind {
	case kmsg.ConfigResourceTypeTopic:
		return b.alterTopicLocked(c, validateOnly)
	case kmsg.ConfigResourceTypeBroker:
		return b.alterBrokerLocked(c, validateOnly)
	case kmsg.ConfigResourceTypeGroupConfig:
		return b.alterKeptLocked(c, keptGroups, validateOnly)
	case kmsg.ConfigResourceTypeClientMetrics:
		return b.alterKeptLocked(c, keptMetrics, validateOnly)
	}
	return refuse(kerr.InvalidRequest, "Unknown resource type %d", c.kind)
}

func (b *Broker) alterTopicLocked(c *configChange, validateOnly bool) *refusal {
	var now map[string]string
	t := b.topics[c.name]
	if t != nil {
		now = t.settings.Load().configs
	}
	next, r := c.apply(topicConfig, now)
	if r != nil {
		return r
	}
	if c.name == "" {
		return refuse(kerr.InvalidRequest, "Default topic resources are not allowed.")
	}
	if problem := badTopicName(c.name); problem != "" {
		return refuse(kerr.InvalidTopicException, "Topic name is invalid: %s", problem)
	}
	s, r := b.settingsLocked(next)
	if r != nil {
		return r
	}
	if t == nil {
		return refuse(kerr.UnknownTopicOrPartition, "The topic '%s' does not exist.", c.name)
	}
	if validateOnly {
		return nil
	}
	if r := b.keepLocked(now, next); r != nil {
		return r
	}
	t.settings.Store(s)
	return nil
}

func (b *Broker) alterBrokerLocked(c *configChange, validateOnly bool) *refusal {
	at := allBrokers
	if c.name != "" {
		at = thisBroker
		if r := checkNodeID(c.name, "Node id must be an integer, but it is: %s", "Unexpected broker id, expected %d, but received %s"); r != nil {
			return r
		}
	}
	next, r := c.apply(brokerConfig, b.set[at])
	if r != nil {
		return r
	}
	if r := checkBroker(next, at); r != nil {
		return r
	}
	if r := c.checkInSync(at, b.set[at], next); r != nil || validateOnly {
		return r
	}
	if r := b.setLocked(at, next); r != nil {
		return r
	}
	b.followLocked()
	return nil
}

// checkNodeID wants the number of the one broker; what is said otherwise depends
// on who asks.
func checkNodeID(name, noNumber, another string) *refusal {
	switch id, err := strconv.ParseInt(name, 10, 32); {
	case err != nil:
		return refuse(kerr.InvalidRequest, noNumber, name)
	case id != NodeID:
		return refuse(kerr.InvalidRequest, another, NodeID, name)
	}
	return nil
}

// checkBroker says whether these configs of a broker may be changed, and whether
// their values are right. Names that it does not know may be anything.
func checkBroker(next map[string]string, at resource) *refusal {
	names := slices.Sorted(maps.Keys(next))
	for _, no := range []struct {
		is   func(name string) bool
		says string
	}{
		{func(name string) bool { return brokerConfig[name] != nil && brokerUpdate[name] == fixed },
			"Cannot update these configs dynamically: [%s]"},
		{func(name string) bool { return brokerUpdate[name] == perListener },
			"These security configs can be dynamically updated only per-listener using the listener prefix: [%s]"},
		{func(name string) bool {
			return at == allBrokers && (brokerUpdate[name] == perBroker || strings.HasPrefix(name, "listener.name."))
		}, "Cannot update these configs at default cluster level, broker id must be specified: [%s]"},
	} {
		bad := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !no.is(name) })
		if len(bad) > 0 {
			return refuse(kerr.InvalidRequest, no.says, strings.Join(bad, ", "))
		}
	}
	return readAll(next, brokerConfig, kerr.InvalidRequest)
}

// checkInSync keeps the cluster's min.insync.replicas, and keeps it from being
// another at the broker, as Kafka does where eligible leader replicas are on.
func (c *configChange) checkInSync(at resource, now, next map[string]string) *refusal {
	const name = "min.insync.replicas"
	_, was := now[name]
	_, is := next[name]
	switch {
	case at == allBrokers && was && !is:
		return refuse(kerr.InvalidConfig, "Cluster-level %s cannot be removed while ELR is enabled.", name)
	case at == thisBroker && slices.Contains(c.keys, name):
		return refuse(kerr.InvalidConfig, "Broker-level %s cannot be altered while ELR is enabled.", name)
	}
	return nil
}

// A keptKind is a kind of resource whose configs are only kept, and what is said
// to one without a name and to a name of a config that there is not.
type keptKind struct {
	table            map[string]*config
	unnamed, unknown string
	code             *kerr.Error // of unknown
}

var (
	keptGroups  = keptKind{groupConfig, "Default group resources are not allowed.", "Unknown group config name: %s", kerr.InvalidConfig}
	keptMetrics = keptKind{metricsConfig, "Subscription name can't be empty", "Unknown client metrics configuration: %s", kerr.InvalidRequest}
)

func (b *Broker) alterKeptLocked(c *configChange, kind keptKind, validateOnly bool) *refusal {
	next, r := c.apply(kind.table, b.set[c.resource])
	if r != nil {
		return r
	}
	if c.name == "" {
		return refuse(kerr.InvalidRequest, "%s", kind.unnamed)
	}
	if r := checkNames(next, kind.table, kind.code, kind.unknown); r != nil {
		return r
	}
	if r := readAll(next, kind.table, nil); r != nil || validateOnly {
		return r
	}
	return b.setLocked(c.resource, next)
}

// readAll finds the first value that is not right. A code stands for the one of
// the refusal, unless it is nil.
func readAll(configs map[string]string, table map[string]*config, code *kerr.Error) *refusal {
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		c := table[name]
		if c == nil {
			continue
		}
		if _, r := c.read(configs[name]); r != nil {
			if code != nil {
				r.code = code.Code
			}
			return r
		}
	}
	return nil
}
