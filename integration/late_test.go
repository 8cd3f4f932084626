package integration

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// heldBack is longer than any test waits.
const heldBack = "delay 1h"

// pipelined sends requests in one write, over a connection of their own, and
// gives the connection, from which the answers are to be read.
func (s *stage) pipelined(t *testing.T, requests ...kmsg.Request) net.Conn {
	t.Helper()
	c, err := s.dial(patience(t), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(clientPatience))
	formatter := kmsg.NewRequestFormatter(kmsg.FormatterClientID("raw"))
	var frames []byte
	for i, r := range requests {
		frames = append(frames, formatter.AppendRequest(nil, r, int32(i))...)
	}
	if _, err := c.Write(frames); err != nil {
		t.Fatal(err)
	}
	return c
}

// firstAnswer reads one answer and gives the request that it is for.
func firstAnswer(t *testing.T, c net.Conn) (request int32) {
	t.Helper()
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		t.Fatalf("no answer came: %v", err)
	}
	return int32(binary.BigEndian.Uint32(head[4:]))
}

// frameOf is a Produce request in a version that names topics.
func frameOf(topic string, b batch) kmsg.Request {
	req := produceOf(topic, b)
	req.SetVersion(9)
	return req
}

func TestLate_a_request_that_waits_does_not_hold_the_answer_before_it_back(t *testing.T) {
	t.Parallel()
	first := frameOf("orders", batch{producer: -1, numbers: []int{0}})
	t.Run("a Produce that a fault delays", func(t *testing.T) {
		t.Parallel()
		s := proofStage(t, fencepost.Fault(heldBack+" before produce nth=2"))
		c := s.pipelined(t, first, frameOf("orders", batch{producer: -1, numbers: []int{1}}))
		await(t, "the second request is held back", func() bool { return s.Faults()[0].Fired == 1 })
		c.SetDeadline(time.Now().Add(answerInTime))
		if n := firstAnswer(t, c); n != 0 {
			t.Errorf("the first answer is for request %d", n)
		}
	})
	t.Run("a Fetch that waits for records", func(t *testing.T) {
		t.Parallel()
		s := proofStage(t)
		c := s.pipelined(t, first, waitingFetch("orders", 1))
		c.SetDeadline(time.Now().Add(answerInTime))
		if n := firstAnswer(t, c); n != 0 {
			t.Errorf("the first answer is for request %d", n)
		}
	})
}

// answerInTime is how long an answer may take that nothing holds back. What
// holds it back takes an hour or half a minute.
const answerInTime = 10 * time.Second

// waitingFetch asks for what stands behind the end of partition 0.
func waitingFetch(topic string, offset int64) kmsg.Request {
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.FetchOffset, partition.PartitionMaxBytes = offset, 1<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.FetchRequestTopicPartition{partition}
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(12)
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.Topics = 30_000, 1, 1<<20, []kmsg.FetchRequestTopic{t}
	return req
}

// sendHeldBack sends batches over a connection of their own that is closed once
// a fault holds one of them, or its answer, back.
func (s *stage) sendHeldBack(t *testing.T, batches ...batch) {
	t.Helper()
	var requests []kmsg.Request
	for _, b := range batches {
		requests = append(requests, frameOf("orders", b))
	}
	c := s.pipelined(t, requests...)
	await(t, "the fault has fired", func() bool { return s.Faults()[0].Fired == 1 })
	c.Close()
}

// TestLate_a_batch_whose_answer_is_late plays a client that gives an answer up,
// sends the batch again, and goes on, all before the broker gets to say what
// became of the first copy.
func TestLate_a_batch_whose_answer_comes_after_that_of_its_replay_is_counted_once(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault(heldBack+" after produce attempt=1"))
	client := s.raw(t)
	id := initProducer(t, client)
	s.sendHeldBack(t, batch{producer: id, numbers: []int{0}})
	const batches = 20
	for i := range batches {
		b := batch{producer: id, sequence: int32(i), numbers: []int{i}}
		if offset, told := send(t, client, "orders", b); offset != int64(i) || told != nil {
			t.Fatalf("batch %d was acknowledged at %d with %v", i, offset, told)
		}
	}
	s.Close() // ends the delay

	v := s.verdict(t, "orders")
	if v.Counts.Records != batches || v.Counts.Batches != batches || v.Counts.Duplicates != 1 {
		t.Errorf("the log holds %d records: %s", batches, v)
	}
}

// TestLate_a_batch_that_comes_again plays a client without idempotence whose
// connection breaks before it reads the answer. It sends the batch again, over
// another connection, when the broker has had other work.
func TestLate_a_batch_that_comes_again_is_named_or_said_to_be_forgotten(t *testing.T) {
	t.Parallel()
	for _, others := range []int{0, 10, 1000} {
		t.Run(fmt.Sprintf("after %d others", others), func(t *testing.T) {
			t.Parallel()
			s := proofStage(t)
			lost := batch{producer: -1, numbers: []int{0}, timestamp: 1}
			s.pipelined(t, frameOf("orders", lost)).Close()
			s.awaitEvents(t, 1)
			client := s.raw(t)
			for i := range others {
				send(t, client, "orders", batch{producer: -1, numbers: []int{i + 1}, timestamp: 1})
			}
			send(t, client, "orders", lost)

			twice := duplicatesIn(s.log(t, "orders"))
			if want := []string{fmt.Sprintf("0:0 0:%d", others+1)}; !slices.Equal(twice, want) {
				t.Fatalf("twice stands what is at %q", twice)
			}
			if v := s.verdict(t, "orders"); !slices.Equal(duplicatesNamed(v), twice) && len(v.Limits) == 0 {
				t.Errorf("twice stands what is at %q, and the verdict says: %s", twice, v)
			}
		})
	}
}

// TestLate_all_copies plays a client without idempotence that sends a batch
// over three connections. What became of the copy that stands first is known
// last, when its answer is no longer held back.
func TestLate_all_copies_are_named_also_the_one_whose_answer_was_held_back(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault(heldBack+" after produce"))
	again := batch{producer: -1, numbers: []int{0}, timestamp: 1}
	s.sendHeldBack(t, again)
	for range 2 {
		client := s.raw(t)
		send(t, client, "orders", again)
		client.Close()
	}
	twice := duplicatesIn(s.log(t, "orders"))
	if want := []string{"0:0 0:1 0:2"}; !slices.Equal(twice, want) {
		t.Fatalf("the copies stand at %q", twice)
	}
	s.Close() // ends the delay
	if v := s.verdict(t, "orders"); !slices.Equal(duplicatesNamed(v), twice) {
		t.Errorf("the copies stand at %q, and the verdict says: %s", twice, v)
	}
}

// TestLate_a_client_that_is_gone plays a client that is gone when the answer that
// a fault held back is sent at last.
func TestLate_a_client_that_is_gone_before_its_answer_was_never_told(t *testing.T) {
	t.Parallel()
	s := proofStage(t, fencepost.Fault(heldBack+" after produce"))
	client := s.raw(t)
	s.sendHeldBack(t, batch{producer: initProducer(t, client), numbers: []int{0}})
	s.Close() // ends the delay
	checkReport(t, s.verdict(t, "orders"), journal.Totals{Unconfirmed: 1}, `orders is not exactly once (seed 42)
  unconfirmed offset 0 holds sequence 0 of producer 1000, but no answer ever told client "raw" (delay 1h after produce)
`)
}
