package group

// rebalance asks all members to join again, or goes on with it.
func (g *classic) rebalance() {
	switch g.state {
	case PreparingRebalance:
		g.completeIfAllJoined()
	default:
		g.prepare()
	}
}

// prepare begins a rebalance. Who waits for an assignment has to join again. The
// first generation of a group is not delayed for further members
// (group.initial.rebalance.delay.ms is 0).
func (g *classic) prepare() {
	if g.state == CompletingRebalance {
		for _, m := range g.members {
			m.assignment = nil
			g.charge(m)
			g.answerSync(m, Synced{Reason: Rebalancing})
		}
	}
	g.syncing.stop()
	first := g.state == Empty
	g.state = PreparingRebalance
	switch {
	case first:
		g.complete()
	case g.allJoined():
		g.complete()
	default:
		g.c.set(&g.joining, g.patience(), g.complete)
	}
}

// completeIfAllJoined ends a rebalance that waits for nobody any more.
func (g *classic) completeIfAllJoined() {
	if g.state == PreparingRebalance && g.allJoined() {
		g.complete()
	}
}

// allJoined says whether nobody is awaited: neither members, nor those that were
// given an id.
func (g *classic) allJoined() bool {
	for _, m := range g.members {
		if m.joined == nil {
			return false
		}
	}
	return len(g.pending) == 0
}

// complete makes the next generation of those that joined. Static members that
// did not are kept: only their session ends them.
func (g *classic) complete() {
	g.joining.stop()
	for _, m := range append([]*member(nil), g.members...) {
		if m.joined == nil && m.instance == nil {
			g.remove(m)
		}
	}
	if len(g.members) > 0 && !g.elect() {
		g.c.set(&g.joining, g.patience(), g.complete) // until the sessions of all are over
		return
	}
	g.generation++
	g.syncing.stop()
	if len(g.members) == 0 {
		g.state, g.protocol, g.subscribed = Empty, "", subscribedTo(g)
		return
	}
	g.protocol = g.choose()
	g.state, g.subscribed = CompletingRebalance, subscribedTo(g)
	for _, m := range g.members {
		m.answerJoin(g.generationFor(m, g.leader == m.id))
		g.expect(m)
		m.fresh, m.unsaid = false, true
	}
	g.c.set(&g.syncing, g.patience(), g.expireSync)
}

// elect makes sure that the leader is one that joined; it says whether there is
// one.
func (g *classic) elect() bool {
	if leader := g.find(g.leader); leader != nil && leader.joined != nil {
		return true
	}
	for _, m := range g.members {
		if m.joined != nil {
			g.leader = m.id
			return true
		}
	}
	return false
}

// expireSync removes the members that joined a generation and never asked for
// their assignment.
func (g *classic) expireSync() {
	for _, m := range append([]*member(nil), g.members...) {
		if m.unsaid {
			g.dismiss(m)
		}
	}
	g.rebalance()
}
