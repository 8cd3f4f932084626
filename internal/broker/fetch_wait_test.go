package broker

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A poll is a Fetch that is under way in virtual time.
type poll struct {
	*client
	req   *kmsg.FetchRequest
	began time.Time
	done  chan kmsg.Response
	took  time.Duration
}

// poll sends a Fetch on a connection of its own and lets it come as far as it
// can.
func (n *node) poll(req *kmsg.FetchRequest) *poll {
	n.t.Helper()
	p := &poll{client: n.dial(), req: req, began: time.Now(), done: make(chan kmsg.Response, 1)}
	p.send(req)
	go func() {
		resp, err := p.read(req)
		if err != nil {
			n.t.Error(err)
		}
		p.took = time.Since(p.began)
		p.done <- resp
	}()
	synctest.Wait()
	return p
}

// wantWaiting wants the Fetch not to be answered yet.
func (p *poll) wantWaiting() {
	p.t.Helper()
	synctest.Wait()
	if len(p.done) > 0 {
		p.t.Fatalf("the fetch was answered after %v, and it should wait", time.Since(p.began))
	}
}

// wantAnswered waits for the answer, which has to come after this time exactly.
func (p *poll) wantAnswered(after time.Duration) []kmsg.FetchResponseTopicPartition {
	p.t.Helper()
	resp := <-p.done
	if p.took != after {
		p.t.Errorf("the fetch was answered after %v instead of %v", p.took, after)
	}
	return fetchedFrom(resp)
}

// waiters is how many fetches wait for records.
func (p *partition) waiters() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

// pass lets virtual time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// inTime runs a test in virtual time, with topics "a" and "b" of two partitions.
func inTime(t *testing.T, test func(t *testing.T, n *node, c *client)) {
	synctest.Test(t, func(t *testing.T) {
		n, c := startWith(t, "a", "b")
		test(t, n, c)
	})
}

const second = int32(1000) // in ms, as a request says it

func TestFetch_WaitsForMinBytes(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		batch := len(plain(1).bytes())
		p := n.poll(c.waiting(int32(2*batch), second, from("a", 0, 0)))
		pass(100 * time.Millisecond)
		c.store("a", 0, plain(1))
		p.wantWaiting() // one batch is not enough
		pass(200 * time.Millisecond)
		c.store("a", 0, plain(1))
		told := p.wantAnswered(300 * time.Millisecond)
		want(t, "batches", offsetsIn(told[0].RecordBatches), []int64{0, 1})
		want(t, "high watermark", told[0].HighWatermark, 2)
	})
}

func TestFetch_WaitsNoLongerThanMaxWait(t *testing.T) {
	for _, tt := range []struct {
		name     string
		min      int32
		ms       int32
		stored   int // batches before
		answered time.Duration
	}{
		{"nothing there", 1, 500, 0, 500 * time.Millisecond},
		{"too little there", 1 << 20, 700, 2, 700 * time.Millisecond},
		{"enough there", 1, 500, 1, 0},
		{"nothing wanted", 0, 500, 0, 0},
		{"less than nothing wanted", -1, 500, 0, 0},
		{"no time to wait", 1, 0, 0, 0},
		{"less than no time to wait", 1, -1, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inTime(t, func(t *testing.T, n *node, c *client) {
				for range tt.stored {
					c.store("a", 0, plain(1))
				}
				told := n.poll(c.waiting(tt.min, tt.ms, from("a", 0, 0))).wantAnswered(tt.answered)
				wantCode(t, told[0].ErrorCode, "NONE")
				want(t, "batches", len(offsetsIn(told[0].RecordBatches)), tt.stored)
			})
		})
	}
}

func TestFetch_WhatCameInTooLittleIsAnsweredAtTheEnd(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		p := n.poll(c.waiting(1<<20, second, from("a", 0, 0)))
		pass(400 * time.Millisecond)
		c.store("a", 0, plain(1))
		told := p.wantAnswered(time.Second)
		want(t, "batches", offsetsIn(told[0].RecordBatches), []int64{0})
	})
}

func TestFetch_WaitsOnSeveralPartitions(t *testing.T) {
	for _, at := range []place{from("a", 0, 0), from("a", 1, 0), from("b", 1, 0)} {
		t.Run(fmt.Sprintf("%s-%d wakes it", at.topic, at.partition), func(t *testing.T) {
			inTime(t, func(t *testing.T, n *node, c *client) {
				p := n.poll(c.waiting(1, second, from("a", 0, 0), from("a", 1, 0), from("b", 1, 0)))
				pass(50 * time.Millisecond)
				c.store("b", 0, plain(1)) // nobody asked for it
				p.wantWaiting()
				pass(50 * time.Millisecond)
				c.store(at.topic, at.partition, plain(1))
				got := 0
				for _, told := range p.wantAnswered(100 * time.Millisecond) {
					got += len(offsetsIn(told.RecordBatches))
				}
				want(t, "batches", got, 1)
			})
		})
	}
}

func TestFetch_MinBytesCountAllPartitionsTogether(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		batch := len(plain(1).bytes())
		p := n.poll(c.waiting(int32(3*batch), second, from("a", 0, 0), from("a", 1, 0), from("b", 1, 0)))
		c.store("a", 0, plain(1))
		c.store("b", 1, plain(1))
		p.wantWaiting()
		pass(10 * time.Millisecond)
		c.store("a", 1, plain(1))
		for _, told := range p.wantAnswered(10 * time.Millisecond) {
			want(t, "batches", offsetsIn(told.RecordBatches), []int64{0})
		}
	})
}

func TestFetch_OnlyAnAppendWakes(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		c.store("a", 0, by(7, 0, 0, 1))
		p := n.poll(c.waiting(1, second, from("a", 0, 1)))
		c.store("a", 0, by(7, 0, 0, 1)) // a replay
		c.produce("a", 0, by(7, 0, 9, 1))
		p.wantWaiting()
		p.wantAnswered(time.Second)
	})
}

func TestFetch_ManyWaitForOneAppend(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		var polls []*poll
		for range 10 {
			polls = append(polls, n.poll(c.waiting(1, second, from("a", 0, 0))))
		}
		pass(10 * time.Millisecond)
		c.store("a", 0, plain(1))
		for _, p := range polls {
			want(t, "batches", offsetsIn(p.wantAnswered(10 * time.Millisecond)[0].RecordBatches), []int64{0})
		}
		want(t, "fetches that still wait", n.at("a", 0).waiters(), 0)
	})
}

func TestFetch_DeletingTheTopicEndsTheWait(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		p := n.poll(c.waiting(1, second, from("a", 0, 0), from("b", 0, 0)))
		pass(30 * time.Millisecond)
		c.ask(deleting(6, "a"))
		told := p.wantAnswered(30 * time.Millisecond)
		wantCode(t, told[0].ErrorCode, "NONE")
		wantFetchError(t, told[1], "UNKNOWN_TOPIC_OR_PARTITION")
	})
}

func TestFetch_DeletingTheTopicAndMakingItAgainEndsTheWait(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		c.store("a", 0, plain(1))
		p := n.poll(c.waiting(1, second, from("a", 0, 1)))
		pass(30 * time.Millisecond)
		old := n.lookup("a")
		n.Broker.mu.Lock() // so that the fetch sees nothing in between
		delete(n.topics, "a")
		delete(n.byID, old.id)
		n.Broker.mu.Unlock()
		n.make("a", 2, nil)
		for _, gone := range old.all() {
			gone.delete()
		}
		told := p.wantAnswered(30 * time.Millisecond)
		wantFetchError(t, told[0], "OFFSET_OUT_OF_RANGE")
	})
}

func TestFetch_ATrimBeyondItsOffsetIsToldWhenItWakes(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		c.store("a", 0, plain(2))
		p := n.poll(c.waiting(1<<20, second, from("a", 0, 0)))
		c.trimTo("a", 0, -1)
		pass(10 * time.Millisecond)
		c.store("a", 0, plain(1))
		wantFetchError(t, p.wantAnswered(10 * time.Millisecond)[0], "OFFSET_OUT_OF_RANGE")
	})
}

func TestFetch_ShutdownEndsTheWait(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		c.store("a", 0, plain(1))
		p := n.poll(c.waiting(1<<20, second, from("a", 0, 0)))
		pass(40 * time.Millisecond)
		n.stop()
		told := p.wantAnswered(40 * time.Millisecond)
		want(t, "batches", offsetsIn(told[0].RecordBatches), []int64{0})
		p.wantClosed()
	})
}

// What is wrong with one partition either ends the wait of all or has no say.
func TestFetch_ErrorsAndTheWait(t *testing.T) {
	newer := func(c *client, places ...place) *kmsg.FetchRequest {
		req := c.waiting(1, second, places...)
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = 5
		return req
	}
	for _, tt := range []struct {
		name     string
		ask      func(c *client) *kmsg.FetchRequest
		answered time.Duration
	}{
		{"an unknown partition alone ends it", func(c *client) *kmsg.FetchRequest { return c.waiting(1, second, from("a", 9, 0)) }, 0},
		{"an unknown topic alone ends it", func(c *client) *kmsg.FetchRequest { return c.waiting(1, second, from("x", 0, 0)) }, 0},
		{"no partition at all ends it", func(c *client) *kmsg.FetchRequest { return c.waiting(1, second) }, 0},
		{"an unknown partition beside a known one does not", func(c *client) *kmsg.FetchRequest {
			return c.waiting(1, second, from("a", 9, 0), from("a", 0, 0))
		}, time.Second},
		{"an unknown topic beside a known one does not", func(c *client) *kmsg.FetchRequest {
			return c.waiting(1, second, from("x", 0, 0), from("a", 0, 0))
		}, time.Second},
		{"an offset out of range ends it for all", func(c *client) *kmsg.FetchRequest {
			return c.waiting(1, second, from("a", 1, 0), from("a", 0, 1))
		}, 0},
		{"a newer leader epoch ends it for all", func(c *client) *kmsg.FetchRequest {
			return newer(c, from("a", 1, 0), from("a", 0, 0))
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inTime(t, func(t *testing.T, n *node, c *client) {
				n.poll(tt.ask(c)).wantAnswered(tt.answered)
			})
		})
	}
}

// Kafka counts no more than may come (KafkaApis.handleFetchRequest), else a
// fetch for more than its own limit would wait for nothing.
func TestFetch_MinBytesOverMaxBytesCountAsMaxBytes(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		for range 3 {
			c.store("a", 0, plain(1))
		}
		req := c.waiting(1<<20, second, from("a", 0, 0))
		req.MaxBytes = int32(2 * len(plain(1).bytes()))
		told := n.poll(req).wantAnswered(0)
		want(t, "bytes", len(told[0].RecordBatches), int(req.MaxBytes))
	})
}

// Records lie in pieces of memory, and one read gives those of one piece. What
// lies behind it is there all the same, so there is nothing to wait for; Kafka
// does not wait at the end of a segment either (DelayedFetch).
func TestFetch_ABacklogIsAnsweredAtOnce(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		for range 40 {
			c.store("a", 0, plain(1).sized(1000))
		}
		for offset := range int64(38) { // from 38 on there is less than it wants
			told := n.poll(c.waiting(2000, second, from("a", 0, offset))).wantAnswered(0)
			if len(told[0].RecordBatches) == 0 {
				t.Errorf("nothing came from offset %d", offset)
			}
		}
		n.poll(c.waiting(2000+1000, second, from("a", 0, 38))).wantAnswered(time.Second)
	})
}

func TestFetch_AClientThatGoesAwayLeavesNothingBehind(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		gone := n.dial()
		gone.send(c.waiting(1, second, from("a", 0, 0)))
		synctest.Wait()
		want(t, "fetches that wait", n.at("a", 0).waiters(), 1)
		gone.conn.Close()
		pass(time.Second)
		want(t, "fetches that wait", n.at("a", 0).waiters(), 0)
	})
}

// A connection is answered in order: what stands behind a waiting fetch waits
// with it.
func TestFetch_RequestsBehindAWaitingOneAreAnsweredAfterIt(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		behind := n.dial()
		first, second := c.waiting(1, second, from("a", 0, 0)), listing(5, "a", 0, latestOffset)
		frames := append(behind.format.AppendRequest(nil, first, 1), behind.format.AppendRequest(nil, second, 2)...)
		if _, err := behind.conn.Write(frames); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for i, req := range []kmsg.Request{first, second} {
			behind.correlation = int32(i + 1)
			behind.receive(req)
			want(t, "waited", time.Since(began), time.Second)
		}
	})
}

func TestFetch_AnAnswerBeforeAWaitingOneIsNotHeldBack(t *testing.T) {
	inTime(t, func(t *testing.T, n *node, c *client) {
		both := n.dial()
		store, wait := both.producing(produceVersion, -1, entry{"a", 0, plain(1).bytes()}), both.waiting(1, second, from("a", 1, 0))
		frames := append(both.format.AppendRequest(nil, store, 1), both.format.AppendRequest(nil, wait, 2)...)
		if _, err := both.conn.Write(frames); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		both.correlation = 1
		wantCode(t, onlyProduced(t, both.receive(store)).ErrorCode, "NONE")
		want(t, "waited for the ack", time.Since(began), 0)
		both.correlation = 2
		both.receive(wait)
		want(t, "waited for the records", time.Since(began), time.Second)
	})
}
