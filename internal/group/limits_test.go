package group

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

func TestLimits(t *testing.T) {
	tooLarge := offering("range:" + strings.Repeat("m", MaxBytes))
	stories{
		"members of a group, with ids that were given": {
			{func(s *scene) string {
				for i := range MaxMembers - 1 {
					join(strconv.Itoa(i), comesTwice)(s)
				}
				return join("last", instance("i"))(s)
			}, "i-1000: generation 1, consumer range, led by i-1000 i-1000"},
			{join("A"), `full, generation -1, id ""`},
			{join("B", instance("k")), `full, generation -1, id ""`},
			{join("again", returning("i")), "waits"},
			{leave("0"), "ok, ok"},
			{join("A", comesTwice), `id required, generation -1, id "A-1002"`},
		},
		"groups": {
			{func(s *scene) string {
				for i := range MaxGroups {
					commitAs("", func(who *Identity) { who.Group = strconv.Itoa(i) }, "t-0=1")(s)
				}
				return commit("", "t-0=1")(s)
			}, "too many groups"},
			{join("A"), `too many groups, generation -1, id ""`},
			{deleteGroup("0"), "ok"},
			{join("A"), "A-1: generation 1, consumer range, led by A-1 A-1"},
		},
		"bytes of metadata": {
			{join("A", tooLarge), `too many bytes, generation -1, id ""`},
			{join("A"), "A-1: generation 1, consumer range, led by A-1 A-1"},
			{join("A", tooLarge), `too many bytes, generation -1, id "A-1"`},
		},
		"bytes of assignments": {
			{join("A"), "A-1: generation 1, consumer range, led by A-1 A-1"},
			{syncs("A", "A="+strings.Repeat("a", MaxBytes)), "too many bytes"},
			{syncs("A", "A=all"), `consumer range "all"`},
		},
	}.play(t)
}

func TestLimits_offsets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.Coordinator.offsets = MaxOffsets - 1
		for _, a := range []act{
			{commit("", "t-0=1", "t-1=1"), "ok too many offsets"},
			{commit("", "t-0=2"), "ok"},
			{deleteOffsets("g", "t-0"), "ok ok"},
			{commit("", "t-1=1"), "ok"},
		} {
			if got := a.do(s); got != a.says {
				t.Errorf("it says %q instead of %q", got, a.says)
			}
		}
	})
}

func TestReason_says_each_in_words_of_its_own(t *testing.T) {
	seen := map[string]Reason{}
	for why := OK; why <= TooManyBytes; why++ {
		if other, twice := seen[why.String()]; twice || why.String() == "" {
			t.Errorf("reason %d says %q, as %d does", why, why, other)
		}
		seen[why.String()] = why
	}
	if got := Reason(200).String(); got != "unknown reason" {
		t.Errorf("a reason that is not one says %q", got)
	}
}
