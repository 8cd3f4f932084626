package broker

import (
	"net"
	"strconv"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// aboveLocked is what the broker sets for the configs that follow its own: what
// was set for it stands above what was set for the cluster.
func (b *Broker) aboveLocked() []configLayer {
	return []configLayer{
		{kmsg.ConfigSourceDynamicBrokerConfig, b.set[thisBroker]},
		{kmsg.ConfigSourceDynamicDefaultBrokerConfig, b.set[allBrokers]},
	}
}

// static is what this broker was started with.
func (b *Broker) static(c *wire.Conn) map[string]string {
	id := strconv.Itoa(NodeID)
	at := "PLAINTEXT://" + net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	set := map[string]string{
		"broker.id": id, "node.id": id, "process.roles": "broker,controller", "log.dirs": logDir,
		"advertised.listeners": at, "listeners": at,
		"offsets.topic.replication.factor": "1", "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
	}
	if !b.options.AutoCreate {
		set["auto.create.topics.enable"] = "false"
	}
	if b.options.Partitions != 1 {
		set["num.partitions"] = strconv.Itoa(int(b.options.Partitions))
	}
	return set
}

// setLocked replaces what a resource sets. One that sets nothing is forgotten.
func (b *Broker) setLocked(at resource, next map[string]string) *refusal {
	if r := b.keepLocked(b.set[at], next); r != nil {
		return r
	}
	b.set[at] = next
	if len(next) == 0 {
		delete(b.set, at)
	}
	return nil
}

// followLocked gives every topic what the broker sets now. A topic whose configs
// do not go together with it keeps what it had.
func (b *Broker) followLocked() {
	b.unset = nil
	for _, t := range b.topics {
		if s, _ := b.settingsLocked(t.settings.Load().configs); s != nil {
			t.settings.Store(s)
		}
	}
}

// settingsLocked is the settings of a topic with these configs. All topics that
// set none share theirs.
func (b *Broker) settingsLocked(configs map[string]string) (s *settings, r *refusal) {
	if len(configs) > 0 {
		return newSettings(configs, b.aboveLocked())
	}
	if b.unset == nil {
		b.unset, r = newSettings(nil, b.aboveLocked())
	}
	return b.unset, r
}

// keepLocked accounts for a set of configs that takes the place of another. It is
// refused if there would be too many.
func (b *Broker) keepLocked(was, is map[string]string) *refusal {
	next := b.configBytes - sizeOf(was) + sizeOf(is)
	if next > MaxConfigBytes && next > b.configBytes {
		return refuse(kerr.PolicyViolation, "With these there would be over %d bytes of configs, the most that this broker keeps.", MaxConfigBytes)
	}
	b.configBytes = next
	return nil
}

// sizeOf is the bytes of a set of configs.
func sizeOf(configs map[string]string) (n int) {
	for name, value := range configs {
		n += len(name) + len(value)
	}
	return n
}

// setOf is what a resource sets that is no topic, and what the broker sets for all.
func (b *Broker) setOf(at resource) (map[string]string, []configLayer) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.set[at], b.aboveLocked()
}
