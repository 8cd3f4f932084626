// Package histories plays histories: clients of every kind send, lose, retry,
// read, trim and are killed in front of a broker under faults, in virtual time,
// and afterwards everything that was promised to them is held against the log.
//
// The decisions of a history follow from its seed: which clients there are, what
// they send, which rules are in force, where connections are cut, when somebody
// dies. What a seed does not decide is which goroutine goes first where several
// could at the same instant of virtual time, and what a client draws next depends
// on what it was told. Played twice, about half of the seeds leave the same log.
// So a seed that failed may pass: play it many times (-count=50) before it is
// believed to be gone.
//
// The checker shares no code with the journal whose verdict it checks, nor with
// the memory of producers: it goes by what a witness in front of both saw, by what
// the clients were told, and by the log as it stands.
//
// The package holds tests only.
package histories

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

var (
	count    = flag.Int("histories", 0, "how many histories each test plays, 0 for as many as take a few seconds")
	onlySeed = flag.Uint64("seed", 0, "play the history of this seed alone, 0 for all of them")
)

// How many histories are played unless a flag says so.
const (
	defaultHistories = 700
	raceHistories    = 50  // under the race detector
	mostFailures     = 3   // a test ends that found so many
	mostProblems     = 12  // of one history are printed
	plantedHistories = 200 // a planted bug has to be found in so many
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seeds says how many histories there are to play, from seed 1 on.
func seeds() uint64 {
	switch {
	case *count > 0:
		return uint64(*count)
	case raceDetector:
		return raceHistories
	}
	return defaultHistories
}

// everySeed plays a history for each seed, on as many processors as there are,
// and reports what went wrong with the command that plays it again.
func everySeed(t *testing.T, play func(t *testing.T, seed uint64) (problems []string, story string)) {
	if *onlySeed != 0 {
		report(t, *onlySeed, play)
		return
	}
	var next atomic.Uint64
	var failed atomic.Int32
	for n := range runtime.GOMAXPROCS(0) {
		t.Run(fmt.Sprint("worker", n), func(t *testing.T) {
			t.Parallel()
			for seed := next.Add(1); seed <= seeds() && failed.Load() < mostFailures; seed = next.Add(1) {
				if !report(t, seed, play) {
					failed.Add(1)
				}
			}
		})
	}
}

// report plays one history and prints its problems.
func report(t *testing.T, seed uint64, play func(t *testing.T, seed uint64) ([]string, string)) (ok bool) {
	again := fmt.Sprintf("go test -run '^%s$' ./internal/histories -seed=%d", topTest(t), seed)
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "this history panics: %s\n", again)
			panic(p)
		}
	}()
	problems, story := play(t, seed)
	if len(problems) == 0 {
		return true
	}
	t.Errorf("%d problems; to play this history again:\n%s\n%s\n  %s", len(problems), again, story,
		strings.Join(problems[:min(len(problems), mostProblems)], "\n  "))
	return false
}

// topTest is the name of the test without its subtests.
func topTest(t *testing.T) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	return name
}

// problems collects what went wrong in a history, from any goroutine.
type problems struct {
	mu   sync.Mutex
	list []string
}

func (p *problems) add(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, fmt.Sprintf(format, args...))
}

func (p *problems) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list
}
