package fault

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// maxSights is how many different values a rule remembers of what it saw
// instead of a match.
const maxSights = 16

// A tally counts the requests in which a value was seen.
type tally struct {
	sight
	requests int
	last     int // the rule's count of requests when it was last seen
}

// A miss counts the requests that came as far as one matcher and no further.
type miss struct {
	requests int
	seen     []tally
	others   bool // more than maxSights values were seen
}

// miss remembers what a request had at the matcher that it did not pass.
func (a *active) miss(at int, units []unit) {
	m := &a.misses[at]
	m.requests++
	for i := range units {
		if a.rule.reached(&units[i]) == at {
			m.see(matchers[at].sight(&units[i]), matchers[at].spans, a.judged)
		}
	}
}

// see counts a value once for each request. Values of a kind that spans are
// one: from the lowest to the highest.
func (m *miss) see(s sight, spans bool, request int) {
	i := slices.IndexFunc(m.seen, func(t tally) bool {
		return t.sight == s || spans && !s.none && !t.none
	})
	switch {
	case i < 0 && len(m.seen) == maxSights:
		m.others = true
		return
	case i < 0:
		m.seen = append(m.seen, tally{sight: s})
		i = len(m.seen) - 1
	}
	t := &m.seen[i]
	t.low, t.high = min(t.low, s.low), max(t.high, s.high)
	if t.last != request {
		t.requests++
		t.last = request
	}
}

// A Status is what became of a rule since it was added, or since the last
// [Set.Reset].
type Status struct {
	Rule    Rule `json:"rule"`
	Seen    int  `json:"seen"`    // requests of the rule's API
	Matched int  `json:"matched"` // of these, those that it matches, where no earlier rule fired
	Fired   int  `json:"fired"`
	Unable  int  `json:"unable"` // times that it should have fired, but there was no answer to change

	// NearMiss says what the rule saw instead of what it asks for, "" once it
	// has fired.
	NearMiss string `json:"near_miss,omitempty"`
	// Near is what was probably meant, such as topic=orders; "" for no idea.
	Near string `json:"near,omitempty"`
}

// Report says of a rule that never fired what it saw: a line that names the
// rule, a line of the near miss and, if there is an idea, a line of what was
// probably meant. It is "" once the rule has fired.
func (s Status) Report() string {
	if s.Fired > 0 {
		return ""
	}
	report := fmt.Sprintf("fault %q never fired\n  %s", s.Rule, s.NearMiss)
	if s.Near != "" {
		report += "\n  did you mean " + s.Near + "?"
	}
	return report
}

// status tells of the rule, given the requests of each API so far.
func (a *active) status(counts []uint64) Status {
	s := Status{Rule: a.rule, Seen: int(counts[a.rule.API] - a.since[a.rule.API]), Matched: a.matched, Fired: a.fired}
	for _, n := range a.unable {
		s.Unable += n
	}
	if a.fired == 0 {
		s.NearMiss = a.nearMiss(s.Seen, counts)
		if a.matched+a.lost == 0 {
			s.Near = a.nearName()
		}
	}
	return s
}

// nearMiss says why a rule has not fired.
func (a *active) nearMiss(seen int, counts []uint64) string {
	api := a.rule.api()
	switch {
	case a.judged == 0 && seen == 0:
		return "saw no " + api + " request" + a.othersSeen(counts)
	case a.judged == 0:
		return fmt.Sprintf("saw %s, but another rule fired before the broker was asked", requests(seen, api))
	case a.unableAny():
		return a.unableText()
	case a.matched > 0:
		return a.unscheduled()
	case a.lost > 0:
		return fmt.Sprintf("%d matched, but another rule fired first", a.lost)
	}
	return a.funnel(max(seen, a.judged))
}

// othersSeen lists what was seen of other APIs, the most frequent first.
func (a *active) othersSeen(counts []uint64) string {
	type count struct {
		name string
		n    uint64
	}
	var others []count
	for _, api := range wire.Served() {
		if n := counts[api.Key] - a.since[api.Key]; n > 0 {
			others = append(others, count{api.SnakeName(), n})
		}
	}
	if len(others) == 0 {
		return ", nor any other"
	}
	slices.SortStableFunc(others, func(a, b count) int { return cmp.Compare(b.n, a.n) })
	words := make([]string, len(others))
	for i, c := range others {
		words[i] = fmt.Sprintf("%d %s", c.n, c.name)
	}
	return " (saw " + strings.Join(words, ", ") + ")"
}

func (a *active) unableAny() bool { return a.unable != [silences]int{} }

func (a *active) unableText() string {
	api := a.rule.api()
	why := "there is no answer to change"
	switch {
	case a.unable[acksZero] > 0:
		return fmt.Sprintf("matched %s with acks=0: %s", requests(a.unable[acksZero], api), why)
	case a.unable[goneDark] > 0:
		return fmt.Sprintf("matched %s on a connection that had gone dark: %s", requests(a.unable[goneDark], api), why)
	}
	return fmt.Sprintf("matched %s that got no answer: %s", requests(a.unable[unanswered], api), why)
}

// unscheduled says why a rule that matched did not fire.
func (a *active) unscheduled() string {
	var text string
	switch {
	case a.matched < a.rule.Nth:
		text = fmt.Sprintf("%s matched, nth=%d was not reached", requests(a.matched, a.rule.api()), a.rule.Nth)
	case a.matched < a.rule.Every:
		text = fmt.Sprintf("%s matched, every=%d was not reached", requests(a.matched, a.rule.api()), a.rule.Every)
	default:
		text = fmt.Sprintf("%d matched, chance %s never came up", a.matched, percentText(a.rule.Chance))
	}
	if a.lost > 0 {
		text += fmt.Sprintf(" (%d more matched, but another rule fired first)", a.lost)
	}
	return text
}

// funnel follows the requests from matcher to matcher to the one that let none
// pass: saw 18 produce requests, 15 to "orders", 0 with attempt 3: 15 with
// attempt 1.
func (a *active) funnel(seen int) string {
	text := "saw " + requests(seen, a.rule.api())
	left := a.judged
	if left < seen && a.rule.Place == After {
		text += fmt.Sprintf(", %d carried out", left)
	}
	stop := a.stop()
	for i := range matchers[:stop+1] {
		if matchers[i].asked(&a.rule) {
			left -= a.misses[i].requests
			text += fmt.Sprintf(", %d %s", left, matchers[i].asks(&a.rule))
		}
	}
	return text + ": " + a.misses[stop].text(matchers[stop].saw, a.rule.API)
}

// stop is the matcher that no request got past, if none matches.
func (a *active) stop() int {
	stop := 0
	for i := range a.misses {
		if a.misses[i].requests > 0 {
			stop = i
		}
	}
	return stop
}

// text lists what was seen, the most frequent first.
func (m *miss) text(saw func(api int16, s sight) string, api int16) string {
	slices.SortStableFunc(m.seen, func(a, b tally) int {
		return cmp.Or(cmp.Compare(b.requests, a.requests), cmp.Compare(a.low, b.low), strings.Compare(a.text, b.text))
	})
	words := make([]string, len(m.seen))
	for i, t := range m.seen {
		words[i] = fmt.Sprintf("%d %s", t.requests, saw(api, t.sight))
	}
	if m.others {
		words = append(words, "and others")
	}
	return strings.Join(words, ", ")
}

// nearName finds a topic or client that was seen where no request got past the
// matcher for it, and that is nearly what the rule asks for.
func (a *active) nearName() string {
	stop := a.stop()
	var asked, seen []string
	switch stop {
	case clientMatcher:
		asked = a.rule.Client
	case topicMatcher:
		asked = a.rule.Topic
	}
	for _, t := range a.misses[stop].seen {
		seen = append(seen, t.text)
	}
	for _, name := range asked {
		if found := Near(name, seen); found != "" && !isGlob(name) {
			return matchers[stop].key + "=" + quoteIfNeeded(found)
		}
	}
	return ""
}

// requests counts requests of an API: 1 fetch request, 3 fetch requests.
func requests(n int, api string) string {
	if n == 1 {
		return "1 " + api + " request"
	}
	return fmt.Sprintf("%d %s requests", n, api)
}

// quoted puts each of a few words in quotes: "a" or "b*".
func quoted(words []string) string {
	q := make([]string, len(words))
	for i, word := range words {
		q[i] = strconv.Quote(word)
	}
	return OrList(q)
}
