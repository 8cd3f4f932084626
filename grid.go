package fencepost

import (
	"fmt"
	"path"
	"time"
)

// A Cell is one way in which a producer can be tried: one fault, in one place,
// on one of the requests that it sends.
type Cell struct {
	API      string `json:"api"`      // produce or init_producer_id
	Place    string `json:"place"`    // before or after
	Trouble  string `json:"trouble"`  // disconnect, drop, retriable, fatal or delay
	Position string `json:"position"` // first, middle, last or each
	Sentence string `json:"sentence"` // the fault sentence that makes it happen
}

// Name is api/place/trouble/position, such as produce/after/disconnect/each.
func (c Cell) Name() string {
	return c.API + "/" + c.Place + "/" + c.Trouble + "/" + c.Position
}

// Matches says whether a pattern such as produce/after/*/* names the cell. The
// pattern is one of path.Match; one without slashes is held against each part.
func (c Cell) Matches(pattern string) bool {
	if ok, _ := path.Match(pattern, c.Name()); ok {
		return true
	}
	for _, part := range []string{c.API, c.Place, c.Trouble, c.Position} {
		if ok, _ := path.Match(pattern, part); ok {
			return true
		}
	}
	return false
}

// A Workload is what a producer sends when nothing goes wrong: the size of the
// grid follows from it.
type Workload struct {
	Produces int `json:"produces"` // Produce requests
	Inits    int `json:"inits"`    // InitProducerId requests
}

// trouble is a verb of the grid. The errors are what brokers really say: a
// leader that moved and a batch that is not valid; a coordinator that is not
// ready and a client that may not.
type trouble struct{ name, produce, init string }

func troubles(delay time.Duration) []trouble {
	late := fmt.Sprintf("delay %s", delay)
	return []trouble{
		{"disconnect", "disconnect", "disconnect"},
		{"drop", "drop", "drop"},
		{"retriable", "error NOT_LEADER_OR_FOLLOWER", "error COORDINATOR_LOAD_IN_PROGRESS"},
		{"fatal", "error INVALID_RECORD", "error CLUSTER_AUTHORIZATION_FAILED"},
		{"delay", late, late},
	}
}

// Grid lists the cells for a workload: before and after, each trouble, on the
// first request, one in the middle, the last, and the first delivery of every
// batch. Positions that are one request are listed once. The delay has to be
// longer than the producer waits for an answer.
func Grid(w Workload, delay time.Duration) (cells []Cell) {
	for _, place := range []string{"before", "after"} {
		for _, t := range troubles(delay) {
			for _, at := range positions(w.Produces) {
				cells = append(cells, produceCell(place, t, at))
			}
			if w.Produces > 1 {
				cells = append(cells, produceCell(place, t, position{name: "each"}))
			}
		}
	}
	for _, place := range []string{"before", "after"} {
		for _, t := range troubles(delay) {
			for _, at := range positions(w.Inits) {
				cells = append(cells, Cell{"init_producer_id", place, t.name, at.name,
					fmt.Sprintf("%s %s init_producer_id%s", t.init, place, at.schedule())})
			}
		}
	}
	return cells
}

func produceCell(place string, t trouble, at position) Cell {
	schedule := at.schedule()
	if at.name == "each" {
		schedule = " times=all"
	}
	return Cell{"produce", place, t.name, at.name, fmt.Sprintf("%s %s produce attempt=1%s", t.produce, place, schedule)}
}

// A position is one request of those that are sent, counted from 1.
type position struct {
	name string
	nth  int
}

func (p position) schedule() string {
	if p.nth <= 1 {
		return ""
	}
	return fmt.Sprintf(" nth=%d", p.nth)
}

func positions(n int) (all []position) {
	if n > 0 {
		all = append(all, position{"first", 1})
	}
	if n > 2 {
		all = append(all, position{"middle", (n + 1) / 2})
	}
	if n > 1 {
		all = append(all, position{"last", n})
	}
	return all
}

// Rules that never fire and only count: no run sends as many requests.
const (
	countProduces = "delay 1ms before produce attempt=1 nth=1000000000 name=sweep-produces"
	countInits    = "delay 1ms before init_producer_id nth=1000000000 name=sweep-inits"
)

// CountWorkload starts to count what a producer sends, for Grid. What it
// returns tells the count so far; it is meant for a run without faults.
func (b *Broker) CountWorkload() (func() Workload, error) {
	for _, s := range []string{countProduces, countInits} {
		if err := b.Fault(s); err != nil {
			return nil, err
		}
	}
	return func() (w Workload) {
		for _, s := range b.Faults() {
			switch s.Rule.Name {
			case "sweep-produces":
				w.Produces = s.Matched
			case "sweep-inits":
				w.Inits = s.Matched
			}
		}
		return w
	}, nil
}
