package group

import (
	"regexp"
	"slices"
	"time"
)

const (
	// ConsumerInterval is how often members of the consumer protocol send
	// heartbeats (group.consumer.heartbeat.interval.ms).
	ConsumerInterval = 5 * time.Second
	// consumerSession is how long they may be silent (group.consumer.session.timeout.ms).
	consumerSession = 45 * time.Second
	// assignmentInterval is the least time between two assignments of a group with
	// members, so that many that come together cause one.
	assignmentInterval = time.Second

	// MaxExpressions is the most regular expressions of one group: each is matched
	// with every topic when topics change.
	MaxExpressions = 10
	// maxExpression is the most bytes of one.
	maxExpression = 1000

	joinEpoch        = 0  // of a member that joins
	leaveEpoch       = -1 // of one that leaves
	leaveStaticEpoch = -2 // of a static one that will come back
)

// consumer is the members of a group of the consumer protocol (KIP-848), in which
// the coordinator assigns: each change of what is to be read makes a group epoch,
// each group epoch gets a target, and each member goes from what it has to its
// target by itself. Whoever calls its methods has the coordinator's lock.
type consumer struct {
	c           *Coordinator
	of          *group
	epoch       int32 // grows with every change of members, subscriptions or topics
	targetEpoch int32 // of the targets
	assignor    string
	assignedAt  time.Time // when the targets were made; zero if the next may be made at once
	members     []*consumerMember
	regexes     map[string][]string // topics that each expression matches, sorted
	topics      *Topics
	seen        map[string]Topic // the topics that members are subscribed to, as of the epoch
}

// A progress is how far a member is on its way to its target.
type progress uint8

const (
	reconciled progress = iota
	unrevoked           // it has to give up partitions first
	unreleased          // others have to give up partitions that it is to get
)

// A consumerMember is a member of the consumer protocol.
type consumerMember struct {
	id                   string
	instance, rack       *string
	clientID, clientHost string
	rebalance            time.Duration
	names                []string // sorted
	regex                string   // "" for none
	assignor             string   // "" for none preferred

	epoch, previous int32
	progress        progress
	target          set
	assigned        set // what it may read
	revoking        set // what it has to give up

	classic *classicSide // of one that speaks the classic protocol, or nil

	charged int64
	expiry  alarm // ends its session
	slow    alarm // ends its time to give up partitions, to join again, or to ask for its assignment
}

func newConsumer(c *Coordinator, of *group) *consumer {
	return &consumer{c: c, of: of, epoch: 1, targetEpoch: 1, assignor: uniformAssignor, topics: &Topics{}, regexes: map[string][]string{}}
}

func (m *consumerMember) size() int64 {
	n := 2*overhead + len(m.id) + len(m.clientID) + len(m.clientHost) + len(m.regex)
	for _, name := range m.names {
		n += overhead + len(name)
	}
	if m.classic != nil {
		n += protocolBytes(m.classic.protocols)
	}
	return int64(n)
}

func (g *consumer) find(id string) *consumerMember {
	for _, m := range g.members {
		if m.id == id {
			return m
		}
	}
	return nil
}

func (g *consumer) instance(id string) *consumerMember {
	for _, m := range g.members {
		if m.instance != nil && *m.instance == id {
			return m
		}
	}
	return nil
}

// state is where the group stands (ConsumerGroupState).
func (g *consumer) state() State {
	switch {
	case len(g.members) == 0:
		return Empty
	case g.epoch > g.targetEpoch:
		return Assigning
	case slices.ContainsFunc(g.members, func(m *consumerMember) bool { return m.progress != reconciled || m.epoch != g.targetEpoch }):
		return Reconciling
	}
	return Stable
}

// charge counts what a member costs anew.
func (g *consumer) charge(m *consumerMember) {
	size := m.size()
	g.c.bytes += size - m.charged
	m.charged = size
}

// remove lets a member go.
func (g *consumer) remove(m *consumerMember) {
	g.members = slices.DeleteFunc(g.members, func(other *consumerMember) bool { return other == m })
	g.c.bytes -= m.charged
	m.expiry.stop()
	m.slow.stop()
	g.look()
	g.forgetRegexes()
}

// subscription lists the topics that a member is subscribed to, by name or by its
// expression, and that exist.
func (g *consumer) subscription(m *consumerMember) (topics []Topic) {
	for _, name := range g.namesOf(m) {
		if t, ok := g.topics.byName[name]; ok {
			topics = append(topics, t)
		}
	}
	return topics
}

func (g *consumer) namesOf(m *consumerMember) []string {
	names := append(slices.Clone(m.names), g.regexes[m.regex]...)
	slices.Sort(names)
	return slices.Compact(names)
}

// isSubscribed says whether a member may be reading a topic.
func (g *consumer) isSubscribed(topic string) bool {
	return slices.ContainsFunc(g.members, func(m *consumerMember) bool { return slices.Contains(g.namesOf(m), topic) })
}

// matching lists the topics that an expression matches as a whole.
func (t *Topics) matching(expression string) []string {
	names := []string{}
	re, err := regexp.Compile("^(?:" + expression + ")$")
	if err != nil {
		return names
	}
	for name := range t.byName {
		if re.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// refresh looks at topics that changed, and says whether what members read did.
func (g *consumer) refresh(topics *Topics) bool {
	if topics.version <= g.topics.version {
		return false
	}
	g.topics = topics
	changed := false
	for expression, before := range g.regexes {
		g.regexes[expression] = topics.matching(expression)
		changed = changed || !slices.Equal(before, g.regexes[expression])
	}
	return g.look() || changed
}

// look notes the topics that members are subscribed to, and says whether they are
// other ones, or have more partitions, than before.
func (g *consumer) look() bool {
	now := map[string]Topic{}
	for _, m := range g.members {
		for _, name := range g.namesOf(m) {
			if t, ok := g.topics.byName[name]; ok {
				now[name] = t
			}
		}
	}
	changed := len(now) != len(g.seen)
	for name, t := range now {
		changed = changed || g.seen[name] != t
	}
	g.seen = now
	return changed
}

// preferred is the assignor that most members prefer, the first of those.
func (g *consumer) preferred() string {
	votes := map[string]int{}
	for _, m := range g.members {
		if m.assignor != "" {
			votes[m.assignor]++
		}
	}
	switch u, r := votes[uniformAssignor], votes[rangeAssignor]; {
	case r > u:
		return rangeAssignor
	default:
		return uniformAssignor
	}
}

// retarget makes the targets of the present epoch, unless the last ones were made
// just now.
func (g *consumer) retarget() {
	now := time.Now()
	if g.epoch <= g.targetEpoch || !g.assignedAt.IsZero() && now.Sub(g.assignedAt) < assignmentInterval {
		return
	}
	subscribers := make([]subscriber, len(g.members))
	for i, m := range g.members {
		subscribers[i] = subscriber{m.id, g.subscription(m), m.target}
		if m.instance != nil {
			subscribers[i].id = *m.instance
		}
	}
	for i, target := range assignors[g.assignor](subscribers) {
		g.members[i].target = target
	}
	g.targetEpoch, g.assignedAt = g.epoch, now
}

// owned says whether a member other than m has a partition, or has not given it
// up yet.
func (g *consumer) owned() set {
	all := set{}
	for _, m := range g.members {
		for p := range m.assigned {
			all[p] = true
		}
		for p := range m.revoking {
			all[p] = true
		}
	}
	return all
}

// reconcile takes a member as far to its target as others and itself let it
// (CurrentAssignmentBuilder). owns is what the member says it reads, nil if it
// does not say.
func (g *consumer) reconcile(m *consumerMember, owns []TopicPartition) {
	epoch, target := m.epoch, g.wanted(m)
	assigned, revoking := m.assigned.split(target)
	switch {
	case m.progress == reconciled && m.epoch == g.targetEpoch && len(revoking) == 0:
		return
	case m.progress == unrevoked && keepsAny(m.revoking, owns):
		return
	case m.progress == unrevoked:
		epoch++
	}
	if len(revoking) > 0 && keepsAny(revoking, owns) {
		m.move(unrevoked, epoch, assigned, revoking)
		g.hurry(m)
		return
	}
	m.slow.stop()
	m.assigned, m.revoking = assigned, nil
	_, missing := target.split(assigned)
	held, free := missing.split(g.owned())
	where := reconciled
	if len(held) > 0 {
		where = unreleased
	}
	m.move(where, g.targetEpoch, assigned.union(free), nil)
}

// hurry gives a member its rebalance timeout to do what it has to.
func (g *consumer) hurry(m *consumerMember) {
	g.c.set(&m.slow, m.rebalance, func() { g.fence(m) })
}

// expect sets a member's session anew.
func (g *consumer) expect(m *consumerMember) {
	session := consumerSession
	if m.classic != nil {
		session = m.classic.session
	}
	g.c.set(&m.expiry, session, func() { g.fence(m) })
}

// wanted is a member's target without the topics that it does not want any more:
// these it gives up before the next target is made.
func (g *consumer) wanted(m *consumerMember) set {
	subscribed := map[[16]byte]bool{}
	for _, t := range g.subscription(m) {
		subscribed[t.ID] = true
	}
	wanted := set{}
	for p := range m.target {
		if subscribed[p.TopicID] {
			wanted[p] = true
		}
	}
	return wanted
}

func (m *consumerMember) move(where progress, epoch int32, assigned, revoking set) {
	m.progress, m.assigned, m.revoking = where, assigned, revoking
	m.previous, m.epoch = m.epoch, epoch
}

// keepsAny says whether a member still reads any of the partitions; who does not
// say reads all.
func keepsAny(partitions set, owns []TopicPartition) bool {
	return owns == nil || slices.ContainsFunc(owns, func(p TopicPartition) bool { return partitions[p] })
}
