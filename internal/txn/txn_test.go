package txn_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/fencepostmq/fencepost/internal/txn"
	"github.com/google/go-cmp/cmp"
)

// A table of one transactional id, "t", as a client sees it.
type table struct {
	*txn.Table[string]
	ids int64
}

func newTable() *table {
	t := &table{}
	t.Table = txn.NewTable[string](func() int64 { t.ids++; return 6 + t.ids })
	return t
}

// ended is what an ending says, in words.
func ended(e *txn.Ending[string]) string {
	if e == nil {
		return "no markers"
	}
	kind := "abort"
	if e.Commit {
		kind = "commit"
	}
	return fmt.Sprintf("%s by %v in %v", kind, e.Producer, e.Partitions)
}

func (t *table) init(claim ...txn.Producer) string {
	var c *txn.Producer
	if len(claim) > 0 {
		c = &claim[0]
	}
	p, ending, err := t.Init("t", c, 1000)
	return said(p, ending, err)
}

func (t *table) add(p txn.Producer, partitions ...string) string {
	return said(p, nil, t.Add("t", p, 5, partitions...))
}

func (t *table) end(p txn.Producer, commit, bump bool) string {
	return said(t.End("t", p, commit, bump))
}

func (t *table) verify(p txn.Producer, partition string) string {
	return said(p, nil, t.Verify("t", p, partition))
}

func (t *table) expire(p txn.Producer, started int64) string {
	return ended(t.Expire("t", p, started))
}

func said(p txn.Producer, ending *txn.Ending[string], err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%v, %s", p, ended(ending))
}

// e is the epoch that the first producer of a table has.
func e(epoch int16) txn.Producer { return txn.Producer{ID: 7, Epoch: epoch} }

const (
	commit, abort = true, false
	bump, keep    = true, false // versions from 5 on, versions below
)

var (
	unknown  = txn.ErrUnknown.Error()
	fenced   = txn.ErrFenced.Error()
	badState = txn.ErrState.Error()
	notAdded = txn.ErrNotAdded.Error()
)

func TestTable(t *testing.T) {
	type step struct{ got, want string }
	for name, steps := range map[string]func(t *table) []step{
		"a new id gets a new producer, and each start the next epoch": func(t *table) []step {
			return []step{
				{t.init(), "{7 0}, no markers"},
				{t.init(), "{7 1}, no markers"},
			}
		},
		"a producer that claims its present epoch gets the next, and may ask again": func(t *table) []step {
			t.init()
			return []step{
				{t.init(e(0)), "{7 1}, no markers"},
				{t.init(e(0)), "{7 1}, no markers"},
				{t.init(e(1)), "{7 2}, no markers"},
				{t.init(e(0)), fenced},
				{t.init(e(9)), fenced},
				{t.init(txn.Producer{ID: 99}), fenced},
			}
		},
		"a start without a claim cannot be asked for again with the epoch before": func(t *table) []step {
			t.init()
			return []step{
				{t.init(), "{7 1}, no markers"},
				{t.init(e(0)), fenced},
			}
		},
		"a claim for an id that is not known is ignored": func(t *table) []step {
			return []step{{t.init(txn.Producer{ID: 99, Epoch: 4}), "{7 0}, no markers"}}
		},
		"a partition is in the transaction from Add to End": func(t *table) []step {
			t.init()
			return []step{
				{t.verify(e(0), "a"), notAdded},
				{t.add(e(0), "a", "b"), "{7 0}, no markers"},
				{t.add(e(0), "a"), "{7 0}, no markers"},
				{t.verify(e(0), "a"), "{7 0}, no markers"},
				{t.verify(e(0), "c"), notAdded},
				{t.end(e(0), commit, keep), "{7 0}, commit by {7 0} in [a b]"},
				{t.verify(e(0), "a"), notAdded},
			}
		},
		"without a bump an end may be repeated, and not turned round": func(t *table) []step {
			t.init()
			return []step{
				{t.end(e(0), commit, keep), badState},
				{t.end(e(0), abort, keep), badState},
				{t.add(e(0), "a"), "{7 0}, no markers"},
				{t.end(e(0), abort, keep), "{7 0}, abort by {7 0} in [a]"},
				{t.end(e(0), abort, keep), "{7 0}, no markers"},
				{t.end(e(0), commit, keep), badState},
			}
		},
		"with a bump every end gives the next epoch, and markers carry it": func(t *table) []step {
			t.init()
			return []step{
				{t.add(e(0), "a"), "{7 0}, no markers"},
				{t.end(e(0), commit, bump), "{7 1}, commit by {7 1} in [a]"},
				{t.end(e(0), commit, bump), "{7 1}, no markers"},
				{t.end(e(0), abort, bump), badState},
				{t.end(e(1), commit, bump), badState},
				{t.end(e(1), abort, bump), "{7 2}, no markers"},
				{t.end(e(2), abort, bump), "{7 3}, no markers"},
				{t.add(e(3), "a"), "{7 3}, no markers"},
				{t.end(e(2), abort, bump), fenced},
			}
		},
		"another producer is refused": func(t *table) []step {
			before := []step{{t.add(e(0), "a"), unknown}, {t.end(e(0), abort, keep), unknown}, {t.verify(e(0), "a"), unknown}}
			t.init()
			t.init()
			return append(before,
				step{t.add(e(0), "a"), fenced},
				step{t.add(e(2), "a"), fenced},
				step{t.add(txn.Producer{ID: 99, Epoch: 1}, "a"), unknown},
				step{t.end(e(0), abort, keep), fenced},
				step{t.end(e(0), abort, bump), fenced},
				step{t.verify(e(0), "a"), fenced},
			)
		},
		"a start aborts what is open, and leaves one epoch to the marker": func(t *table) []step {
			t.init()
			return []step{
				{t.add(e(0), "a"), "{7 0}, no markers"},
				{t.init(), "{7 2}, abort by {7 1} in [a]"},
				{t.add(e(2), "b"), "{7 2}, no markers"},
				{t.init(e(1)), fenced},
				{t.init(e(2)), "{7 3}, abort by {7 3} in [b]"},
				{t.init(e(2)), "{7 3}, no markers"},
			}
		},
		"a transaction that expires fences its producer": func(t *table) []step {
			t.init()
			return []step{
				{t.add(e(0), "a"), "{7 0}, no markers"},
				{t.expire(e(0), 4), "no markers"},
				{t.expire(e(1), 5), "no markers"},
				{t.expire(e(0), 5), "abort by {7 1} in [a]"},
				{t.expire(e(0), 5), "no markers"},
				{t.end(e(0), commit, keep), fenced},
				{t.end(e(0), commit, bump), badState},
				{t.init(e(0)), "{7 1}, no markers"},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i, s := range steps(newTable()) {
				if s.got != s.want {
					t.Errorf("step %d: %s, want %s", i+1, s.got, s.want)
				}
			}
		})
	}
}

// aged is a table whose producer has the last epoch.
func aged(t *testing.T) *table {
	all := newTable()
	for range txn.LastEpoch + 1 {
		all.init()
	}
	if got := all.Lookup("t").Producer; got != e(txn.LastEpoch) {
		t.Fatalf("the producer is %v", got)
	}
	return all
}

func TestTable_after_the_last_epoch_comes_another_producer(t *testing.T) {
	last := e(txn.LastEpoch)
	for name, c := range map[string]struct {
		open bool
		ask  func(t *table) string
		want string
	}{
		"a start":                      {false, func(t *table) string { return t.init() }, "{8 0}, no markers"},
		"a start over a transaction":   {true, func(t *table) string { return t.init() }, "{8 1}, abort by {7 32767} in [a]"},
		"a claim":                      {false, func(t *table) string { return t.init(last) }, "{8 0}, no markers"},
		"a claim over a transaction":   {true, func(t *table) string { return t.init(last) }, "{8 0}, abort by {7 32767} in [a]"},
		"an end that bumps":            {true, func(t *table) string { return t.end(last, commit, bump) }, "{8 0}, commit by {7 32767} in [a]"},
		"an end that does not":         {true, func(t *table) string { return t.end(last, commit, keep) }, "{7 32766}, commit by {7 32766} in [a]"},
		"an expiry":                    {true, func(t *table) string { return t.expire(last, 5) }, "abort by {7 32767} in [a]"},
		"the old id is a stranger":     {false, func(t *table) string { t.init(); return t.add(last, "a") }, unknown},
		"the end may be asked again":   {true, func(t *table) string { t.end(last, commit, bump); return t.end(last, commit, bump) }, "{8 0}, no markers"},
		"the start may be asked again": {false, func(t *table) string { t.init(last); return t.init(last) }, "{8 0}, no markers"},
	} {
		t.Run(name, func(t *testing.T) {
			all := aged(t)
			if c.open {
				all.add(last, "a")
			}
			if got := c.ask(all); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestTable_Lookup(t *testing.T) {
	all := newTable()
	if all.Lookup("t") != nil {
		t.Error("an id that nobody named is known")
	}
	type shown struct {
		Producer   txn.Producer
		State      string
		Timeout    int32
		Started    int64
		Partitions []string
	}
	check := func(want shown) {
		t.Helper()
		e := all.Lookup("t")
		if diff := cmp.Diff(want, shown{e.Producer, e.State.String(), e.Timeout, e.Started, e.Partitions}); diff != "" {
			t.Error(diff)
		}
	}
	all.init()
	check(shown{e(0), "Empty", 1000, -1, nil})
	all.add(e(0), "b", "a")
	check(shown{e(0), "Ongoing", 1000, 5, []string{"b", "a"}})
	all.end(e(0), commit, keep)
	check(shown{e(0), "CompleteCommit", 1000, 5, nil})
	all.add(e(0))
	all.end(e(0), abort, bump)
	check(shown{e(1), "CompleteAbort", 1000, 5, nil})
	if _, _, err := all.Init("t", nil, 2000); errors.Is(err, txn.ErrFenced) || len(all.IDs()) != 1 {
		t.Error(err, all.IDs())
	}
	check(shown{e(2), "Empty", 2000, -1, nil})
}
