package fault

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// grammar is the shape of a sentence, for one who begins with nothing.
const grammar = "<verb>[, <verb>] <before|after> <api> [key=value ...]"

// meant lists words that people write for one that a sentence knows.
var meant = map[string]string{
	"close": "disconnect", "cut": "disconnect", "reset": "disconnect", "kill": "disconnect",
	"lose": "drop", "loss": "drop", "mute": "drop", "blackhole": "drop", "timeout": "drop",
	"wait": delayWord, "sleep": delayWord, "slow": delayWord, "latency": delayWord,
	"fail": "error", "refuse": "error", "reject": "error", "err": "error",
	"client_id": "client", "clientid": "client", "client-id": "client",
	"producer_id": "producer", "producerid": "producer", "producer-id": "producer", "pid": "producer",
	"retry": "attempt", "try": "attempt", "delivery": "attempt",
	"probability": "chance", "prob": "chance", "percent": "chance",
	"limit": "times", "count": "times", "max": "times", "skip": "nth", "label": "name",
}

// Parse reads a sentence. What is wrong with it comes as a *SyntaxError.
func Parse(sentence string) (Rule, error) {
	tokens, err := lex(sentence)
	if err != nil {
		return Rule{}, err
	}
	p := &parser{sentence: sentence, tokens: tokens}
	p.rule = Rule{Nth: 1, Every: 1, Times: 1, Chance: 1}
	for _, part := range []func() error{p.verbs, p.place, p.api, p.keys} {
		if err := part(); err != nil {
			return Rule{}, err
		}
	}
	// Characters that have to be escaped take more bytes there: who reads the
	// canonical form has to be able to.
	if n := len(p.rule.String()); n > MaxSentence {
		return Rule{}, p.fail(p.peek(), fmt.Sprintf("the rule has %d bytes in its canonical form", n), fmt.Sprintf("no more than %d", MaxSentence), "")
	}
	return p.rule, nil
}

// A parser goes through the tokens of one sentence.
type parser struct {
	sentence string
	tokens   []token
	at       int
	rule     Rule
}

func (p *parser) peek() token { return p.tokens[p.at] }

// next takes the next token; the end is never passed.
func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != endToken {
		p.at++
	}
	return t
}

// fail makes the error about one token.
func (p *parser) fail(t token, problem, want, near string) error {
	return &SyntaxError{Sentence: p.sentence, Word: t.text, Offset: t.offset, Problem: problem, Want: want, Near: near}
}

// verbs reads everything up to the place.
func (p *parser) verbs() error {
	if p.peek().kind == endToken {
		return p.fail(p.peek(), "an empty sentence", grammar, "")
	}
	for first := true; first || p.peek().kind == commaToken; first = false {
		if !first {
			p.next()
		}
		if err := p.verb(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) verb() error {
	t := p.next()
	word := strings.ToLower(t.text)
	verb := slices.Index(verbWords, word)
	known := t.kind != endToken && (verb > int(Pass) || word == delayWord)
	switch {
	case !known:
		return p.unknownVerb(t)
	case p.rule.Verb != Pass:
		return p.verbTooMany(t)
	case word == delayWord:
		return p.delay(t)
	}
	p.rule.Verb = Verb(verb)
	if p.rule.Verb == Error {
		return p.code()
	}
	return nil
}

func (p *parser) verbTooMany(t token) error {
	return p.fail(t, fmt.Sprintf("a verb after %q", p.rule.verbs()),
		"no more than two, the first of them a delay: delay DURATION, VERB", "")
}

func (p *parser) unknownVerb(t token) error {
	want := "drop, disconnect, error CODE or delay DURATION"
	names := []string{"drop", "disconnect", "error", delayWord}
	if p.rule.Delay > 0 {
		want, names = "drop, disconnect or error CODE after the comma", names[:3]
	}
	if !t.isValue() || isPlace(t.text) {
		return p.fail(t, "no verb", want, "")
	}
	return p.fail(t, "unknown verb "+strconv.Quote(t.text), want, nearOrMeant(t.text, names))
}

// delay reads the duration behind the word delay.
func (p *parser) delay(verb token) error {
	const want = "a number with its unit, such as 100ms or 2s"
	if p.rule.Delay > 0 {
		return p.fail(verb, "a second delay", "one: delay DURATION, VERB", "")
	}
	t := p.peek()
	if !t.isValue() || isPlace(t.text) {
		return p.fail(t, "no duration behind "+delayWord, want, "")
	}
	p.next()
	d, err := time.ParseDuration(t.text)
	switch {
	case err != nil:
		return p.fail(t, fmt.Sprintf("%q is no duration", t.text), want, p.unitFor(t))
	case d <= 0:
		return p.fail(t, fmt.Sprintf("a delay of %s is none", durationText(d)), "more than 0s", "")
	case d > MaxDelay:
		return p.fail(t, fmt.Sprintf("a delay of %s is too long", durationText(d)), "no more than "+durationText(MaxDelay), "")
	}
	p.rule.Delay = d
	return nil
}

// unitFor offers the unit that a bare number lacks: the one that follows as a
// word of its own, else milliseconds.
func (p *parser) unitFor(t token) string {
	for _, unit := range []string{p.peek().text, "ms"} {
		if _, err := time.ParseDuration(t.text + unit); err == nil {
			return t.text + unit
		}
	}
	return ""
}

// code reads the Kafka error behind the word error.
func (p *parser) code() error {
	const want = "a Kafka error by name or number, such as NOT_LEADER_OR_FOLLOWER or 6"
	t := p.peek()
	if !t.isValue() || isPlace(t.text) {
		return p.fail(t, "no code behind error", want, "")
	}
	p.next()
	n, numberErr := strconv.Atoi(t.text)
	code, ok := codeOf(t.text)
	switch {
	case strings.EqualFold(t.text, "none") || numberErr == nil && n == 0:
		return p.fail(t, strconv.Quote(t.text)+": that is no error", want, "")
	case numberErr == nil && !ok:
		return p.fail(t, "no Kafka error has the number "+t.text, want, "")
	case !ok:
		return p.fail(t, "unknown error "+strconv.Quote(t.text), want, Near(t.text, codeNames))
	}
	p.rule.Code = code
	return nil
}

func isPlace(word string) bool {
	return slices.Contains(placeWords, strings.ToLower(word))
}

func (p *parser) place() error {
	t := p.next()
	at := slices.Index(placeWords, strings.ToLower(t.text))
	if at >= 0 && t.isValue() {
		p.rule.Place = Place(at)
		return nil
	}
	const want = "before or after"
	verbs := p.rule.verbs()
	_, isAPI := wire.LookupName(t.text)
	word := strings.ToLower(t.text)
	isVerb := slices.Contains(verbWords[1:], word) || word == delayWord
	switch {
	case t.kind == endToken:
		return p.fail(t, fmt.Sprintf("no place behind %q", verbs), want, "")
	case isVerb && p.rule.Verb != Pass:
		return p.verbTooMany(t)
	case isVerb:
		return p.fail(t, fmt.Sprintf("no comma between %q and %q", verbs, t.text), verbs+", "+word, "")
	case isAPI:
		return p.fail(t, fmt.Sprintf("no place between %q and %q", verbs, t.text), want, "")
	}
	return p.fail(t, "unknown place "+strconv.Quote(t.text), want, Near(t.text, placeWords))
}

func (p *parser) api() error {
	t := p.next()
	if api, ok := wire.LookupName(t.text); ok {
		p.rule.API = api.Key
		return nil
	}
	names := servedNames()
	want := "one of " + OrList(names)
	switch {
	case t.kind == endToken || t.isValue() && p.peek().kind == equalsToken:
		return p.fail(t, fmt.Sprintf("no API behind %q", p.rule.Place), want, "")
	case isKafkaAPI(t.text):
		return p.fail(t, fmt.Sprintf("the API %q is not served", t.text), want, "")
	}
	return p.fail(t, "unknown API "+strconv.Quote(t.text), want, Near(t.text, names))
}

// servedNames lists the served APIs as a sentence spells them.
func servedNames() []string {
	var names []string
	for _, api := range wire.Served() {
		names = append(names, api.SnakeName())
	}
	return names
}

// isKafkaAPI says whether Kafka has an API of this name.
func isKafkaAPI(name string) bool {
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		if fold(kmsg.NameForKey(key)) == fold(name) {
			return true
		}
	}
	return false
}

// keys reads key=value until the end.
func (p *parser) keys() error {
	given := make(map[string]bool)
	for p.peek().kind != endToken {
		if err := p.keyValue(given); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) keyValue(given map[string]bool) error {
	t := p.next()
	k := keyNamed(t.text)
	switch {
	case t.kind == commaToken || t.kind == equalsToken:
		return p.fail(t, fmt.Sprintf("a stray %q", t.text), "KEY=VALUE", "")
	case k == nil:
		return p.unknownKey(t)
	case given[k.name]:
		return p.fail(t, k.name+" is given twice", "it once: "+k.name+"="+k.want, "")
	}
	given[k.name] = true
	if want := k.needs(&p.rule); want != "" {
		return p.fail(t, fmt.Sprintf("%s can never match %s %s", k.name, p.rule.Place, p.rule.api()), want, "")
	}
	if given["nth"] && given["every"] {
		return p.fail(t, "nth and every in one rule", "one of them: nth=N begins at the Nth match, every=N takes each Nth", "")
	}
	values, err := p.values(k)
	if err != nil {
		return err
	}
	return p.read(k, values)
}

func (p *parser) unknownKey(t token) error {
	if name, value, ok := strings.Cut(t.text, ":"); ok && keyNamed(name) != nil && value != "" {
		return p.fail(t, fmt.Sprintf("a colon in %q", t.text), "KEY=VALUE", name+"="+value)
	}
	return p.fail(t, "unknown key "+strconv.Quote(t.text), keyList, nearOrMeant(t.text, keyNames))
}

// values reads =VALUE[,VALUE...].
func (p *parser) values(k *key) ([]token, error) {
	if t := p.peek(); t.kind != equalsToken {
		return nil, p.fail(t, "no value for "+k.name, k.name+"="+k.want, "")
	}
	separator := p.next()
	var values []token
	for {
		t := p.peek()
		if !t.isValue() || p.beginsKey() {
			return nil, p.fail(t, fmt.Sprintf("no value behind %q", separator.text), k.name+"="+k.want, "")
		}
		values = append(values, p.next())
		if p.peek().kind != commaToken {
			return values, nil
		}
		separator = p.next()
	}
}

// beginsKey says whether the next word is a key of its own.
func (p *parser) beginsKey() bool {
	return p.peek().kind == wordToken && p.tokens[p.at+1].kind == equalsToken
}

// read lets a key take its values, and points at the one that it refuses.
func (p *parser) read(k *key, values []token) error {
	if len(values) > 1 && !k.list {
		return p.fail(values[1], fmt.Sprintf("%d values for %s", len(values), k.name), "one: "+k.name+"="+k.want, "")
	}
	for _, t := range values {
		err := k.read(&p.rule, t.text)
		if bad := (*valueError)(nil); errors.As(err, &bad) {
			return p.fail(t, bad.problem, bad.want, bad.near)
		}
	}
	if k.settle != nil {
		k.settle(&p.rule)
	}
	return nil
}

// nearOrMeant is near, with the words that are not alike but mean the same.
func nearOrMeant(word string, candidates []string) string {
	if other := meant[strings.ToLower(word)]; slices.Contains(candidates, other) {
		return other
	}
	return Near(word, candidates)
}

// OrList joins words as a sentence does: a, b or c.
func OrList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
