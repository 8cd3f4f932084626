package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// A process is a server that runs for one sample.
type process struct {
	cmd     *exec.Cmd
	stdin   io.Closer // closing it ends those that are of this program
	address string    // that it serves Kafka at
	http    string    // of its page, "" for none
	began   time.Time // before it was started
}

// startPatience is how long a server may take to say where it listens.
const startPatience = 30 * time.Second

// launch starts a program and waits until it has said as many addresses as are wanted.
func launch(ctx context.Context, addresses int, path string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, path, args...)}
	p.cmd.Stderr = os.Stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdin, p.began = stdin, time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	late := time.AfterFunc(startPatience, func() { p.cmd.Process.Kill() })
	said, err := readAddresses(out, addresses)
	late.Stop()
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s: %w", p.cmd, err)
	}
	p.address = said[0]
	if len(said) > 1 {
		p.http = said[1]
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // so that it never waits to be read
	return p, nil
}

// stop ends the process at once. What it keeps is of no use any more.
func (p *process) stop() {
	p.stdin.Close()
	p.cmd.Process.Kill() //nolint:errcheck // it may have ended
	p.cmd.Wait()         //nolint:errcheck // it was killed
}

func (p *process) pid() int { return p.cmd.Process.Pid }

var addressIn = regexp.MustCompile(`\b(?:\d+\.){3}\d+:\d+\b`)

// readAddresses reads lines until so many addresses stood in them.
func readAddresses(r io.Reader, want int) (all []string, err error) {
	var said strings.Builder
	for lines := bufio.NewScanner(r); len(all) < want; {
		if !lines.Scan() {
			return nil, fmt.Errorf("it ended without saying where it listens; it said %q", said.String())
		}
		said.WriteString(lines.Text() + "\n")
		all = append(all, addressIn.FindAllString(lines.Text(), -1)...)
	}
	return all, nil
}

// serveUntilEnd listens on a free port, says where, and serves until standard input
// ends, as it does when whoever started this process is gone.
func serveUntilEnd(serve func(net.Listener) error) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("serving at", l.Addr())
	failed := make(chan error, 1)
	go func() { failed <- serve(l) }()
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // either way it has ended
		close(ended)
	}()
	select {
	case err := <-failed:
		return err
	case <-ended:
		return nil
	}
}
