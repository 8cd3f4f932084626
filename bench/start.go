package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// starts is how often a process is started to be timed; a start takes some milliseconds.
const starts = 10

// starting measures how long it takes until a broker serves.
func (r *run) starting(ctx context.Context) error {
	names := []string{nameFloor, nameOurs}
	paths := []string{r.shop.self, r.path}
	args := [][]string{{modeFloor, "-topic", "none"}, oursArgs(httpOff)}
	took := make([][]float64, len(names))
	for range max(starts, r.rounds) {
		for i := range names {
			ms, err := execToListening(ctx, paths[i], args[i])
			if err != nil {
				return err
			}
			took[i] = append(took[i], ms)
		}
	}
	r.title("starting")
	t := newTable("", "ms")
	for i := range names {
		t.row("exec to listening, "+names[i], spreadOf(took[i]).String())
	}
	r.reach(goalExec, spreadOf(took[1]))
	ack, err := r.firstAck(ctx)
	if err != nil {
		return err
	}
	t.row("a broker in a Go test, New to first ack", ack.String())
	t.print(&r.details)
	r.reach(goalFirstAck, ack)
	return nil
}

// execToListening starts a program and asks it something; the time in ms is from before
// the start to its answer.
func execToListening(ctx context.Context, path string, args []string) (ms float64, err error) {
	p, err := launch(ctx, 1, path, args...)
	if err != nil {
		return 0, err
	}
	defer p.stop()
	c, err := dial(ctx, p.address, 0)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := c.settle(); err != nil {
		return 0, err
	}
	return float64(time.Since(p.began).Microseconds()) / 1e3, nil
}

var firstAckIn = regexp.MustCompile(`([0-9.]+) ns/first-ack`)

// firstAck runs the benchmark of that name in the root package.
func (r *run) firstAck(ctx context.Context) (spread, error) {
	count := "100x"
	if r.short {
		count = "10x"
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkRun_to_first_ack$/^tcp$", "-benchtime", count, "-count", strconv.Itoa(r.rounds), ".")
	cmd.Dir = r.shop.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return spread{}, fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	var ms []float64
	for _, m := range firstAckIn.FindAllStringSubmatch(string(out), -1) {
		ns, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return spread{}, err
		}
		ms = append(ms, ns/1e6)
	}
	if len(ms) == 0 {
		return spread{}, errors.New("the benchmark of the first ack reported nothing: " + string(out))
	}
	return spreadOf(ms), nil
}
