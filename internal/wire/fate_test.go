package wire

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fated handles each request of a connection with the next fate, and those
// behind the last one with Send.
type fated struct {
	fates []Fate
	muted []bool // for each request, whether its connection was muted
}

func (f *fated) handle(_ context.Context, req *Request) Reply {
	fate := Send
	if n := len(f.muted); n < len(f.fates) {
		fate = f.fates[n]
	}
	f.muted = append(f.muted, req.Conn.Muted())
	resp := req.Body.ResponseKind()
	return Reply{Done: resp, Told: resp, Fate: fate, Reason: ReasonFault}
}

// collect reads the correlation ids of answers until the connection ends.
func collect(c *testClient, into *[]int32) {
	for {
		frame, err := readAnswer(c)
		if err != nil {
			return
		}
		*into = append(*into, int32(binary.BigEndian.Uint32(frame)))
	}
}

func TestServer_fates_of_answers(t *testing.T) {
	const requests = 6
	tests := []struct {
		name     string
		fates    []Fate
		answered []int32 // correlation ids, counted from 0
		handled  int     // requests that reached the handler
		muted    int     // how many of those came over a muted connection
		closes   bool
	}{
		{"send", nil, []int32{0, 1, 2, 3, 4, 5}, 6, 0, false},
		{"silent loses one answer", []Fate{Send, Silent}, []int32{0, 2, 3, 4, 5}, 6, 0, false},
		{"lost answers are this and all later ones", []Fate{Send, Send, LoseAnswers}, []int32{0, 1}, 6, 3, false},
		{"answers are lost from the first on", []Fate{LoseAnswers}, nil, 6, 5, false},
		{"answers stay lost whatever comes later", []Fate{LoseAnswers, Send, Silent, LoseAnswers}, nil, 6, 5, false},
		{"lost requests are not handled", []Fate{Send, Send, LoseRequests}, []int32{0, 1}, 3, 0, false},
		{"requests are lost from the first on", []Fate{LoseRequests}, nil, 1, 0, false},
		{"requests are lost after answers", []Fate{Send, LoseAnswers, LoseRequests}, []int32{0}, 3, 1, false},
		{"close", []Fate{Close}, nil, 1, 0, true},
		{"close keeps the answers before it", []Fate{Send, Send, Close}, []int32{0, 1}, 3, 0, true},
		{"close after lost answers", []Fate{Send, LoseAnswers, Send, Close}, []int32{0}, 4, 2, true},
	}
	for _, tt := range tests {
		for _, piece := range []int{1, requests} {
			name := tt.name + ", one by one"
			if piece == requests {
				name = tt.name + ", in one piece"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := &fated{fates: tt.fates}
					s := newTestServer(t, f.handle)
					c := s.connect()
					var answered []int32
					go collect(c, &answered)

					for from := 0; from < requests; from += piece {
						c.Write(metadataFrames(from, from+piece)) //nolint:errcheck // it may be closed by now
					}
					synctest.Wait() // nothing more will happen by itself

					if !slices.Equal(answered, tt.answered) {
						t.Errorf("answered %v, want %v", answered, tt.answered)
					}
					if len(f.muted) != tt.handled {
						t.Errorf("%d requests reached the handler, want %d", len(f.muted), tt.handled)
					}
					if muted := count(f.muted, true); muted != tt.muted {
						t.Errorf("%d requests came over a muted connection, want %d", muted, tt.muted)
					}
					wantOpen(t, s, c, !tt.closes)
				})
			})
		}
	}
}

// wantOpen checks that a connection is open, and then closes it, or that a fault
// closed it.
func wantOpen(t *testing.T, s *testServer, c *testClient, open bool) {
	t.Helper()
	if closed := len(s.closed) > 0; closed == open {
		t.Errorf("the connection is closed: %v, want %v", closed, !open)
	}
	if !open {
		s.wantClose(ReasonFault)
		return
	}
	c.send(metadataFrames(100, 101))
	synctest.Wait()
	c.Close()
	s.wantClose(ReasonClientClosed)
}

// metadataFrames are requests with correlation ids from one number up to before
// another.
func metadataFrames(from, to int) []byte {
	var all []byte
	for id := from; id < to; id++ {
		all = append(all, frameOf(kmsg.NewPtrMetadataRequest(), 9, int32(id))...)
	}
	return all
}

func count[E comparable](in []E, what E) int {
	n := 0
	for _, e := range in {
		if e == what {
			n++
		}
	}
	return n
}

func TestServer_nothing_to_tell_writes_nothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, func(context.Context, *Request) Reply { return Reply{Fate: Send} })
		c := s.connect()
		c.send(metadataFrames(0, 3))
		synctest.Wait()
		if n := c.writes.Load(); n != 0 {
			t.Errorf("the server wrote %d times", n)
		}
		wantOpen(t, s, c, true)
	})
}

// A dark connection still has its limits.
func TestServer_hostile_bytes_close_a_connection_that_has_gone_dark(t *testing.T) {
	for _, fate := range []Fate{LoseAnswers, LoseRequests} {
		s := newTestServer(t, (&fated{fates: []Fate{fate}}).handle)
		c := s.connect()
		c.send(metadataFrames(0, 1))
		c.send([]byte{0x7f, 0xff, 0xff, 0xff})
		c.wantEOF()
		s.wantClose(ReasonFrameTooLarge)
	}
}

// Requests that are lost are not looked into either.
func TestServer_lost_requests_need_not_be_sound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, (&fated{fates: []Fate{LoseRequests}}).handle)
		c := s.connect()
		c.send(metadataFrames(0, 1))
		c.send(rawFrame(rawHeader(999, 0, 1)))
		c.send(rawFrame(rawHeader(3, 9, 1)))
		synctest.Wait()
		wantOpen(t, s, c, true)
	})
}

func TestServer_the_fate_of_one_connection_leaves_the_others_alone(t *testing.T) {
	for _, fate := range []Fate{LoseAnswers, LoseRequests, Close} {
		s := newTestServer(t, func(_ context.Context, req *Request) Reply {
			r := tell(req.Body.ResponseKind())
			if req.Conn.ID == 1 {
				r.Fate = fate
			}
			return r
		})
		unlucky, other := s.connect(), s.connect()
		unlucky.send(metadataFrames(0, 1))
		other.send(metadataFrames(0, 1))
		other.answer(kmsg.NewPtrMetadataResponse(), 9, 0)
	}
}
