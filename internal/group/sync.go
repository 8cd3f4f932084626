package group

// An Identity is who a member says it is.
type Identity struct {
	Group      string
	MemberID   string
	InstanceID *string
	Generation int32
}

// A Sync asks for a member's assignment, and brings those of all if it leads
// (SyncGroup). Slices are kept.
type Sync struct {
	Identity
	ProtocolType, Protocol *string // as the member knows them, nil if it does not say
	Assignments            map[string][]byte
}

// Synced answers a Sync.
type Synced struct {
	Reason                 Reason
	ProtocolType, Protocol string
	Assignment             []byte
}

// Sync gives a member its assignment as soon as the leader has brought it. A
// member that leaves while it waits, or asks again, is never answered.
func (c *Coordinator) Sync(r Sync) <-chan Synced {
	told := make(chan Synced, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.lookupLocked(r.Group); g != nil && g.consumer != nil {
		told <- g.consumer.sync(&r)
		return told
	}
	g, m, why := c.memberLocked(r.Identity)
	if why == OK {
		why = g.sync(m, &r, told)
	}
	if why != OK {
		told <- Synced{Reason: why}
	}
	return told
}

// memberLocked finds the member that asks, of the present generation.
func (c *Coordinator) memberLocked(who Identity) (*classic, *member, Reason) {
	if who.Group == "" {
		return nil, nil, BadGroupID
	}
	g := c.classicLocked(who.Group)
	if g == nil {
		return nil, nil, NoSuchMember
	}
	m, why := g.identify(who.MemberID, who.InstanceID)
	if why == OK && who.Generation != g.generation {
		why = OldGeneration
	}
	return g, m, why
}

func (g *classic) sync(m *member, r *Sync, told chan<- Synced) Reason {
	switch {
	case differs(r.ProtocolType, g.protocolType) || differs(r.Protocol, g.protocol):
		return OtherProtocol
	case g.state == PreparingRebalance:
		return Rebalancing
	case g.state == Stable:
		g.said(m)
		told <- g.assignmentOf(m)
		return OK
	case g.leader == m.id && !g.c.roomFor(r.Assignments):
		return TooManyBytes
	}
	m.synced = told
	g.said(m)
	if g.leader == m.id {
		g.assign(r.Assignments)
	}
	return OK
}

// roomFor says whether assignments can be kept.
func (c *Coordinator) roomFor(assignments map[string][]byte) bool {
	n := c.bytes
	for _, a := range assignments {
		n += int64(len(a))
	}
	return n <= MaxBytes
}

// differs says whether a member names something other than what is.
func differs(named *string, is string) bool { return named != nil && is != "" && *named != is }

// said notes that a member has asked for its assignment.
func (g *classic) said(m *member) {
	m.unsaid = false
	for _, other := range g.members {
		if other.unsaid {
			return
		}
	}
	g.syncing.stop()
}

// assign gives out what the leader brought. Who is not in it gets nothing, and
// what is for strangers is dropped.
func (g *classic) assign(assignments map[string][]byte) {
	g.state = Stable
	for _, m := range g.members {
		m.assignment = assignments[m.id]
		g.charge(m)
		g.answerSync(m, g.assignmentOf(m))
	}
}

func (g *classic) assignmentOf(m *member) Synced {
	return Synced{ProtocolType: g.protocolType, Protocol: g.protocol, Assignment: m.assignment}
}

// answerSync answers a member's SyncGroup, if one waits. From then on it has to
// be heard of again.
func (g *classic) answerSync(m *member, told Synced) {
	if m.answerSync(told) {
		g.expect(m)
	}
}

func (m *member) answerSync(told Synced) bool {
	if m.synced == nil {
		return false
	}
	m.synced <- told
	m.synced = nil
	return true
}
