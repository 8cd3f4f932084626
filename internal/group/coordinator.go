// Package group is the coordinator of consumer groups: who is a member, who
// leads, which generation it is, who has to come again, and which offsets were
// committed.
//
// What always holds: a member is in one generation of its group at most; no
// answer of an older generation changes anything; whoever waits is told once, or
// never where Apache Kafka tells nothing.
//
// One lock guards all groups. It is never held while a client waits: who has to
// wait gets a channel. Time comes from package time alone, so that a test may run
// in virtual time. The package knows no socket, no message of Kafka's protocol
// and none of its error codes; a Reason says why something was refused.
package group

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

const (
	// MaxGroups is the most groups that are kept.
	MaxGroups = 10_000
	// MaxMembers is the most members of one group, with those that were given an
	// id and did not use it yet (group.max.size in Kafka, which has no limit by
	// default).
	MaxMembers = 1_000
	// MaxProtocols is the most protocols that one member offers.
	MaxProtocols = 100
	// MaxOffsets is the most committed offsets that are kept, all groups together.
	MaxOffsets = 500_000
	// MaxBytes is the most bytes that members bring along (ids, metadata,
	// assignments) and that stand beside offsets, all groups together.
	MaxBytes = 128 << 20

	// MinSession and MaxSession bound a session timeout, as Kafka's
	// group.min.session.timeout.ms and group.max.session.timeout.ms do by default.
	MinSession = 6 * time.Second
	MaxSession = 30 * time.Minute

	// newMemberPatience is how long a member that is new may wait for its first
	// generation: it has no id yet under which it could send heartbeats
	// (group.new.member.join.timeout.ms).
	newMemberPatience = 5 * time.Minute

	// overhead is what a group, a member, or an offset costs beside its bytes.
	overhead = 256
)

// A Coordinator keeps all groups. Its methods may be called from any goroutine.
type Coordinator struct {
	newID func() string

	mu      sync.Mutex // guards everything below it, and everything that hangs on it
	groups  map[string]*group
	bytes   int64 // of MaxBytes
	offsets int   // of MaxOffsets
}

// New makes a coordinator without groups. newID makes what is unique in the ids
// of members; it is called for one member at a time.
func New(newID func() string) *Coordinator {
	return &Coordinator{newID: newID, groups: map[string]*group{}}
}

// A group is what is kept under a group id: members, and offsets, which outlive
// them.
type group struct {
	id       string
	classic  *classic  // of a group in which a member assigns, or nil
	consumer *consumer // of one in which the coordinator assigns, or nil
	offsets  offsets
	kept     tally                                 // of offsets and pending
	pending  map[int64]map[Partition]pendingOffset // of open transactions, by producer id
}

// state is where a group of either protocol stands.
func (g *group) state() State {
	if g.consumer != nil {
		return g.consumer.state()
	}
	return g.classic.state
}

// lookupLocked finds a group, nil if there is none.
func (c *Coordinator) lookupLocked(id string) *group { return c.groups[id] }

// classicLocked finds the members of a group of the classic protocol, nil if there
// is no such group.
func (c *Coordinator) classicLocked(id string) *classic {
	if g := c.groups[id]; g != nil {
		return g.classic
	}
	return nil
}

// makeLocked finds a group or makes one without members.
func (c *Coordinator) makeLocked(id string) (*group, Reason) {
	if g := c.groups[id]; g != nil {
		return g, OK
	}
	cost := int64(overhead + len(id))
	if len(c.groups) >= MaxGroups {
		return nil, TooManyGroups
	}
	if !c.takeLocked(cost) {
		return nil, TooManyBytes
	}
	g := &group{id: id, classic: &classic{c: c}}
	c.groups[id] = g
	return g, OK
}

// takeLocked takes room for n bytes, if there is.
func (c *Coordinator) takeLocked(n int64) bool {
	if c.bytes+n > MaxBytes {
		return false
	}
	c.bytes += n
	return true
}

// Delete forgets a group without members, and its offsets (DeleteGroups).
func (c *Coordinator) Delete(id string) Reason {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.lookupLocked(id)
	switch {
	case g == nil:
		return NoSuchGroup
	case g.state() != Empty:
		return NotEmpty
	}
	if g.classic != nil {
		g.classic.forgetPending()
	}
	c.clearOffsetsLocked(g)
	c.bytes -= int64(overhead + len(id))
	delete(c.groups, id)
	return OK
}

// A Description is what is known of a group (DescribeGroups).
type Description struct {
	State        State
	ProtocolType string // "" until a member joined
	Protocol     string // "" unless the group is stable
	Members      []MemberDescription
}

// A MemberDescription is what is known of a member. Metadata, that for the chosen
// protocol, is there only if the group is stable.
type MemberDescription struct {
	ID                   string
	InstanceID           *string
	ClientID, ClientHost string
	Metadata, Assignment []byte
}

// Describe tells what is known of a group of the classic protocol, in state Dead
// if there is no such group.
func (c *Coordinator) Describe(id string) Description {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.classicLocked(id); g != nil {
		return g.describe()
	}
	return Description{State: Dead}
}

// A Listing is one line of a list of groups (ListGroups).
type Listing struct {
	ID           string
	State        State
	ProtocolType string // "" for a group of offsets only
	Consumer     bool   // it is of the consumer protocol
}

// List lists all groups by id.
func (c *Coordinator) List() []Listing {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Listing, 0, len(c.groups))
	for id, g := range c.groups {
		l := Listing{ID: id, State: g.state(), ProtocolType: consumers, Consumer: g.consumer != nil}
		if !l.Consumer {
			l.ProtocolType = g.classic.protocolType
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b Listing) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
