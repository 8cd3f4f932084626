package kafka

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// leastRequests is how many requests with their own answers are compared at least.
const leastRequests = 1500

// themes are all scripts, by the file that they stand in.
var themes = []struct {
	name    string
	scripts []script
}{
	{"window", windowScripts},
	{"epoch", epochScripts},
	{"unknown", unknownScripts},
	{"malformed", malformedScripts},
	{"records", recordScripts},
	{"produce", produceScripts},
	{"list", listScripts},
	{"fetch", fetchScripts},
	{"session", sessionScripts},
	{"topics", topicScripts},
	{"configs", configScripts},
	{"describe", describeScripts},
	{"versions", versionScripts},
	{"groups_join", groupJoinScripts},
	{"groups_members", groupMemberScripts},
	{"groups_rebalance", groupRebalanceScripts},
	{"groups_static", groupStaticScripts},
	{"groups_offsets", groupOffsetScripts},
	{"groups_admin", groupAdminScripts},
	{"consumer", consumerScripts},
	{"txn", txnScripts},
	{"txn_log", txnLogScripts},
}

// TestAnswers plays every script, and compares.
func TestAnswers(t *testing.T) {
	c := &comparison{kafka: live(t), policies: map[bool]string{
		false: ours(t, "refuse"), true: ours(t, "accept"),
	}}
	if *record && c.kafka == "" {
		t.Fatal("-record needs a broker to ask: FENCEPOST_KAFKA=HOST:PORT, or start")
	}
	for _, theme := range themes {
		c.scripts += len(theme.scripts)
	}
	if c.kafka != "" {
		awaitCoordinators(t, c.kafka)
		takeFirstID(t, c.kafka)
	}
	t.Run("scripts", func(t *testing.T) { // ends when all that is parallel has
		for _, theme := range themes {
			t.Run(theme.name, func(t *testing.T) { c.theme(t, theme.name, theme.scripts) })
		}
	})
	t.Logf("%d requests of %d scripts compared with Apache Kafka %s, %d answers differ for a listed reason",
		c.requests, c.played, version, c.excused)
	if c.played != c.scripts {
		return // -run chose some
	}
	if c.requests < leastRequests {
		t.Errorf("%d requests are compared, and %d should be", c.requests, leastRequests)
	}
	if !t.Failed() {
		reportStale(t)
	}
}

// A comparison is one run over all scripts.
type comparison struct {
	kafka    string          // address of a live broker, "" for none
	policies map[bool]string // addresses of fencepost, by whether it accepts any first sequence

	mu                        sync.Mutex // guards what follows
	scripts, played, requests int
	excused                   int // answers
}

func (c *comparison) theme(t *testing.T, theme string, scripts []script) {
	recorded := load(t, theme)
	fresh := recording{}
	t.Cleanup(func() {
		if *record && len(fresh) == len(scripts) {
			fresh.save(t, theme, scripts)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if !slices.ContainsFunc(scripts, func(s script) bool { return s.name == name }) && !*record {
			t.Errorf("the recording has a script %q, which is no more: refresh it with -record", name)
		}
	}
	for _, sc := range scripts {
		t.Run(sc.name, func(t *testing.T) {
			if !sc.alone { // those begin when all that are alone have ended
				t.Parallel()
			}
			want := recorded[sc.name]
			if c.kafka != "" {
				want = c.ask(t, sc, want)
				c.mu.Lock()
				fresh[sc.name] = want
				c.mu.Unlock()
			}
			c.compare(t, sc, want)
		})
	}
}

// plays is how often a script is begun on a broker that is too busy for it.
const plays = 5

// ask plays a script on the live broker, and compares with what was recorded.
func (c *comparison) ask(t *testing.T, sc script, recorded []answer) []answer {
	t.Helper()
	told, err := sc.play(c.kafka)
	for n := 1; n < plays && errors.Is(err, errUncoordinated); n++ {
		awaitCoordinators(t, c.kafka)
		told, err = sc.play(c.kafka)
	}
	if err != nil {
		t.Fatalf("Kafka: %v", err)
	}
	if *record {
		return told
	}
	if len(told) != len(recorded) {
		t.Fatalf("the recording has %d answers, and the live Kafka gave %d: refresh it with -record", len(recorded), len(told))
	}
	for i := range told {
		if got, want := told[i].step+"\n"+told[i].String(), recorded[i].step+"\n"+recorded[i].String(); got != want {
			t.Errorf("step %d: the live Kafka answers otherwise than recorded; refresh it with -record\nlive:\n%srecorded:\n%s", i+1, got, want)
		}
	}
	return recorded
}

// compare plays a script on fencepost and holds its answers against Kafka's.
func (c *comparison) compare(t *testing.T, sc script, kafka []answer) {
	t.Helper()
	got, err := sc.play(c.policies[sc.accept])
	if err != nil {
		t.Errorf("fencepost: %v", err)
	}
	excused := 0
	for i, a := range got {
		if i >= len(kafka) || kafka[i].step != a.step {
			t.Fatalf("step %d, %s: Kafka's answer to it is not recorded: do so with -record", i+1, a.step)
		}
		unlisted, listed := sift(sc.name, a.step, differ(kafka[i], a))
		if len(unlisted) > 0 {
			t.Errorf("%q, step %d: %s\n%s", sc.name, i+1, a.step, strings.Join(unlisted, "\n"))
		}
		if listed {
			excused++
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.played, c.requests, c.excused = c.played+1, c.requests+len(got), c.excused+excused
}

// sift takes out what is listed, and says whether anything was.
func sift(script, step string, all []mismatch) (unlisted []string, listed bool) {
	for _, d := range all {
		if excuse(script, step, d) {
			listed = true
		} else {
			unlisted = append(unlisted, d.String())
		}
	}
	return unlisted, listed
}

// A mismatch is one field that differs.
type mismatch struct{ path, kafka, ours string }

func (m mismatch) String() string {
	return fmt.Sprintf("  %s\n    kafka:     %s\n    fencepost: %s", m.path, m.kafka, m.ours)
}

// defaulted stands for a field that an answer does not show: it is not there, or
// has its default.
const defaulted = "-"

// differ compares two answers field by field. Where one of them stayed out, the
// other is told as a whole.
func differ(kafka, ours answer) (all []mismatch) {
	if (kafka.without == "") != (ours.without == "") {
		return []mismatch{{"answer", kafka.inOneLine(), ours.inOneLine()}}
	}
	k, o := kafka.fields(), ours.fields()
	both := maps.Clone(k)
	maps.Copy(both, o)
	for _, path := range slices.Sorted(maps.Keys(both)) {
		a, inKafka := k[path]
		b, inOurs := o[path]
		if !inKafka {
			a = defaulted
		}
		if !inOurs {
			b = defaulted
		}
		if a != b && !beneath(path, all) {
			all = append(all, mismatch{path, a, b})
		}
	}
	return all
}

// beneath says whether a path lies in a part that one side does not have at all.
func beneath(path string, all []mismatch) bool {
	return slices.ContainsFunc(all, func(m mismatch) bool {
		return (m.kafka == there || m.ours == there) && strings.HasPrefix(path, m.path+".")
	})
}

func (a answer) inOneLine() string {
	return strings.Join(strings.Fields(strings.ReplaceAll(a.String(), "!", "")), " ")
}
