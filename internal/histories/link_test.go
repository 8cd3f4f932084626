package histories

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// never is the place of a cut that does not happen.
const never = -1

// A cut says at which byte a connection breaks, counted over all that goes in
// that direction, and whether requests come in two pieces.
type cut struct {
	sent int // bytes of requests that still pass, or never
	read int // bytes of answers that still pass, or never
	chop int // where each burst of requests is parted for a moment, 0 for nowhere
}

var uncut = cut{sent: never, read: never}

// chopped is how long the second piece of a request is late.
const chopped = time.Millisecond

// queued is the most requests and answers that wait on a link. A client has five
// in flight, so it is never reached.
const queued = 256

// A link is a client's end of a connection. What is sent is written by a
// goroutine of its own, as by a kernel, so that nobody waits for the broker to
// read.
type link struct {
	net.Conn
	number int32 // what the broker is told as its own port
	cut    cut
	out    chan []byte
	in     chan []byte // frames of answers; closed when the connection ended
	deaf   bool        // nobody reads the answers

	mu          sync.Mutex
	answers     int  // whole frames that came
	left        bool // the client closed it, before the broker did
	hungUp      bool // it is closed
	done        chan struct{}
	correlation int32
}

// dial connects; it is nil once the broker is closed.
func (w *world) dial(c cut) *link {
	l := w.connect(c, false)
	if l != nil {
		w.work.Go(l.read)
	}
	return l
}

// connect is dial without anybody who reads the answers yet.
func (w *world) connect(c cut, deaf bool) *link {
	near, far := net.Pipe()
	l := &link{
		Conn: near, number: w.links.add(), cut: c, deaf: deaf,
		out: make(chan []byte, queued), in: make(chan []byte, queued), done: make(chan struct{}),
	}
	if err := w.server.ServeConn(far, wire.Advertised{Host: "history", Port: l.number}); err != nil {
		near.Close()
		return nil
	}
	w.links.keep(l)
	w.work.Go(l.write)
	return l
}

// close hangs up, in the middle of whatever is being written.
func (l *link) close() { l.end(true) }

// end closes the connection, which the client may have left or the broker.
func (l *link) end(left bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hungUp {
		l.hungUp, l.left = true, left
		close(l.done)
		l.Conn.Close()
	}
}

// send queues a request and gives its correlation id.
func (l *link) send(req kmsg.Request, client string) int32 {
	l.correlation++
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID(client))
	l.out <- f.AppendRequest(nil, req, l.correlation)
	return l.correlation
}

// write writes what is queued, all that waits at once.
func (l *link) write() {
	for {
		select {
		case b := <-l.out:
			for more := true; more; {
				select {
				case next := <-l.out:
					b = append(b, next...)
				default:
					more = false
				}
			}
			if !l.put(b) {
				l.end(false)
				return
			}
		case <-l.done:
			return
		}
	}
}

// put writes bytes up to the cut, and says whether all were written.
func (l *link) put(b []byte) bool {
	whole := true
	if l.cut.sent != never && l.cut.sent < len(b) {
		b, whole = b[:l.cut.sent], false
	}
	if l.cut.sent != never {
		l.cut.sent -= len(b)
	}
	if at := l.cut.chop; 0 < at && at < len(b) {
		if _, err := l.Write(b[:at]); err != nil {
			return false
		}
		pause(chopped)
		b = b[at:]
	}
	_, err := l.Write(b)
	return err == nil && whole
}

// read reads answers up to the cut.
func (l *link) read() {
	defer close(l.in)
	defer l.end(false)
	from := io.Reader(l.Conn)
	if l.cut.read != never {
		from = io.LimitReader(from, int64(l.cut.read))
	}
	for {
		frame, err := readFrame(from)
		if err != nil {
			return
		}
		l.mu.Lock()
		l.answers++
		l.mu.Unlock()
		l.in <- frame
	}
}

func readFrame(from io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(from, frame)
	return frame, err
}

// ask sends a request and waits for its answer, which is nil if none comes in
// time or none that can be read: then the link is closed.
func (l *link) ask(req kmsg.Request, client string, patience time.Duration) kmsg.Response {
	want := l.send(req, client)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case frame, ok := <-l.in:
		if ok {
			if resp, got, err := decode(req, frame); err == nil && got == want {
				return resp
			}
		}
	case <-timer.C:
	}
	l.close()
	return nil
}

// decode reads the answer to a request and its correlation id.
func decode(req kmsg.Request, frame []byte) (resp kmsg.Response, correlation int32, err error) {
	if len(frame) < 5 {
		return nil, 0, fmt.Errorf("an answer of %d bytes", len(frame))
	}
	correlation, frame = int32(binary.BigEndian.Uint32(frame)), frame[4:]
	resp = req.ResponseKind()
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		frame = frame[1:]
	}
	return resp, correlation, resp.ReadFrom(frame)
}

// pause lets virtual time pass.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// links is every connection of a history.
type links struct {
	mu   sync.Mutex
	last int32
	all  []*link
}

// add gives the next number, from 1.
func (l *links) add() int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	return l.last
}

func (l *links) keep(one *link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, one)
}
