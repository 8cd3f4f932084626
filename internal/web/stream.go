package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sort"
	"time"

	"github.com/fencepostmq/fencepost/internal/journal"
)

const (
	// heartbeat is how often a stream without events says that it is alive, so
	// that neither proxies nor browsers give it up.
	heartbeat = 15 * time.Second

	// eventTime is how long a client may take to read what is sent at a time.
	// One that does not read is cut off; it can come back with Last-Event-ID.
	eventTime = 30 * time.Second

	// streamBytes is how much is collected before it is sent, as long as more
	// waits.
	streamBytes = 64 << 10

	// comeBack is when a browser that lost the stream asks again.
	comeBack = time.Second
)

// A stream is one client that follows the events, as server-sent events:
//
//	id: 41
//	event: batch
//	data: {"number":41, ...}
//
// Besides batch and request, the kinds of events, it sends lost, with the number
// of events that are missing before the next one, and reset, when numbers begin
// anew.
type stream struct {
	ctx  context.Context
	w    http.ResponseWriter
	rc   *http.ResponseController
	buf  bytes.Buffer
	last uint64 // the number of the last event that was sent
}

// stream sends the events behind since that are kept, and then those that come,
// until ctx ends or the client does not read.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, since uint64) error {
	st := &stream{ctx: ctx, w: w, rc: http.NewResponseController(w), last: since}
	// A write that waits for the client ends with ctx, too.
	defer context.AfterFunc(ctx, func() {
		st.rc.SetWriteDeadline(time.Now()) //nolint:errcheck // not there in every server
	})()
	coming := s.o.Journal.Subscribe(ctx)
	kept := s.o.Journal.Events()
	fmt.Fprintf(&st.buf, "retry: %d\n\n", comeBack.Milliseconds())
	missed, reset := after(kept, since)
	if reset {
		st.reset()
	}
	for i := range missed {
		if err := st.add(&missed[i]); err != nil {
			return err
		}
	}
	if err := st.flush(); err != nil {
		return err
	}
	return st.follow(coming, replayed(kept))
}

// follow sends the events that come, except those that were replayed.
func (st *stream) follow(coming <-chan journal.Event, seen replayed) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case e, ok := <-coming:
			if !ok {
				return st.ctx.Err()
			}
			if seen.has(&e) {
				continue
			}
			seen = nil // the replay is over
			if err := st.add(&e); err != nil {
				return err
			}
			if len(coming) > 0 {
				continue
			}
		case <-beat.C:
			st.buf.WriteString(": nothing new\n\n")
		}
		if err := st.flush(); err != nil {
			return err
		}
	}
}

// add puts an event behind those that are not sent yet, and before it what the
// client has to know about its number.
func (st *stream) add(e *journal.Event) error {
	if e.Number <= st.last {
		st.reset()
	}
	if lost := e.Number - st.last - 1; lost > 0 {
		fmt.Fprintf(&st.buf, "event: lost\ndata: {\"lost\":%d}\n\n", lost)
	}
	st.last = e.Number
	e.Lost = 0 // which was said above
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	fmt.Fprintf(&st.buf, "id: %d\nevent: %s\ndata: %s\n\n", e.Number, e.Kind, data)
	if st.buf.Len() < streamBytes {
		return nil
	}
	return st.flush()
}

func (st *stream) reset() {
	st.last = 0
	st.buf.WriteString("event: reset\ndata: {}\n\n")
}

// flush sends what is collected.
func (st *stream) flush() error {
	st.rc.SetWriteDeadline(time.Now().Add(eventTime)) //nolint:errcheck // not there in every server
	if err := st.ctx.Err(); err != nil {
		return err // the deadline above came after the one that ends the stream
	}
	if _, err := st.w.Write(st.buf.Bytes()); err != nil {
		return err
	}
	st.buf.Reset()
	return st.rc.Flush()
}

// replayed is the events that a stream began with. Those that came between
// subscribing and replaying come twice.
type replayed []journal.Event

// has knows an event by number and time: after a reset, numbers come again.
func (r replayed) has(e *journal.Event) bool {
	i := sort.Search(len(r), func(i int) bool { return r[i].Number >= e.Number })
	if i == len(r) {
		return false
	}
	if r[i].Number == e.Number {
		return r[i].Time.Equal(e.Time)
	}
	return !e.Time.After(r[len(r)-1].Time) // no longer kept when the replay began
}
