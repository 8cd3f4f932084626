package group

// Heartbeat says that a member is alive, and tells it whether to join again.
func (c *Coordinator) Heartbeat(who Identity) Reason {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.lookupLocked(who.Group); g != nil && g.consumer != nil {
		return g.consumer.beat(who)
	}
	g, m, why := c.memberLocked(who)
	if why != OK {
		return why
	}
	g.expect(m)
	if g.state == PreparingRebalance {
		return Rebalancing
	}
	return OK
}
