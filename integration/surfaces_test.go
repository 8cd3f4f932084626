package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/web"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A surface puts a fault rule in force in one of the ways that there are, and
// gives the Kafka address of the broker and what it says of its rules.
type surface struct {
	name  string
	begin func(t *testing.T, sentence string) (addr string, rules func(t *testing.T) []web.Rule)
}

var surfaces = []surface{
	{"--fault", func(t *testing.T, sentence string) (string, func(*testing.T) []web.Rule) {
		return served(t, "--fault", sentence)
	}},
	{"a scenario file", func(t *testing.T, sentence string) (string, func(*testing.T) []web.Rule) {
		file := filepath.Join(t.TempDir(), "scenario.yaml")
		quoted, err := json.Marshal(sentence) // a JSON string is a YAML one
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, fmt.Appendf(nil, "faults:\n  - %s\n", quoted), 0o600); err != nil {
			t.Fatal(err)
		}
		return served(t, "--scenario", file)
	}},
	{"POST /faults", func(t *testing.T, sentence string) (string, func(*testing.T) []web.Rule) {
		addr, rules, base := servedAt(t)
		resp, err := http.Post(base+"/faults", "text/plain", strings.NewReader(sentence))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			t.Fatalf("POST /faults answers %s", resp.Status)
		}
		return addr, rules
	}},
	{"fencepost faults add", func(t *testing.T, sentence string) (string, func(*testing.T) []web.Rule) {
		addr, rules, base := servedAt(t)
		if code := start(t, []string{"FENCEPOST_HTTP=" + base}, "", fencepostCommand(t), "faults", "add", sentence).wait(t); code != 0 {
			t.Fatalf("faults add ends with %d", code)
		}
		return addr, rules
	}},
	{"an option in Go", func(t *testing.T, sentence string) (string, func(*testing.T) []web.Rule) {
		return inProcess(t, fencepost.Run, fencepost.Topic("orders", 1), fencepost.Fault(sentence))
	}},
	{"a call in Go", func(t *testing.T, sentence string) (string, func(*testing.T) []web.Rule) {
		run := func(o ...fencepost.Option) (*fencepost.Broker, error) {
			b, err := fencepost.Run(o...)
			if err == nil {
				err = b.Fault(sentence)
			}
			return b, err
		}
		return inProcess(t, run, fencepost.Topic("orders", 1))
	}},
}

func served(t *testing.T, flags ...string) (string, func(*testing.T) []web.Rule) {
	addr, rules, _ := servedAt(t, flags...)
	return addr, rules
}

// servedAt runs the command as a broker with HTTP.
func servedAt(t *testing.T, flags ...string) (addr string, rules func(*testing.T) []web.Rule, base string) {
	flags = append([]string{"--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--topic", "orders"}, flags...)
	broker := start(t, nil, "", fencepostCommand(t), flags...)
	addr = broker.find(t, &broker.out, `Kafka at (127\.0\.0\.1:\d+),`)[1]
	base = broker.find(t, &broker.out, `API at (http://127\.0\.0\.1:\d+)`)[1]
	return addr, func(t *testing.T) (all []web.Rule) {
		resp, err := http.Get(base + "/faults")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}, base
}

// inProcess runs a broker in this process.
func inProcess(t *testing.T, run func(...fencepost.Option) (*fencepost.Broker, error), options ...fencepost.Option) (string, func(*testing.T) []web.Rule) {
	b, err := run(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b.Addr(), func(*testing.T) (all []web.Rule) {
		for _, s := range b.Faults() {
			all = append(all, web.Rule{Sentence: s.Rule.String(), English: s.Rule.English(), Name: s.Rule.Name, Fired: s.Fired})
		}
		return all
	}
}

// TestSurfaces_agree plays the same sentences through every surface and sees the
// same rule and the same effect: a stock producer sends three records, one after
// the other.
func TestSurfaces_agree(t *testing.T) {
	for _, c := range []struct {
		sentence, canonical string
		fired               int
	}{
		{"disconnect after produce attempt=1 times=all", "disconnect after produce attempt=1 times=all", 3},
		{" DISCONNECT  after Produce  topic=orders nth=2 name=second", "disconnect after produce topic=orders nth=2 name=second", 1},
		{"error 6 before produce topic=ord* every=2 times=2", "error NOT_LEADER_OR_FOLLOWER before produce topic=ord* every=2 times=2", 2},
		{"delay 1ms, disconnect before produce sequence=1", "delay 1ms, disconnect before produce sequence=1", 1},
	} {
		for _, s := range surfaces {
			t.Run(s.name+"/"+c.canonical, func(t *testing.T) {
				t.Parallel()
				addr, rules := s.begin(t, c.sentence)
				sendThree(t, addr)
				all := rules(t)
				if len(all) != 1 {
					t.Fatalf("%d rules are in force", len(all))
				}
				if all[0].Sentence != c.canonical || all[0].Fired != c.fired || all[0].English == "" {
					t.Errorf("the rule is %+v, and not %q, fired %d times", all[0], c.canonical, c.fired)
				}
			})
		}
	}
}

// TestSurfaces_refuse_a_bad_sentence_in_the_same_words holds the error of every
// surface against the parser's own.
func TestSurfaces_refuse_a_bad_sentence_in_the_same_words(t *testing.T) {
	const bad, want = "disconect after produce", `unknown verb "disconect"`
	const near = `did you mean "disconnect"?`
	_, _, base := servedAt(t)
	resp, err := http.Post(base+"/faults", "text/plain", strings.NewReader(bad))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var problem web.Problem
	if err := json.NewDecoder(resp.Body).Decode(&problem); err != nil {
		t.Fatal(err)
	}
	said := map[string]string{"POST /faults": problem.Error()}
	_, err = fencepost.Run(fencepost.Fault(bad))
	said["Go"] = fmt.Sprint(err)
	flag := start(t, nil, "", fencepostCommand(t), "--listen", "127.0.0.1:0", "--http", "off", "--fault", bad)
	if code := flag.wait(t); code != 2 {
		t.Errorf("--fault ends with %d", code)
	}
	said["--fault"] = flag.errors.String()
	add := start(t, []string{"FENCEPOST_HTTP=" + base}, "", fencepostCommand(t), "faults", "add", bad)
	if code := add.wait(t); code != 2 {
		t.Errorf("faults add ends with %d", code)
	}
	said["faults add"] = add.errors.String()
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(file, []byte("faults:\n  - "+bad+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := start(t, nil, "", fencepostCommand(t), "check", file)
	if code := check.wait(t); code != 2 {
		t.Errorf("check ends with %d", code)
	}
	said["check"] = check.errors.String()
	for surface, text := range said {
		if !strings.Contains(text, want) || !strings.Contains(text, near) {
			t.Errorf("%s says %q, and not %q and %q", surface, text, want, near)
		}
	}
}

func sendThree(t *testing.T, addr string) {
	t.Helper()
	cl, err := kgo.NewClient(append(quick(), kgo.SeedBrokers(addr), kgo.DefaultProduceTopic("orders"))...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for i := range 3 {
		if err := cl.ProduceSync(ctx, kgo.StringRecord(fmt.Sprint("record ", i))).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}
