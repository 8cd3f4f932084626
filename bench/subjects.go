package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Names of subjects in the tables.
const (
	nameFloor = "floor"
	nameKeep  = "floor that keeps"
	nameOurs  = "fencepost"
)

// Values of --http.
const (
	httpOff = "off"
	httpOn  = "127.0.0.1:0"
)

// workshop is where programs are built, and what was built there.
type workshop struct {
	dir  string // temporary
	root string // of this repository
	self string // this program
}

func newWorkshop() (*workshop, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOMOD: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return nil, errors.New("this is not run from within the repository, so that nothing can be built")
	}
	dir, err := os.MkdirTemp("", "fencepost-bench-")
	return &workshop{dir: dir, root: filepath.Dir(mod), self: self}, err
}

func (w *workshop) remove() { os.RemoveAll(w.dir) }

// buildPatience is how long a build may take, with modules to be downloaded.
const buildPatience = 3 * time.Minute

// build builds the program of a directory and gives its path.
func (w *workshop) build(ctx context.Context, name, module, pkg string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, buildPatience)
	defer cancel()
	path := filepath.Join(w.dir, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, pkg)
	cmd.Dir = filepath.Join(w.root, module)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return path, nil
}

// floor is the floor, or the one that keeps what it reads.
func (w *workshop) floor(name string, volume int64) subject {
	return subject{name, func(ctx context.Context, work work, topic string) (*target, error) {
		args := []string{modeFloor, "-topic", topic, "-records", strconv.Itoa(work.records), "-size", strconv.Itoa(work.size),
			"-pieces", strconv.Itoa(piecesFor(name, volume, work.conns)),
			"-keep=" + strconv.FormatBool(name == nameKeep), "-silent=" + strconv.FormatBool(work.acks == 0)}
		t, err := startTarget(ctx, w.self, args...)
		if t != nil {
			t.fixed = true
		}
		return t, err
	}}
}

// piecesFor is how many pieces a floor needs for so many bytes. Each connection leaves the
// rest of a piece unused.
func piecesFor(name string, volume int64, conns int) int {
	if name != nameKeep {
		return 0
	}
	return int(volume/floorPiece) + conns + 1
}

// chain is the broker within this program, with or without journal and faults.
func (w *workshop) chain(name string, bare bool) subject {
	return subject{name, func(ctx context.Context, _ work, _ string) (*target, error) {
		return startTarget(ctx, w.self, modeChain, "-bare="+strconv.FormatBool(bare))
	}}
}

// oursArgs run the command as it is run for a load: anything goes into memory.
func oursArgs(http string) []string {
	return []string{"--listen", "127.0.0.1:0", "--http", http, "--log-level", "error", "--memory", "1TB", "--expect", "nothing"}
}

// ours is the command, with or without its page and metrics.
func ours(path, name, http string) subject {
	return subject{name, func(ctx context.Context, _ work, _ string) (*target, error) {
		return startTarget(ctx, path, oursArgs(http)...)
	}}
}

// kfake is the broker of that name.
func kfake(path string) subject {
	return subject{"kfake", func(ctx context.Context, _ work, _ string) (*target, error) {
		return startTarget(ctx, path)
	}}
}

func startTarget(ctx context.Context, path string, args ...string) (*target, error) {
	p, err := launch(ctx, 1, path, args...)
	if err != nil {
		return nil, err
	}
	return &target{address: p.address, pid: p.pid(), stop: p.stop}, nil
}

// kafka is a Kafka that somebody runs.
func kafka(address string, pid int) (subject, error) {
	if pid == 0 {
		var err error
		if pid, err = listenerAt(address); err != nil {
			return subject{}, fmt.Errorf("%s: %w", kafkaVariable, err)
		}
	}
	return subject{"Apache Kafka", func(context.Context, work, string) (*target, error) {
		return &target{address: address, pid: pid, stays: true, stop: func() {}}, nil
	}}, nil
}
