package main

import (
	"context"
	"fmt"
	"time"
)

// turns is how many short runs a sample is made of where several subjects are measured
// in turn.
const turns = 8

// inTurns measures subjects at one work while all of them run, each with volume bytes of
// batches at most: a round is many short turns. What differs by little would be lost in
// what drifts from one process to the next, or in a neighbour who works for a second.
func (o *options) inTurns(ctx context.Context, by []subject, w work, volume int64) ([][]sample, error) {
	all := make([][]sample, len(by))
	for range o.rounds {
		round, err := o.roundOfTurns(ctx, by, w, volume)
		if err != nil {
			return nil, err
		}
		for i, s := range round {
			all[i] = append(all[i], s)
		}
	}
	return all, nil
}

func (o *options) roundOfTurns(ctx context.Context, by []subject, w work, volume int64) ([]sample, error) {
	var all []*meeting
	for _, s := range by {
		topic := newTopic()
		t, err := s.start(ctx, w, topic)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		defer t.stop()
		m, err := meet(ctx, t, w, topic, 2*o.each*time.Duration(len(by)))
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", s.name, w, err)
		}
		defer m.end()
		if m.before, err = cpuTime(t.pid); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	for turn := range turns {
		for i := range inTurn(turn, len(all)) {
			if err := all[i].takeTurn(ctx, o.each/turns, volume/turns); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", by[i].name, w, err)
			}
		}
	}
	round := make([]sample, len(all))
	for i, m := range all {
		err := m.countWhole()
		if err == nil {
			round[i], err = m.finish(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", by[i].name, w, err)
		}
	}
	return round, nil
}

func (m *meeting) takeTurn(ctx context.Context, each time.Duration, volume int64) error {
	cpu, err := cpuWhile(m.target.pid, func() error { return m.write(ctx, each, volume) })
	m.cpu += cpu
	return err
}

// countWhole counts the processor's time of a process that was started for the round over
// the whole of it, which is exacter than the sum of turns: the system tells hundredths of a
// second. Such a process does next to nothing while others have their turn; who stays may.
func (m *meeting) countWhole() error {
	if m.target.stays {
		return nil
	}
	after, err := cpuTime(m.target.pid)
	m.cpu = after - m.before
	return err
}
