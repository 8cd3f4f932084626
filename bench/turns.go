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
		if m.cpu, err = cpuTime(t.pid); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	// In an order that turns about: what drifts within the round meets all alike.
	_, err := inRounds(turns, len(all), func(i int) (sample, error) {
		if err := all[i].write(ctx, o.each/turns, volume/turns); err != nil {
			return sample{}, fmt.Errorf("%s, %s: %w", by[i].name, w, err)
		}
		return sample{}, nil
	})
	if err != nil {
		return nil, err
	}
	round := make([]sample, len(all))
	for i, m := range all {
		used, err := cpuTime(m.target.pid) // what it used while others had their turn is next to nothing
		m.cpu = used - m.cpu
		if err == nil {
			round[i], err = m.finish(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", by[i].name, w, err)
		}
	}
	return round, nil
}
