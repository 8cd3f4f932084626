package group

import (
	"slices"
	"time"
)

// A group of the consumer protocol takes members of the classic protocol as well,
// so that consumers can be moved from one to the other while they run (KIP-848).
// Such a member joins and synchronises as ever; its generation is its epoch, and
// the coordinator assigns instead of a leader.

// A classicSide is what a member of the classic protocol has beside.
type classicSide struct {
	session   time.Duration
	protocols []Protocol
}

// is says why a member may not act in an epoch; nil is no member.
func (m *consumerMember) is(epoch int32) Reason {
	switch {
	case m == nil:
		return NoSuchMember
	case epoch != m.epoch && m.classic != nil:
		return OldGeneration
	case epoch != m.epoch:
		return OldEpoch
	}
	return OK
}

// join takes in a member of the classic protocol.
func (g *consumer) join(j joining) {
	switch {
	case !g.offers(&j):
		j.refuse(OtherProtocol, "")
		return
	case j.MemberID == "" && j.InstanceID == nil && j.ComesTwice:
		j.refuse(IDRequired, j.ClientID+"-"+g.c.newID())
		return
	}
	said, ok := readSubscription(j.Protocols[0].Metadata)
	if !ok {
		j.refuse(OtherProtocol, "")
		return
	}
	m, why := g.admitClassic(&j)
	if why != OK {
		j.refuse(why, "")
		return
	}
	changed := g.updateClassic(m, &j, said)
	g.advance(j.Topics, changed)
	g.reconcile(m, said.owned(g.topics))
	g.expect(m)
	g.hurry(m) // to ask for its assignment
	j.told <- Joined{Generation: m.epoch, ProtocolType: consumers, Protocol: m.classic.protocols[0].Name, MemberID: m.id}
}

// offers says whether a member of the classic protocol is a consumer that has a
// protocol in common with the others of its kind.
func (g *consumer) offers(j *joining) bool {
	return j.ProtocolType == consumers && slices.ContainsFunc(j.Protocols, func(p Protocol) bool { return g.allOffer(p.Name) })
}

func (g *consumer) allOffer(protocol string) bool {
	for _, m := range g.members {
		if m.classic != nil && (&member{protocols: m.classic.protocols}).first(protocol) < 0 {
			return false
		}
	}
	return true
}

// admitClassic finds the member that joins, or makes it.
func (g *consumer) admitClassic(j *joining) (*consumerMember, Reason) {
	if j.InstanceID != nil {
		switch m := g.instance(*j.InstanceID); {
		case m != nil && j.MemberID == "":
			m.id, m.epoch, m.previous, m.progress = *j.InstanceID+"-"+g.c.newID(), joinEpoch, joinEpoch, reconciled
			return m, OK
		case m != nil && m.id != j.MemberID:
			return nil, FencedInstance
		case m != nil:
			return m, OK
		case j.MemberID != "":
			return nil, NoSuchMember
		}
	}
	if m := g.find(j.MemberID); m != nil {
		return m, OK
	}
	if len(g.members) >= MaxMembers {
		return nil, GroupFull
	}
	m := &consumerMember{id: j.MemberID, instance: j.InstanceID}
	if m.id == "" {
		m.id = j.ClientID + "-" + g.c.newID()
	}
	g.members = append(g.members, m)
	return m, OK
}

// updateClassic takes what a member of the classic protocol says of itself, and
// says whether the group has to be assigned anew.
func (g *consumer) updateClassic(m *consumerMember, j *joining, said embedded) (changed bool) {
	changed = !slices.Equal(m.names, said.topics) || m.regex != ""
	m.names, m.regex, m.rebalance = said.topics, "", j.Rebalance
	m.clientID, m.clientHost = j.ClientID, j.ClientHost
	m.classic = &classicSide{session: j.Session, protocols: j.Protocols}
	g.charge(m)
	g.forgetRegexes()
	return changed
}

// classicMember finds the member of the classic protocol that a request is of.
func (g *consumer) classicMember(who Identity) (*consumerMember, Reason) {
	m := g.find(who.MemberID)
	if who.InstanceID != nil {
		switch m = g.instance(*who.InstanceID); {
		case m == nil:
			return nil, NoSuchMember
		case m.id != who.MemberID:
			return nil, FencedInstance
		}
	}
	if m == nil || m.classic == nil {
		return nil, NoSuchMember
	}
	return m, m.is(who.Generation)
}

// sync tells a member of the classic protocol what it may read.
func (g *consumer) sync(r *Sync) Synced {
	m, why := g.classicMember(r.Identity)
	switch {
	case why != OK:
		return Synced{Reason: why}
	case differs(r.ProtocolType, consumers) || differs(r.Protocol, m.classic.protocols[0].Name):
		return Synced{Reason: OtherProtocol}
	case g.targetEpoch > m.epoch && m.progress != unrevoked:
		g.hurry(m)
		return Synced{Reason: Rebalancing}
	}
	m.slow.stop()
	g.expect(m)
	return Synced{
		ProtocolType: consumers, Protocol: m.classic.protocols[0].Name,
		Assignment: writeAssignment(m.assigned, g.topics, versionOf(m.classic.protocols[0].Metadata)),
	}
}

// beat hears a member of the classic protocol, and tells it to join again if there
// is something to give up or to get.
func (g *consumer) beat(who Identity) Reason {
	m, why := g.classicMember(who)
	if why != OK {
		return why
	}
	g.expect(m)
	if m.epoch >= g.targetEpoch && m.progress != unrevoked && !(m.progress == unreleased && g.mayGet(m)) {
		return OK
	}
	g.hurry(m)
	return Rebalancing
}

// mayGet says whether nothing that a member is to get is another's any more.
func (g *consumer) mayGet(m *consumerMember) bool {
	_, missing := m.target.split(m.assigned)
	held, _ := missing.split(g.owned())
	return len(held) == 0
}

// leaveClassic lets a member of either protocol go by the classic request.
func (g *consumer) leaveClassic(l Leaver) Reason {
	m := g.find(l.MemberID)
	if l.InstanceID != nil {
		m = g.instance(*l.InstanceID)
		if m != nil && l.MemberID != "" && m.id != l.MemberID {
			return FencedInstance
		}
	}
	if m == nil {
		return NoSuchMember
	}
	g.fence(m)
	return OK
}

// mayCommit says why a member, or somebody who is none, may not commit.
func (g *consumer) mayCommit(who Identity, knowsEpochs bool) Reason {
	if who.Generation < 0 && len(g.members) == 0 {
		return OK
	}
	m := g.find(who.MemberID)
	if m != nil && m.classic == nil && !knowsEpochs {
		return OldVersion
	}
	return m.is(who.Generation)
}
