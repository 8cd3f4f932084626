package integration

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// lostAcks is the fault that the tests of the command give to it.
const lostAcks = "disconnect after produce attempt=1 times=all"

// runCommand runs the command to its end.
func runCommand(t testing.TB, args ...string) (code int, p *process) {
	t.Helper()
	p = start(t, nil, "", fencepostCommand(t), args...)
	return p.wait(t), p
}

// around runs a shell script as the child of the command.
func around(t testing.TB, script string, flags ...string) (code int, p *process) {
	t.Helper()
	return runCommand(t, append(flags, "--", "sh", "-c", script)...)
}

func TestCommand_runs_a_program(t *testing.T) {
	t.Parallel()
	t.Run("which finds the broker in its environment", func(t *testing.T) {
		t.Parallel()
		code, p := around(t, `echo "$KAFKA_BOOTSTRAP_SERVERS $FENCEPOST_HTTP"`)
		kafka := p.find(t, &p.errors, `Kafka at (\S+),`)[1]
		http := p.find(t, &p.errors, `page and API at (http://\S+)`)[1]
		if want := kafka + " " + http + "\n"; code != 0 || p.out.String() != want {
			t.Errorf("it ended with %d and was told %q, and not %q", code, p.out.String(), want)
		}
	})
	t.Run("which finds no page where there is none", func(t *testing.T) {
		t.Parallel()
		code, p := around(t, `echo "${FENCEPOST_HTTP-none}"`, "--http", "off")
		if code != 0 || p.out.String() != "none\n" {
			t.Errorf("it ended with %d and was told %q", code, p.out.String())
		}
	})
	t.Run("whose output is all that goes to standard output", func(t *testing.T) {
		t.Parallel()
		_, p := around(t, `echo told; echo complaint >&2`)
		if p.out.String() != "told\n" || !strings.Contains(p.errors.String(), "complaint\n") {
			t.Errorf("its output is %q and its complaints are %q", p.out.String(), p.errors.String())
		}
	})
	t.Run("which reads standard input", func(t *testing.T) {
		t.Parallel()
		p := start(t, nil, "a line\n", fencepostCommand(t), "--", "cat")
		if code := p.wait(t); code != 0 || p.out.String() != "a line\n" {
			t.Errorf("it ended with %d and repeats %q", code, p.out.String())
		}
	})
	t.Run("beside another one, each with free ports", func(t *testing.T) {
		t.Parallel()
		command := fencepostCommand(t)
		code, p := runCommand(t, "--", command, "--", "sh", "-c", "echo $KAFKA_BOOTSTRAP_SERVERS")
		if outer := p.find(t, &p.errors, `Kafka at (\S+),`)[1]; code != 0 || strings.TrimSpace(p.out.String()) == outer {
			t.Errorf("it ended with %d, and both serve %s", code, outer)
		}
	})
}

func TestCommand_exit_codes(t *testing.T) {
	t.Parallel()
	plainFile := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(plainFile, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want int
		says string
	}{
		{"0 if the program and the verdict are well", []string{"--", "true"}, 0, "no batch was produced"},
		{"the program's own", []string{"--", "sh", "-c", "exit 3"}, 3, "no batch was produced"},
		{"1 if a fault never fired", []string{"--fault", "drop after produce", "--", "true"}, 1, "fault \"drop after produce\" never fired\n  saw no produce request"},
		{"1 if a fault never fired, whatever the program's own", []string{"--fault", "drop after produce", "--", "sh", "-c", "exit 3"}, 1, "never fired"},
		{"the program's own where nothing is expected", []string{"--expect", "nothing", "--fault", "drop after produce", "--", "sh", "-c", "exit 3"}, 3, "never fired"},
		{"126 if the file cannot be run", []string{"--", plainFile}, 126, "cannot run " + plainFile + ": "},
		{"126 if it is a folder", []string{"--", "/"}, 126, "cannot run /: "},
		{"127 if there is no such program", []string{"--", "no-such-program"}, 127, "cannot run no-such-program: "},
		{"127 if there is no such file", []string{"--", "/no/such/file"}, 127, "cannot run /no/such/file: "},
		{"128 and the signal that killed it", []string{"--", "sh", "-c", "kill -KILL $$"}, 128 + int(syscall.SIGKILL), "no batch was produced"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, p := runCommand(t, c.args...)
			if code != c.want || !strings.Contains(p.errors.String(), c.says) {
				t.Errorf("it ended with %d, and not %d, and said: %s", code, c.want, p.errors.String())
			}
		})
	}
}

func TestCommand_says_what_to_look_at_where_nothing_came(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash, which connects by itself, is not installed: apt-get install bash")
	}
	for script, says := range map[string]string{
		"true": "does the program read KAFKA_BOOTSTRAP_SERVERS?",
		// Four zeros are no request, and the broker ends the connection.
		`exec 3<>"/dev/tcp/${KAFKA_BOOTSTRAP_SERVERS/:/\/}"; printf '\0\0\0\0' >&3; cat <&3`: "needs --topic NAME",
	} {
		if code, p := runCommand(t, "--", "bash", "-c", script); code != 0 || !strings.Contains(p.errors.String(), says) {
			t.Errorf("%s: it ended with %d, and not with 0 and %q: %s", script, code, says, p.errors.String())
		}
	}
}

func TestCommand_passes_signals_on(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		name   string
		signal syscall.Signal
	}{
		{"INT", syscall.SIGINT}, {"TERM", syscall.SIGTERM}, {"HUP", syscall.SIGHUP},
		{"QUIT", syscall.SIGQUIT}, {"USR1", syscall.SIGUSR1}, {"USR2", syscall.SIGUSR2},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			// The shell ends by itself, so that it is not left behind where the signal
			// does not come.
			script := `trap 'echo got ` + s.name + `; exit 7' ` + s.name + `; echo ready; for i in 1 2 3 4 5 6 7 8 9; do sleep 1; done`
			p := start(t, nil, "", fencepostCommand(t), "--http", "off", "--", "sh", "-c", script)
			p.find(t, &p.out, "ready")
			if code := p.signal(t, s.signal); code != 7 || !strings.HasSuffix(p.out.String(), "got "+s.name+"\n") {
				t.Errorf("it ended with %d, and the program said %q", code, p.out.String())
			}
			if !strings.Contains(p.errors.String(), "no batch was produced") {
				t.Errorf("there is no verdict: %s", p.errors.String())
			}
		})
	}
}

func TestCommand_serves_until_a_signal_and_prints_the_verdict(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			broker, addr := serve(t, "--topic", "orders:2")
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if code := broker.signal(t, s); code != 0 || !strings.Contains(broker.out.String(), "no batch was produced") {
				t.Errorf("it ended with %d and said: %s", code, broker.out.String())
			}
		})
	}
}

func TestCommand_says_what_is_wrong_and_what_to_try(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	busy := taken.Addr().String()
	const (
		tryHelp  = "fencepost --help"
		tryPort  = "--listen 127.0.0.1:0, which takes a free port and prints it"
		tryFault = "--fault 'disconnect after produce attempt=1 times=all', which loses the acknowledgement of every batch once"
	)
	for _, c := range []struct {
		name  string
		args  []string
		wrong string // a regular expression
		try   string
	}{
		{"a port in use", []string{"--listen", busy}, regexp.QuoteMeta(busy) + " is in use by another program", tryPort},
		{"an address of another machine", []string{"--listen", "192.0.2.1:0"}, `cannot listen on 192\.0\.2\.1:0: .*assign requested address`, tryPort},
		{"an address without a port", []string{"--listen", "127.0.0.1"}, `"127\.0\.0\.1" is no address; write it as HOST:PORT, such as 127\.0\.0\.1:9092`, tryHelp},
		{"a port that cannot be", []string{"--listen", "127.0.0.1:99999"}, `cannot listen on 127\.0\.0\.1:99999: .*port.*`, tryPort},
		{"a bad advertised address", []string{"--listen", "127.0.0.1:0=here"}, `"here" is no address; write it as HOST:PORT, such as 127\.0\.0\.1:9092`, tryHelp},
		{"a bad verb", []string{"--fault", "disconect after produce"}, `fault "disconect after produce": unknown verb "disconect" at 1: want drop, disconnect, error CODE or delay DURATION; did you mean "disconnect"\?`, tryFault},
		{"a bad key", []string{"--fault", "drop after produce topics=orders"}, `fault "drop after produce topics=orders": .*"topics".*did you mean "topic"\?`, tryFault},
		{"a fault twice by one name", []string{"--fault", "drop after produce name=a", "--fault", "drop before produce name=a"}, `fault .*: that name is taken by .*`, tryHelp},
		{"a bad topic", []string{"--topic", "orders:many"}, `topic "orders:many": "many" is no number of partitions; .*such as orders:3`, tryHelp},
		{"a bad name of a topic", []string{"--topic", "or/ders"}, `topic "or/ders": .*`, tryHelp},
		{"a flag that does not exist", []string{"--fualt", "drop"}, `unknown flag: --fualt`, tryHelp},
		{"a program without --", []string{"true"}, `unknown command "true"; a program to run stands behind --, as in: fencepost -- true`, tryHelp},
		{"an unknown expectation", []string{"--expect", "the best"}, `--expect "the best" is not known; want exactly-once or nothing`, tryHelp},
		{"an unknown identity", []string{"--identity", "name"}, `identity "name": want .*key, value or header=NAME`, tryHelp},
		{"a bad size", []string{"--memory", "much"}, `--memory "much" is no size; write it as 512MiB or 2GB`, tryHelp},
		{"an unknown level", []string{"--log-level", "all"}, `--log-level "all" is not known; want debug, info, warn or error`, tryHelp},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, p := runCommand(t, append([]string{"--http", "off"}, c.args...)...)
			want := regexp.MustCompile(`^fencepost: ` + c.wrong + `\ntry: ` + regexp.QuoteMeta(c.try) + `\n$`)
			if code != 2 || p.out.String() != "" || !want.MatchString(p.errors.String()) {
				t.Errorf("it ended with %d, printed %q, and said, instead of %s:\n%s", code, p.out.String(), want, p.errors.String())
			}
		})
	}
}

// A producer that is killed while its acknowledgement is held back was never told,
// and the broker knows so when it ends.
func TestCommand_counts_what_a_rule_held_back_when_the_broker_ends(t *testing.T) {
	t.Parallel()
	kcat := kcatCommand(t)
	broker, addr := serve(t, "--seed", "42", "--topic", "orders", "--fault", "delay 1h after produce times=all")
	producer := start(t, nil, "held back\n", kcat, "-P", "-b", addr, "-t", "orders")
	client := start(t, nil, "", kcat, "-C", "-b", addr, "-t", "orders", "-o", "beginning", "-c", "1")
	if code := client.wait(t); code != 0 { // it is in the log
		t.Fatalf("the consumer ended with %d", code)
	}
	producer.signal(t, syscall.SIGKILL)
	if code := broker.signal(t, syscall.SIGTERM); code != 1 {
		t.Errorf("the broker ended with %d", code)
	}
	if want := "orders is not exactly once (seed 42)\n  unconfirmed "; !strings.Contains(broker.out.String(), want) {
		t.Errorf("it says %q", broker.out.String())
	}
}
