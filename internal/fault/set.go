package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// MaxRules is how many rules a set holds. Each is judged for every request of
// its API, so that a set without a limit could be made to stand still.
const MaxRules = 1000

var (
	// ErrNameTaken is why a second rule of one name is not added.
	ErrNameTaken = errors.New("that name is taken")
	// ErrFull is why no more than MaxRules rules are added.
	ErrFull = fmt.Errorf("no more than %d fault rules can be in force", MaxRules)
	// ErrNoSuchRule is why a rule that is not in force cannot be removed.
	ErrNoSuchRule = errors.New("no such fault rule")
)

// A Set is the rules that are in force, and the handler that applies them to
// what goes through it to the next handler. It is safe for concurrent use.
type Set struct {
	seed uint64
	next wire.Handler

	// requests counts those of each API, by key, while there are rules.
	requests []atomic.Uint64

	// table is what is in force, replaced as a whole, so that a request that
	// concerns no rule takes no lock. It is nil while there are no rules.
	table atomic.Pointer[table]

	// mu guards the rules and all that they count. It is never held while the
	// next handler works or a delay runs.
	mu    sync.Mutex
	rules []*active
	units []unit // used for one request after the other
}

// New makes an empty set in front of next. The seed decides every rule with a
// chance.
func New(seed uint64, next wire.Handler) *Set {
	return &Set{seed: seed, next: next, requests: make([]atomic.Uint64, highestKey()+1)}
}

func highestKey() int16 {
	var highest int16
	for _, api := range wire.Served() {
		highest = max(highest, api.Key)
	}
	return highest
}

// Add puts a rule in force behind those that are, and gives it back in its
// canonical form. A rule made by hand that no sentence could say is refused
// with a *SyntaxError, a name that another rule has with ErrNameTaken, and one
// too many with ErrFull.
func (s *Set) Add(r Rule) (Rule, error) {
	r, err := Parse(r.String())
	if err != nil {
		return Rule{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rules) == MaxRules {
		return Rule{}, ErrFull
	}
	if other := s.namedLocked(r.Name); other >= 0 {
		return Rule{}, fmt.Errorf("fault %q: %w by %q", r, ErrNameTaken, s.rules[other].text)
	}
	s.rules = append(s.rules, newActive(r, s.seed, s.countsLocked()))
	s.publishLocked()
	return r, nil
}

// Remove takes a rule out of force, by its name or by its sentence. Of equal
// rules it takes the first. The error, ErrNoSuchRule, lists what is in force.
func (s *Set) Remove(nameOrSentence string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.namedLocked(nameOrSentence)
	if r, err := Parse(nameOrSentence); err == nil {
		i = s.saidLocked(r.String())
	}
	if i < 0 {
		return fmt.Errorf("%w: %q; %s", ErrNoSuchRule, nameOrSentence, s.listLocked())
	}
	s.rules = slices.Delete(s.rules, i, i+1)
	s.publishLocked()
	return nil
}

// Clear takes all rules out of force.
func (s *Set) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
	s.publishLocked()
}

// Reset lets the counters and the generators of all rules start anew.
func (s *Set) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.countsLocked()
	for i, a := range s.rules {
		s.rules[i] = newActive(a.rule, s.seed, counts)
	}
	s.publishLocked()
}

// Status tells of each rule, in the order of adding.
func (s *Set) Status() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.countsLocked()
	all := make([]Status, len(s.rules))
	for i, a := range s.rules {
		all[i] = a.status(counts)
	}
	return all
}

// Unfired is Status of the rules that never fired.
func (s *Set) Unfired() []Status {
	return slices.DeleteFunc(s.Status(), func(st Status) bool { return st.Fired > 0 })
}

// namedLocked finds the rule of a name, -1 if there is none.
func (s *Set) namedLocked(name string) int {
	return slices.IndexFunc(s.rules, func(a *active) bool { return name != "" && a.rule.Name == name })
}

// saidLocked finds the first rule of a canonical sentence, -1 if there is none.
func (s *Set) saidLocked(text string) int {
	return slices.IndexFunc(s.rules, func(a *active) bool { return a.text == text })
}

// listLocked says what is in force, a few rules of it.
func (s *Set) listLocked() string {
	const shown = 10
	var list []string
	for _, a := range s.rules[:min(shown, len(s.rules))] {
		list = append(list, fmt.Sprintf("%q", a.text))
	}
	switch more := len(s.rules) - len(list); {
	case len(list) == 0:
		return "none is in force"
	case more > 0:
		return fmt.Sprintf("in force are %s and %d more", strings.Join(list, ", "), more)
	}
	return "in force: " + strings.Join(list, ", ")
}

// countsLocked reads the counters of requests.
func (s *Set) countsLocked() []uint64 {
	counts := make([]uint64, len(s.requests))
	for i := range s.requests {
		counts[i] = s.requests[i].Load()
	}
	return counts
}

// publishLocked makes the rules the ones that requests meet.
func (s *Set) publishLocked() {
	if len(s.rules) == 0 {
		s.table.Store(nil)
		return
	}
	t := &table{byAPI: make([][2][]*active, len(s.requests))}
	for _, a := range s.rules {
		at := &t.byAPI[a.rule.API][a.rule.Place]
		*at = append(*at, a)
	}
	s.table.Store(t)
}

// A table finds rules by API and place. It is never changed.
type table struct{ byAPI [][2][]*active }

// at lists the rules for an API at a place, in the order of adding. A nil table
// has none.
func (t *table) at(api int16, place Place) []*active {
	if t == nil || int(api) >= len(t.byAPI) || api < 0 {
		return nil
	}
	return t.byAPI[api][place]
}

// concerns says whether there is a rule for the API.
func (t *table) concerns(api int16) bool {
	return len(t.at(api, Before)) > 0 || len(t.at(api, After)) > 0
}
