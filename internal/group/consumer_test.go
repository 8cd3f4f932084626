package group

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// topicsAre are topics with so many partitions; the first letter is the id.
func topicsAre(version uint64, namesAndPartitions ...any) *Topics {
	byName := map[string]Topic{}
	for i := 0; i < len(namesAndPartitions); i += 2 {
		name := namesAndPartitions[i].(string)
		byName[name] = Topic{[16]byte{name[0]}, int32(namesAndPartitions[i+1].(int))}
	}
	return NewTopics(version, byName)
}

// change changes the topics that there are.
func change(version uint64, namesAndPartitions ...any) act {
	return act{func(s *scene) string { s.topics = topicsAre(version, namesAndPartitions...); return "" }, ""}
}

func places(all []TopicPartition) string {
	words := make([]string, len(all))
	for i, p := range all {
		words[i] = fmt.Sprintf("%c-%d", p.TopicID[0], p.Number)
	}
	return strings.Join(words, " ")
}

func placesOf(words string) (all []TopicPartition) {
	for _, w := range strings.Fields(words) {
		n, _ := strconv.Atoi(w[2:])
		all = append(all, TopicPartition{[16]byte{w[0]}, int32(n)})
	}
	return all
}

// A wish changes what a member of the consumer protocol says.
type wish func(r *ConsumerHeartbeat)

func reading(names ...string) wish { return func(r *ConsumerHeartbeat) { r.Names = names } }
func matching(regex string) wish   { return func(r *ConsumerHeartbeat) { r.Regex = &regex } }
func assignor(name string) wish    { return func(r *ConsumerHeartbeat) { r.Assignor = &name } }
func owning(words string) wish {
	return func(r *ConsumerHeartbeat) { r.Owns, r.SaysOwns = placesOf(words), true }
}
func ofEpoch(epoch int32) wish         { return func(r *ConsumerHeartbeat) { r.Epoch = epoch } }
func ofInstance(id string) wish        { return func(r *ConsumerHeartbeat) { r.InstanceID = &id } }
func within(d time.Duration) wish      { return func(r *ConsumerHeartbeat) { r.Rebalance = d } }
func ofMember(id string) wish          { return func(r *ConsumerHeartbeat) { r.MemberID = id } }
func ofGroup(id string) wish           { return func(r *ConsumerHeartbeat) { r.Group = id } }
func given(r *ConsumerHeartbeat)       { r.GivenID, r.MemberID = true, "" }
func saysNothing(r *ConsumerHeartbeat) { r.Names, r.SaysOwns = nil, false }

// enter joins group "g" in the consumer protocol as a member whose id is its name.
func enter(name string, wishes ...wish) func(*scene) string {
	all := []wish{ofEpoch(joinEpoch), within(time.Minute), reading("t"), owning("")}
	return tell(name, append(all, wishes...)...)
}

// tell sends a heartbeat of the consumer protocol.
func tell(name string, wishes ...wish) func(*scene) string {
	return func(s *scene) string {
		p := s.player(name)
		if p.id == "" {
			p.id = name
		}
		r := ConsumerHeartbeat{Group: "g", MemberID: p.id, Epoch: p.generation, ClientID: name, Rebalance: -1, Topics: s.topics}
		for _, w := range wishes {
			w(&r)
		}
		told := s.ConsumerHeartbeat(r)
		if told.Reason != OK {
			return short(told.Reason)
		}
		p.id, p.generation = told.MemberID, told.Epoch
		says := fmt.Sprintf("%s: epoch %d", told.MemberID, told.Epoch)
		if told.Assigned {
			says += " [" + places(told.Assignment) + "]"
		}
		if !told.Stays {
			says += ", gone"
		}
		return says
	}
}

// consumersOf is the state, the epochs, the assignor, and each member with its
// epoch and what it has.
func consumersOf(id string) func(*scene) string {
	return func(s *scene) string {
		d, ok := s.DescribeConsumers(id)
		if !ok {
			return "none"
		}
		words := []string{fmt.Sprintf("%v %d %d %s", d.State, d.Epoch, d.TargetEpoch, d.Assignor)}
		for _, m := range d.Members {
			words = append(words, fmt.Sprintf("%s(%d, %s)", m.ID, m.Epoch, places(m.Assigned)))
		}
		return strings.Join(words, " ")
	}
}

// one is A, which reads all of t.
var one = []act{{enter("A"), "A: epoch 2 [t-0 t-1 t-2]"}}

func TestConsumerHeartbeat(t *testing.T) {
	stories{
		"the first member gets all at once": after(one,
			act{tell("A", owning("t-0 t-1 t-2")), "A: epoch 2"},
			act{consumersOf("g"), "Stable 2 2 uniform A(2, t-0 t-1 t-2)"},
			act{describe("g"), `Dead "" ""`},
		),
		"a second one waits for the next assignment, and for what the first has to give up": after(one,
			act{enter("B"), "B: epoch 2 []"},
			act{consumersOf("g"), "Assigning 3 2 uniform A(2, t-0 t-1 t-2) B(2, )"},
			act{tell("B", owning("")), "B: epoch 2"},
			pass(assignmentInterval),
			act{tell("B", owning("")), "B: epoch 3"},
			act{consumersOf("g"), "Reconciling 3 3 uniform A(2, t-0 t-1 t-2) B(3, )"},
			act{tell("A", owning("t-0 t-1 t-2")), "A: epoch 2 [t-0 t-1]"},
			act{tell("A"), "A: epoch 2"},
			act{consumersOf("g"), "Reconciling 3 3 uniform A(2, t-0 t-1 t-2) B(3, )"},
			act{tell("B"), "B: epoch 3"},
			act{tell("A", owning("t-0 t-1")), "A: epoch 3"},
			act{tell("B"), "B: epoch 3 [t-2]"},
			act{consumersOf("g"), "Stable 3 3 uniform A(3, t-0 t-1) B(3, t-2)"},
		),
		"who does not give up in time is removed": after(one,
			act{enter("B"), "B: epoch 2 []"},
			pass(assignmentInterval),
			act{tell("A", within(10*time.Second)), "A: epoch 2 [t-0 t-1]"},
			pass(10*time.Second),
			act{tell("A"), "no member"},
			act{tell("B"), "B: epoch 4 [t-0 t-1 t-2]"},
		),
		"who is silent for a session is removed": after(one,
			pass(consumerSession-1), act{tell("A"), "A: epoch 2"},
			pass(consumerSession), act{tell("A"), "no member"},
			act{consumersOf("g"), "Empty 3 3 uniform"},
		),
		"who leaves is gone, and comes back in another epoch": after(one,
			act{tell("A", ofEpoch(leaveEpoch)), "A: epoch -1, gone"},
			act{tell("A", ofEpoch(leaveEpoch)), "no member"},
			act{enter("A"), "A: epoch 4 [t-0 t-1 t-2]"},
		),
		"all that can be said is answered with all": after(one,
			act{tell("A", within(time.Minute), reading("t"), owning("t-0 t-1 t-2")), "A: epoch 2 [t-0 t-1 t-2]"},
			act{enter("A"), "A: epoch 2 [t-0 t-1 t-2]"},
		),
		"another epoch is fenced": after(one,
			act{tell("A", ofEpoch(77)), "fenced epoch"},
			act{tell("A", ofEpoch(1)), "fenced epoch"},
			act{tell("B", ofEpoch(1)), "no member"},
			act{tell("A", ofGroup("none"), ofEpoch(1)), "no group"},
			act{tell("A", ofGroup("none"), ofEpoch(leaveEpoch)), "no group"},
		),
		"the epoch before is not, if the answer was lost": after(one,
			act{enter("B"), "B: epoch 2 []"},
			pass(assignmentInterval),
			act{tell("A", owning("t-0 t-1")), "A: epoch 3 [t-0 t-1]"},
			act{tell("A", ofEpoch(2), owning("t-0 t-1 t-2")), "fenced epoch"},
			act{tell("A", ofEpoch(2)), "fenced epoch"},
			act{tell("A", ofEpoch(2), owning("t-0")), "A: epoch 3"},
		),
		"what is wished for makes an epoch": after(one,
			pass(assignmentInterval),
			act{tell("A", reading("u", "t", "t")), "A: epoch 3 [t-0 t-1 t-2 u-0 u-1]"},
			act{tell("A", reading("t", "u")), "A: epoch 3"},
			pass(assignmentInterval),
			act{tell("A", assignor("range")), "A: epoch 4"},
			act{consumersOf("g"), "Stable 4 4 range A(4, t-0 t-1 t-2 u-0 u-1)"},
		),
		"what is not wished for any more is given up at once": {
			{enter("A", reading("t", "u")), "A: epoch 2 [t-0 t-1 t-2 u-0 u-1]"},
			{tell("A", reading("u")), "A: epoch 2 [u-0 u-1]"},
			{consumersOf("g"), "Assigning 3 2 uniform A(2, t-0 t-1 t-2 u-0 u-1)"},
			{tell("A", owning("u-0 u-1")), "A: epoch 2"},
			{consumersOf("g"), "Assigning 3 2 uniform A(2, u-0 u-1)"},
		},
		"topics that come, grow and go make an epoch": after(one,
			pass(assignmentInterval),
			change(2, "t", 4, "x", 1),
			act{tell("A"), "A: epoch 3 [t-0 t-1 t-2 t-3]"},
			pass(assignmentInterval),
			change(3, "x", 1),
			act{tell("A"), "A: epoch 3 []"},
			act{tell("A", owning("")), "A: epoch 4"},
			change(1, "t", 4),
			act{tell("A"), "A: epoch 4"}, // of an older time
		),
		"an expression takes effect behind the answer": {
			{enter("A", reading(), matching("[tu]")), "A: epoch 1 []"},
			{tell("A"), "A: epoch 2 [t-0 t-1 t-2 u-0 u-1]"},
			{enter("B", reading(), matching("[tu]")), "B: epoch 2 []"},
			pass(assignmentInterval),
			{tell("B"), "B: epoch 3"},
			{tell("A", matching("(")), "bad regex"},
			{enter("C", reading(), matching("t.")), "C: epoch 3 []"},
		},
		"an expression finds topics that come later": {
			{enter("A", reading(), matching("x.*")), "A: epoch 1 []"},
			change(2, "xy", 1, "yx", 1),
			{tell("A"), "A: epoch 2 [x-0]"},
		},
		"no names at all are a subscription to nothing": {
			{enter("A", reading([]string{}...)), "A: epoch 1 []"},
		},
		"an expression for what is read already makes an epoch all the same": after(one,
			act{enter("B", reading(), matching("t")), "B: epoch 2 []"},
			pass(assignmentInterval),
			act{consumersOf("g"), "Assigning 3 2 uniform A(2, t-0 t-1 t-2) B(2, )"},
		),
		"who joins again may take an instance id": after(one,
			act{enter("A", ofInstance("i")), "A: epoch 2 [t-0 t-1 t-2]"},
			act{tell("A", ofInstance("i")), "A: epoch 2"},
		),
		"a topic that is not there is nothing": {
			{enter("A", reading("none")), "A: epoch 2 []"},
			{consumersOf("g"), "Stable 2 2 uniform A(2, )"},
		},
		"in version 0 the coordinator chooses the id": {
			{enter("A", given), "1: epoch 2 [t-0 t-1 t-2]"},
		},
		"what cannot be is refused": {
			{enter("A", ofGroup("")), "bad request"},
			{enter("A", ofInstance("")), "bad request"},
			{enter("A", func(r *ConsumerHeartbeat) { r.RackID = new(string) }), "bad request"},
			{enter("A", ofMember("")), "bad request"},
			{enter("A", within(-1)), "bad request"},
			{enter("A", owning("t-0")), "bad request"},
			{enter("A", saysNothing, reading("t")), "bad request"},
			{enter("A", reading(nil...)), "bad request"},
			{tell("A", ofEpoch(leaveStaticEpoch)), "bad request"},
			{tell("A", ofEpoch(-3)), "bad request"},
			{enter("A", assignor("nonsense")), "no assignor"},
			{consumersOf("g"), "none"},
		},
	}.play(t)
}

func TestConsumerHeartbeat_static(t *testing.T) {
	static := []act{{enter("A", ofInstance("i")), "A: epoch 2 [t-0 t-1 t-2]"}}
	stories{
		"its place is taken until it leaves for a while": after(static,
			act{enter("B", ofInstance("i")), "instance taken"},
			act{tell("A", ofInstance("i"), ofEpoch(leaveStaticEpoch)), "A: epoch -2, gone"},
			act{consumersOf("g"), "Reconciling 2 2 uniform A(-2, t-0 t-1 t-2)"},
			act{enter("B", ofInstance("i")), "B: epoch 2 [t-0 t-1 t-2]"},
			act{tell("A", ofInstance("i"), ofEpoch(2)), "fenced"},
			act{tell("B", ofInstance("k")), "no member"},
			act{tell("B", ofInstance("i"), ofEpoch(leaveEpoch)), "B: epoch -1, gone"},
		),
		"its place is kept for a session": after(static,
			act{tell("A", ofInstance("i"), ofEpoch(leaveStaticEpoch)), "A: epoch -2, gone"},
			pass(consumerSession),
			act{consumersOf("g"), "Empty 3 3 uniform"},
		),
	}.play(t)
}

func TestConsumerGroup_offsets(t *testing.T) {
	epoch := func(n int32) func(who *Identity) { return func(who *Identity) { who.Generation = n } }
	stories{
		"members commit in their epoch": after(one,
			act{commitNew("A", epoch(2)), "ok"},
			act{commitNew("A", epoch(1)), "old epoch"},
			act{commit("A", "t-0=1"), "old version"},
			act{commit("", "t-0=1"), "no member"},
			act{deleteOffsets("g", "t-0", "u-0"), "ok subscribed ok"},
			act{deleteGroup("g"), "not empty"},
			act{tell("A", ofEpoch(leaveEpoch)), "A: epoch -1, gone"},
			act{commit("", "t-0=4"), "ok"},
			act{committed("g"), "t-0=4"},
			act{deleteGroup("g"), "ok"},
		),
		"who names a member or an epoch has to name the right ones": after(one,
			act{mayFetch("A", 2), "ok"},
			act{mayFetch("A", 1), "old epoch"},
			act{mayFetch("ghost", 2), "no member"},
			act{mayFetch("", none), "ok"},
			act{mayFetch("", 2), "no member"},
		),
	}.play(t)
}

func commitNew(name string, change func(who *Identity)) func(*scene) string {
	return func(s *scene) string {
		who := s.who(name)
		change(&who)
		why, each := s.Commit(Commit{Identity: who, Offsets: []PartitionOffset{{partition("t-0"), Offset{At: 1}}}, KnowsEpochs: true})
		if why != OK {
			return short(why)
		}
		return words(each)
	}
}

// mayFetch asks as a member, or as nobody.
func mayFetch(member string, epoch int32) func(*scene) string {
	return func(s *scene) string {
		if member == "" {
			return short(s.MayFetch("g", nil, epoch))
		}
		return short(s.MayFetch("g", &member, epoch))
	}
}

func TestConsumerGroup_is_as_large_as_it_may_be(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		for i := range MaxMembers {
			enter(strconv.Itoa(i))(s)
		}
		if says := enter("A")(s); says != "full" {
			t.Errorf("one member more is told %q", says)
		}
		if says := enter("7")(s); !strings.HasPrefix(says, "7: epoch") {
			t.Errorf("one that is there is told %q", says)
		}
		if says := enter("A", ofGroup("h"), reading(strings.Repeat("n", MaxBytes)))(s); says != "too many bytes" {
			t.Errorf("one with too long a name of a topic is told %q", says)
		}
		for i := range MaxExpressions {
			enter(strconv.Itoa(i), ofGroup("h"), reading(), matching(strconv.Itoa(i)))(s)
		}
		if says := enter("A", ofGroup("h"), reading(), matching("a"))(s); says != "too many expressions" {
			t.Errorf("one with one expression more is told %q", says)
		}
		if says := enter("A", ofGroup("h"), reading(), matching(strings.Repeat("a", maxExpression+1)))(s); says != "bad regex" {
			t.Errorf("one with too long an expression is told %q", says)
		}
		s.check()
	})
}

func TestMigration(t *testing.T) {
	speaks := offering("range:" + speaking("t"))
	stories{
		"a classic member joins a consumer group, and the coordinator assigns": after(one,
			act{join("C", offering("range:junk")), `other protocol, generation -1, id ""`},
			act{join("C", typed("connect"), speaks), `other protocol, generation -1, id ""`},
			act{join("C", speaks, comesTwice), `id required, generation -1, id "C-1"`},
			act{join("C", speaks, comesTwice), "C-1: generation 2, consumer range, led by "},
			act{syncs("C"), "consumer range " + strconv.Quote(assigning())},
			pass(assignmentInterval),
			act{beat("C"), "ok"},
			act{tell("A"), "A: epoch 2 [t-0 t-1]"},
			act{beat("C"), "rebalancing"},
			act{syncs("C"), "rebalancing"},
			act{join("C", speaks), "C-1: generation 3, consumer range, led by "},
			act{syncs("C"), "consumer range " + strconv.Quote(assigning())},
			act{tell("A", owning("t-0 t-1")), "A: epoch 3"},
			act{beat("C"), "rebalancing"},
			act{join("C", speaks), "C-1: generation 3, consumer range, led by "},
			act{syncs("C"), "consumer range " + strconv.Quote(assigning(2))},
			act{beat("C"), "ok"},
			act{commit("C", "t-2=5"), "ok"},
			act{beatAs("C", func(who *Identity) { who.Generation = 1 }), "old generation"},
			act{beatAs("C", func(who *Identity) { who.MemberID = "A" }), "no member"},
		),
		"the others get their group back when the last member of the consumer protocol leaves": after(one,
			act{join("C", speaks), "C-1: generation 2, consumer range, led by "},
			act{syncs("C"), "consumer range " + strconv.Quote(assigning())},
			act{tell("A", ofEpoch(leaveEpoch)), "A: epoch -1, gone"},
			act{consumersOf("g"), "none"},
			act{beat("C"), "old generation"},
			act{join("C", speaks), "C-1: generation 4, consumer range, led by C-1 C-1"},
			act{syncs("C", "C=mine"), `consumer range "mine"`},
			act{describe("g"), `Stable "consumer" "range" C-1(` + speaking("t") + `,mine)`},
		),
		"a heartbeat takes a classic group over": {
			{join("C", speaks), "C-1: generation 1, consumer range, led by C-1 C-1"},
			{syncs("C", "C="+assigning(0, 1, 2)), "consumer range " + strconv.Quote(assigning(0, 1, 2))},
			{enter("A"), "A: epoch 2 []"},
			{consumersOf("g"), "Reconciling 2 2 uniform C-1(1, t-0 t-1 t-2) A(2, )"},
			{beat("C"), "rebalancing"},
			{leave("C"), "ok, ok"},
			pass(assignmentInterval),
			{tell("A"), "A: epoch 3 [t-0 t-1 t-2]"},
		},
		"those that wait in it have to join again": {
			{join("C", speaks), "C-1: generation 1, consumer range, led by C-1 C-1"},
			{syncs("C", "C="+assigning(0)), "consumer range " + strconv.Quote(assigning(0))},
			{join("D", speaks), "waits"},
			{enter("A"), "A: epoch 2 [t-2]"},
			{hear("D"), `rebalancing, generation -1, id "D-2"`},
		},
		"a group whose assignments cannot be read stays": {
			{join("C", speaks), "C-1: generation 1, consumer range, led by C-1 C-1"},
			{syncs("C", "C=junk"), `consumer range "junk"`},
			{enter("A"), "no group"},
			{beat("C"), "ok"},
		},
		"an empty group may be of either kind": {
			{join("C", speaks, comesTwice), `id required, generation -1, id "C-1"`},
			{enter("A"), "A: epoch 2 [t-0 t-1 t-2]"},
			{tell("A", ofEpoch(leaveEpoch)), "A: epoch -1, gone"},
			{join("D", speaks), "D-2: generation 1, consumer range, led by D-2 D-2"},
		},
		"a classic member that does not ask for its assignment is removed": after(one,
			act{join("C", speaks, session(MaxSession), patient(10*time.Second)), "C-1: generation 2, consumer range, led by "},
			pass(10*time.Second),
			act{beat("C"), "no member"},
		),
		"a static member moves with its instance": {
			{join("C", speaks, instance("i")), "i-1: generation 1, consumer range, led by i-1 i-1"},
			{syncs("C", "C="+assigning(0, 1, 2)), "consumer range " + strconv.Quote(assigning(0, 1, 2))},
			{enter("A", ofInstance("i")), "A: epoch 1 [t-0 t-1 t-2]"},
			{beat("C"), "fenced"},
			{leave("inst:i"), "ok, ok"},
		},
	}.play(t)
}

// assigning is the assignment of partitions of topic t, as consumers write it.
func assigning(numbers ...int32) string {
	all := set{}
	for _, n := range numbers {
		all[TopicPartition{[16]byte{'t'}, n}] = true
	}
	return string(writeAssignment(all, topicsAre(1, "t", 3), 1))
}

func TestWriteAssignment_is_what_consumers_read(t *testing.T) {
	want := "\x00\x01\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x02\xff\xff\xff\xff"
	if got := assigning(0, 2); got != want {
		t.Errorf("it writes %q instead of %q", got, want)
	}
	topics := topicsAre(1, "t", 3)
	read, ok := readAssignment([]byte(want), topics)
	if got := places(read.sorted()); !ok || got != "t-0 t-2" {
		t.Errorf("it reads %q, %v", got, ok)
	}
	for n := 1; n < len(want)-4; n++ {
		if read, ok := readAssignment([]byte(want[:n]), topics); ok {
			t.Errorf("the first %d bytes are %q", n, places(read.sorted()))
		}
	}
}

func TestAssignors(t *testing.T) {
	wide, narrow := Topic{[16]byte{'t'}, 5}, Topic{[16]byte{'u'}, 2}
	for _, tt := range []struct {
		name     string
		assignor string
		members  []subscriber
		want     []string
	}{
		{"uniform spreads evenly", "uniform", []subscriber{{"a", []Topic{wide}, nil}, {"b", []Topic{wide}, nil}}, []string{"t-0 t-2 t-4", "t-1 t-3"}},
		{"uniform lets members keep what is fair", "uniform",
			[]subscriber{{"a", []Topic{wide}, nil}, {"b", []Topic{wide}, setOf(placesOf("t-0 t-1 t-2 t-3"))}}, []string{"t-2 t-3 t-4", "t-0 t-1"}},
		{"uniform with different topics", "uniform",
			[]subscriber{{"a", []Topic{wide, narrow}, nil}, {"b", []Topic{narrow}, nil}}, []string{"t-0 t-1 t-2 t-3 t-4", "u-0 u-1"}},
		{"uniform balances what is kept", "uniform",
			[]subscriber{{"a", []Topic{narrow}, nil}, {"b", []Topic{wide, narrow}, setOf(placesOf("u-0 u-1"))}, {"c", []Topic{wide}, nil}},
			[]string{"u-0 u-1", "t-2 t-4", "t-0 t-1 t-3"}},
		{"uniform of nobody's topics", "uniform", []subscriber{{"a", nil, nil}}, []string{""}},
		{"range goes by ids", "range", []subscriber{{"b", []Topic{wide, narrow}, nil}, {"a", []Topic{wide, narrow}, nil}}, []string{"t-3 t-4 u-1", "t-0 t-1 t-2 u-0"}},
		{"range skips who is not subscribed", "range", []subscriber{{"a", []Topic{wide}, nil}, {"b", []Topic{narrow}, nil}}, []string{"t-0 t-1 t-2 t-3 t-4", "u-0 u-1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, s := range assignors[tt.assignor](tt.members) {
				got = append(got, places(s.sorted()))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("it assigns %q instead of %q", got, tt.want)
			}
		})
	}
}
