package main

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestFloor_answers_as_many_requests_as_are_sent(t *testing.T) {
	for _, keep := range []bool{false, true} {
		for _, acks := range []int16{acksAll, 0} {
			w := large.with(func(w *work) { w.acks = acks })
			f, err := newFloor(w, "measured", keep)
			if err != nil {
				t.Fatal(err)
			}
			l := opened(t, serving(t, f.serve, true), w)
			got, err := l.run(t.Context(), limit{batches: 30})
			if err != nil {
				t.Fatal(err)
			}
			wantTally(t, l, got, 30)
			if kept := len(f.kept); keep != (kept == w.conns) || !keep && kept != 0 {
				t.Errorf("keep %v: %d pieces of memory", keep, kept)
			}
		}
	}
}

func TestFloor_that_keeps_has_every_byte(t *testing.T) {
	w := large.with(func(w *work) { w.conns = 1 })
	f, err := newFloor(w, "measured", true)
	if err != nil {
		t.Fatal(err)
	}
	l := opened(t, serving(t, f.serve, true), w)
	body := len(l.lanes[0].frame.bytes) - requestHead
	batches := floorPiece/body + 1 // the last one needs a second piece
	if _, err := l.run(t.Context(), limit{batches: int64(batches)}); err != nil {
		t.Fatal(err)
	}
	if len(f.kept) != 2 || len(f.kept[0]) != floorPiece {
		t.Fatalf("%d pieces", len(f.kept))
	}
	last := l.lanes[0].frame.bytes[requestHead:]
	if got := f.kept[1][:body]; string(got) != string(last) {
		t.Error("the last frame is not what was sent")
	}
}

func TestFloor_gives_what_a_Fetch_asks_for(t *testing.T) {
	f, err := newFloor(large, "measured", false)
	if err != nil {
		t.Fatal(err)
	}
	to := serving(t, f.serve, true)
	c, err := dial(t.Context(), to.address, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := newReader(c, "measured", 0, true)
	for range 3 {
		records, err := r.fetch()
		if err != nil || len(records) != fetchBytes {
			t.Fatalf("%d bytes: %v", len(records), err)
		}
	}
	if got, err := r.read(3*fetchBytes - 1); err != nil || got != 3*fetchBytes {
		t.Errorf("%d bytes: %v", got, err)
	}
}

// An answer of the floor takes as many bytes as one of the broker does.
func TestFloor_answers_as_long_as_the_broker(t *testing.T) {
	l := opened(t, servingChain(t, true), small)
	if _, err := l.run(t.Context(), limit{batches: 1}); err != nil {
		t.Fatal(err)
	}
	lane := l.lanes[0]
	if got, want := len(lane.conn.answer), len(produceAnswer(l.topic))-lengthBytes; got != want {
		t.Errorf("the broker answers %d bytes, the floor %d", got, want)
	}
}

func TestFloor_takes_the_pieces_that_were_reserved(t *testing.T) {
	f := &floor{}
	f.reserve(2)
	for i, c := range []struct{ asked, got, spare int }{
		{10, floorPiece, 1}, {floorPiece + 1, floorPiece + 1, 1}, {floorPiece, floorPiece, 0}, {10, floorPiece, 0},
	} {
		if got := len(f.piece(c.asked)); got != c.got || len(f.spare) != c.spare || len(f.kept) != i+1 {
			t.Errorf("for %d bytes a piece of %d; %d are spare and %d kept", c.asked, got, len(f.spare), len(f.kept))
		}
	}
	if n := piecesFor(nameKeep, 10*floorPiece, 2); n != 13 {
		t.Errorf("%d pieces for ten and two connections", n)
	}
}

func TestFloor_of_another_topic_is_found_out(t *testing.T) {
	f, err := newFloor(small, "another topic", false)
	if err != nil {
		t.Fatal(err)
	}
	l := opened(t, serving(t, f.serve, true), small)
	if _, err := l.run(t.Context(), limit{batches: 1}); err == nil || !strings.Contains(err.Error(), "an answer to a Produce has") {
		t.Errorf("%v", err)
	}
}

func TestFloor_ends_a_connection_whose_frame_is_none(t *testing.T) {
	f, err := newFloor(small, "measured", true)
	if err != nil {
		t.Fatal(err)
	}
	to := serving(t, f.serve, true)
	c, err := dial(t.Context(), to.address, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(make([]byte, requestHead)); err != nil { // says that it has no byte
		t.Fatal(err)
	}
	if _, err := c.read(0); err == nil {
		t.Error("it was answered")
	}
}

func TestFloor_answers_anything_else_with_a_correlation_id(t *testing.T) {
	f, err := newFloor(small, "measured", false)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[kmsg.Key]int{kmsg.ApiVersions: 8, kmsg.Metadata: 8, kmsg.Produce: len(f.produce), kmsg.Fetch: len(f.fetch)} {
		if got := len(f.answerTo(key)); got != want {
			t.Errorf("%s: %d bytes, want %d", key.Name(), got, want)
		}
	}
}
