package group

import "slices"

// A Leaver is a member that leaves; one with an instance id may leave out its
// member id.
type Leaver struct {
	MemberID   string
	InstanceID *string
}

// Leave removes members and tells of each why it was not, in the order of the
// request (LeaveGroup). Reason is that of the request as a whole.
func (c *Coordinator) Leave(id string, leavers []Leaver) (Reason, []Reason) {
	if id == "" {
		return BadGroupID, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	told := make([]Reason, len(leavers))
	if g := c.lookupLocked(id); g != nil && g.consumer != nil {
		for i, l := range leavers {
			told[i] = g.consumer.leaveClassic(l)
		}
		return OK, told
	}
	g := c.classicLocked(id)
	for i, l := range leavers {
		if told[i] = NoSuchMember; g != nil {
			told[i] = g.leave(l)
		}
	}
	if g != nil && g.state != Empty && slices.Contains(told, OK) {
		g.rebalance() // also for an id that was given and not used, as in Kafka
	}
	return OK, told
}

func (g *classic) leave(l Leaver) Reason {
	if l.MemberID == "" && l.InstanceID != nil {
		if m := g.instance(*l.InstanceID); m != nil {
			g.dismiss(m)
			return OK
		}
		return NoSuchMember
	}
	if g.dropPending(l.MemberID) {
		return OK
	}
	m, why := g.identify(l.MemberID, l.InstanceID)
	if why == OK {
		g.dismiss(m)
	}
	return why
}
