package wire

import (
	"bytes"
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceTo is a Produce request of a record set for each of the first partitions.
func produceTo(topic string, records ...[]byte) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.Topics = produceOf(topic, records...)
	return r
}

func TestClaim_what_was_claimed_stays_as_it_is(t *testing.T) {
	const requests = 20
	claimed := make(chan []byte, requests)
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		if raw := req.Batches[0].Raw; !req.Claim(raw) {
			t.Errorf("%d bytes cannot be claimed", len(raw))
		} else if req.Claim(raw) {
			t.Error("it was claimed twice")
		} else {
			claimed <- raw
		}
		return tell(req.Body.ResponseKind())
	})
	c := s.connect()
	for i := range requests {
		c.ask(produceTo("t", bytes.Repeat([]byte{byte(i)}, claimFrom+i*10_000)), 9, int32(i))
		c.answer(kmsg.NewPtrProduceResponse(), 9, int32(i))
	}
	for i := range requests {
		if raw := <-claimed; !bytes.Equal(raw, bytes.Repeat([]byte{byte(i)}, claimFrom+i*10_000)) {
			t.Errorf("the records of request %d changed after they were claimed", i)
		}
	}
	if used := s.frames.used.Load(); used != 0 {
		t.Errorf("%d bytes are still counted as those of requests", used)
	}
}

func TestClaim_says_no(t *testing.T) {
	asked := func(raw []byte) []byte { return raw }
	for name, c := range map[string]struct {
		records [][]byte
		claim   func(raw []byte) []byte
	}{
		"small":             {[][]byte{make([]byte, claimFrom-1)}, asked},
		"one of two":        {[][]byte{make([]byte, 2*claimFrom), make([]byte, 1)}, asked},
		"a null record set": {[][]byte{nil}, asked},
		"no partition":      {nil, asked},
		"memory of its own": {[][]byte{make([]byte, 2*claimFrom)}, bytes.Clone},
		"a part":            {[][]byte{make([]byte, 4*claimFrom)}, func(raw []byte) []byte { return raw[:2*claimFrom] }},
		"the end":           {[][]byte{make([]byte, 4*claimFrom)}, func(raw []byte) []byte { return raw[10:] }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t, func(_ context.Context, req *Request) Reply {
				var raw []byte
				if len(req.Batches) > 0 {
					raw = req.Batches[0].Raw
				}
				if raw = c.claim(raw); req.Claim(raw) {
					t.Errorf("%d bytes were claimed", len(raw))
				}
				return tell(req.Body.ResponseKind())
			})
			conn := s.connect()
			conn.ask(produceTo("t", c.records...), 9, 1)
			conn.answer(kmsg.NewPtrProduceResponse(), 9, 1)
		})
	}
	if (*Request)(nil).Claim(make([]byte, claimFrom)) {
		t.Error("memory of no request was claimed")
	}
}

// The buffer of a larger request before would be kept for little.
func TestClaim_says_no_in_a_buffer_that_is_much_larger(t *testing.T) {
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		raw := req.Batches[0].Raw
		if len(raw) == claimFrom && req.Claim(raw) {
			t.Error("it was claimed")
		}
		return tell(req.Body.ResponseKind())
	})
	c := s.connect()
	for i, size := range []int{2 * claimFrom, claimFrom} {
		c.ask(produceTo("t", make([]byte, size)), 9, int32(i))
		c.answer(kmsg.NewPtrProduceResponse(), 9, int32(i))
	}
}
