package group

import "time"

// none is the generation of an answer that has none.
const none = -1

// A Join asks to be a member of the next generation (JoinGroup). Slices are kept.
type Join struct {
	Group      string
	MemberID   string  // "" for one that is new, or that came back
	InstanceID *string // of a static member (KIP-345)

	ClientID, ClientHost string
	Session              time.Duration // after which a member that says nothing is removed
	Rebalance            time.Duration // for which it is awaited when all have to join again
	ProtocolType         string
	Protocols            []Protocol // those it prefers first

	// ComesTwice says that a newcomer takes an id first and joins with it then
	// (KIP-394, version 4), so that a client that never hears of its id leaves no
	// member behind.
	ComesTwice bool
	// SkipsAssignment says that a leader that came back understands that nothing
	// is to be assigned (KIP-814, version 9).
	SkipsAssignment bool

	Topics *Topics // for a group in which the coordinator assigns
}

// Joined answers a Join.
type Joined struct {
	Reason                 Reason
	Generation             int32 // -1 if it was refused
	ProtocolType, Protocol string
	Leader                 string
	MemberID               string
	Members                []JoinedMember // for the leader only, who assigns
	SkipAssignment         bool           // the leader has nothing to assign
}

// A JoinedMember is what a leader is told of each member.
type JoinedMember struct {
	ID         string
	InstanceID *string
	Metadata   []byte // for the chosen protocol
}

// A joining is a Join with the channel that its answer goes to, which has room.
type joining struct {
	Join
	told chan<- Joined
}

// refuse tells that a Join was refused, and under which id it was.
func (j *joining) refuse(why Reason, id string) {
	j.told <- Joined{Reason: why, Generation: none, MemberID: id}
}

// Join joins a group, and makes it for a newcomer. The answer comes when all
// members have joined or have been awaited for long enough, or never: to a member
// that asks again before it was told, only the later question is answered.
func (c *Coordinator) Join(r Join) <-chan Joined {
	told := make(chan Joined, 1)
	j := joining{r, told}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch g, why := c.joinableLocked(&r); {
	case why != OK:
		j.refuse(why, r.MemberID)
	case g.consumer != nil:
		g.consumer.join(j)
	default:
		g.classic.join(j)
	}
	return told
}

// joinableLocked finds the group that may be joined, or makes it. One of the
// consumer protocol that has no members becomes one of the classic protocol.
func (c *Coordinator) joinableLocked(r *Join) (*group, Reason) {
	switch {
	case r.Group == "":
		return nil, BadGroupID
	case r.Session < MinSession || r.Session > MaxSession:
		return nil, BadSession
	case r.MemberID != "" && c.lookupLocked(r.Group) == nil:
		return nil, NoSuchMember
	case len(r.Protocols) > MaxProtocols:
		return nil, TooManyProtocols
	case c.bytes+int64(overhead+protocolBytes(r.Protocols)) > MaxBytes:
		return nil, TooManyBytes
	}
	g, why := c.makeLocked(r.Group)
	if why == OK && g.consumer != nil && len(g.consumer.members) == 0 {
		g.classic, g.consumer = &classic{c: c}, nil
	}
	return g, why
}

func (g *classic) join(j joining) {
	known := j.MemberID != ""
	switch {
	case !known && len(g.members)+len(g.pending) >= MaxMembers && !g.returns(j.InstanceID):
		j.refuse(GroupFull, "")
	case !g.supports(j.ProtocolType, j.Protocols):
		j.refuse(OtherProtocol, j.MemberID)
	case !known:
		g.joinNew(j)
	case g.pending[j.MemberID] != nil && j.InstanceID != nil:
		j.refuse(PendingInstance, "")
	case g.dropPending(j.MemberID):
		g.admit(j, j.MemberID)
	default:
		g.joinAgain(j)
	}
}

// returns says whether a static member comes back.
func (g *classic) returns(instance *string) bool {
	return instance != nil && g.instance(*instance) != nil
}

// joinNew joins one that has no member id.
func (g *classic) joinNew(j joining) {
	if j.InstanceID != nil {
		id := *j.InstanceID + "-" + g.c.newID()
		if old := g.instance(*j.InstanceID); old != nil {
			g.replace(old, id, j)
		} else {
			g.admit(j, id)
		}
		return
	}
	id := j.ClientID + "-" + g.c.newID()
	if j.ComesTwice {
		g.addPending(id, j.Session)
		j.refuse(IDRequired, id)
		return
	}
	g.admit(j, id)
}

// admit makes a member of one that joins.
func (g *classic) admit(j joining, id string) {
	m := &member{
		id: id, instance: j.InstanceID, clientID: j.ClientID, clientHost: j.ClientHost,
		session: j.Session, rebalance: j.Rebalance, protocols: j.Protocols, joined: j.told, fresh: true,
	}
	g.add(m, j.ProtocolType)
	g.expectWithin(m, newMemberPatience)
	g.rebalance()
}

// joinAgain joins one that is a member. Whoever has nothing new to say is told
// the present generation; the leader may always ask for a new one.
func (g *classic) joinAgain(j joining) {
	m, why := g.identify(j.MemberID, j.InstanceID)
	switch {
	case why != OK:
		j.refuse(why, j.MemberID)
	case g.state == CompletingRebalance && m.sameAs(j.Protocols):
		j.told <- g.generationFor(m, g.leader == m.id)
	case g.state == Stable && m.sameAs(j.Protocols) && g.leader != m.id:
		j.told <- g.generationFor(m, false)
	default:
		g.update(m, j)
		g.rebalance()
	}
}

// update takes what a member says of itself now, and lets it wait.
func (g *classic) update(m *member, j joining) {
	m.protocols, m.rebalance, m.session, m.joined = j.Protocols, j.Rebalance, j.Session, j.told
	g.charge(m)
}

// replace puts a static member that came back without its id in the place of its
// older self, which is fenced. There is no rebalance unless the protocol would be
// another one.
func (g *classic) replace(old *member, id string, j joining) {
	old.answerJoin(Joined{Reason: FencedInstance, Generation: none, MemberID: old.id})
	old.answerSync(Synced{Reason: FencedInstance})
	old.expiry.stop()
	leader := g.leader
	m := *old
	m.id, m.expiry, m.fresh = id, alarm{}, false
	for i := range g.members {
		if g.members[i] == old {
			g.members[i] = &m
		}
	}
	if g.leader == old.id {
		g.leader = id
	}
	g.update(&m, j)
	g.expect(&m)
	switch {
	case g.state == CompletingRebalance: // the leader may assign to the older self already
		g.prepare()
	case g.state == Stable && g.choose() == g.protocol:
		m.answerJoin(g.generationOfReturned(&m, leader, j.SkipsAssignment))
	default:
		g.rebalance()
	}
}

// generationOfReturned is the present generation for a static member that came
// back. A leader that does not understand that it has nothing to assign is told
// that its older self leads, so that it acts as a follower.
func (g *classic) generationOfReturned(m *member, leaderBefore string, skips bool) Joined {
	leads := skips && g.leader == m.id
	told := g.generationFor(m, leads)
	told.SkipAssignment = leads
	if !skips {
		told.Leader = leaderBefore
	}
	return told
}

// generationFor is the present generation as a member is told it.
func (g *classic) generationFor(m *member, withMembers bool) Joined {
	told := Joined{Generation: g.generation, ProtocolType: g.protocolType, Protocol: g.protocol, Leader: g.leader, MemberID: m.id}
	if withMembers {
		for _, other := range g.members {
			told.Members = append(told.Members, JoinedMember{other.id, other.instance, other.metadata(g.protocol)})
		}
	}
	return told
}

// answerJoin answers a member's JoinGroup, if one waits.
func (m *member) answerJoin(told Joined) {
	if m.joined != nil {
		m.joined <- told
		m.joined = nil
	}
}
