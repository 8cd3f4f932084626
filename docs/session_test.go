package docs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// commandTime is how long one command may take. The sweeps take the longest.
	commandTime = 5 * time.Minute

	// serveTime is how long a broker may take to say what a page shows.
	serveTime = 30 * time.Second

	// outputGrace is how long the output of a command that has ended is waited for,
	// in case something that it left behind holds it open.
	outputGrace = time.Second
)

// workDir holds the command and a folder for each page. TestMain removes it.
var workDir string

// build builds the command once for all pages.
var build = sync.OnceValues(func() (bin string, err error) {
	if err := noteSources(); err != nil {
		return "", err
	}
	if workDir, err = os.MkdirTemp("", "fencepost-docs-"); err != nil {
		return "", err
	}
	bin = filepath.Join(workDir, "bin")
	if out, err := exec.Command("go", "build", "-o", bin+"/fencepost", "../cmd/fencepost").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ../cmd/fencepost: %w\n%s", err, out)
	}
	return bin, nil
})

// noteSources looks at what the command is built from and at the examples. The go
// command repeats a test if what it looked at has changed, and would not know that
// the test depends on them.
func noteSources() error {
	for _, dir := range []string{"../cmd", "../internal", "../examples", ".."} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && path != dir && (dir == ".." || e.Name() == "target"):
				return fs.SkipDir
			case e.Type().IsRegular():
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// A client is something from outside that commands need.
type client struct {
	word      *regexp.Regexp // that tells of it in a command
	name      string
	install   string
	installed func() bool
}

var clients = []client{
	{regexp.MustCompile(`\b(python3|pytest)\b`), "confluent-kafka", "examples/install python", stamped("python")},
	{regexp.MustCompile(`\b(node|npx)\b`), "kafkajs", "examples/install node", stamped("node")},
	{regexp.MustCompile(`\bmvn\b`), "the Java client", "examples/install java", stamped("m2")},
	{regexp.MustCompile(`\bkcat\b`), "kcat", "integration/install", onPath("kcat")},
	{regexp.MustCompile(`\bcurl\b`), "curl", "apt-get install curl", onPath("curl")},
	{regexp.MustCompile(`\bjq\b`), "jq", "apt-get install jq", onPath("jq")},
}

// stamped says whether examples/install has made a folder.
func stamped(folder string) func() bool {
	return func() bool {
		_, err := os.Stat(filepath.Join("../.cache/examples", folder, "stamp"))
		return err == nil
	}
}

func onPath(name string) func() bool {
	return func() bool {
		_, err := exec.LookPath(name)
		return err == nil
	}
}

// missing says which client of some commands is not installed, "" for none.
func missing(commands []command) string {
	for _, c := range clients {
		for _, command := range commands {
			if c.word.MatchString(command.text) && !c.installed() {
				return fmt.Sprintf("%s is not installed: run %s", c.name, c.install)
			}
		}
	}
	return ""
}

// A session is what the commands of one page share: a folder that holds a copy of the
// examples, as a clone of the repository does, and a broker, if one was started.
type session struct {
	dir    string
	env    []string
	server *server
	missed string // why a block was not run
}

func newSession(t *testing.T) *session {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(root, ".cache")
	s := &session{dir: t.TempDir(), env: append(os.Environ(),
		"PATH="+strings.Join([]string{bin, cache + "/examples/python/bin", os.Getenv("PATH")}, string(os.PathListSeparator)),
		"MAVEN_OPTS=-Dmaven.repo.local="+cache+"/examples/m2",
		"PYTHONDONTWRITEBYTECODE=1", "NO_COLOR=1", "CI=true",
	)}
	if err := s.clone(root, cache); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.server != nil {
			s.server.stop()
		}
	})
	return s
}

// clone copies the examples. Programs in Go need the module around them, and stay
// where they are.
func (s *session) clone(root, cache string) error {
	for _, example := range []string{"python", "node", "java"} {
		from := filepath.Join(root, "examples", example)
		err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
			name, _ := filepath.Rel(root, path)
			switch {
			case err != nil:
				return err
			case e.IsDir() && (e.Name() == "target" || e.Name() == "node_modules" || strings.HasSuffix(e.Name(), "cache__")):
				return fs.SkipDir
			case e.IsDir():
				return os.MkdirAll(filepath.Join(s.dir, name), 0o755)
			case !e.Type().IsRegular():
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(s.dir, name), text, 0o644)
		})
		if err != nil {
			return err
		}
	}
	modules := filepath.Join(cache, "examples/node/node_modules")
	return os.Symlink(modules, filepath.Join(s.dir, "examples/node/node_modules"))
}

// write makes a file that a page shows.
func (s *session) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs the commands of a block and compares what comes of them.
func (s *session) run(t *testing.T, b block) {
	all := commands(b.lines)
	s.require(t, all)
	for _, c := range all {
		got, code := s.one(t, c)
		if code != c.code {
			t.Errorf("$ %s\nends with %d, not %d:\n%s", c.text, code, c.code, got)
		}
		if diff := mismatch(c.output, got); diff != "" {
			t.Errorf("$ %s\nprints something else than is shown (-):\n%s", c.text, diff)
		}
	}
}

// require ends the test of a block of which a client is not installed, or of a
// broker to which something that was not run should have been done. It fails where
// CI=true.
func (s *session) require(t *testing.T, commands []command) {
	t.Helper()
	why := missing(commands)
	if why == "" && s.server != nil {
		why = s.missed
	}
	if why == "" {
		return
	}
	s.missed = why
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// killServer is the command that ends a page's broker.
const killServer = "kill %1; wait"

func (s *session) one(t *testing.T, c command) (output string, code int) {
	text, serves := strings.CutSuffix(c.text, " &")
	switch {
	case serves:
		return s.serve(t, text, c.output), 0
	case c.text == killServer && s.server != nil:
		return s.server.shown(s.server.stop()), s.server.cmd.ProcessState.ExitCode()
	}
	return s.bash(t, c.text)
}

// bash runs a command and gives all that it prints.
func (s *session) bash(t *testing.T, text string) (output string, code int) {
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	cmd := s.command(ctx, s.server.real(text))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) || ctx.Err() != nil {
		t.Fatalf("$ %s: %v (%v)\n%s", text, err, ctx.Err(), out)
	}
	return s.server.shown(string(out)), cmd.ProcessState.ExitCode()
}

var goCommand = regexp.MustCompile(`\bgo (test|run) `)

// command is a command in a process group of its own, which ends with it.
func (s *session) command(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", text)
	cmd.Dir, cmd.Env = s.dir, append(s.env, s.server.env()...)
	if goCommand.MatchString(text) {
		cmd.Dir = ".."
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = outputGrace
	return cmd
}

// A server is a fencepost that serves while the other commands of a page run. A nil
// server is none.
type server struct {
	cmd         *exec.Cmd
	kafka, http string // where it serves, HOST:PORT
	mu          sync.Mutex
	output      bytes.Buffer
	read        int // how much of the output has been looked at
	said        chan struct{}
	ended       chan struct{}
	stopping    sync.Once
}

// Where pages say that it serves.
const shownKafka, shownHTTP = "127.0.0.1:9092", "127.0.0.1:9644"

var servesAt = regexp.MustCompile(`(?s)Kafka at (127\.0\.0\.1:\d+),.*page and API at http://(127\.0\.0\.1:\d+)\n`)

// serve starts a broker on free ports and gives what it says at first, as soon as
// that is what a page shows.
func (s *session) serve(t *testing.T, text, shows string) string {
	t.Helper()
	if s.server != nil {
		s.server.stop()
		s.server = nil
	}
	v := &server{said: make(chan struct{}, 1), ended: make(chan struct{})}
	v.cmd = s.command(context.Background(), "exec "+text+" --listen 127.0.0.1:0 --http 127.0.0.1:0 --log-level warn")
	v.cmd.Stdout, v.cmd.Stderr = v, v
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		v.cmd.Wait() //nolint:errcheck // its exit code is looked at
		close(v.ended)
	}()
	s.server = v
	timeout := time.NewTimer(serveTime)
	defer timeout.Stop()
	for {
		select {
		case <-v.said:
		case <-v.ended:
			t.Fatalf("$ %s & ended: %s", text, v.rest())
		case <-timeout.C:
			if v.kafka == "" {
				t.Fatalf("$ %s & never said where it serves", text)
			}
			return v.shown(v.rest())
		}
		if v.findAddresses() && mismatch(shows, v.shown(v.text())) == "" {
			return v.shown(v.rest())
		}
	}
}

// findAddresses says whether it has said where it serves.
func (v *server) findAddresses() bool {
	if found := servesAt.FindStringSubmatch(v.text()); found != nil {
		v.kafka, v.http = found[1], found[2]
	}
	return v.kafka != ""
}

// Write takes what the broker prints.
func (v *server) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.output.Write(b)
	select {
	case v.said <- struct{}{}:
	default:
	}
	return len(b), nil
}

// text is all that it has printed.
func (v *server) text() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.output.String()
}

// rest is what it printed since it was last asked.
func (v *server) rest() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	text := v.output.String()[v.read:]
	v.read = v.output.Len()
	return text
}

// stop interrupts it and gives what it prints then.
func (v *server) stop() string {
	v.stopping.Do(func() {
		v.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
		<-v.ended
	})
	return v.rest()
}

func (v *server) env() []string {
	if v == nil {
		return nil
	}
	return []string{"FENCEPOST_HTTP=http://" + v.http, "KAFKA_BOOTSTRAP_SERVERS=" + v.kafka}
}

// real puts the addresses of the broker in the place of those that a page shows.
func (v *server) real(text string) string {
	if v == nil {
		return text
	}
	return strings.NewReplacer(shownKafka, v.kafka, shownHTTP, v.http).Replace(text)
}

// shown does the reverse.
func (v *server) shown(text string) string {
	if v == nil {
		return text
	}
	return strings.NewReplacer(v.kafka, shownKafka, v.http, shownHTTP).Replace(text)
}
