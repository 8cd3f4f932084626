package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// eventLines lists the events as they are printed.
func (s *setup) eventLines() (lines []string) {
	for _, e := range s.journal.Events() {
		lines = append(lines, e.String())
	}
	return lines
}

func (s *setup) wantEvents(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.eventLines()); diff != "" {
		s.t.Errorf("events (-want +got):\n%s", diff)
	}
}

// The lesson's own example, in its words.
func TestEvents_of_the_lesson(t *testing.T) {
	s := newSetup(t, Options{})
	p := s.peer("demo")
	p.send(by(1000, 0, "a", "b", "c"))
	p.send(by(1000, 3, "d", "e"))
	p.send(by(1000, 3, "d", "e"))
	p.send(by(1000, 7, "f"))
	p.send(by(1000, 7, "f").inEpoch(1))
	p.send(by(1000, 0, "f").inEpoch(1))
	p.send(by(1000, 5, "g"))
	s.wantEvents(
		"#1 demo/1 orders-0 producer 1000 epoch 0 sequences 0 to 2: accepted at offset 0; acknowledged",
		"#2 demo/1 orders-0 producer 1000 epoch 0 sequences 3 to 4: accepted at offset 3; acknowledged",
		"#3 demo/1 orders-0 producer 1000 epoch 0 sequences 3 to 4 attempt 2: duplicate of base offset 3; acknowledged",
		"#4 demo/1 orders-0 producer 1000 epoch 0 sequence 7: out of order: expected 5, got 7; told OUT_OF_ORDER_SEQUENCE_NUMBER",
		"#5 demo/1 orders-0 producer 1000 epoch 1 sequence 7: out of order: expected 0, got 7; told OUT_OF_ORDER_SEQUENCE_NUMBER",
		"#6 demo/1 orders-0 producer 1000 epoch 1 sequence 0: accepted at offset 5; acknowledged",
		"#7 demo/1 orders-0 producer 1000 epoch 0 sequence 5: fenced by epoch 1; told INVALID_PRODUCER_EPOCH",
	)
}

func TestEvents_say_what_was_done_and_what_was_told(t *testing.T) {
	batch := by(1000, 0, "v").raw()
	for _, tt := range []struct {
		name string
		rule string // "" for none
		acks int16
		raw  []byte
		want string
	}{
		{"plain", "", -1, batch, "sequence 0: accepted at offset 0; acknowledged"},
		{"acks=0", "", 0, batch, "sequence 0: accepted at offset 0; no answer due"},
		{"drop before", "drop before produce", -1, batch, "sequence 0: lost before the broker; answer lost (drop before produce)"},
		{"drop after", "drop after produce", -1, batch, "sequence 0: accepted at offset 0; answer lost (drop after produce)"},
		{"disconnect before", "disconnect before produce", -1, batch, "sequence 0: lost before the broker; connection closed (disconnect before produce)"},
		{"disconnect after", "disconnect after produce", -1, batch, "sequence 0: accepted at offset 0; connection closed (disconnect after produce)"},
		{"disconnect after, acks=0", "disconnect after produce", 0, batch, "sequence 0: accepted at offset 0; no answer due (disconnect after produce)"},
		{"error before", "error STALE_CONTROLLER_EPOCH before produce", -1, batch,
			"sequence 0: refused before the broker; told STALE_CONTROLLER_EPOCH (error STALE_C…"},
		{"error after", "error BROKER_NOT_AVAILABLE after produce", -1, batch,
			"sequence 0: accepted at offset 0; told BROKER_NOT_AVAILABLE (error BROKER_NOT_AVA…"},
		{"no producer", "", -1, plain("a", "b").raw(), "2 records without producer: accepted at offset 0; acknowledged"},
		{"no batch", "", -1, []byte("no batch"),
			"0 records without producer: refused: the record set ends after 8 bytes, inside the header of a batch; t…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSetup(t, Options{})
			if tt.rule != "" {
				s.on(tt.rule, anyProduce)
			}
			p := s.peer("c")
			p.acks = tt.acks
			p.sendTo("orders", 0, tt.raw)
			got := s.eventLines()[0]
			got = strings.TrimPrefix(strings.TrimPrefix(got, "#1 c/1 orders-0 "), "producer 1000 epoch 0 ")
			if got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
			if n := utf8.RuneCountInString(s.eventLines()[0]); n > eventColumns {
				t.Errorf("%d columns", n)
			}
		})
	}
}

// A real Kafka may give no error message.
func TestEvents_without_an_error_message_name_the_error(t *testing.T) {
	s := newSetup(t, Options{})
	s.journal.next = wire.HandlerFunc(func(_ context.Context, req *wire.Request) wire.Reply {
		resp := wire.ErrorAnswer(req.Body, codeOf(t, "OUT_OF_ORDER_SEQUENCE_NUMBER"), "")
		return wire.Reply{Done: resp, Told: resp}
	})
	s.peer("c").send(by(1000, 5, "v"))
	e := s.journal.Events()[0]
	if want := (Done{OutOfOrder, -1, "OUT_OF_ORDER_SEQUENCE_NUMBER"}); e.Done != want {
		t.Errorf("%+v, want %+v", e.Done, want)
	}
	s.wantVerdict(`
orders is not exactly once (seed 0)
  missing     sequence 5 of producer 1000 was refused (OUT_OF_ORDER_SEQUENCE_NUMBER) and never accepted`)
}

// Partitions of one request, of which a rule refuses one: the answer has another
// order than the request.
func TestEvents_of_several_partitions(t *testing.T) {
	s := newSetup(t, Options{})
	refused := func(tp wire.TopicPartition) bool { return tp.Topic == "b" && tp.Partition == 0 }
	s.journal.next = wire.HandlerFunc(func(ctx context.Context, req *wire.Request) wire.Reply {
		in, out := wire.Split(req, refused)
		reply := s.broker.Handle(ctx, out)
		reply.Told = wire.Merge(reply.Told, wire.ErrorAnswer(in.Body, codeOf(t, "NOT_LEADER_OR_FOLLOWER"), ""))
		reply.Fired = []wire.Firing{{Rule: "error 6 before produce", Partitions: []wire.TopicPartition{{Topic: "b"}}}}
		return reply
	})
	b := by(1000, 0, "v").raw()
	s.peer("c").handle(produceRequest(-1, map[wire.TopicPartition][]byte{
		{Topic: "a"}: b, {Topic: "b"}: b, {Topic: "b", Partition: 1}: b, {Topic: "c"}: []byte("x"),
	}))
	s.wantEvents(
		"#1 c/1 a-0 producer 1000 epoch 0 sequence 0: accepted at offset 0; acknowledged",
		"#2 c/1 b-0 producer 1000 epoch 0 sequence 0: refused before the broker; told NOT_LEADER_OR_FOLLOWER (error 6 before pro…",
		"#3 c/1 b-1 producer 1000 epoch 0 sequence 0: accepted at offset 0; acknowledged",
		"#4 c/1 c-0 0 records without producer: refused: the record set ends after 1 bytes, inside the header of a batch; told I…",
	)
}

func TestEvents_of_a_partition_that_is_named_twice(t *testing.T) {
	s := newSetup(t, Options{})
	req := produceRequest(-1, map[wire.TopicPartition][]byte{{Topic: "a"}: by(1000, 0, "v").raw()})
	again := req.Topics[0].Partitions[0]
	again.Records = by(1000, 1, "w").raw()
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, again)
	s.peer("c").handle(req)
	s.wantEvents(
		"#1 c/1 a-0 producer 1000 epoch 0 sequence 0: accepted at offset 0; acknowledged",
		"#2 c/1 a-0 producer 1000 epoch 0 sequence 1: accepted at offset 1; acknowledged",
	)
}

func TestEvents_of_other_APIs_on_which_a_rule_fired(t *testing.T) {
	s := newSetup(t, Options{})
	only := func(key kmsg.Key) func(*wire.Request) bool {
		return once(func(r *wire.Request) bool { return r.Body.Key() == int16(key) })
	}
	s.on("error COORDINATOR_LOAD_IN_PROGRESS before init_producer_id", only(kmsg.InitProducerID))
	s.on("disconnect after metadata", only(kmsg.Metadata))
	s.on("delay 1s after fetch", only(kmsg.Fetch))
	p := s.peer("kgo")
	for range 2 { // the second time nothing fires
		p.handle(kmsg.NewPtrInitProducerIDRequest())
		p.handle(kmsg.NewPtrMetadataRequest())
		p.handle(kmsg.NewPtrFetchRequest())
	}
	s.wantEvents(
		"#1 kgo/1 InitProducerId: refused before the broker; told COORDINATOR_LOAD_IN_PROGRESS (error COORDINATOR_LOAD_IN_PROGRE…",
		"#2 kgo/1 Metadata: carried out; connection closed (disconnect after metadata)",
		"#3 kgo/1 Fetch: carried out; acknowledged (delay 1s after fetch)",
	)
}

func TestEvents_do_not_show_requests_of_the_process_itself(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop before produce", anyProduce)
	body := produceRequest(-1, map[wire.TopicPartition][]byte{{Topic: "a"}: by(1000, 0, "v").raw()})
	s.journal.Handle(t.Context(), &wire.Request{Conn: &wire.Conn{}, Body: body, Batches: wire.AppendBatches(nil, body), Internal: true})
	s.wantEvents()
	if got := s.broker.contents(t, "a", 0); !slices.Equal(got, []string{"v"}) {
		t.Errorf("log %q", got)
	}
}

func TestEvents_keep_the_newest_and_what_is_out_of_the_ordinary(t *testing.T) {
	s := newSetup(t, Options{RingSize: 3, Kept: 4})
	s.on("drop after produce", func(r *wire.Request) bool { return attempt(1)(r) && r.Batches[0].Header.FirstSequence%4 == 0 })
	p := s.peer("c")
	for i := range int32(18) {
		b := by(1000, i, "v")
		if p.send(b) == nil {
			p.send(b)
		}
	}
	// Lost: 0, 4, 8, 12 and 16, each followed by its replay.
	var got []uint64
	for _, e := range s.journal.Events() {
		got = append(got, e.Number)
	}
	if want := []uint64{1, 2, 6, 7, 21, 22, 23}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	v, err := s.journal.Verdict(t.Context())
	if want := []string{"6 events out of the ordinary beyond the first 4 were counted and not kept"}; err != nil || !slices.Equal(v.Limits, want) {
		t.Errorf("limits %q, want %q", v.Limits, want)
	}
	if !v.ExactlyOnce {
		t.Error("the verdict does not depend on which events are kept")
	}
}

func TestEvents_of_which_some_are_in_the_ring_and_kept_are_listed_once(t *testing.T) {
	s := newSetup(t, Options{RingSize: 10})
	s.on("drop after produce", attempt(1))
	p := s.peer("c")
	for i := range int32(3) {
		p.send(by(1000, i, "v"))
		p.send(by(1000, i, "v"))
	}
	if got := len(s.journal.Events()); got != 6 {
		t.Errorf("%d events, want 6", got)
	}
}

func TestEvent_as_JSON(t *testing.T) {
	e := Event{
		Number: 7, Time: time.Unix(0, 0).UTC(), API: "Produce", Connection: 3, Client: "kgo", Topic: "orders", Partition: 1,
		ProducerID: 1000, Epoch: 2, FirstSequence: 5, LastSequence: 6, Records: 2, Attempt: 1,
		Done: Done{Outcome: Accepted, BaseOffset: 41}, Told: Told{Answer: Closed, BaseOffset: -1}, Rules: []string{"disconnect after produce"},
	}
	const want = `{"number":7,"time":"1970-01-01T00:00:00Z","kind":"batch","api":"Produce","connection":3,"client":"kgo",` +
		`"topic":"orders","partition":1,"producer_id":1000,"epoch":2,"first_sequence":5,"last_sequence":6,"records":2,"attempt":1,` +
		`"done":{"outcome":"accepted","base_offset":41},"told":{"answer":"closed","code":0,"base_offset":-1},"rules":["disconnect after produce"]}`
	got, err := json.Marshal(e)
	if err != nil || string(got) != want {
		t.Errorf("%s\nwant %s (%v)", got, want, err)
	}
	var back Event
	d := json.NewDecoder(bytes.NewReader(got))
	d.DisallowUnknownFields()
	if err := d.Decode(&back); err != nil || !cmp.Equal(e, back) {
		t.Errorf("read back: %v %s", err, cmp.Diff(e, back))
	}
	if err := json.Unmarshal([]byte(`{"kind":"song"}`), &back); err == nil {
		t.Error("an unknown kind was read")
	}
}

func TestSubscribe(t *testing.T) {
	t.Run("shows events as they come, until the context ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSetup(t, Options{})
			p := s.peer("c")
			p.send(by(1000, 0, "v"))
			ctx, cancel := context.WithCancel(t.Context())
			events := s.journal.Subscribe(ctx)
			p.send(by(1000, 1, "v"))
			p.send(by(1000, 2, "v"))
			for _, want := range []uint64{2, 3} {
				if e := <-events; e.Number != want || e.Lost != 0 {
					t.Errorf("event %d after %d lost, want %d", e.Number, e.Lost, want)
				}
			}
			cancel()
			synctest.Wait()
			p.send(by(1000, 3, "v"))
			if e, ok := <-events; ok {
				t.Errorf("event %d after the end", e.Number)
			}
		})
	})
	t.Run("tells a slow reader how many it lost", func(t *testing.T) {
		s := newSetup(t, Options{})
		p := s.peer("c")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		events := s.journal.Subscribe(ctx)
		for i := range int32(followBuffer + 7) {
			p.send(by(1000, i, "v"))
		}
		for range followBuffer {
			if e := <-events; e.Lost != 0 {
				t.Fatalf("event %d after %d lost", e.Number, e.Lost)
			}
		}
		p.send(by(1000, followBuffer+7, "v"))
		p.send(by(1000, followBuffer+8, "v"))
		if e := <-events; e.Lost != 7 || e.Number != followBuffer+8 {
			t.Errorf("event %d after %d lost, want 7", e.Number, e.Lost)
		}
		if e := <-events; e.Lost != 0 {
			t.Errorf("event %d after %d lost, want none", e.Number, e.Lost)
		}
	})
}

func TestReset_forgets_everything(t *testing.T) {
	s := newSetup(t, Options{Seed: 1})
	s.on("drop before produce", once(anyProduce))
	p := s.peer("c")
	p.send(by(1000, 0, "v"))
	if s.verdict().ExactlyOnce {
		t.Fatal("nothing is missing")
	}
	s.journal.Reset()
	s.wantEvents()
	v, err := s.journal.Verdict(t.Context())
	if want := "no batch was produced\n"; err != nil || v.String() != want {
		t.Errorf("%q, want %q", v, want)
	}
	p.send(by(1000, 0, "v"))
	s.wantEvents("#1 c/1 orders-0 producer 1000 epoch 0 sequence 0: accepted at offset 0; acknowledged")
}

func TestDeleteTopics_forgets_the_topic(t *testing.T) {
	deletion := func() *kmsg.DeleteTopicsRequest {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames = []string{"orders", "unknown"}
		return req
	}
	s := newSetup(t, Options{})
	s.on("drop after produce", both(sequence(1), attempt(1)))
	p := s.peer("c")
	p.send(by(1000, 0, "o-0=v"))
	p.send(by(1000, 1, "o-1=v"))
	p.sendTo("audit", 0, by(1000, 0, "a-0=v").raw())
	p.handle(deletion())
	if got := s.journal.Counts(); len(got) != 1 || got["audit"].Batches != 1 {
		t.Errorf("counts %+v", got)
	}
	p.send(by(1000, 0, "o-0=v"))
	if got := s.journal.Counts()["orders"]; got != (Counts{Records: 1, Batches: 1, Producers: 1}) {
		t.Errorf("counts of the topic that was made again %+v", got)
	}

	t.Run("but not if that was refused", func(t *testing.T) {
		s.journal.next = wire.HandlerFunc(func(_ context.Context, req *wire.Request) wire.Reply {
			resp := kmsg.NewPtrDeleteTopicsResponse()
			name := "orders"
			resp.Topics = []kmsg.DeleteTopicsResponseTopic{{Topic: &name, ErrorCode: 29}, {}}
			return wire.Reply{Done: resp, Told: resp}
		})
		p.handle(deletion())
		if got := s.journal.Counts()["orders"].Batches; got != 1 {
			t.Errorf("%d batches, want 1", got)
		}
	})
}
