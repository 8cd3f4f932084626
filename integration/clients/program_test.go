package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clientPatience is how long a program may take. It is far longer than any needs,
// also on a machine with other work to do.
const clientPatience = 4 * time.Minute

// endGrace is how long a program whose input has ended may take to leave its group.
const endGrace = 30 * time.Second

// told is what a producer was told of a record.
type told struct {
	Topic     string `json:"topic"`
	N         int    `json:"n"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Error     string `json:"error,omitempty"`
}

// read is a record that a consumer has read and committed.
type read struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Key       string `json:"key"`
	Header    string `json:"header"`
}

// seen is what an admin client was shown.
type seen struct {
	Version    string   `json:"version"` // of the client
	Listed     []string `json:"listed"`
	Partitions int      `json:"partitions"`
}

// A program is a client that runs.
type program struct {
	cmd    *exec.Cmd
	input  io.Closer
	cancel context.CancelFunc
	errors bytes.Buffer
	lines  chan string // of standard output; closed at its end
	ended  chan struct{}
	err    error // how it ended
}

// start runs a client against the broker at an address. It is killed at the end of
// the test, if it has not ended.
func (c *client) start(t *testing.T, addr string, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), clientPatience)
	command := append(c.command(t), args...)
	p := &program{cmd: exec.CommandContext(ctx, command[0], command[1:]...), cancel: cancel,
		lines: make(chan string, 4096), ended: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), "KAFKA_BOOTSTRAP_SERVERS="+addr), c.environment(t)...)
	p.cmd.Stderr = &p.errors
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = func() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
	output, err := p.cmd.StdoutPipe()
	if err == nil {
		p.input, err = p.cmd.StdinPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go p.collect(output)
	t.Cleanup(func() {
		cancel()
		for range p.lines {
		}
		<-p.ended
		if t.Failed() && p.errors.Len() > 0 {
			t.Logf("%s %s said: %s", c.name, args, shorten(p.errors.String()))
		}
	})
	return p
}

// collect reads all that the program prints, and waits for its end.
func (p *program) collect(output io.Reader) {
	for in := bufio.NewScanner(output); in.Scan(); {
		if strings.HasPrefix(in.Text(), "{") {
			p.lines <- in.Text()
		}
	}
	close(p.lines)
	p.err = p.cmd.Wait()
	close(p.ended)
}

// end ends the input of a program, and waits for its end.
func (p *program) end(t *testing.T) {
	t.Helper()
	p.input.Close()
	late := time.AfterFunc(endGrace, p.cancel)
	defer late.Stop()
	for range p.lines {
	}
	if <-p.ended; p.err != nil {
		t.Errorf("it ended with %v", p.err)
	}
}

func shorten(text string) string {
	const shown = 6000
	if len(text) > shown {
		return text[:shown/2] + "\n...\n" + text[len(text)-shown/2:]
	}
	return text
}

// decode reads one line of a program.
func decode[T any](t *testing.T, line string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		t.Errorf("%q: %v", line, err)
	}
	return v
}

// outcomes runs a client to its end and gives what it was told, by topic.
func (c *client) outcomes(t *testing.T, addr string, jobs []string) map[string][]told {
	t.Helper()
	p := c.start(t, addr, append([]string{"produce"}, jobs...)...)
	byTopic := map[string][]told{}
	for line := range p.lines {
		o := decode[told](t, line)
		byTopic[o.Topic] = append(byTopic[o.Topic], o)
	}
	if <-p.ended; p.err != nil {
		t.Errorf("it ended with %v", p.err)
	}
	return byTopic
}
