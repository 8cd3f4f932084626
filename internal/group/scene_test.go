package group

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A scene is a coordinator and who plays before it. Players have the ids that the
// coordinator gave them last: A-1 is A, with the first id that was given.
type scene struct {
	*Coordinator
	t       testing.TB
	players map[string]*player
	topics  *Topics
}

type player struct {
	id         string
	instance   *string
	generation int32
	joined     <-chan Joined
	synced     <-chan Synced
}

func newScene(t testing.TB) *scene {
	n := 0
	return &scene{New(func() string { n++; return strconv.Itoa(n) }), t, map[string]*player{}, topicsAre(1, "t", 3, "u", 2)}
}

func (s *scene) player(name string) *player {
	if s.players[name] == nil {
		s.players[name] = &player{generation: none}
	}
	return s.players[name]
}

// An act is what somebody does, and what is said to it.
type act struct {
	do   func(s *scene) string
	says string
}

// play plays acts in virtual time and compares what is said.
func play(t *testing.T, acts ...act) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		for i, a := range acts {
			got := a.do(s)
			synctest.Wait()
			if got != a.says {
				t.Errorf("act %d of %d says %q instead of %q", i+1, len(acts), got, a.says)
			}
		}
		s.check()
	})
}

// check compares what is counted with what is there.
func (s *scene) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var bytes int64
	offsets := 0
	for id, g := range s.groups {
		bytes += int64(overhead + len(id))
		if g.consumer != nil {
			for _, m := range g.consumer.members {
				bytes += m.size()
			}
		} else {
			bytes += int64(overhead * len(g.classic.pending))
			for _, m := range g.classic.members {
				bytes += m.size()
			}
		}
		for p, o := range g.offsets {
			bytes += cost(p, o)
			offsets++
		}
		for _, pending := range g.pending {
			for p, o := range pending {
				bytes += cost(p, o.Offset)
				offsets++
			}
		}
	}
	if bytes != s.bytes || offsets != s.Coordinator.offsets {
		s.t.Errorf("%d bytes and %d offsets are counted, and there are %d and %d", s.bytes, s.Coordinator.offsets, bytes, offsets)
	}
}

// A detail changes what a player says when it joins.
type detail func(j *Join)

func offering(protocols ...string) detail {
	return func(j *Join) {
		j.Protocols = nil
		for _, p := range protocols {
			name, metadata, _ := strings.Cut(p, ":")
			j.Protocols = append(j.Protocols, Protocol{name, []byte(metadata)})
		}
	}
}

func typed(protocolType string) detail { return func(j *Join) { j.ProtocolType = protocolType } }
func named(id string) detail           { return func(j *Join) { j.MemberID = id } }
func session(d time.Duration) detail   { return func(j *Join) { j.Session = d } }
func patient(d time.Duration) detail   { return func(j *Join) { j.Rebalance = d } }
func comesTwice(j *Join)               { j.ComesTwice = true }
func skips(j *Join)                    { j.SkipsAssignment = true }
func inGroup(id string) detail         { return func(j *Join) { j.Group = id } }
func instance(id string) detail        { return func(j *Join) { j.InstanceID = &id } }
func returning(id string) detail       { return func(j *Join) { j.InstanceID, j.MemberID = &id, "" } }

// join joins group "g", and says "waits" if the answer does not come at once.
func join(name string, details ...detail) func(*scene) string {
	return func(s *scene) string {
		p := s.player(name)
		j := Join{
			Group: "g", MemberID: p.id, ClientID: name, Session: 10 * time.Second, Rebalance: time.Minute,
			ProtocolType: "consumer", Protocols: []Protocol{{Name: "range"}}, Topics: s.topics,
		}
		for _, d := range details {
			d(&j)
		}
		p.instance = j.InstanceID
		p.joined = s.Join(j)
		return hear(name)(s)
	}
}

// hear is what a player that waits is told.
func hear(name string) func(*scene) string {
	return func(s *scene) string {
		synctest.Wait()
		p := s.player(name)
		select {
		case told := <-p.joined:
			return p.hearJoined(told)
		case told := <-p.synced:
			return heardSynced(told)
		default:
			return "waits"
		}
	}
}

func (p *player) hearJoined(told Joined) string {
	if told.Reason == OK || told.Reason == IDRequired {
		p.id = told.MemberID
	}
	if told.Reason != OK {
		return fmt.Sprintf("%v, generation %d, id %q", short(told.Reason), told.Generation, told.MemberID)
	}
	p.generation = told.Generation
	says := fmt.Sprintf("%s: generation %d, %s %s, led by %s", told.MemberID, told.Generation, told.ProtocolType, told.Protocol, told.Leader)
	for _, m := range told.Members {
		says += " " + m.ID
	}
	if told.SkipAssignment {
		says += ", skip"
	}
	return says
}

func heardSynced(told Synced) string {
	if told.Reason != OK {
		return short(told.Reason)
	}
	return fmt.Sprintf("%s %s %q", told.ProtocolType, told.Protocol, told.Assignment)
}

// short is a reason in a word or two.
func short(why Reason) string {
	return map[Reason]string{
		OK: "ok", BadGroupID: "bad group", BadSession: "bad session", NoSuchGroup: "no group", NoSuchMember: "no member",
		OldGeneration: "old generation", FencedInstance: "fenced", OtherProtocol: "other protocol", Rebalancing: "rebalancing",
		IDRequired: "id required", NotEmpty: "not empty", Subscribed: "subscribed", LongMetadata: "long metadata",
		PendingInstance: "pending instance", GroupFull: "full", TooManyProtocols: "too many protocols",
		BadRequest: "bad request", BadRegex: "bad regex", NoSuchAssignor: "no assignor", InstanceTaken: "instance taken",
		OldEpoch: "old epoch", FencedEpoch: "fenced epoch", OldVersion: "old version", TooManyExpressions: "too many expressions",
		TooManyGroups: "too many groups", TooManyOffsets: "too many offsets", TooManyBytes: "too many bytes",
	}[why]
}

// who is a player as it last heard of itself; as is somebody else in its place.
func (s *scene) who(name string) Identity {
	p := s.player(name)
	return Identity{Group: "g", MemberID: p.id, InstanceID: p.instance, Generation: p.generation}
}

// syncs asks for an assignment, and brings those of the others: "A=one".
func syncs(name string, assigned ...string) func(*scene) string {
	return syncAs(name, nil, assigned...)
}

func syncAs(name string, change func(r *Sync), assigned ...string) func(*scene) string {
	return func(s *scene) string {
		r := Sync{Identity: s.who(name), Assignments: map[string][]byte{}}
		for _, a := range assigned {
			to, what, _ := strings.Cut(a, "=")
			r.Assignments[s.player(to).id] = []byte(what)
		}
		if change != nil {
			change(&r)
		}
		s.player(name).synced = s.Sync(r)
		return hear(name)(s)
	}
}

func beat(name string) func(*scene) string { return beatAs(name, func(*Identity) {}) }

func beatAs(name string, change func(who *Identity)) func(*scene) string {
	return func(s *scene) string {
		who := s.who(name)
		change(&who)
		return short(s.Heartbeat(who))
	}
}

// leave lets players leave with their ids, and "inst:ID" by the instance alone.
func leave(names ...string) func(*scene) string {
	return func(s *scene) string {
		var leavers []Leaver
		for _, name := range names {
			if id, ok := strings.CutPrefix(name, "inst:"); ok {
				leavers = append(leavers, Leaver{InstanceID: &id})
			} else {
				leavers = append(leavers, Leaver{s.player(name).id, s.player(name).instance})
			}
		}
		why, each := s.Leave("g", leavers)
		words := []string{short(why)}
		for _, why := range each {
			words = append(words, short(why))
		}
		return strings.Join(words, ", ")
	}
}

// pass lets time go by.
func pass(d time.Duration) act {
	return act{func(*scene) string {
		<-time.After(d)
		synctest.Wait()
		return ""
	}, ""}
}

// describe is the state, the protocol, and each member with its metadata and
// assignment.
func describe(id string) func(*scene) string {
	return func(s *scene) string {
		d := s.Describe(id)
		words := []string{d.State.String(), strconv.Quote(d.ProtocolType), strconv.Quote(d.Protocol)}
		for _, m := range d.Members {
			words = append(words, fmt.Sprintf("%s(%s,%s)", m.ID, m.Metadata, m.Assignment))
		}
		return strings.Join(words, " ")
	}
}

// commit commits offsets as a player, or as "" that is in no group: "t-0=5".
func commit(name string, offsets ...string) func(*scene) string {
	return commitAs(name, func(*Identity) {}, offsets...)
}

func commitAs(name string, change func(who *Identity), offsets ...string) func(*scene) string {
	return func(s *scene) string {
		who := Identity{Group: "g", Generation: none}
		if name != "" {
			who = s.who(name)
		}
		change(&who)
		r := Commit{Identity: who}
		for _, o := range offsets {
			where, at, _ := strings.Cut(o, "=")
			n, _ := strconv.ParseInt(at, 10, 64)
			r.Offsets = append(r.Offsets, PartitionOffset{partition(where), Offset{At: n, LeaderEpoch: -1}})
		}
		why, each := s.Commit(r)
		if why != OK {
			return short(why)
		}
		return words(each)
	}
}

func words(each []Reason) string {
	all := make([]string, len(each))
	for i, why := range each {
		all[i] = short(why)
	}
	return strings.Join(all, " ")
}

func partition(where string) Partition {
	topic, number, _ := strings.Cut(where, "-")
	n, _ := strconv.Atoi(number)
	return Partition{topic, int32(n)}
}

// committed is all that a group committed.
func committed(id string) func(*scene) string {
	return func(s *scene) string {
		var all []string
		for _, o := range s.Offsets(id) {
			all = append(all, fmt.Sprintf("%s-%d=%d", o.Topic, o.Number, o.At))
		}
		return strings.Join(all, " ")
	}
}

// speaking is a consumer's metadata that names topics.
func speaking(topics ...string) string {
	b := []byte{0, 1, 0, 0, 0, byte(len(topics))}
	for _, t := range topics {
		b = append(append(b, 0, byte(len(t))), t...)
	}
	return string(append(b, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)) // no user data, and it owns nothing
}

// stories are acts by their title.
type stories map[string][]act

func (all stories) play(t *testing.T) {
	for _, title := range slices.Sorted(maps.Keys(all)) {
		t.Run(title, func(t *testing.T) { play(t, all[title]...) })
	}
}
