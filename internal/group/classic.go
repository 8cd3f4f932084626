package group

import (
	"bytes"
	"slices"
	"time"
)

// A State is where a group stands.
type State uint8

// The states, as Kafka names them (ClassicGroupState and ConsumerGroupState).
const (
	Empty               State = iota // no members
	PreparingRebalance               // members are awaited
	CompletingRebalance              // the leader's assignment is awaited
	Stable                           // all have their assignment
	Assigning                        // the assignment of the newest epoch is awaited
	Reconciling                      // members have not come to their assignment yet
	Dead                             // there is no such group
)

var states = [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Assigning", "Reconciling", "Dead"}

// String is the state's name in Kafka's answers.
func (s State) String() string { return states[s] }

// classic is the members of a group of the classic protocol, in which one of them
// assigns. Whoever calls its methods has the coordinator's lock.
type classic struct {
	c            *Coordinator
	state        State
	generation   int32
	protocolType string            // of all members; "" until one joined
	protocol     string            // of the generation
	leader       string            // "" if there are no members
	members      []*member         // in the order in which they came
	pending      map[string]*alarm // ids that were given and not used yet
	subscribed   []string          // topics of the generation, nil if it cannot be told
	joining      alarm             // ends the wait for members
	syncing      alarm             // ends the wait for their SyncGroups
}

// A Protocol is a way to assign that a member offers, with what it has to say to
// whoever assigns.
type Protocol struct {
	Name     string
	Metadata []byte
}

// A member is one that counts: it joined under its id.
type member struct {
	id                   string
	instance             *string
	clientID, clientHost string
	session, rebalance   time.Duration
	protocols            []Protocol
	assignment           []byte

	joined  chan<- Joined // its JoinGroup that waits, or nil
	synced  chan<- Synced // its SyncGroup that waits, or nil
	fresh   bool          // it waits for its first generation
	unsaid  bool          // its SyncGroup of this generation did not come yet
	charged int64         // bytes that it takes of the coordinator's
	expiry  alarm
}

// size is what a member costs.
func (m *member) size() int64 {
	n := overhead + len(m.id) + len(m.clientID) + len(m.clientHost) + len(m.assignment) + protocolBytes(m.protocols)
	if m.instance != nil {
		n += len(*m.instance)
	}
	return int64(n)
}

func protocolBytes(protocols []Protocol) (n int) {
	for _, p := range protocols {
		n += len(p.Name) + len(p.Metadata)
	}
	return n
}

// metadata is what a member says to a protocol, nil if it does not offer it.
func (m *member) metadata(protocol string) []byte {
	if i := m.first(protocol); i >= 0 {
		return m.protocols[i].Metadata
	}
	return nil
}

// first finds the place of a protocol in a member's list, -1 if it has none.
func (m *member) first(protocol string) int {
	return slices.IndexFunc(m.protocols, func(p Protocol) bool { return p.Name == protocol })
}

// sameAs says whether a member offers just these protocols, word for word.
func (m *member) sameAs(protocols []Protocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a, b Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// find finds a member by its id, nil if there is none.
func (g *classic) find(id string) *member {
	for _, m := range g.members {
		if m.id == id {
			return m
		}
	}
	return nil
}

// instance finds a static member by its instance id, nil if there is none.
func (g *classic) instance(id string) *member {
	for _, m := range g.members {
		if m.instance != nil && *m.instance == id {
			return m
		}
	}
	return nil
}

// identify finds the member that a request is of. An instance id says more than
// the member id: one that belongs to another id by now is fenced.
func (g *classic) identify(id string, instance *string) (*member, Reason) {
	if instance != nil {
		switch m := g.instance(*instance); {
		case m == nil:
			return nil, NoSuchMember
		case m.id != id:
			return nil, FencedInstance
		}
	}
	if m := g.find(id); m != nil {
		return m, OK
	}
	return nil, NoSuchMember
}

// supports says whether a newcomer that offers these protocols fits in.
func (g *classic) supports(protocolType string, protocols []Protocol) bool {
	if g.state == Empty {
		return protocolType != "" && len(protocols) > 0
	}
	offered := g.offered()
	return g.protocolType == protocolType && slices.ContainsFunc(protocols, func(p Protocol) bool {
		return offered[p.Name] == len(g.members)
	})
}

// offered counts the members that offer each protocol.
func (g *classic) offered() map[string]int {
	counts := map[string]int{}
	for _, m := range g.members {
		for i, p := range m.protocols {
			if m.first(p.Name) == i {
				counts[p.Name]++
			}
		}
	}
	return counts
}

// choose lets each member vote for the first of its protocols that all offer, and
// takes the one with the most votes. Of two with as many Kafka takes the first
// that its hash map has, and so do we: who compares the two brokers sees no
// difference.
func (g *classic) choose() (chosen string) {
	offered, votes := g.offered(), map[string]int{}
	for _, m := range g.members {
		for _, p := range m.protocols {
			if offered[p.Name] == len(g.members) {
				votes[p.Name]++
				break
			}
		}
	}
	for name, n := range votes {
		if most := votes[chosen]; n > most || n == most && before(name, chosen) {
			chosen = name
		}
	}
	return chosen
}

// before says which of two names a hash map of Java has first.
func before(a, b string) bool {
	if x, y := bucket(a), bucket(b); x != y {
		return x < y
	}
	return a < b
}

// bucket is where a small hash map of Java keeps a name.
func bucket(name string) (hash uint32) {
	for _, r := range name {
		hash = 31*hash + uint32(r)
	}
	return (hash ^ hash>>16) % 16
}

// add takes a member in. The first one leads, and says of what type all are.
func (g *classic) add(m *member, protocolType string) {
	if len(g.members) == 0 {
		g.protocolType, g.leader = protocolType, m.id
	}
	g.members = append(g.members, m)
	g.charge(m)
}

// charge counts what a member costs anew.
func (g *classic) charge(m *member) {
	size := m.size()
	g.c.bytes += size - m.charged
	m.charged = size
}

// remove lets a member go; its SyncGroup, if one waits, is never answered, as in
// Kafka. The next one leads if it did.
func (g *classic) remove(m *member) {
	g.members = slices.DeleteFunc(g.members, func(other *member) bool { return other == m })
	g.c.bytes -= m.charged
	m.expiry.stop()
	if g.leader == m.id {
		g.leader = ""
		if len(g.members) > 0 {
			g.leader = g.members[0].id
		}
	}
}

// addPending remembers an id that was given, until it is used or its session
// ends.
func (g *classic) addPending(id string, session time.Duration) {
	if g.pending == nil {
		g.pending = map[string]*alarm{}
	}
	a := &alarm{}
	g.pending[id] = a
	g.c.bytes += overhead
	g.c.set(a, session, func() {
		g.dropPending(id)
		g.completeIfAllJoined()
	})
}

// dropPending forgets an id that was given, and says whether there was one.
func (g *classic) dropPending(id string) bool {
	a, ok := g.pending[id]
	if ok {
		a.stop()
		delete(g.pending, id)
		g.c.bytes -= overhead
	}
	return ok
}

func (g *classic) forgetPending() {
	for id := range g.pending {
		g.dropPending(id)
	}
}

// expect sets a member's session anew.
func (g *classic) expect(m *member) { g.expectWithin(m, m.session) }

func (g *classic) expectWithin(m *member, d time.Duration) {
	g.c.set(&m.expiry, d, func() { g.expire(m) })
}

// expire removes a member that has not been heard of. One that waits for others
// is alive, except for the first time: see newMemberPatience.
func (g *classic) expire(m *member) {
	if !m.fresh && (m.joined != nil || m.synced != nil) {
		return
	}
	g.dismiss(m)
	g.rebalance()
}

// dismiss removes a member and tells its JoinGroup, if one waits.
func (g *classic) dismiss(m *member) {
	m.answerJoin(Joined{Reason: NoSuchMember, Generation: none})
	g.remove(m)
}

// patience is how long members are awaited: as long as the most patient wants.
func (g *classic) patience() (longest time.Duration) {
	for _, m := range g.members {
		longest = max(longest, m.rebalance)
	}
	return longest
}

func (g *classic) describe() Description {
	d := Description{State: g.state, ProtocolType: g.protocolType}
	if g.state == Stable {
		d.Protocol = g.protocol
	}
	for _, m := range g.members {
		told := MemberDescription{ID: m.id, InstanceID: m.instance, ClientID: m.clientID, ClientHost: m.clientHost, Assignment: m.assignment}
		if g.state == Stable {
			told.Metadata = m.metadata(g.protocol)
		}
		d.Members = append(d.Members, told)
	}
	return d
}
