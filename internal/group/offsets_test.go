package group

import (
	"strings"
	"testing"
)

func deleteGroup(id string) func(*scene) string {
	return func(s *scene) string { return short(s.Delete(id)) }
}

func deleteOffsets(id string, partitions ...string) func(*scene) string {
	return func(s *scene) string {
		var all []Partition
		for _, p := range partitions {
			all = append(all, partition(p))
		}
		why, each := s.DeleteOffsets(id, all)
		return strings.TrimSpace(short(why) + " " + words(each))
	}
}

func TestOffsets(t *testing.T) {
	stories{
		"somebody in no group makes one by committing": {
			{commit("", "t-1=7", "t-0=5", "s-0=-1"), "ok ok ok"},
			{committed("g"), "s-0=-1 t-0=5 t-1=7"},
			{describe("g"), `Empty "" ""`},
			{commit("", "t-0=4"), "ok"},
			{committed("g"), "s-0=-1 t-0=4 t-1=7"},
			{committed("none"), ""},
		},
		"into an empty group anybody commits who names no generation": {
			{commitAs("", func(who *Identity) { who.MemberID = "ghost" }, "t-0=1"), "ok"},
			{commitAs("", func(who *Identity) { who.InstanceID = &who.Group }, "t-0=2"), "ok"},
			{commitAs("", func(who *Identity) { who.Generation = 3 }, "t-0=3"), "no member"},
			{committed("g"), "t-0=2"},
		},
		"a generation of a group that is not there": {
			{commitAs("", func(who *Identity) { who.Generation = 0 }, "t-0=1"), "no group"},
			{describe("g"), `Dead "" ""`},
		},
		"into a group with members only they commit": after(alone,
			act{commit("", "t-0=1"), "no member"},
			act{commitAs("A", func(who *Identity) { who.Generation = none }, "t-0=1"), "old generation"},
			act{commitAs("A", func(who *Identity) { who.Generation = 2 }, "t-0=1"), "old generation"},
			act{commitAs("A", func(who *Identity) { who.MemberID = "ghost" }, "t-0=1"), "no member"},
			act{commit("A", "t-0=1"), "ok"},
			act{committed("g"), "t-0=1"},
		),
		"they outlive members and go with the group": after(alone,
			act{commit("A", "t-0=1"), "ok"},
			act{deleteGroup("g"), "not empty"},
			act{leave("A"), "ok, ok"},
			act{committed("g"), "t-0=1"},
			act{deleteGroup("g"), "ok"},
			act{committed("g"), ""},
			act{deleteGroup("g"), "no group"},
		),
		"those of a topic that members read are kept": {
			{join("A", offering("range:"+speaking("t", "u"))), "A-1: generation 1, consumer range, led by A-1 A-1"},
			{syncs("A"), `consumer range ""`},
			{commit("A", "t-0=1", "s-0=2"), "ok ok"},
			{deleteOffsets("g", "t-0", "s-0", "u-3", "s-9"), "ok subscribed ok subscribed ok"},
			{committed("g"), "t-0=1"},
			{leave("A"), "ok, ok"},
			{deleteOffsets("g", "t-0"), "ok ok"},
			{committed("g"), ""},
		},
		"consumers of whom it is not known what they read may read anything": {
			{join("A", offering("range:junk")), "A-1: generation 1, consumer range, led by A-1 A-1"},
			{syncs("A"), `consumer range ""`},
			{deleteOffsets("g", "t-0"), "ok subscribed"},
		},
		"members that are no consumers keep all": {
			{join("A", typed("connect")), "A-1: generation 1, connect range, led by A-1 A-1"},
			{deleteOffsets("g", "t-0"), "not empty"},
			{leave("A"), "ok, ok"},
			{deleteOffsets("g", "t-0"), "ok ok"},
			{deleteOffsets("none", "t-0"), "no group"},
			{deleteOffsets("", "t-0"), "bad group"},
		},
		"a topic that goes takes them along": {
			{commit("", "t-0=1", "t-1=1", "s-0=2"), "ok ok ok"},
			{func(s *scene) string { s.ForgetTopic("t"); return "" }, ""},
			{committed("g"), "s-0=2"},
		},
	}.play(t)
}

func TestOffsets_metadata(t *testing.T) {
	for _, tt := range []struct{ name, metadata, want string }{
		{"none", "", "ok"},
		{"as much as there may be", strings.Repeat("m", MaxMetadata), "ok"},
		{"one character more", strings.Repeat("m", MaxMetadata+1), "long metadata"},
		{"as many characters of more bytes", strings.Repeat("ж", MaxMetadata), "ok"},
		{"characters that are two in Java", strings.Repeat("🦀", MaxMetadata/2), "ok"},
		{"one of those more", strings.Repeat("🦀", MaxMetadata/2+1), "long metadata"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			o := PartitionOffset{Partition{"t", 0}, Offset{At: 1, LeaderEpoch: 4, Metadata: tt.metadata}}
			_, each := s.Commit(Commit{Identity: Identity{Group: "g", Generation: none}, Offsets: []PartitionOffset{o}})
			if got := words(each); got != tt.want {
				t.Errorf("the commit says %q instead of %q", got, tt.want)
			}
			if got, ok := s.Offset("g", o.Partition); ok != (tt.want == "ok") || ok && got != o.Offset {
				t.Errorf("%+v is kept: %v", got, ok)
			}
			s.check()
		})
	}
}

func TestReadSubscription_of_bytes_that_are_none(t *testing.T) {
	whole := speaking("orders", "audit")
	for n := range len(whole) {
		if said, ok := readSubscription([]byte(whole[:n])); ok {
			t.Errorf("the first %d bytes say %+v", n, said)
		}
	}
	for _, hostile := range []string{"\x00\x00\x7f\xff\xff\xff", "\x00\x00\xff\xff\xff\xff", "\x00\x00\x00\x00\x00\x01\xff\xff"} {
		if said, ok := readSubscription([]byte(hostile)); ok {
			t.Errorf("%q says %+v", hostile, said)
		}
	}
}
