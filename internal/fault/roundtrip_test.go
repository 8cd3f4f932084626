package fault

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// anyRule draws canonical rules by their fields, without the help of Parse.
func anyRule() *rapid.Generator[Rule] {
	return rapid.Custom(func(t *rapid.T) Rule {
		r := Rule{
			Verb:  rapid.SampledFrom([]Verb{Pass, Drop, Disconnect, Error}).Draw(t, "verb"),
			Place: rapid.SampledFrom([]Place{Before, After}).Draw(t, "place"),
			API:   rapid.SampledFrom(wire.Served()).Draw(t, "api").Key,
			Nth:   1, Every: 1, Chance: 1,
		}
		if r.Verb == Pass || rapid.Bool().Draw(t, "delayed") {
			r.Delay = time.Duration(rapid.Int64Range(1, int64(MaxDelay)).Draw(t, "delay"))
		}
		if r.Verb == Error {
			r.Code = codes[fold(rapid.SampledFrom(codeNames).Draw(t, "code"))]
		}
		drawMatchers(t, &r)
		drawSchedule(t, &r)
		r.Name = rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[A-Za-z0-9._-]{1,20}`)).Draw(t, "name")
		return r
	})
}

func drawMatchers(t *rapid.T, r *Rule) {
	draw := func(name string) bool {
		return keyNamed(name).needs(r) == "" && rapid.Bool().Draw(t, name)
	}
	if draw("topic") {
		r.Topic = sortedSet(t, rapid.StringMatching(`[a-zA-Z0-9._*?-]{1,12}`), "topics")
	}
	if draw("client") {
		r.Client = sortedSet(t, rapid.OneOf(rapid.StringN(0, 8, 40), rapid.StringMatching(`[ =,"\\a\n\x00\xff-]{0,5}`)), "clients")
	}
	for name, field := range map[string]struct {
		ranges *Ranges
		limits Range
	}{
		"partition": {&r.Partition, Range{0, math.MaxInt32}},
		"producer":  {&r.Producer, Range{-1, math.MaxInt64}},
		"attempt":   {&r.Attempt, Range{1, math.MaxInt32}},
		"sequence":  {&r.Sequence, Range{0, math.MaxInt32}},
		"offset":    {&r.Offset, Range{0, math.MaxInt64}},
	} {
		if draw(name) {
			*field.ranges = drawRanges(t, field.limits)
		}
	}
}

// sortedSet draws names, sorted and each once.
func sortedSet(t *rapid.T, names *rapid.Generator[string], label string) []string {
	set := rapid.SliceOfNDistinct(names, 1, 4, rapid.ID[string]).Draw(t, label)
	slices.Sort(set)
	return set
}

// drawRanges draws ranges in order that do not touch.
func drawRanges(t *rapid.T, limits Range) Ranges {
	var rs Ranges
	next := limits.First
	for range rapid.IntRange(1, 4).Draw(t, "ranges") {
		first := rapid.OneOf(rapid.Int64Range(next, limits.Last), rapid.Just(next)).Draw(t, "first")
		last := rapid.OneOf(rapid.Int64Range(first, limits.Last), rapid.Just(first)).Draw(t, "last")
		rs = append(rs, Range{first, last})
		if last >= limits.Last-2 {
			break
		}
		next = last + 2
	}
	return rs
}

func drawSchedule(t *rapid.T, r *Rule) {
	count := rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, math.MaxInt32))
	if rapid.Bool().Draw(t, "nth rather than every") {
		r.Nth = count.Draw(t, "nth")
	} else {
		r.Every = count.Draw(t, "every")
	}
	r.Times = rapid.OneOf(count, rapid.Just(All)).Draw(t, "times")
	if rapid.Bool().Draw(t, "by chance") {
		r.Chance = rapid.Float64Range(math.SmallestNonzeroFloat64, 1).Draw(t, "chance")
	}
}

func TestRule_round_trip_from_the_type(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := anyRule().Draw(t, "rule")
		text := rule.String()
		got, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rule, got); diff != "" {
			t.Fatalf("%s reads back otherwise:\n%s", text, diff)
		}
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q is not one printable line", text)
		}
		if rule.English() == "" {
			t.Fatal("no English")
		}
	})
}

// scribble writes a rule as a person might: keys in any order, values in any
// order, quotes, spaces and case where they make no difference.
func scribble(rule Rule, random *rand.Rand) string {
	var b strings.Builder
	space := func() { b.WriteString(pick(random, " ", "  ", "\t", "\n ")) }
	gap := func() { b.WriteString(pick(random, "", "", " ", "\t")) }
	cased := func(word string) string { return pick(random, word, strings.ToUpper(word), strings.ToLower(word)) }
	gap()
	if rule.Delay > 0 {
		b.WriteString(cased("delay") + " " + pick(random, rule.Delay.String(), strconv.FormatInt(int64(rule.Delay), 10)+"ns"))
		if rule.Verb != Pass {
			gap()
			b.WriteString(",")
			gap()
		}
	}
	if rule.Verb != Pass {
		b.WriteString(cased(rule.Verb.String()))
	}
	if rule.Verb == Error {
		space()
		b.WriteString(pick(random, cased(codeName(rule.Code)), strconv.Itoa(int(rule.Code))))
	}
	api, _ := wire.Lookup(rule.API)
	for _, word := range []string{rule.Place.String(), pick(random, api.Name, api.SnakeName())} {
		space()
		b.WriteString(cased(word))
	}
	pairs := scribblePairs(&rule, random)
	random.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	for _, pair := range pairs {
		space()
		b.WriteString(cased(pair[0]))
		gap()
		b.WriteString("=")
		gap()
		for i, value := range pair[1:] {
			if i > 0 {
				gap()
				b.WriteString(",")
				gap()
			}
			b.WriteString(value)
		}
	}
	gap()
	return b.String()
}

// scribblePairs lists each key that a rule needs said, with its values.
func scribblePairs(rule *Rule, random *rand.Rand) [][]string {
	var pairs [][]string
	add := func(key string, values ...string) {
		random.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		for i, v := range values {
			if quoteIfNeeded(v) != v || random.IntN(4) == 0 {
				values[i] = strconv.Quote(v)
			}
		}
		if len(values) > 0 {
			pairs = append(pairs, append([]string{key}, values...))
		}
	}
	add("topic", slices.Clone(rule.Topic)...)
	add("client", slices.Clone(rule.Client)...)
	add("partition", rangeWords(rule.Partition, random)...)
	add("producer", rangeWords(rule.Producer, random)...)
	add("attempt", rangeWords(rule.Attempt, random)...)
	add("sequence", rangeWords(rule.Sequence, random)...)
	add("offset", rangeWords(rule.Offset, random)...)
	if rule.Nth > 1 {
		add("nth", strconv.Itoa(rule.Nth))
	}
	if rule.Every > 1 {
		add("every", strconv.Itoa(rule.Every))
	}
	if rule.Times == All {
		add("times", pick(random, "all", "ALL"))
	} else {
		add("times", strconv.Itoa(rule.Times))
	}
	add("chance", strconv.FormatFloat(rule.Chance, 'f', -1, 64))
	if rule.Name != "" {
		add("name", rule.Name)
	}
	return pairs
}

// rangeWords writes ranges, some of them in two pieces that touch or overlap.
func rangeWords(rs Ranges, random *rand.Rand) []string {
	var words []string
	for _, r := range rs {
		if r.Last > max(0, r.First) && random.IntN(2) == 0 {
			middle := r.First + random.Int64N(min(r.Last-max(0, r.First), 10)) // no more than Last-1, without overflow
			words = append(words, Range{r.First, middle}.String(), Range{middle + int64(random.IntN(2)), r.Last}.String())
			continue
		}
		words = append(words, r.String())
	}
	return words
}

func pick(random *rand.Rand, words ...string) string { return words[random.IntN(len(words))] }

func TestRule_round_trip_from_text(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := anyRule().Draw(t, "rule")
		seed := rapid.Uint64().Draw(t, "seed of the scribble")
		text := scribble(rule, rand.New(rand.NewPCG(seed, 0)))
		if len(text) > MaxSentence {
			t.Skip("too long")
		}
		got, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rule, got); diff != "" {
			t.Fatalf("%q reads otherwise:\n%s", text, diff)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, sentence := range sentences(f) {
		f.Add(sentence)
	}
	f.Fuzz(func(t *testing.T, sentence string) {
		rule, err := Parse(sentence)
		if err != nil {
			checkSyntaxError(t, sentence, err)
			return
		}
		again, err := Parse(rule.String())
		if err != nil {
			t.Fatalf("%q became %q: %v", sentence, rule, err)
		}
		if diff := cmp.Diff(rule, again); diff != "" {
			t.Fatalf("%q became %q:\n%s", sentence, rule, diff)
		}
		if rule.English() == "" {
			t.Fatal("no English")
		}
	})
}

// checkSyntaxError checks what holds for the error of any sentence.
func checkSyntaxError(t *testing.T, sentence string, err error) {
	t.Helper()
	e, ok := err.(*SyntaxError)
	switch {
	case !ok:
		t.Fatalf("%q: %T is no *SyntaxError", sentence, err)
	case e.Problem == "" || e.Want == "":
		t.Fatalf("%q: %+v does not say what is wrong and what is wanted", sentence, e)
	case len(sentence) <= MaxSentence && (e.Sentence != sentence || e.Offset < 0 || e.Offset > len(sentence)):
		t.Fatalf("%q: %+v points at nothing", sentence, e)
	case strings.Contains(e.Error(), "\n"):
		t.Fatalf("%q: more than one line: %s", sentence, e)
	}
}
