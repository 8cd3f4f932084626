package group

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"
)

// A ConsumerHeartbeat is all that a member of the consumer protocol ever says
// (ConsumerGroupHeartbeat): it joins, lives, changes what it wants, and leaves.
// What has not changed since the last one is left out. Slices are kept.
type ConsumerHeartbeat struct {
	Group, MemberID      string
	Epoch                int32 // 0 joins, -1 leaves, -2 leaves for a while
	InstanceID, RackID   *string
	ClientID, ClientHost string
	Rebalance            time.Duration // to give up partitions; negative if it is left out
	Names                []string      // of topics; nil if they are left out
	Regex                *string       // of topics (RE2, the whole name); nil if it is left out
	Assignor             *string       // nil if it is left out
	Owns                 []TopicPartition
	SaysOwns             bool // Owns is not left out
	Topics               *Topics
	GivenID              bool // the coordinator chooses the member id (version 0)
}

// A ConsumerAnswer answers a ConsumerHeartbeat.
type ConsumerAnswer struct {
	Reason     Reason
	Text       string // what was wrong, "" if Reason says it
	MemberID   string
	Epoch      int32
	Stays      bool // the member goes on with heartbeats
	Assigned   bool // Assignment is told, because it changed or all was asked for
	Assignment []TopicPartition
}

func refused(why Reason, format string, args ...any) ConsumerAnswer {
	return ConsumerAnswer{Reason: why, Text: fmt.Sprintf(format, args...)}
}

// ConsumerHeartbeat hears a member of the consumer protocol, and tells it where
// it stands.
func (c *Coordinator) ConsumerHeartbeat(r ConsumerHeartbeat) ConsumerAnswer {
	if told := r.check(); told.Reason != OK {
		return told
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	g, told := c.consumerForLocked(&r)
	if told.Reason != OK {
		return told
	}
	if r.Epoch < joinEpoch {
		return g.leave(&r)
	}
	return g.heartbeat(&r)
}

// check says what is wrong with a heartbeat by itself.
func (r *ConsumerHeartbeat) check() ConsumerAnswer {
	empty := func(s *string) bool { return s != nil && *s == "" }
	switch {
	case strings.TrimSpace(r.Group) == "":
		return refused(BadRequest, "GroupId can't be empty.")
	case empty(r.InstanceID):
		return refused(BadRequest, "InstanceId can't be empty.")
	case empty(r.RackID):
		return refused(BadRequest, "RackId can't be empty.")
	case r.MemberID == "" && !(r.GivenID && r.Epoch == joinEpoch):
		return refused(BadRequest, "MemberId can't be empty.")
	case r.Epoch == joinEpoch && r.Rebalance < 0:
		return refused(BadRequest, "RebalanceTimeoutMs must be provided in first request.")
	case r.Epoch == joinEpoch && (!r.SaysOwns || len(r.Owns) > 0):
		return refused(BadRequest, "TopicPartitions must be empty when (re-)joining.")
	case r.Epoch == joinEpoch && r.Names == nil && r.Regex == nil:
		return refused(BadRequest, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
	case r.Epoch == leaveStaticEpoch && r.InstanceID == nil:
		return refused(BadRequest, "InstanceId can't be null.")
	case r.Epoch < leaveStaticEpoch:
		return refused(BadRequest, "MemberEpoch is invalid.")
	}
	return r.checkWishes()
}

// checkWishes says what is wrong with the assignor or the expression.
func (r *ConsumerHeartbeat) checkWishes() ConsumerAnswer {
	if r.Assignor != nil && assignors[*r.Assignor] == nil {
		return refused(NoSuchAssignor, "ServerAssignor %s is not supported. Supported assignors: %s, %s.", *r.Assignor, uniformAssignor, rangeAssignor)
	}
	if r.Regex != nil && len(*r.Regex) > maxExpression {
		return refused(BadRegex, "SubscribedTopicRegex has %d bytes, and may have %d here.", len(*r.Regex), maxExpression)
	}
	if r.Regex != nil {
		var bad *syntax.Error
		if _, err := regexp.Compile(*r.Regex); errors.As(err, &bad) {
			return refused(BadRegex, "SubscribedTopicRegex `%s` is not a valid regular expression: %v.", *r.Regex, bad.Code)
		}
	}
	return ConsumerAnswer{}
}

// consumerForLocked finds the group that a heartbeat is for. One that joins makes
// it, or takes over a group of the classic protocol.
func (c *Coordinator) consumerForLocked(r *ConsumerHeartbeat) (*consumer, ConsumerAnswer) {
	g := c.lookupLocked(r.Group)
	switch {
	case g == nil && r.Epoch < joinEpoch:
		return nil, refused(NoSuchGroup, "Group %s not found.", r.Group)
	case g == nil && r.Epoch != joinEpoch:
		return nil, refused(NoSuchGroup, "Consumer group %s not found.", r.Group)
	case g == nil:
		var why Reason
		if g, why = c.makeLocked(r.Group); why != OK {
			return nil, ConsumerAnswer{Reason: why}
		}
	}
	if g.consumer == nil && !(r.Epoch == joinEpoch && g.upgrade(r.Topics)) {
		return nil, refused(NoSuchGroup, "Group %s is not a consumer group.", r.Group)
	}
	return g.consumer, ConsumerAnswer{}
}

// leave lets a member go, or for a while.
func (g *consumer) leave(r *ConsumerHeartbeat) ConsumerAnswer {
	m, told := g.identify(r)
	if told.Reason != OK {
		return told
	}
	if r.Epoch == leaveStaticEpoch {
		m.epoch, m.revoking = leaveStaticEpoch, nil
	} else {
		g.fence(m)
	}
	return ConsumerAnswer{MemberID: m.id, Epoch: r.Epoch}
}

// identify finds the member that a heartbeat is of.
func (g *consumer) identify(r *ConsumerHeartbeat) (*consumerMember, ConsumerAnswer) {
	if r.InstanceID != nil {
		switch m := g.instance(*r.InstanceID); {
		case m == nil:
			return nil, refused(NoSuchMember, "Instance id %s is unknown.", *r.InstanceID)
		case m.id != r.MemberID:
			return nil, refused(FencedInstance, "Static member %s with instance id %s was fenced by member %s.", r.MemberID, *r.InstanceID, m.id)
		default:
			return m, ConsumerAnswer{}
		}
	}
	if m := g.find(r.MemberID); m != nil {
		return m, ConsumerAnswer{}
	}
	return nil, refused(NoSuchMember, "Member %s is not a member of group %s.", r.MemberID, r.Group)
}

// heartbeat hears a member that joins or lives.
func (g *consumer) heartbeat(r *ConsumerHeartbeat) ConsumerAnswer {
	if r.Regex != nil && *r.Regex != "" && len(g.regexes) >= MaxExpressions && g.regexes[*r.Regex] == nil {
		return ConsumerAnswer{Reason: TooManyExpressions}
	}
	m, told := g.admit(r)
	if told.Reason != OK {
		return told
	}
	before := m.assigned
	unresolved, changed := g.update(m, r)
	g.advance(r.Topics, changed)
	g.reconcile(m, r.owns())
	g.expect(m)
	told = ConsumerAnswer{MemberID: m.id, Epoch: m.epoch, Stays: true}
	if told.Assigned = r.full() || !sameSet(before, m.assigned); told.Assigned {
		told.Assignment = m.assigned.sorted()
	}
	if unresolved { // as in Kafka an expression that is new takes effect behind the answer
		g.regexes[m.regex] = g.topics.matching(m.regex)
		if g.look() || len(g.regexes[m.regex]) > 0 {
			g.epoch++
		}
	}
	return told
}

// advance starts an epoch if topics or members changed, and makes its targets if
// it is time.
func (g *consumer) advance(topics *Topics, changed bool) {
	if g.refresh(topics) || changed {
		g.look()
		g.epoch++
	}
	g.retarget()
}

// owns is what a member says it reads, nil if it does not say.
func (r *ConsumerHeartbeat) owns() []TopicPartition {
	if r.SaysOwns && r.Owns == nil {
		return []TopicPartition{}
	}
	return r.Owns
}

// full says whether a member said all that there is to say: it wants to know all.
func (r *ConsumerHeartbeat) full() bool {
	return r.Epoch == joinEpoch || r.Rebalance >= 0 && (r.Names != nil || r.Regex != nil) && r.SaysOwns
}

func sameSet(a, b set) bool {
	in, out := a.split(b)
	return len(out) == 0 && len(in) == len(b)
}

// admit finds the member that a heartbeat is of, or makes it.
func (g *consumer) admit(r *ConsumerHeartbeat) (*consumerMember, ConsumerAnswer) {
	switch {
	case r.Epoch != joinEpoch:
		m, told := g.identify(r)
		if told.Reason == OK {
			told = m.fence(r)
		}
		return m, told
	case r.GivenID && r.MemberID == "":
		r.MemberID = g.c.newID()
	}
	if r.InstanceID != nil {
		if m := g.instance(*r.InstanceID); m != nil {
			return g.comeBack(m, r)
		}
	}
	if m := g.find(r.MemberID); m != nil {
		if r.InstanceID != nil {
			m.instance = r.InstanceID
		}
		return m, ConsumerAnswer{}
	}
	if len(g.members) >= MaxMembers {
		return nil, ConsumerAnswer{Reason: GroupFull}
	}
	m := &consumerMember{id: r.MemberID, instance: r.InstanceID}
	if g.c.bytes+r.size() > MaxBytes {
		return nil, ConsumerAnswer{Reason: TooManyBytes}
	}
	g.members = append(g.members, m)
	g.charge(m)
	return m, ConsumerAnswer{}
}

// size is about what a member costs that says this.
func (r *ConsumerHeartbeat) size() int64 {
	n := 2*overhead + len(r.MemberID) + len(r.ClientID) + len(r.ClientHost)
	for _, name := range r.Names {
		n += overhead + len(name)
	}
	if r.Regex != nil {
		n += len(*r.Regex)
	}
	return int64(n)
}

// comeBack gives a static member its place under its new id, if its older self has
// left for a while or was of the classic protocol.
func (g *consumer) comeBack(m *consumerMember, r *ConsumerHeartbeat) (*consumerMember, ConsumerAnswer) {
	away := m.epoch == leaveStaticEpoch || m.classic != nil
	if m.id != r.MemberID && !away {
		return nil, refused(InstanceTaken, "Static member %s with instance id %s cannot join the group because the instance id is owned by %s member.",
			r.MemberID, *r.InstanceID, m.id)
	}
	if away {
		m.id, m.epoch, m.previous, m.progress = r.MemberID, joinEpoch, joinEpoch, reconciled
		g.charge(m)
	}
	return m, ConsumerAnswer{}
}

// fence refuses a member that is of another epoch. One that missed the last
// answer may come with the epoch before, if it reads nothing that is not its.
func (m *consumerMember) fence(r *ConsumerHeartbeat) ConsumerAnswer {
	const text = "The consumer group member has a %s member epoch (%d) than the one known by the group coordinator (%d). The member must abandon all its partitions and rejoin."
	switch {
	case r.Epoch > m.epoch:
		return refused(FencedEpoch, text, "greater", r.Epoch, m.epoch)
	case r.Epoch < m.epoch && (r.Epoch != m.previous || !r.SaysOwns || slices.ContainsFunc(r.Owns, func(p TopicPartition) bool { return !m.assigned[p] })):
		return refused(FencedEpoch, text, "smaller", r.Epoch, m.epoch)
	}
	return ConsumerAnswer{}
}

// update takes what a member says of itself now. It tells whether its expression
// is one that was not looked up yet, and whether the group has to be assigned
// anew.
func (g *consumer) update(m *consumerMember, r *ConsumerHeartbeat) (unresolved, changed bool) {
	m.clientID, m.clientHost, m.classic = r.ClientID, r.ClientHost, nil
	if r.RackID != nil {
		m.rack = r.RackID
	}
	if r.Rebalance >= 0 {
		m.rebalance = r.Rebalance
	}
	if r.Names != nil {
		names := slices.Clone(r.Names)
		slices.Sort(names)
		names = slices.Compact(names)
		changed = !slices.Equal(names, m.names)
		m.names = names
	}
	if r.Regex != nil && *r.Regex != m.regex {
		m.regex = *r.Regex
		_, known := g.regexes[m.regex]
		unresolved = m.regex != "" && !known
		changed = changed || !unresolved
	}
	if r.Assignor != nil {
		m.assignor = *r.Assignor
	}
	if preferred := g.preferred(); preferred != g.assignor {
		g.assignor, changed = preferred, true
	}
	g.charge(m)
	g.forgetRegexes()
	return unresolved, changed
}

// forgetRegexes forgets expressions that no member has any more.
func (g *consumer) forgetRegexes() {
	for expression := range g.regexes {
		if !slices.ContainsFunc(g.members, func(m *consumerMember) bool { return m.regex == expression }) {
			delete(g.regexes, expression)
		}
	}
}
