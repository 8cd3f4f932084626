package journal

import (
	"fmt"
	"testing"

	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/fencepostmq/fencepost/internal/wire"
)

// loseEveryFirstAck is the sentence that the named cases are about.
const loseEveryFirstAck = "disconnect after produce attempt=1 times=all"

func TestVerdict_idempotent_and_lost_ack(t *testing.T) {
	s := newSetup(t, Options{Seed: 42})
	s.on(loseEveryFirstAck, attempt(1))
	p := s.peer("kgo")
	for i := range 100 {
		b := by(1000, int32(10*i), numbered(10*i, 10)...)
		if p.send(b) != nil {
			t.Fatal("the ack was not lost")
		}
		p = p.reconnect()
		if told := p.send(b); told.ErrorCode != 0 || told.BaseOffset != int64(10*i) {
			t.Fatalf("replay told %+v", told)
		}
	}
	s.wantVerdict("orders is exactly once: 1000 records in 100 batches, 100 acknowledgements lost, 100 replays answered with the first offset")
	if s.broker.fetches > 0 {
		t.Errorf("the log was read %d times though nothing was to be compared", s.broker.fetches)
	}
}

func TestVerdict_not_idempotent_and_lost_ack(t *testing.T) {
	s := newSetup(t, Options{Seed: 42})
	s.on(loseEveryFirstAck, both(attempt(1), func(r *wire.Request) bool { return r.Conn.ID == 1 }))
	p := s.peer("kcat")
	p.send(plain("o-41=v"))
	p = p.reconnect()
	p.send(plain("o-41=v"))
	p.send(plain("o-42=v"))
	s.wantVerdict(`
orders is not exactly once (seed 42)
  duplicated  offsets 0 and 1 hold one record, key "o-41": sent again without idempotence after its ack was lost
              caused by fault "disconnect after produce attempt=1 times=all"`)
}

func TestVerdict_not_idempotent_and_lost_ack_packed_anew(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", once(anyProduce))
	p := s.peer("kcat")
	p.send(plain(numbered(0, 5)...))
	p = p.reconnect()
	p.send(plain(numbered(0, 2)...))
	p.send(plain(numbered(2, 6)...))
	s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 0 to 1 and 5 to 6 hold the same 2 records, keys "o-0" to "o-1": sent again without idempotence after its ack was lost
  duplicated  offsets 2 to 4 and 7 to 9 hold the same 3 records, keys "o-2" to "o-4": sent again without idempotence after its ack was lost
              caused by fault "drop after produce"`)
}

func TestVerdict_application_resends_after_an_error(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("error MESSAGE_TOO_LARGE after produce", once(anyProduce))
	p := s.peer("app")
	p.send(by(1000, 0, "o-0=v"))
	p.send(by(1000, 1, "o-0=v").at(2000))
	s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 0 and 1 hold one record, key "o-0": sent again by the application after it was told MESSAGE_TOO_LARGE
              caused by fault "error MESSAGE_TOO_LARGE after produce"`)
}

func TestVerdict_application_does_not_resend_after_an_error_that_was_a_lie(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("error MESSAGE_TOO_LARGE after produce", once(anyProduce))
	p := s.peer("app")
	p.send(by(1000, 0, "o-0=v"))
	p.send(by(1000, 1, "o-1=v"))
	s.wantVerdict(`
orders is not exactly once (seed 0)
  unconfirmed offset 0 holds sequence 0 of producer 1000, but client "app" was told MESSAGE_TOO_LARGE (error MESSAGE_TOO_LARGE after produce)`)
}

func TestVerdict_producer_restarted_with_a_new_id(t *testing.T) {
	s := newSetup(t, Options{Seed: 42})
	s.on("disconnect after produce", once(sequence(41)))
	p := s.peer("app")
	for i := range 41 {
		p.send(by(1000, int32(i), fmt.Sprintf("o-%d=v", i)))
	}
	p.send(by(1000, 41, "o-41=v"))
	p = p.reconnect()
	for i := range 15 {
		p.send(by(1001, int32(i), fmt.Sprintf("p-%d=v", i)))
	}
	p.send(by(1001, 15, "o-41=v").at(5000))
	s.wantVerdict(`
orders is not exactly once (seed 42)
  duplicated  offsets 41 and 57 hold one record, key "o-41": sent again with a new producer id after its ack was lost
              caused by fault "disconnect after produce"`)
}

func TestVerdict_epoch_bumped_by_the_client_after_an_error(t *testing.T) {
	t.Run("told a lie", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("error UNKNOWN_SERVER_ERROR after produce", once(sequence(1)))
		p := s.peer("kgo")
		p.send(by(1000, 0, "o-0=v"))
		p.send(by(1000, 1, "o-1=v"))
		p.send(by(1000, 0, "o-1=v").inEpoch(1).at(2000))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 1 and 2 hold one record, key "o-1": sent again with a new epoch after it was told UNKNOWN_SERVER_ERROR
              caused by fault "error UNKNOWN_SERVER_ERROR after produce"`)
	})
	t.Run("told the truth", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("error OUT_OF_ORDER_SEQUENCE_NUMBER before produce", once(sequence(1)))
		p := s.peer("kgo")
		p.send(by(1000, 0, "o-0=v"))
		p.send(by(1000, 1, "o-1=v"))
		p.send(by(1000, 0, "o-1=v").inEpoch(1))
		s.wantVerdict("orders is exactly once: 2 records in 2 batches")
	})
}

func TestVerdict_batch_refused_in_the_middle_of_five_in_flight_and_the_four_behind_it(t *testing.T) {
	inFlight := func(s *setup) (*peer, []batch) {
		s.on("error NOT_LEADER_OR_FOLLOWER before produce", once(sequence(2)))
		p, all := s.peer("kgo"), []batch(nil)
		for i := range 7 {
			all = append(all, by(1000, int32(i), fmt.Sprintf("o-%d=v", i)))
			p.send(all[i])
		}
		return p, all
	}
	t.Run("all sent again", func(t *testing.T) {
		s := newSetup(t, Options{})
		p, all := inFlight(s)
		for _, b := range all[2:] {
			p.send(b)
		}
		s.wantVerdict("orders is exactly once: 7 records in 7 batches")
	})
	t.Run("none sent again", func(t *testing.T) {
		s := newSetup(t, Options{})
		inFlight(s)
		s.wantVerdict(`
orders is not exactly once (seed 0)
  missing     sequence 2 of producer 1000 was refused (error NOT_LEADER_OR_FOLLOWER before produce) and never accepted
  missing     sequences 3 to 6 of producer 1000 were refused (out of order: expected 2) and never accepted`)
	})
	t.Run("sent again in other batches", func(t *testing.T) {
		s := newSetup(t, Options{})
		p, _ := inFlight(s)
		p.send(by(1000, 2, "o-2=v", "o-3=v", "o-4=v", "o-5=v", "o-6=v"))
		s.wantVerdict("orders is exactly once: 7 records in 3 batches")
	})
}

func TestVerdict_producer_killed_with_batches_in_flight(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", func(r *wire.Request) bool { return r.Conn.ID == 1 && sequence(1)(r) })
	s.on("drop before produce", func(r *wire.Request) bool { return r.Conn.ID == 1 && sequence(2)(r) })
	p := s.peer("app")
	p.send(by(1000, 0, "o-0=v"))
	p.send(by(1000, 1, "o-1=v"))
	p.send(by(1000, 2, "o-2=v"))
	s.wantVerdict(`
orders is not exactly once (seed 0)
  missing     sequence 2 of producer 1000 was lost before the broker (drop before produce) and never sent again
  unconfirmed offset 1 holds sequence 1 of producer 1000, but no answer ever told client "app" (drop after produce)`)
}

func TestVerdict_client_reuses_a_sequence_after_an_error_that_was_a_lie(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("error UNKNOWN_SERVER_ERROR after produce", once(sequence(1)))
	p := s.peer("kafkajs")
	p.send(by(1000, 0, "o-0=v"))
	p.send(by(1000, 1, "o-1=v"))
	p.send(by(1000, 1, "o-2=v"))
	s.wantVerdict(`
orders is not exactly once (seed 0)
  unconfirmed offset 1 holds sequence 1 of producer 1000, but client "kafkajs" was told UNKNOWN_SERVER_ERROR (error UNKNOWN_SERVER_ERROR after produce)
  swallowed   sequence 1 of producer 1000 came again with another record, key "o-2": acknowledged as offset 1, where key "o-1" stands, and not written`)
}

func TestVerdict_client_reuses_a_sequence_after_an_error_that_was_the_truth(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("error MESSAGE_TOO_LARGE before produce", once(sequence(1)))
	p := s.peer("kafkajs")
	p.send(by(1000, 0, "o-0=v"))
	p.send(by(1000, 1, "o-1=v"))
	p.send(by(1000, 1, "o-2=v"))
	s.wantVerdict(`
orders is not exactly once (seed 0)
  missing     sequence 1 of producer 1000 was refused (error MESSAGE_TOO_LARGE before produce) and never accepted`)
}

func TestVerdict_acks0_with_a_cut_connection(t *testing.T) {
	t.Run("after", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("disconnect after produce", once(anyProduce))
		p := s.peer("kafka-go")
		p.acks = 0
		p.send(plain("o-0=v"))
		p = p.reconnect()
		p.send(plain("o-1=v"))
		s.wantVerdict("orders is exactly once: 2 records in 2 batches, 2 batches asked for no acknowledgement")
	})
	t.Run("before", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("disconnect before produce", once(anyProduce))
		p := s.peer("kafka-go")
		p.acks = 0
		p.send(plain("o-0=v"))
		p = p.reconnect()
		p.send(plain("o-1=v"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  missing     a batch of 1 record from client "kafka-go" was lost before the broker (disconnect before produce) and never sent again`)
	})
}

func TestVerdict_two_producers_with_one_key_each(t *testing.T) {
	s := newSetup(t, Options{})
	a, b := s.peer("a"), s.peer("b")
	for i := range 10 {
		a.send(by(1000, int32(i), fmt.Sprintf("a=%d", i)))
		b.send(by(1001, int32(i), fmt.Sprintf("b=%d", i)))
	}
	s.wantVerdict("orders is exactly once: 20 records in 20 batches")
	s.journal.SetIdentity(IdentityValue)
	if v := s.verdict(); v.ExactlyOnce || v.Totals.Duplicated != 10 {
		t.Errorf("by value: %s", v)
	}
}

// What the named cases must not be mistaken for.

func TestVerdict_equal_records_written_on_purpose(t *testing.T) {
	t.Run("no fault", func(t *testing.T) {
		s := newSetup(t, Options{})
		p, plainly := s.peer("app"), s.peer("plain")
		for i := range 10 {
			p.send(by(1000, int32(2*i), "tick", "tick").at(int64(i)))
			plainly.send(plain("tick", "tick").at(int64(i)))
		}
		s.wantVerdict("orders is exactly once: 40 records in 20 batches")
	})
	t.Run("in the same millisecond", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("plain")
		for range 10 {
			p.send(plain("tick"))
		}
		s.wantVerdict("orders is exactly once: 10 records in 10 batches")
	})
	t.Run("in the same millisecond, and one ack lost and not recovered", func(t *testing.T) {
		for _, producer := range []int64{1000, -1} {
			s := newSetup(t, Options{})
			s.on("drop after produce", once(func(r *wire.Request) bool { return r.Conn.ID == 1 }))
			p := s.peer("app")
			p.send(by(producer, 0, "tick"))
			p = p.reconnect()
			p.send(by(producer, 1, "tick", "tock"))
			p.send(by(producer, 3, "tick", "tack"))
			if v := s.verdict(); v.Totals != (Totals{Unconfirmed: 1}) {
				t.Errorf("producer %d: %s", producer, v)
			}
		}
	})
	t.Run("one ack lost and recovered", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("disconnect after produce", once(sequence(6)))
		p := s.peer("app")
		for i := range 10 {
			b := by(1000, int32(2*i), "tick", "tick").at(int64(i))
			if p.send(b) == nil {
				p = p.reconnect()
				p.send(b)
			}
		}
		s.wantVerdict("orders is exactly once: 20 records in 10 batches, 1 acknowledgement lost, 1 replay answered with the first offset")
	})
	t.Run("one ack lost and not recovered", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop after produce", once(sequence(6)))
		p := s.peer("app")
		for i := range 10 {
			p.send(by(1000, int32(2*i), "tick", "tick").at(int64(i)))
		}
		s.wantVerdict(`
orders is not exactly once (seed 0)
  unconfirmed offsets 6 to 7 hold sequences 6 to 7 of producer 1000, but no answer ever told client "app" (drop after produce)`)
	})
	t.Run("all acks of a connection lost and not recovered", func(t *testing.T) {
		for _, producer := range []int64{1000, -1} {
			s := newSetup(t, Options{})
			s.on("drop after produce", anyProduce)
			p := s.peer("app")
			for i := range 3 {
				p.send(by(producer, int32(i), "tick").at(int64(i)))
			}
			if v := s.verdict(); v.Totals.Duplicated > 0 || v.Totals.Unconfirmed == 0 {
				t.Errorf("producer %d: %s", producer, v)
			}
		}
	})
	t.Run("one ack late", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("delay 1s after produce", once(sequence(6)))
		p := s.peer("app")
		for i := range 10 {
			p.send(by(1000, int32(2*i), "tick", "tick").at(int64(i)))
		}
		s.wantVerdict("orders is exactly once: 20 records in 10 batches")
	})
	t.Run("and one of them sent again without idempotence", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("disconnect after produce", func(r *wire.Request) bool { return r.Conn.ID == 1 && r.Batches[0].Header.FirstTimestamp == 3 })
		p := s.peer("app")
		for i := range 6 {
			b := plain("tick").at(int64(i))
			if p.send(b) == nil {
				p = p.reconnect()
				p.send(b)
			}
		}
		s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 3 and 4 hold one record, value "tick": sent again without idempotence after its ack was lost
              caused by fault "disconnect after produce"`)
	})
}

func TestVerdict_answer_that_came_too_late(t *testing.T) {
	t.Run("delayed after", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("delay 60s after produce", func(r *wire.Request) bool { return r.Conn.ID == 1 })
		p := s.peer("plain")
		p.send(plain("o-0=v"))
		p = p.reconnect()
		p.send(plain("o-0=v", "o-1=v"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 0 and 1 hold one record, key "o-0": sent again without idempotence after its ack came late
              caused by fault "delay 60s after produce"`)
	})
	t.Run("delayed before, and written after the copy", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("delay 60s before produce", func(r *wire.Request) bool { return r.Conn.ID == 1 })
		held := s.peer("plain")
		again := held.reconnect()
		again.send(plain("o-0=v", "o-1=v"))
		held.send(plain("o-0=v"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 0 and 2 hold one record, key "o-0": sent again without idempotence after its ack came late
              caused by fault "delay 60s before produce"`)
	})
	t.Run("without a rule", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("plain")
		p.send(plain("o-0=v"))
		p.reconnect().send(plain("o-0=v"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 0 and 1 hold one record, key "o-0": sent again without idempotence over another connection, though it was acknowledged`)
	})
	for name, ring := range map[string]int{"with acks=0": 10, "with acks=0, the first event forgotten": 1} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t, Options{RingSize: ring})
			p := s.peer("plain")
			p.acks = 0
			p.send(plain("o-0=v"))
			p.send(plain("o-1=v"))
			p.reconnect().send(plain("o-0=v"))
			s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 0 and 2 hold one record, key "o-0": sent again without idempotence over another connection, though no acknowledgement was asked for`)
		})
	}
	t.Run("with acks=0 and an identity", func(t *testing.T) {
		s := newSetup(t, Options{Identity: IdentityKey})
		p := s.peer("plain")
		p.acks = 0
		p.send(plain("o-0=v"))
		p.send(plain("o-0=v"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 0 and 1 hold one record, key "o-0": written twice without idempotence`)
	})
}

// A broker that does not know its producers any more, as Kafka's forgets them
// after a week.
func TestVerdict_broker_forgets_a_producer(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", once(anyProduce))
	p := s.peer("app")
	p.send(by(1000, 0, "o-0=v"))
	s.broker.at("orders", 0).producers = producer.New(producer.Refuse)
	p.send(by(1000, 0, "o-0=v").at(5000))
	s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 0 and 1 hold one record, key "o-0": sent again with the same sequence, and accepted again, after its ack was lost
              caused by fault "drop after produce"`)
	s.wantEvents(
		"#1 app/1 orders-0 producer 1000 epoch 0 sequence 0: accepted at offset 0; answer lost (drop after produce)",
		"#2 app/1 orders-0 producer 1000 epoch 0 sequence 0 attempt 2: accepted at offset 1; acknowledged",
	)
}

// A journal that does not know a producer any more knows the batches in doubt.
func TestVerdict_journal_forgets_a_producer(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", once(anyProduce))
	p := s.peer("app")
	p.send(by(1000, 0, "o-0=v"))
	clear(s.journal.notes.topics["orders"].partitions[0].senders)
	s.journal.notes.producers = recency{}
	p.send(by(1000, 0, "o-0=v"))
	s.wantVerdict("orders is exactly once: 1 record in 1 batch, 1 acknowledgement lost, 1 replay answered with the first offset")
}
