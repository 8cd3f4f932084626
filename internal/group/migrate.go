package group

import (
	"slices"
	"time"
)

// A group changes its protocol with its members: the first heartbeat of the
// consumer protocol takes a classic group over, and when the last member of the
// consumer protocol goes, those of the classic protocol go on by themselves
// (group.consumer.migration.policy=bidirectional).

// upgrade makes a group one of the consumer protocol. It says whether it could:
// members have to be consumers, whose assignments can be read.
func (g *group) upgrade(topics *Topics) bool {
	from := g.classic
	to := newConsumer(from.c, g)
	if from.state != Empty {
		to.epoch, to.targetEpoch, to.topics = from.generation, from.generation, topics
		for _, m := range from.members {
			taken, ok := m.upgraded(from, topics)
			if !ok {
				return false
			}
			to.members = append(to.members, taken)
		}
	}
	from.dissolve()
	g.classic, g.consumer = nil, to
	for _, m := range to.members {
		to.charge(m)
		to.expect(m)
	}
	to.look()
	return true
}

// upgraded is a member of the classic protocol as the consumer protocol knows it.
func (m *member) upgraded(g *classic, topics *Topics) (*consumerMember, bool) {
	said, ok := readSubscription(m.metadata(g.protocol))
	if g.protocolType != consumers || !ok {
		return nil, false
	}
	assigned, ok := readAssignment(m.assignment, topics)
	return &consumerMember{
		id: m.id, instance: m.instance, clientID: m.clientID, clientHost: m.clientHost, rebalance: m.rebalance,
		names: said.topics, epoch: g.generation, previous: g.generation, target: assigned, assigned: assigned,
		classic: &classicSide{m.session, m.protocols},
	}, ok
}

// dissolve ends a classic group: who waits has to join again.
func (g *classic) dissolve() {
	g.joining.stop()
	g.syncing.stop()
	g.forgetPending()
	for _, m := range g.members {
		m.answerJoin(Joined{Reason: Rebalancing, Generation: none, MemberID: m.id})
		m.answerSync(Synced{Reason: Rebalancing})
		m.expiry.stop()
		g.c.bytes -= m.charged
	}
}

// fence removes a member, and starts an epoch without it. If those that are left
// are all of the classic protocol, they get their group back instead.
func (g *consumer) fence(m *consumerMember) {
	g.remove(m)
	if m.classic == nil && g.allClassic() {
		g.downgrade()
		return
	}
	g.epoch++
	if len(g.members) == 0 {
		g.targetEpoch, g.assignedAt = g.epoch, time.Time{}
	}
}

// allClassic says whether there are members, and all are of the classic protocol.
func (g *consumer) allClassic() bool {
	return len(g.members) > 0 && !slices.ContainsFunc(g.members, func(m *consumerMember) bool { return m.classic == nil })
}

// downgrade makes the group one of the classic protocol.
func (g *consumer) downgrade() {
	to := &classic{c: g.c, state: Stable, generation: g.epoch}
	for _, m := range g.members {
		m.expiry.stop()
		m.slow.stop()
		g.c.bytes -= m.charged
		taken := &member{
			id: m.id, instance: m.instance, clientID: m.clientID, clientHost: m.clientHost,
			session: m.classic.session, rebalance: m.rebalance, protocols: m.classic.protocols,
			assignment: writeAssignment(m.target, g.topics, versionOf(m.classic.protocols[0].Metadata)),
		}
		to.add(taken, consumers)
		to.expect(taken)
	}
	to.protocol = to.choose()
	to.subscribed = subscribedTo(to)
	g.of.classic, g.of.consumer = to, nil
	to.prepare()
}
