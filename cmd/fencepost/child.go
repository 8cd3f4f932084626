package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/fencepostmq/fencepost"
	"golang.org/x/term"
)

// Exit codes of a shell for a command that could not be started.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignalled     = 128 // and the number of the signal that ended the child
)

// A child is a program that is run against the broker.
type child struct {
	args           []string
	env            []string // besides this process's own
	stdout, stderr io.Writer
	// alone gives the program no standard input and a process group of its own,
	// which is killed as a whole when the program's time is up.
	alone bool
}

// outputGrace is how long the output of a killed program is waited for, in case
// a process that it left behind holds it open.
const outputGrace = time.Second

// run runs the program to its end and gives the exit code that a shell would
// give. The error says why it could not be started. When ctx ends the program
// is killed.
func (c child) run(ctx context.Context) (int, error) {
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, c.stdout, c.stderr
	if c.alone {
		cmd.Stdin = nil
		setGroup(cmd)
		cmd.Cancel = func() error { return killGroup(cmd.Process) }
		cmd.WaitDelay = outputGrace
	}
	signals := make(chan os.Signal, len(passedOn))
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return startFailure(err), fmt.Errorf("cannot run %s: %w", c.args[0], err)
	}
	done := make(chan struct{})
	defer close(done)
	go passOn(signals, cmd.Process, done)
	err := cmd.Wait()
	if c.alone {
		killGroup(cmd.Process) //nolint:errcheck // what it left behind, if anything
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return exitNotExecutable, fmt.Errorf("running %s: %w", c.args[0], err)
	}
	return exitCodeOf(cmd.ProcessState), nil
}

// settle lets a broker handle what a program that has ended left in flight:
// requests that were sent and not read yet, and those that a rule delays.
func settle(ctx context.Context, b *fencepost.Broker) {
	longest := time.Duration(0)
	for _, f := range b.Faults() {
		longest = max(longest, f.Rule.Delay)
	}
	ctx, cancel := context.WithTimeout(ctx, min(longest, maxSettle)+settleGrace)
	defer cancel()
	b.Drain(ctx) //nolint:errcheck // a process that it left behind may keep a connection open
}

const (
	settleGrace = 2 * time.Second
	maxSettle   = time.Minute
)

func startFailure(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitNotExecutable
}

func passOn(signals <-chan os.Signal, to *os.Process, done <-chan struct{}) {
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGINT && onTerminal(os.Stdin) {
				continue
			}
			to.Signal(s) //nolint:errcheck // it may have ended
		case <-done:
			return
		}
	}
}

func onTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
