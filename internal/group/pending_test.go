package group

import "testing"

// commitIn commits in a transaction of a producer, as a player or as "" that is in
// no group.
func commitIn(producer int64, name string, change func(who *Identity), offsets ...PartitionOffset) func(*scene) string {
	return func(s *scene) string {
		who := Identity{Group: "g", Generation: none}
		if name != "" {
			who = s.who(name)
		}
		change(&who)
		why, each := s.CommitPending(Commit{Identity: who, Offsets: offsets}, producer)
		if why != OK {
			return short(why)
		}
		return words(each)
	}
}

func asIs(*Identity) {}

func at(where string, offset int64) PartitionOffset {
	return PartitionOffset{partition(where), Offset{At: offset, LeaderEpoch: -1}}
}

func end(producer int64, commit bool) act {
	return act{func(s *scene) string { s.EndPending(producer, commit); return "" }, ""}
}

func unstable(where string) func(*scene) string {
	return func(s *scene) string {
		if s.Unstable("g", partition(where)) {
			return "unstable"
		}
		return "stable"
	}
}

func TestPendingOffsets(t *testing.T) {
	stories{
		"they count when the transaction commits": {
			{commit("", "t-0=1"), "ok"},
			{commitIn(7, "", asIs, at("t-0", 5), at("t-1", 6)), "ok ok"},
			{commitIn(7, "", asIs, at("t-0", 8)), "ok"},
			{committed("g"), "t-0=1"},
			{unstable("t-0"), "unstable"},
			{unstable("t-2"), "stable"},
			end(8, true),
			{unstable("t-1"), "unstable"},
			end(7, true),
			{committed("g"), "t-0=8 t-1=6"},
			{unstable("t-0"), "stable"},
		},
		"they are forgotten when it aborts": {
			{commitIn(7, "", asIs, at("t-0", 5)), "ok"},
			end(7, false),
			{committed("g"), ""},
			end(7, true),
			{committed("g"), ""},
		},
		"a plain commit that came later stays": {
			{commitIn(7, "", asIs, at("t-0", 5), at("t-1", 5)), "ok ok"},
			{commit("", "t-0=9"), "ok"},
			{unstable("t-0"), "unstable"},
			end(7, true),
			{committed("g"), "t-0=9 t-1=5"},
		},
		"deleting the offset, the topic or the group takes them along": {
			{commitIn(7, "", asIs, at("t-0", 5), at("s-0", 5), at("u-0", 5)), "ok ok ok"},
			{deleteOffsets("g", "t-0"), "ok ok"},
			{func(s *scene) string { s.ForgetTopic("s"); return "" }, ""},
			{unstable("u-0"), "unstable"},
			{deleteGroup("g"), "ok"},
			end(7, true),
			{committed("g"), ""},
		},
		"members and who is none may commit, in their generation": after(alone,
			act{commitIn(7, "A", asIs, at("t-0", 5)), "ok"},
			act{commitIn(7, "", asIs, at("t-0", 5)), "ok"},
			act{commitIn(7, "A", func(who *Identity) { who.Generation = 7 }, at("t-0", 5)), "old generation"},
			act{commitIn(7, "A", func(who *Identity) { who.MemberID = "ghost" }, at("t-0", 5)), "no member"},
			act{commitIn(7, "A", func(who *Identity) { who.Group = "none" }, at("t-0", 5)), "old generation"},
		),
		"and those of the consumer protocol in their epoch": after(one,
			act{commitIn(7, "A", asIs, at("t-0", 5)), "ok"},
			act{commitIn(7, "A", func(who *Identity) { who.Generation = 7 }, at("t-0", 5)), "old generation"},
			act{commitIn(7, "ghost", asIs, at("t-0", 5)), "no member"},
		),
	}.play(t)
}
