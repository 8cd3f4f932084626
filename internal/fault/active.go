package fault

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// An active is a rule in force with what it has counted. The lock of its set
// guards it.
type active struct {
	rule   Rule
	text   string // the canonical sentence
	chance *rand.Rand
	since  []uint64 // requests of each API before it was in force

	judged  int // requests that came to it
	matched int // of these, those that it matches, where no earlier rule fired
	lost    int // those that it matches, where an earlier rule fired
	fired   int
	unable  [silences]int // matched and due, but there is no answer to change

	misses [matcherCount]miss // what did not match, until it has fired
}

// newActive puts a rule in force. Its chances depend on the seed and on its own
// text alone, so that other rules do not change them.
func newActive(r Rule, seed uint64, since []uint64) *active {
	text := r.String()
	h := fnv.New64a()
	h.Write([]byte(text))
	return &active{rule: r, text: text, chance: rand.New(rand.NewPCG(seed, h.Sum64())), since: since}
}

// judge says whether any unit of a request matches, and remembers what it saw
// if none does.
func (a *active) judge(units []unit) bool {
	a.judged++
	furthest := 0
	for i := range units {
		furthest = max(furthest, a.rule.reached(&units[i]))
	}
	if furthest == matcherCount {
		return true
	}
	if a.fired == 0 {
		a.miss(furthest, units)
	}
	return false
}

// due counts a match and says whether the schedule lets the rule fire on it.
func (a *active) due() bool {
	a.matched++
	lucky := a.chance.Float64() < a.rule.Chance
	return lucky && a.matched >= a.rule.Nth && a.matched%a.rule.Every == 0 && a.fired < a.rule.Times
}

// fire counts a firing.
func (a *active) fire() {
	a.fired++
	a.misses = [matcherCount]miss{}
}

// An action is a rule that fired on a request.
type action struct {
	rule  *Rule
	text  string
	parts []wire.TopicPartition // of the request; nil for all of it
}

// action is what the rule does to the request of these units.
func (a *active) action(units []unit) *action {
	act := &action{rule: &a.rule, text: a.text}
	if a.rule.Verb != Error || !a.rule.partial() {
		return act
	}
	for i := range units {
		if a.rule.matches(&units[i]) {
			act.parts = append(act.parts, units[i].at())
		}
	}
	return act
}
