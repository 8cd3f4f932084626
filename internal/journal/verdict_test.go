package journal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// The failure text as it was designed, word for word. An answer that a network
// loses names no rule.
func TestVerdict_text(t *testing.T) {
	s := newSetup(t, Options{Seed: 42})
	s.rules = append(s.rules, &rule{match: once(sequence(41)), do: loseAnswer})
	p := s.peer("app")
	for i := range int32(57) {
		p.send(by(1000, i, fmt.Sprintf("o-%d=v", i)))
	}
	p.send(by(1001, 0, "o-41=v"))
	p.send(by(1000, 57, "o-57=v"))
	p.send(by(1000, 63, "o-63=v"))
	if got, want := s.verdict().String(), `orders is not exactly once (seed 42)
  duplicated  offsets 41 and 57 hold one record, key "o-41": sent again with a new producer id after its ack was lost
  missing     sequence 63 of producer 1000 was refused (out of order: expected 58) and never accepted
`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestEvidence(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", once(sequence(0)))
	s.on("drop before produce", once(sequence(1)))
	p := s.peer("app")
	p.send(by(1000, 0, "o-0=v"))
	p.send(by(1000, 1, "o-1=v"))
	p.send(by(1000, 2, "o-2=v"))
	p.send(by(1000, 2, "o-2=v"))
	p.send(by(1001, 0, "o-0=v"))
	v := s.verdict()
	numbers := func(events []Event) (n []uint64) {
		for _, e := range events {
			n = append(n, e.Number)
		}
		return n
	}
	if got := numbers(v.Duplicated[0].Evidence); !slices.Equal(got, []uint64{1, 5}) {
		t.Errorf("evidence of the duplicate: %v", got)
	}
	if got := numbers(v.Missing[0].Evidence); !slices.Equal(got, []uint64{2}) {
		t.Errorf("evidence of the first missing batch: %v", got)
	}
	if got := numbers(v.Missing[1].Evidence); !slices.Equal(got, []uint64{3, 4}) {
		t.Errorf("evidence of the second missing batch: %v", got)
	}
	if v.Missing[0].Rule != "drop before produce" || v.Missing[1].Attempts != 2 {
		t.Errorf("missing %+v", v.Missing)
	}
}

func TestVerdict_as_JSON(t *testing.T) {
	s := newSetup(t, Options{Seed: 7, Identity: IdentityHeader("id")})
	s.on("drop after produce", once(anyProduce))
	s.peer("app").send(by(1000, 0, "a=1"))
	v, err := s.journal.Verdict(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v.Topics[0].Unconfirmed[0].Evidence = []Event{}
	got, err := json.MarshalIndent(v, "", " ")
	const want = `{
 "seed": 7,
 "identity": "header=id",
 "exactly_once": false,
 "topics": [
  {
   "topic": "orders",
   "seed": 7,
   "exactly_once": false,
   "counts": {
    "records": 1,
    "batches": 1,
    "duplicates": 0,
    "out_of_order": 0,
    "fenced": 0,
    "refused": 0,
    "not_asked": 0,
    "replayed": 0,
    "acks_lost": 1,
    "acks_false": 0,
    "acks_not_due": 0,
    "producers": 1
   },
   "totals": {
    "duplicated": 0,
    "missing": 0,
    "unconfirmed": 1,
    "swallowed": 0,
    "in_hand": 0
   },
   "unconfirmed": [
    {
     "text": "offset 0 holds sequence 0 of producer 1000, but no answer ever told client \"app\" (drop after produce)",
     "partition": 0,
     "client": "app",
     "connection": 1,
     "producer_id": 1000,
     "epoch": 0,
     "first_sequence": 0,
     "last_sequence": 0,
     "batch_records": 1,
     "attempts": 1,
     "first_offset": 0,
     "last_offset": 0,
     "told": {
      "answer": "lost",
      "code": 0,
      "base_offset": -1
     },
     "rule": "drop after produce",
     "evidence": []
    }
   ],
   "without_identity": 1,
   "note": "1 record has no header \"id\""
  }
 ]
}`
	if err != nil || string(got) != want {
		t.Errorf("%s\nwant %s (%v)", got, want, err)
	}
}

func TestVerdict_as_JSON_has_no_null_where_a_list_is_empty(t *testing.T) {
	s := newSetup(t, Options{Identity: IdentityKey, RingSize: 1})
	asJSON := func() string {
		v, err := s.journal.Verdict(t.Context())
		got, jsonErr := json.Marshal(v)
		if err != nil || jsonErr != nil {
			t.Fatal(err, jsonErr)
		}
		return string(got)
	}
	if got, want := asJSON(), `{"seed":0,"identity":"key","exactly_once":true,"topics":[]}`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	p := s.peer("app") // two records of one key, of which no event is kept
	p.send(by(1000, 0, "o-1=a"))
	p.send(by(1000, 1, "o-1=b"))
	p.send(by(1000, 2, "o-2=c"))
	if got := asJSON(); !strings.Contains(got, `"evidence":[]`) || strings.Contains(got, "null") {
		t.Errorf("%s", got)
	}
}

func TestVerdict_of_a_topic_that_nothing_came_for(t *testing.T) {
	newSetup(t, Options{}).wantVerdict("orders is exactly once: no batch came for it")
}

func TestVerdict_counts(t *testing.T) {
	s := newSetup(t, Options{})
	s.on("drop after produce", both(sequence(0), attempt(1)))
	s.on("error REQUEST_TIMED_OUT after produce", both(sequence(2), attempt(1)))
	s.on("error REQUEST_TIMED_OUT before produce", both(sequence(3), attempt(1)))
	p := s.peer("app")
	p.send(by(1000, 0, "a", "b"))
	p.send(by(1000, 0, "a", "b"))
	p.send(by(1000, 2, "c"))
	p.send(by(1000, 2, "c"))
	p.send(by(1000, 3, "d"))
	p.send(by(1000, 9, "e"))
	p.send(by(1001, 0, "f").inEpoch(1))
	p.send(by(1001, 0, "g"))
	p.sendTo("orders", 1, []byte("x"))
	p.acks = 0
	p.send(plain("h"))
	want := Counts{
		Records: 5, Batches: 4, Duplicates: 2, OutOfOrder: 1, Fenced: 1, Refused: 1, NotAsked: 1,
		Replayed: 2, AcksLost: 2, AcksFalse: 1, AcksNotDue: 1, Producers: 2,
	}
	if got := s.journal.Counts()["orders"]; got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	const text = "5 records in 4 batches, 2 acknowledgements lost, 1 acknowledgement replaced by an error, " +
		"2 replays answered with the first offset, 1 batch asked for no acknowledgement"
	if got := want.summary(); got != text {
		t.Errorf("%s\nwant %s", got, text)
	}
}

func TestLabels_are_cut(t *testing.T) {
	for _, tt := range []struct{ key, want string }{
		{"short", `key "short"`},
		{strings.Repeat("x", 40), `key "` + strings.Repeat("x", 40) + `"`},
		{strings.Repeat("x", 41), `key "` + strings.Repeat("x", 40) + `"…`},
		{strings.Repeat("x", 39) + "é!", `key "` + strings.Repeat("x", 39) + `"…`},
		{"\x00\xff\"", `key "\x00\xff\""`},
		{"", `key ""`},
	} {
		if got := labelOf(IdentityNone, &wire.Record{Key: []byte(tt.key)}); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.key, got, tt.want)
		}
	}
	empty := &wire.Record{Key: []byte{}, Value: []byte("v")}
	if got, want := labelOf(IdentityNone, empty), `value "v"`; got != want {
		t.Errorf("an empty key: %s, want %s", got, want)
	}
	if got, want := labelOf(IdentityKey, empty), `key ""`; got != want {
		t.Errorf("an empty key that is the identity: %s, want %s", got, want)
	}
	if got := labelOf(IdentityNone, &wire.Record{}); got != "" {
		t.Errorf("a record without key and value: %q", got)
	}
}
