package integration

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kcatLines is how many lines kcat is given.
const kcatLines = 10_000

// kcatSettings make kcat try again at once, in batches of 200 records. Without
// -E it gives up at the first disconnect.
var kcatSettings = []string{
	"-E", "-X", "batch.num.messages=200", "-X", "retry.backoff.ms=10",
	"-X", "reconnect.backoff.ms=1", "-X", "reconnect.backoff.max.ms=10",
}

var kcatIdempotent = []string{"-X", "enable.idempotence=true"}

// kcatImpatient makes kcat give an answer up after a second.
var kcatImpatient = []string{"-X", "socket.timeout.ms=1000", "-X", "message.timeout.ms=60000"}

func lines(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("line %d", i))
	}
	return all
}

// kcatProduce starts kcat, which sends each line as a record.
func kcatProduce(t testing.TB, addr string, records []string, settings ...string) *process {
	t.Helper()
	args := slices.Concat([]string{"-P", "-b", addr, "-t", "orders"}, kcatSettings, settings)
	return start(t, nil, strings.Join(records, "\n")+"\n", kcatCommand(t), args...)
}

// kcatConsume reads the topic back, each record as its offset and its value.
func kcatConsume(t testing.TB, addr string) []string {
	t.Helper()
	p := start(t, nil, "", kcatCommand(t), "-C", "-q", "-e", "-o", "beginning", "-b", addr, "-t", "orders", "-f", `%o %s\n`)
	if code := p.wait(t); code != 0 {
		t.Fatalf("kcat -C ended with %d", code)
	}
	return strings.Split(strings.TrimSuffix(p.out.String(), "\n"), "\n")
}

// numbered puts its offset before each line.
func numbered(lines []string) (all []string) {
	for i, l := range lines {
		all = append(all, fmt.Sprintf("%d %s", i, l))
	}
	return all
}

func TestKcat_idempotent_writes_every_line_once_though_acks_are_lost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault    string
		settings []string
		lost     string // acknowledgements; "" for one of each batch
	}{
		{"disconnect after produce attempt=1 times=all", kcatIdempotent, ""},
		{"drop after produce attempt=1 times=3", slices.Concat(kcatIdempotent, kcatImpatient), "3"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			kcatCommand(t)
			broker, addr := serve(t, "--fault", c.fault)
			if code := kcatProduce(t, addr, lines(kcatLines), c.settings...).wait(t); code != 0 {
				t.Fatalf("kcat -P ended with %d", code)
			}
			if diff := cmp.Diff(numbered(lines(kcatLines)), kcatConsume(t, addr)); diff != "" {
				t.Errorf("kcat reads back other than it was given (-):\n%s", diff)
			}

			code := broker.signal(t, syscall.SIGTERM)
			verdict := regexp.MustCompile(`(?m)^orders is exactly once: 10000 records in (\d+) batches, (\d+) acknowledgements lost, (\d+) replays answered with the first offset$`).
				FindStringSubmatch(broker.out.String())
			if code != 0 || verdict == nil {
				t.Fatalf("the broker ended with %d and said: %s", code, broker.out.String())
			}
			batches, lost, replays := verdict[1], verdict[2], verdict[3]
			if c.lost == "" {
				c.lost = batches
			}
			if lost != c.lost || replays != c.lost {
				t.Errorf("of %s batches %s acknowledgements were lost, and not %s, and %s replays answered", batches, lost, c.lost, replays)
			}
		})
	}
}

func TestKcat_without_idempotence_writes_lines_twice_and_the_broker_says_so(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault    string
		settings []string
	}{
		{"disconnect after produce attempt=1 times=all", nil},
		{"disconnect after produce attempt=1 times=3", nil},
		{"drop after produce attempt=1 times=3", kcatImpatient},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			kcatCommand(t)
			broker, addr := serve(t, "--fault", c.fault)
			if code := kcatProduce(t, addr, lines(kcatLines), c.settings...).wait(t); code != 0 {
				t.Fatalf("kcat -P ended with %d", code)
			}
			twice := repeatedLines(t, kcatConsume(t, addr))
			if len(twice) == 0 {
				t.Error("kcat reads no line twice")
			}

			if code := broker.signal(t, syscall.SIGTERM); code != 1 {
				t.Errorf("the broker ended with %d", code)
			}
			said := broker.out.String()
			if !strings.Contains(said, fmt.Sprintf("caused by fault %q", c.fault)) {
				t.Error("the rule is not named")
			}
			checkPrinted(t, said, twice)
		})
	}
}

// repeatedLines lists the offsets of each line that was read more than once.
func repeatedLines(t *testing.T, read []string) []string {
	t.Helper()
	at := map[string][]string{}
	for _, l := range read {
		offset, value, ok := strings.Cut(l, " ")
		if !ok {
			t.Fatalf("kcat read %q", l)
		}
		at[value] = append(at[value], offset)
	}
	return twoAndMore(at)
}

// checkPrinted fails unless a report names these records as duplicated, and no
// others. Of a long report it looks at the lines that it prints.
func checkPrinted(t *testing.T, report string, twice []string) {
	t.Helper()
	named, more := printedDuplicates(t, report)
	if len(named) == 0 || more == 0 && !slices.Equal(named, twice) {
		t.Errorf("twice stand %d records, and the report names %d:\n%s", len(twice), len(named), report)
	}
	for _, n := range named {
		if !slices.Contains(twice, n) {
			t.Errorf("the report names offsets %s, which hold different records", n)
		}
	}
}

var (
	duplicatedLine = regexp.MustCompile(`(?m)^  duplicated  offsets? (.*) hold (?:one record|the same (\d+) records), values? .*: sent again without idempotence after its ack was lost$`)
	moreLines      = regexp.MustCompile(`(?m)^ +and (\d+) more$`)
)

// printedDuplicates reads the lines of a report and lists the offsets of each
// record that they name. more is how many lines were left out.
func printedDuplicates(t *testing.T, report string) (named []string, more int) {
	t.Helper()
	for _, line := range duplicatedLine.FindAllStringSubmatch(report, -1) {
		copies := strings.Split(strings.ReplaceAll(line[1], " and ", ", "), ", ")
		records := 1
		if line[2] != "" {
			records = number(t, line[2])
		}
		for i := range records {
			var offsets []string
			for _, c := range copies {
				first, _, _ := strings.Cut(c, " to ")
				offsets = append(offsets, strconv.Itoa(number(t, first)+i))
			}
			named = append(named, strings.Join(offsets, " "))
		}
	}
	if found := moreLines.FindStringSubmatch(report); found != nil {
		more = number(t, found[1])
	}
	slices.Sort(named)
	return named, more
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
