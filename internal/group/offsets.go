package group

import (
	"cmp"
	"slices"
)

// MaxMetadata is the most characters that may stand beside an offset
// (offset.metadata.max.bytes, which Kafka counts in UTF-16).
const MaxMetadata = 4096

// A Partition names a partition of a topic.
type Partition struct {
	Topic  string
	Number int32
}

// An Offset is where a group goes on reading a partition, as its client said it:
// any number is kept.
type Offset struct {
	At          int64
	LeaderEpoch int32 // -1 if the client did not say
	Metadata    string
}

// offsets are those that a group committed.
type offsets map[Partition]Offset

// A tally counts the offsets that a group keeps, committed and pending, by topic
// and partition: so a topic that goes need not be looked for among very many.
type tally map[string]map[int32]int

func (t tally) add(p Partition) {
	if t[p.Topic] == nil {
		t[p.Topic] = map[int32]int{}
	}
	t[p.Topic][p.Number]++
}

func (t tally) drop(p Partition) {
	of := t[p.Topic]
	if of[p.Number]--; of[p.Number] == 0 {
		delete(of, p.Number)
	}
	if len(of) == 0 {
		delete(t, p.Topic)
	}
}

// cost is what is counted for an offset that is kept.
func cost(p Partition, o Offset) int64 { return int64(overhead + len(p.Topic) + len(o.Metadata)) }

// A Commit asks to keep offsets (OffsetCommit).
type Commit struct {
	Identity // Generation is -1 of one that is in no group, and only keeps offsets there
	Offsets  []PartitionOffset

	// KnowsEpochs says that the request has a place for the epoch of a member of
	// the consumer protocol (version 9).
	KnowsEpochs bool
}

// A PartitionOffset is an offset of a partition.
type PartitionOffset struct {
	Partition
	Offset
}

// Commit keeps offsets. Reason is that of the request as a whole; if it is OK,
// there is one for each offset, in the order of the request. Who is in no group
// may commit to one without members, and makes it if there is none.
func (c *Coordinator) Commit(r Commit) (Reason, []Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, why := c.committableLocked(r.Identity, r.KnowsEpochs)
	if why != OK {
		return why, nil
	}
	told := make([]Reason, len(r.Offsets))
	for i, o := range r.Offsets {
		if told[i] = c.keepLocked(g, o.Partition, o.Offset); told[i] == OK {
			g.overtake(o.Partition)
		}
	}
	return OK, told
}

// committableLocked finds the group that offsets may be committed to.
func (c *Coordinator) committableLocked(who Identity, knowsEpochs bool) (*group, Reason) {
	g := c.lookupLocked(who.Group)
	if g == nil && who.Generation >= 0 {
		return nil, NoSuchGroup
	}
	if g == nil {
		return c.makeLocked(who.Group)
	}
	if g.consumer != nil {
		return g, g.consumer.mayCommit(who, knowsEpochs)
	}
	return g, g.classic.mayCommit(who)
}

// mayCommit says why a member, or somebody who is none, may not commit. A member
// that does is alive.
func (g *classic) mayCommit(who Identity) Reason {
	if who.Generation < 0 && g.state == Empty {
		return OK
	}
	if who.Generation < 0 && who.MemberID == "" && who.InstanceID == nil {
		return NoSuchMember
	}
	m, why := g.identify(who.MemberID, who.InstanceID)
	switch {
	case why != OK:
		return why
	case who.Generation != g.generation:
		return OldGeneration
	case g.state == CompletingRebalance:
		return Rebalancing
	}
	g.expect(m)
	return OK
}

// keepLocked keeps one offset in the place of the one before.
func (c *Coordinator) keepLocked(g *group, p Partition, o Offset) Reason {
	if longer(o.Metadata, MaxMetadata) {
		return LongMetadata
	}
	old, known := g.offsets[p]
	if !known && c.offsets >= MaxOffsets {
		return TooManyOffsets
	}
	if !c.takeLocked(cost(p, o)) {
		return TooManyBytes
	}
	if known {
		c.bytes -= cost(p, old)
	} else {
		c.countLocked(g, p)
	}
	if g.offsets == nil {
		g.offsets = offsets{}
	}
	g.offsets[p] = o
	return OK
}

// longer says whether a text has more than n characters as Java counts them: one
// outside of the basic plane is two.
func longer(text string, n int) bool {
	if len(text) <= n {
		return false
	}
	for _, r := range text {
		if n--; r > 0xffff {
			n--
		}
	}
	return n < 0
}

// dropLocked forgets an offset, and what is pending for its partition.
func (c *Coordinator) dropLocked(g *group, p Partition) {
	if o, known := g.offsets[p]; known {
		c.giveLocked(g, p, o)
		delete(g.offsets, p)
	}
	for producer := range g.pending {
		c.dropPendingLocked(g, producer, p)
	}
}

// countLocked counts one more offset.
func (c *Coordinator) countLocked(g *group, p Partition) {
	c.offsets++
	if g.kept == nil {
		g.kept = tally{}
	}
	g.kept.add(p)
}

// giveLocked gives back the room of an offset.
func (c *Coordinator) giveLocked(g *group, p Partition, o Offset) {
	c.offsets--
	g.kept.drop(p)
	c.bytes -= cost(p, o)
}

// partitions lists the partitions that a group keeps anything for.
func (g *group) partitions() (all []Partition) {
	for p := range g.offsets {
		all = append(all, p)
	}
	for _, offsets := range g.pending {
		for p := range offsets {
			all = append(all, p)
		}
	}
	return all
}

func (c *Coordinator) clearOffsetsLocked(g *group) {
	for _, p := range g.partitions() {
		c.dropLocked(g, p)
	}
}

// Offset tells what a group committed for a partition, not ok if it did not.
func (c *Coordinator) Offset(id string, p Partition) (o Offset, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.lookupLocked(id); g != nil {
		o, ok = g.offsets[p]
	}
	return o, ok
}

// Offsets lists all that a group committed, by topic and partition.
func (c *Coordinator) Offsets(id string) []PartitionOffset {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.lookupLocked(id)
	if g == nil {
		return nil
	}
	all := make([]PartitionOffset, 0, len(g.offsets))
	for p, o := range g.offsets {
		all = append(all, PartitionOffset{p, o})
	}
	slices.SortFunc(all, func(a, b PartitionOffset) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Number, b.Number))
	})
	return all
}

func (g *group) isSubscribed(topic string) bool {
	if g.consumer != nil {
		return g.consumer.isSubscribed(topic)
	}
	return g.classic.isSubscribed(topic)
}

// MayFetch says why a member may not ask for the offsets of its group; anybody may
// who names neither a member nor an epoch. Only the consumer protocol looks.
func (c *Coordinator) MayFetch(id string, member *string, epoch int32) Reason {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.lookupLocked(id)
	if g == nil || g.consumer == nil || member == nil && epoch < 0 {
		return OK
	}
	m := (*consumerMember)(nil)
	if member != nil {
		m = g.consumer.find(*member)
	}
	return m.is(epoch)
}

// DeleteOffsets forgets offsets of topics that no member reads (OffsetDelete).
// Reason is that of the request as a whole; if it is OK, there is one for each
// partition.
func (c *Coordinator) DeleteOffsets(id string, partitions []Partition) (Reason, []Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.lookupLocked(id)
	switch {
	case id == "":
		return BadGroupID, nil
	case g == nil:
		return NoSuchGroup, nil
	case g.classic != nil && g.classic.state != Empty && g.classic.protocolType != consumers:
		return NotEmpty, nil
	}
	told := make([]Reason, len(partitions))
	for i, p := range partitions {
		if g.isSubscribed(p.Topic) {
			told[i] = Subscribed
			continue
		}
		c.dropLocked(g, p)
	}
	return OK, told
}

// ForgetTopic forgets what all groups committed for a topic, which was deleted.
func (c *Coordinator) ForgetTopic(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.groups {
		for n := range g.kept[name] {
			c.dropLocked(g, Partition{name, n})
		}
	}
}
