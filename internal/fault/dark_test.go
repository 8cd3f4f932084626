package fault

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// dial is a client's end of a connection to a server.
func dial(t *testing.T, s *wire.Server) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	if err := s.ServeConn(server, wire.Advertised{}); err != nil {
		t.Fatal(err)
	}
	return client
}

func send(t *testing.T, c net.Conn, req kmsg.Request) {
	t.Helper()
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("kgo")).AppendRequest(nil, req, 1)
	if _, err := c.Write(frame); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func TestSet_on_a_connection_that_has_gone_dark_no_answer_is_left_to_lie_in(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorker()
		s := setOf(t, w, "drop after produce", "error 42 after produce times=all")
		server := wire.NewServer(s, nil, zap.NewNop())
		defer server.Shutdown(t.Context())
		dark, light := dial(t, server), dial(t, server)
		defer dark.Close()
		defer light.Close()

		req := produce(batchOf("orders", 0)).Body
		send(t, dark, req)
		send(t, dark, req)
		if st := s.Status()[1]; len(w.asked) != 2 || st.Unable != 1 || st.Fired != 0 ||
			st.NearMiss != "matched 1 produce request on a connection that had gone dark: there is no answer to change" {
			t.Errorf("asked %v, %+v", w.asked, st)
		}

		go io.Copy(io.Discard, light) // the answer
		send(t, light, req)
		if st := s.Status()[1]; st.Fired != 1 {
			t.Errorf("on another connection: %+v", st)
		}
	})
}

func TestSet_an_answer_with_a_refusal_in_it_can_be_written(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := wire.NewServer(setOf(t, newWorker(), "error 42 before produce partition=1"), nil, zap.NewNop())
		defer server.Shutdown(t.Context())
		c := dial(t, server)
		defer c.Close()
		send(t, c, produce(batchOf("orders", 0), batchOf("orders", 1)).Body)
		var size [4]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			t.Fatal(err)
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(c, frame); err != nil {
			t.Fatal(err)
		}
		resp := kmsg.NewPtrProduceResponse()
		resp.Version = 9
		if err := resp.ReadFrom(frame[5:]); err != nil { // behind the correlation id and the tags
			t.Fatal(err)
		}
		if got, want := tell(resp), "orders-0:0@0 orders-1:42@-1"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
