package fault

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxCount is the highest number of matches that nth, every and times can name.
const maxCount = math.MaxInt32

// maxTopicName is the longest name that Kafka gives a topic.
const maxTopicName = 249

// A key is one of the words that may stand before a = in a sentence.
type key struct {
	name   string
	want   string                           // how its value is written
	list   bool                             // takes several values with commas
	read   func(r *Rule, word string) error // takes one value; a *valueError refuses it
	settle func(*Rule)                      // brings the values into canonical order
	write  func(*Rule) string               // the canonical value, "" where there is nothing to say
	needs  func(*Rule) string               // what the rule would have to be for it ever to match, "" if it is
}

// A valueError says what is wrong with one value of a key.
type valueError struct{ problem, want, near string }

func (e *valueError) Error() string { return e.problem }

// keys is the one table of the keys, in the order of the canonical sentence.
var keys = []key{
	globKey("topic", func(r *Rule) *[]string { return &r.Topic }, checkTopic, needsTopics),
	numberKey("partition", func(r *Rule) *Ranges { return &r.Partition }, Range{0, math.MaxInt32}, needsPartitions),
	globKey("client", func(r *Rule) *[]string { return &r.Client }, checkClient, alwaysThere),
	numberKey("producer", func(r *Rule) *Ranges { return &r.Producer }, Range{-1, math.MaxInt64}, needsProducer),
	numberKey("attempt", func(r *Rule) *Ranges { return &r.Attempt }, Range{1, math.MaxInt32}, needsBatches),
	numberKey("sequence", func(r *Rule) *Ranges { return &r.Sequence }, Range{0, math.MaxInt32}, needsBatches),
	numberKey("offset", func(r *Rule) *Ranges { return &r.Offset }, Range{0, math.MaxInt64}, needsOffsets),
	countKey("nth", func(r *Rule) *int { return &r.Nth }, "N"),
	countKey("every", func(r *Rule) *int { return &r.Every }, "N"),
	timesKey(),
	{name: "chance", want: "P, such as 0.3 or 30%", read: readChance, write: writeChance, needs: alwaysThere},
	{name: "name", want: "WORD", read: readName, write: func(r *Rule) string { return named(r.Name) }, needs: alwaysThere},
}

// keyNames lists the keys, and keyList says them in words.
var (
	keyNames = namesOf(keys)
	keyList  = OrList(keyNames)
)

func namesOf(keys []key) []string {
	var names []string
	for i := range keys {
		names = append(names, keys[i].name)
	}
	return names
}

// keyNamed finds a key, nil if there is none.
func keyNamed(name string) *key {
	i := slices.Index(keyNames, strings.ToLower(name))
	if i < 0 {
		return nil
	}
	return &keys[i]
}

// globKey is a key for names with * and ?.
func globKey(name string, field func(*Rule) *[]string, check func(string) error, needs func(*Rule) string) key {
	return key{
		name: name, want: "NAME[,NAME...]", list: true, needs: needs,
		read: func(r *Rule, word string) error {
			*field(r) = append(*field(r), word)
			return check(word)
		},
		settle: func(r *Rule) {
			slices.Sort(*field(r))
			*field(r) = slices.Compact(*field(r))
		},
		write: func(r *Rule) string { return globs(*field(r)) },
	}
}

// checkTopic refuses what can be no topic, so that a slip is not a rule that
// never fires.
func checkTopic(word string) error {
	legal := "letters, digits, '.', '_' and '-', with * and ? as wildcards"
	bad := strings.IndexFunc(word, func(r rune) bool {
		return !isNameRune(r) && r != '*' && r != '?'
	})
	switch {
	case word == "":
		return &valueError{"no topic has an empty name", "one or more " + legal, ""}
	case bad >= 0:
		return &valueError{fmt.Sprintf("no topic name holds %q", []rune(word[bad:])[0]), legal, ""}
	case len(word) > maxTopicName:
		return &valueError{fmt.Sprintf("a topic name of %d characters", len(word)),
			fmt.Sprintf("no more than %d", maxTopicName), ""}
	}
	return nil
}

// checkClient takes any client id; "" is a client that gives none.
func checkClient(string) error { return nil }

func isNameRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r)
}

// numberKey is a key for integers and ranges within limits.
func numberKey(name string, field func(*Rule) *Ranges, limits Range, needs func(*Rule) string) key {
	return key{
		name: name, want: "N, A..B or a list of them", list: true, needs: needs,
		read: func(r *Rule, word string) error {
			one, err := readRange(name, word, limits)
			*field(r) = append(*field(r), one)
			return err
		},
		settle: func(r *Rule) { *field(r) = field(r).canonical() },
		write:  func(r *Rule) string { return field(r).String() },
	}
}

// readRange reads 3 or 3..5.
func readRange(key, word string, limits Range) (Range, error) {
	from, to, isRange := strings.Cut(word, "..")
	if !isRange {
		to = from
	}
	want := fmt.Sprintf("numbers from %s, such as 5 or 2..7", limits.words())
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	r := Range{first, last}
	switch {
	case isSyntax(err1) || isSyntax(err2):
		return r, &valueError{strconv.Quote(word) + " is no number and no range", want, dashedRange(word)}
	case err1 != nil || err2 != nil || !limits.contains(first) || !limits.contains(last):
		return r, &valueError{word + " is out of range", want, ""}
	case first > last && key == "sequence":
		return r, &valueError{word + " runs backwards", "two ranges, where the wrap is meant",
			Ranges{{first, limits.Last}, {limits.First, last}}.String()}
	case first > last:
		return r, &valueError{word + " runs backwards", "the lower number first", Range{last, first}.String()}
	}
	return r, nil
}

// words is a range of limits in words; one that ends only where the type does
// has no end worth naming.
func (r Range) words() string {
	if r.Last == math.MaxInt64 {
		return fmt.Sprintf("%d up", r.First)
	}
	return fmt.Sprintf("%d to %d", r.First, r.Last)
}

// isSyntax says whether a number could not be read at all, rather than be too
// large to hold.
func isSyntax(err error) bool {
	e, ok := err.(*strconv.NumError)
	return ok && e.Err == strconv.ErrSyntax
}

// dashedRange turns 2-5 into 2..5.
func dashedRange(word string) string {
	from, to, ok := strings.Cut(word, "-")
	_, err1 := strconv.ParseUint(from, 10, 63)
	_, err2 := strconv.ParseUint(to, 10, 63)
	if !ok || err1 != nil || err2 != nil {
		return ""
	}
	return from + ".." + to
}

// countKey is a key for a number of matches, which is 1 unless said.
func countKey(name string, field func(*Rule) *int, want string) key {
	return key{
		name: name, want: want, needs: alwaysThere,
		read: func(r *Rule, word string) error {
			n, err := strconv.Atoi(word)
			*field(r) = n
			return checkCount(name, word, n, err)
		},
		write: func(r *Rule) string {
			if *field(r) <= 1 {
				return ""
			}
			return strconv.Itoa(*field(r))
		},
	}
}

func checkCount(name, word string, n int, err error) error {
	want := fmt.Sprintf("a number from 1 to %d", maxCount)
	if name == "times" {
		want += ", or all"
	}
	switch {
	case isSyntax(err):
		return &valueError{strconv.Quote(word) + " is no number", want, nearAll(name, word)}
	case err == nil && n == 0:
		return &valueError{name + "=0 never fires", want, ""}
	case err != nil || n < 0 || n > maxCount:
		return &valueError{word + " is out of range", want, ""}
	}
	return nil
}

// nearAll offers all to one who says the same with another word.
func nearAll(name, word string) string {
	if name == "times" && slices.Contains([]string{"*", "always", "inf", "infinite", "forever", "any", "every", "al"}, strings.ToLower(word)) {
		return "all"
	}
	return ""
}

// timesKey is a countKey that also knows the word all.
func timesKey() key {
	k := countKey("times", func(r *Rule) *int { return &r.Times }, "N or times=all")
	read, write := k.read, k.write
	k.read = func(r *Rule, word string) error {
		if strings.EqualFold(word, "all") {
			r.Times = All
			return nil
		}
		return read(r, word)
	}
	k.write = func(r *Rule) string {
		if r.Times == All {
			return "all"
		}
		return write(r)
	}
	return k
}

// readChance reads 0.3 and 30% as the same probability.
func readChance(r *Rule, word string) error {
	const want = "more than 0 and no more than 1, such as 0.3, or 30%"
	number, percent := strings.CutSuffix(word, "%")
	decimal := number
	if percent {
		decimal += "e-2" // read as one number, so that 7% is exactly 0.07
	}
	p, err := strconv.ParseFloat(decimal, 64)
	switch {
	case strings.Trim(number, "0123456789.") != "" || isSyntax(err):
		return &valueError{strconv.Quote(word) + " is no probability", want, ""}
	case p == 0:
		return &valueError{"chance=" + word + " never fires", want, ""}
	case err != nil || p > 1 && percent:
		return &valueError{"chance=" + word + " is more than certain", want, ""}
	case p > 1:
		return &valueError{"chance=" + word + " is more than certain", want, percentOf(p, number)}
	}
	r.Chance = p
	return nil
}

// percentOf offers a percentage for a number that can only be one.
func percentOf(p float64, number string) string {
	if p > 100 {
		return ""
	}
	return number + "%"
}

func writeChance(r *Rule) string {
	if r.Chance == 0 || r.Chance == 1 {
		return ""
	}
	return strconv.FormatFloat(r.Chance, 'f', -1, 64)
}

// named is a name as a value, "" for none.
func named(name string) string {
	if name == "" {
		return ""
	}
	return quoteIfNeeded(name)
}

func readName(r *Rule, word string) error {
	want := fmt.Sprintf("1 to %d letters, digits, '.', '_' and '-'", MaxName)
	bad := strings.IndexFunc(word, func(r rune) bool { return !isNameRune(r) })
	switch {
	case word == "":
		return &valueError{"an empty name", want, ""}
	case bad >= 0:
		return &valueError{fmt.Sprintf("%q in the name of a rule", []rune(word[bad:])[0]), want, ""}
	case len(word) > MaxName:
		return &valueError{fmt.Sprintf("a name of %d characters", len(word)), want, ""}
	}
	r.Name = word
	return nil
}

// What a rule must be for a key ever to match; "" if it is that.

func alwaysThere(*Rule) string { return "" }

func needsTopics(r *Rule) string {
	if wire.HasTopics(r.API) {
		return ""
	}
	return "an API that answers for each topic of a request"
}

func needsPartitions(r *Rule) string {
	if wire.HasPartitions(r.API) {
		return ""
	}
	return "an API that answers for each partition of a request"
}

func needsProducer(r *Rule) string {
	if isProduce(r.API) || producerField(r.API) != nil {
		return ""
	}
	return "an API whose requests name a producer"
}

func needsBatches(r *Rule) string {
	if isProduce(r.API) {
		return ""
	}
	return "produce, the only API whose requests carry batches"
}

func needsOffsets(r *Rule) string {
	switch {
	case isProduce(r.API) && r.Place == Before:
		return "after produce, since a batch has no offset before it is appended"
	case isProduce(r.API) || r.API == int16(kmsg.Fetch):
		return ""
	}
	return "after produce, where a batch has taken offsets, or fetch, which asks for one"
}

func isProduce(api int16) bool { return api == int16(kmsg.Produce) }

// producerField finds the field of an API's requests that holds a producer id,
// nil if there is none.
func producerField(api int16) []int {
	req := kmsg.RequestForKey(api)
	if req == nil {
		return nil
	}
	f, ok := reflect.TypeOf(req).Elem().FieldByName("ProducerID")
	if !ok || f.Type.Kind() != reflect.Int64 {
		return nil
	}
	return f.Index
}
