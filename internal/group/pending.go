package group

// A pending offset counts when the transaction that it was committed in commits.
type pendingOffset struct {
	Offset
	overtaken bool // by a plain commit that came later, which stays
}

// CommitPending keeps offsets for the time when a producer's transaction ends
// (TxnOffsetCommit). Unlike Commit it lets anybody in who names neither a member
// nor a generation, and members also while an assignment is awaited.
func (c *Coordinator) CommitPending(r Commit, producer int64) (Reason, []Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.lookupLocked(r.Group)
	why := OldGeneration
	switch {
	case g != nil:
		why = g.mayCommitPending(r.Identity)
	case r.Generation < 0:
		g, why = c.makeLocked(r.Group)
	}
	if why != OK {
		return why, nil
	}
	told := make([]Reason, len(r.Offsets))
	for i, o := range r.Offsets {
		told[i] = c.keepPendingLocked(g, producer, o)
	}
	return OK, told
}

// mayCommitPending says why a member, or somebody who is none, may not commit in a
// transaction.
func (g *group) mayCommitPending(who Identity) Reason {
	switch {
	case who.Generation < 0 && g.state() == Empty:
		return OK
	case g.consumer != nil:
		if why := g.consumer.find(who.MemberID).is(who.Generation); why != OldEpoch {
			return why
		}
		return OldGeneration
	case who.Generation < 0 && who.MemberID == "" && who.InstanceID == nil:
		return OK
	}
	_, why := g.classic.identify(who.MemberID, who.InstanceID)
	if why == OK && who.Generation != g.classic.generation {
		why = OldGeneration
	}
	return why
}

func (c *Coordinator) keepPendingLocked(g *group, producer int64, o PartitionOffset) Reason {
	old, known := g.pending[producer][o.Partition]
	switch {
	case longer(o.Metadata, MaxMetadata):
		return LongMetadata
	case !known && c.offsets >= MaxOffsets:
		return TooManyOffsets
	case !c.takeLocked(cost(o.Partition, o.Offset)):
		return TooManyBytes
	}
	if known {
		c.giveLocked(g, o.Partition, old.Offset)
	}
	if g.pending == nil {
		g.pending = map[int64]map[Partition]pendingOffset{}
	}
	if g.pending[producer] == nil {
		g.pending[producer] = map[Partition]pendingOffset{}
	}
	g.pending[producer][o.Partition] = pendingOffset{Offset: o.Offset}
	c.countLocked(g, o.Partition)
	return OK
}

// EndPending ends a producer's transaction: its offsets of all groups count now, or
// are forgotten.
func (c *Coordinator) EndPending(producer int64, commit bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.groups {
		for p, o := range g.pending[producer] {
			c.dropPendingLocked(g, producer, p)
			if commit && !o.overtaken {
				c.keepLocked(g, p, o.Offset) // there is room: it has just been given back
			}
		}
	}
}

func (c *Coordinator) dropPendingLocked(g *group, producer int64, p Partition) {
	if o, known := g.pending[producer][p]; known {
		c.giveLocked(g, p, o.Offset)
		delete(g.pending[producer], p)
		if len(g.pending[producer]) == 0 {
			delete(g.pending, producer)
		}
	}
}

// overtake marks what is pending for a partition: a plain commit came later.
func (g *group) overtake(p Partition) {
	for _, offsets := range g.pending {
		if o, known := offsets[p]; known {
			o.overtaken = true
			offsets[p] = o
		}
	}
}

// unstable says whether an open transaction may change an offset.
func (g *group) unstable(p Partition) bool {
	for _, offsets := range g.pending {
		if _, known := offsets[p]; known {
			return true
		}
	}
	return false
}

// Unstable says whether an open transaction may change what a group committed for
// a partition.
func (c *Coordinator) Unstable(id string, p Partition) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.lookupLocked(id)
	return g != nil && g.unstable(p)
}
