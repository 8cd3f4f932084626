package journal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (s *setup) wantLimits(want ...string) {
	s.t.Helper()
	if got := s.verdict().Limits; !slices.Equal(got, want) {
		s.t.Errorf("limits %q\nwant %q", got, want)
	}
}

// small is an inquiry with less room than usual.
func (s *setup) small(r room) TopicVerdict {
	s.t.Helper()
	s.journal.mu.Lock()
	q := s.journal.inquiryLocked(s.journal.notes.topics["orders"])
	s.journal.mu.Unlock()
	q.room = r
	if err := q.draw(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return q.verdict
}

func TestLimit_of_batches_in_doubt(t *testing.T) {
	s := newSetup(t, Options{Kept: 1 << 20})
	s.on("drop after produce", anyProduce)
	p := s.peer("app")
	for i := range int32(doubtsKept + 3) {
		p.send(by(1000, i, "v"))
	}
	v := s.verdict()
	if want := []string{"3 batches without a certain acknowledgement beyond the first 50000 could not be followed: whether the client learned of them is not known"}; !slices.Equal(v.Limits, want) {
		t.Errorf("limits %q\nwant %q", v.Limits, want)
	}
	if v.Totals.Unconfirmed != 1 || v.Unconfirmed[0].LastOffset != doubtsKept-1 {
		t.Errorf("%s", v)
	}
	t.Run("gives room again", func(t *testing.T) {
		s.rules = nil
		p.send(by(1000, doubtsKept+2, "v")) // a replay of the last, which was not followed
		p.send(by(1000, doubtsKept+3, "v"))
		s.journal.Handle(t.Context(), &wire.Request{Conn: p.conn, Body: deleteOrders()})
		if used := s.journal.notes.used; used != (usage{}) {
			t.Errorf("in use after the topic was deleted: %+v", used)
		}
	})
}

func deleteOrders() *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames = []string{"orders"}
	return req
}

func TestLimit_of_refused_batches(t *testing.T) {
	s := newSetup(t, Options{Kept: 1 << 20})
	s.on("drop before produce", anyProduce)
	p := s.peer("app")
	for i := range int32(refusalsKept + 3) {
		p.send(by(1000, i, "v"))
		p.send(by(1000, i, "v"))
	}
	s.wantLimits("6 deliveries of refused batches beyond the first 10000 could not be followed: whether they were written later is not known")
	s.rules = nil
	for i := range int32(10) {
		p.send(by(1000, i, "v"))
	}
	if used := s.journal.notes.used; used.refusals != refusalsKept-10 || used.prints != refusalsKept-10 {
		t.Errorf("in use after ten batches came: %+v", used)
	}
	p.send(by(1000, 0, "w")) // a replay of other records takes a place as well
	p.handle(deleteOrders())
	if used := s.journal.notes.used; used != (usage{}) {
		t.Errorf("in use after the topic was deleted: %+v", used)
	}
}

func TestLimit_of_records_of_refused_batches(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop before produce", func(r *wire.Request) bool { return r.Conn.ID == 1 })
	p := s.peer("app")
	values := make([]string, printsKept/4)
	for i := range int32(5) {
		p.send(by(1000, i*int32(len(values)), values...))
	}
	s.wantLimits("the records of 1 refused or changed batch beyond the first 1000000 records were not kept, and not compared")
	if v := s.verdict(); v.Totals.Missing != 1 || v.Missing[0].Records != printsKept {
		t.Errorf("%s", v)
	}
	p = p.reconnect()
	for i := range int32(5) {
		p.send(by(1000, i*int32(len(values)), values...))
	}
	s.wantVerdict("orders is exactly once: 1250000 records in 5 batches")
	if used := s.journal.notes.used; used.prints != 0 || used.refusals != 0 {
		t.Errorf("in use after all came: %+v", used)
	}
}

func TestLimit_of_partitions(t *testing.T) {
	s := newSetup(t, Options{})
	p := s.peer("app")
	for i := range int32(partitionsKept + 2) {
		p.sendTo("orders", i, []byte("x"))
	}
	s.wantLimits(
		"2 events out of the ordinary beyond the first 10000 were counted and not kept",
		"2 batches for partitions beyond the first 10000 were not followed",
	)
	if e := s.journal.Events()[partitionsKept+1]; e.Partition != partitionsKept+1 || e.Attempt != 1 {
		t.Errorf("the last event: %s", e)
	}
}

func TestLimit_of_topics_that_nobody_knows(t *testing.T) {
	s := newSetup(t, Options{})
	s.peer("app").sendTo("", 0, by(1000, 0, "v").raw())
	v, err := s.journal.Verdict(t.Context())
	if want := "no batch was produced\nlimit: 1 batch for a topic id that nobody knows were not followed\n"; err != nil || v.String() != want {
		t.Errorf("%q, want %q", v, want)
	}
}

func TestLimit_of_records_that_are_looked_for(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", attempt(1))
	p := s.peer("app")
	for range 2 {
		for i := range 4 {
			p.send(plain(numbered(10*i, 3)...))
		}
	}
	v := s.small(room{doubtful: 7})
	if want := []string{"6 records of batches without a certain acknowledgement beyond the first 7 were not looked for twice"}; !slices.Equal(v.Limits, want) {
		t.Errorf("limits %q\nwant %q", v.Limits, want)
	}
	if v.Totals.Duplicated != 2 || v.Totals.Unconfirmed != 2 {
		t.Errorf("%+v", v.Totals)
	}
}

func TestIdentity(t *testing.T) {
	keyed := func(t *testing.T, id Identity) (*setup, *peer) {
		s := newSetup(t, Options{Identity: id})
		return s, s.peer("app")
	}
	t.Run("by key, though both were acknowledged", func(t *testing.T) {
		s, p := keyed(t, IdentityKey)
		p.send(by(1000, 0, "o-1=a", "o-2=a", "o-3=a"))
		p.send(by(1001, 0, "o-4=b", "o-2=b", "o-3=b", "none"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 1 to 2 and 4 to 5 hold the same 2 records, keys "o-2" to "o-3": written by producers 1000 and 1001, and acknowledged each time
  note        1 record has no key`)
		if v := s.verdict(); v.WithoutIdentity != 1 {
			t.Errorf("%d without", v.WithoutIdentity)
		}
	})
	t.Run("by value, because its ack was lost", func(t *testing.T) {
		s, p := keyed(t, IdentityValue)
		s.on("drop after produce", once(anyProduce))
		p.send(plain("a"))
		p.send(plain("a").at(7))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 0 and 1 hold one record, value "a": sent again without idempotence after its ack was lost
              caused by fault "drop after produce"`)
	})
	t.Run("by header", func(t *testing.T) {
		s, p := keyed(t, IdentityHeader("id"))
		b := by(1000, 0, "a", "b")
		b.headers = []kmsg.Header{{Key: "x", Value: []byte("1")}, {Key: "id", Value: []byte("2")}}
		p.send(b)
		p.send(by(1000, 2, "c"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  duplicated  offsets 0 and 1 hold one record, header id "2": written twice by producer 1000, and acknowledged each time
  note        1 record has no header "id"`)
	})
	t.Run("nothing twice", func(t *testing.T) {
		s, p := keyed(t, IdentityKey)
		p.send(by(1000, 0, "o-1=a", "a", "a"))
		s.wantVerdict("orders is exactly once: 3 records in 1 batch\n  note        2 records have no key")
	})
	t.Run("says who wrote it", func(t *testing.T) {
		for _, tt := range []struct {
			a, b batch
			want string
		}{
			{plain("k=1"), plain("k=2"), "written twice without idempotence"},
			{plain("k=1"), by(1000, 0, "k=2"), "written with and without idempotence"},
			{by(1000, 0, "k=1"), by(1000, 0, "k=2").inEpoch(1), "written by producer 1000 in epochs 0 and 1"},
		} {
			s, p := keyed(t, IdentityKey)
			p.send(tt.a)
			p.send(tt.b)
			if got := s.verdict().Duplicated[0].Why; got != tt.want+", and acknowledged each time" {
				t.Errorf("%q, want %q", got, tt.want)
			}
		}
	})
	t.Run("also finds what is missing, unconfirmed and swallowed", func(t *testing.T) {
		s, p := keyed(t, IdentityKey)
		s.on("drop after produce", both(sequence(1), attempt(1)))
		s.on("drop before produce", both(sequence(2), attempt(1)))
		s.on("drop before produce", both(sequence(3), attempt(1)))
		p.send(by(1000, 0, "a=1"))
		p.send(by(1000, 0, "b=1"))
		p.send(by(1000, 1, "c=1"))
		p.send(by(1000, 2, "d=1"))
		p.send(by(1001, 3, "e=1"))
		p.send(by(1002, 0, "e=1"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  missing     sequence 2 of producer 1000 was lost before the broker (drop before produce) and never sent again
  unconfirmed offset 1 holds sequence 1 of producer 1000, but no answer ever told client "app" (drop after produce)
  swallowed   sequence 0 of producer 1000 came again with another record, key "b": acknowledged as offset 0, where key "a" stands, and not written`)
	})
	t.Run("in several passes", func(t *testing.T) {
		s, p := keyed(t, IdentityValue)
		for i := range 40 {
			p.sendTo("orders", int32(i%3), plain(fmt.Sprintf("v%d", i%25), "").raw())
		}
		one, many := s.small(defaultRoom), s.small(room{pass: 7, repeated: 100})
		if one.Totals.Duplicated != 16 || one.String() != many.String() {
			t.Errorf("in one pass:\n%s\nin many:\n%s", one, many)
		}
	})
	t.Run("with more than there is room for", func(t *testing.T) {
		s, p := keyed(t, IdentityValue)
		for i := range 40 {
			p.send(plain(fmt.Sprintf("v%d", i%10)))
		}
		v := s.small(room{pass: 1000, repeated: 4})
		if want := []string{"6 identities that stand more than once beyond the first 4 were counted and not kept"}; !slices.Equal(v.Limits, want) || v.Totals.Duplicated < 7 {
			t.Errorf("%d found, limits %q, want %q", v.Totals.Duplicated, v.Limits, want)
		}
	})
}

func TestParseIdentity(t *testing.T) {
	for text, want := range map[string]Identity{
		"none": IdentityNone, "key": IdentityKey, "value": IdentityValue, "header=id": IdentityHeader("id"), "header=a=b": IdentityHeader("a=b"),
	} {
		got, err := ParseIdentity(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q is %v (%v)", text, got, err)
		}
	}
	if got, err := ParseIdentity(""); got != IdentityNone || err != nil {
		t.Errorf("nothing is %v (%v)", got, err)
	}
	for _, text := range []string{"keys", "header", "header=", "Key", "topic=x"} {
		want := fmt.Sprintf("identity %q: want none, key, value or header=NAME", text)
		if _, err := ParseIdentity(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// lossy has one lost ack and one lost request on orders.
func lossy(t *testing.T) *setup {
	s := newSetup(t, Options{})
	s.on("drop after produce", both(sequence(2), attempt(1)))
	s.on("drop before produce", both(sequence(3), attempt(1)))
	p := s.peer("app")
	for i := range int32(5) {
		p.send(by(1000, i, fmt.Sprintf("o-%d=v", i)))
	}
	return s
}

func TestVerdict_of_a_log_that_cannot_be_read(t *testing.T) {
	t.Run("deleted behind its back", func(t *testing.T) {
		s := lossy(t)
		clear(s.broker.partitions)
		s.wantLimits("partition 0 cannot be read: UNKNOWN_TOPIC_OR_PARTITION")
		if v := s.verdict(); v.Totals != (Totals{Missing: 2, Unconfirmed: 1}) {
			t.Errorf("%s", v)
		}
	})
	t.Run("trimmed", func(t *testing.T) {
		s := lossy(t)
		if err := s.broker.at("orders", 0).log.Trim(3); err != nil {
			t.Fatal(err)
		}
		s.wantLimits("partition 0 begins at offset 3: what was deleted before it was not looked at")
		if v := s.verdict(); v.Unconfirmed[0].FirstOffset != 2 {
			t.Errorf("%s", v)
		}
	})
	t.Run("trimmed while it is read", func(t *testing.T) {
		s := lossy(t)
		s.journal.next = wire.HandlerFunc(func(ctx context.Context, req *wire.Request) wire.Reply {
			if r, ok := req.Body.(*kmsg.FetchRequest); ok && r.MaxBytes == scanBytes {
				if err := s.broker.at("orders", 0).log.Trim(3); err != nil {
					t.Error(err)
				}
			}
			return s.broker.Handle(ctx, req)
		})
		s.wantLimits("partition 0 begins at offset 3: what was deleted before it was not looked at")
		if v := s.verdict(); v.Unconfirmed[0].FirstOffset != 2 {
			t.Errorf("%s", v)
		}
	})
	t.Run("trimmed below a replay of other records", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("app")
		p.send(by(1000, 0, "a"))
		p.send(by(1000, 0, "b"))
		p.send(by(1000, 1, "c"))
		if err := s.broker.at("orders", 0).log.Trim(1); err != nil {
			t.Fatal(err)
		}
		s.wantLimits("partition 0 begins at offset 1: what was deleted before it was not looked at",
			"a replay of offset 0 in partition 0 could not be compared with what is stored")
	})
	t.Run("shorter than it was", func(t *testing.T) {
		s := lossy(t)
		clear(s.broker.partitions)
		s.broker.append("orders", 0, by(1000, 0, "x").raw())
		s.wantLimits("partition 0 ends at offset 1, and batches were accepted up to offset 2")
	})
	t.Run("without an answer", func(t *testing.T) {
		s := lossy(t)
		s.journal.next = wire.HandlerFunc(func(context.Context, *wire.Request) wire.Reply { return wire.Reply{} })
		s.wantLimits("partition 0 cannot be read: there was no answer to a Fetch")
	})
	t.Run("with a batch that is not sound", func(t *testing.T) {
		s := lossy(t)
		s.journal.next = wire.HandlerFunc(func(ctx context.Context, req *wire.Request) wire.Reply {
			reply := s.broker.Handle(ctx, req)
			if resp, ok := reply.Done.(*kmsg.FetchResponse); ok && len(resp.Topics[0].Partitions[0].RecordBatches) > 0 {
				p := &resp.Topics[0].Partitions[0]
				p.RecordBatches = slices.Clone(p.RecordBatches)
				p.RecordBatches[61] = 0xff
			}
			return reply
		})
		if got := s.verdict().Limits; len(got) == 0 || !strings.HasPrefix(got[0], "partition 0 cannot be read: the batch at offset ") {
			t.Errorf("limits %q", got)
		}
	})
	t.Run("with an answer that goes nowhere", func(t *testing.T) {
		s := lossy(t)
		s.journal.next = wire.HandlerFunc(func(ctx context.Context, req *wire.Request) wire.Reply {
			reply := s.broker.Handle(ctx, req)
			if resp, ok := reply.Done.(*kmsg.FetchResponse); ok {
				resp.Topics[0].Partitions[0].RecordBatches = nil
			}
			return reply
		})
		s.wantLimits("partition 0 cannot be read: nothing whole came from offset 2 on",
			"partition 0 cannot be read: nothing whole came from offset 0 on")
	})
	t.Run("a partition that nothing was ever written to", func(t *testing.T) {
		s := newSetup(t, Options{})
		s.on("drop before produce", anyProduce)
		s.peer("app").send(by(1000, 0, "v"))
		s.wantVerdict(`
orders is not exactly once (seed 0)
  missing     sequence 0 of producer 1000 was lost before the broker (drop before produce) and never sent again`)
	})
	t.Run("because the context ended", func(t *testing.T) {
		s := lossy(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.journal.Verdict(ctx); err != context.Canceled {
			t.Errorf("error %v", err)
		}
		if _, err := s.journal.VerdictOf(ctx, "orders"); err != context.Canceled {
			t.Errorf("error %v", err)
		}
	})
}

func TestVerdict_names_the_partition_of_a_topic_that_has_several(t *testing.T) {
	send := func(s *setup, partition int32) string {
		s.on("drop after produce", anyProduce)
		s.peer("app").sendTo("orders", partition, plain("a").raw())
		return s.verdict().Unconfirmed[0].Text
	}
	const one = `offset 0 holds a batch, but no answer ever told client "app" (drop after produce)`
	const several = `offset 0 of partition %d holds a batch, but no answer ever told client "app" (drop after produce)`
	if got := send(newSetup(t, Options{}), 0); got != one {
		t.Errorf("%s\nwant %s", got, one)
	}
	s := newSetup(t, Options{})
	s.broker.at("orders", 2)
	if got, want := send(s, 0), fmt.Sprintf(several, 0); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	s = newSetup(t, Options{})
	s.journal.next = wire.HandlerFunc(func(ctx context.Context, req *wire.Request) wire.Reply {
		if req.Body.Key() == int16(kmsg.Metadata) {
			return wire.Reply{}
		}
		return s.fault(ctx, req)
	})
	if got, want := send(s, 1), fmt.Sprintf(several, 1); got != want {
		t.Errorf("without Metadata: %s\nwant %s", got, want)
	}
}

// Batches that come in pieces, and one that is larger than what was asked for.
func TestReader_reads_on_where_an_answer_was_cut(t *testing.T) {
	s := newSetup(t, Options{})
	p := s.peer("app")
	want := []string(nil)
	for i := range int32(30) {
		v := strings.Repeat(fmt.Sprint(i), int(i*i))
		p.send(by(1000, i, v))
		want = append(want, v)
	}
	for _, size := range []int32{1, 100, 200, 1000, 1 << 20} {
		var got []string
		r := reader{next: s.broker, topic: "orders"}
		err := r.each(t.Context(), 0, 3, 28, size, func(v *visit) error {
			got = append(got, string(v.record.Value))
			return nil
		})
		if err != nil || !slices.Equal(got, want[3:28]) {
			t.Errorf("%d bytes at a time: %d records (%v)", size, len(got), err)
		}
	}
}
