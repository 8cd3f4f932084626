package integration

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// buildCommand builds the command once for all tests.
var buildCommand = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(workDir, "fencepost")
	out, err := exec.Command("go", "build", "-o", path, "../cmd/fencepost").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

// fencepostCommand is the path of the command.
func fencepostCommand(t testing.TB) string {
	t.Helper()
	path, err := buildCommand()
	if err != nil {
		t.Fatalf("go build ./cmd/fencepost: %v", err)
	}
	return path
}

// A process is a program that a test has started. It is killed at the end of the
// test, if it has not ended.
type process struct {
	cmd         *exec.Cmd
	out, errors output
	ended       chan struct{}
}

// start runs a program with further environment and this standard input.
func start(t testing.TB, env []string, input string, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(name, args...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	if input != "" { // else it is /dev/null, as in CI
		p.cmd.Stdin = strings.NewReader(input)
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errors
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("%s\nstandard output:\n%s\nstandard error:\n%s", p.cmd, shorten(p.out.String()), shorten(p.errors.String()))
		}
	})
	return p
}

func shorten(text string) string {
	const shown = 4000
	if len(text) > shown {
		return text[:shown/2] + "\n...\n" + text[len(text)-shown/2:]
	}
	return text
}

// wait waits for the end and gives the exit code, or minus the signal.
func (p *process) wait(t testing.TB) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-patience(t).Done():
		t.Fatalf("%s does not end", p.cmd)
	}
	if s := p.cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		return -int(s.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}

// signal sends a signal and waits for the end.
func (p *process) signal(t testing.TB, s syscall.Signal) int {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	return p.wait(t)
}

// find waits until the output of a running program matches, and gives the
// submatches.
func (p *process) find(t testing.TB, o *output, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	found := o.await(patience(t), p.ended, re)
	if found == nil {
		t.Fatalf("%s never said %q", p.cmd, pattern)
	}
	return found
}

// An output collects what a program prints.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed when there is more; nil if nobody waits
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b)
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// more gives the text so far, and a channel that is closed when there is more.
func (o *output) more() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return o.text.String(), o.changed
}

func (o *output) await(ctx context.Context, ended <-chan struct{}, re *regexp.Regexp) []string {
	for {
		text, changed := o.more()
		if found := re.FindStringSubmatch(text); found != nil {
			return found
		}
		select {
		case <-changed:
		case <-ended:
			return re.FindStringSubmatch(o.String())
		case <-ctx.Done():
			return nil
		}
	}
}

// serve starts the command as a broker on free ports and gives its address.
func serve(t testing.TB, flags ...string) (broker *process, addr string) {
	t.Helper()
	flags = append([]string{"--listen", "127.0.0.1:0", "--http", "off"}, flags...)
	broker = start(t, nil, "", fencepostCommand(t), flags...)
	return broker, broker.find(t, &broker.out, `Kafka at (127\.0\.0\.1:\d+),`)[1]
}
