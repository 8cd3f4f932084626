package broker

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
)

// keptBytes is how much the benchmarked log keeps before it is trimmed, so that
// a long run does not take all memory.
const keptBytes = 256 << 20

// BenchmarkProduce sends idempotent batches through a TCP socket, one after the
// other over one connection with acks=all. The floor does the same against a
// server that reads the frames and answers fixed bytes of the same length: what
// is left is the price of the broker.
func BenchmarkProduce(b *testing.B) {
	for _, work := range []struct {
		name           string
		records, bytes int
	}{{"100x1kB", 100, 1000}, {"1x100B", 1, 100}} {
		for _, inFlight := range []int{1, 5} {
			load := newLoad(work.records, work.bytes)
			name := fmt.Sprintf("%s/%d in flight", work.name, inFlight)
			b.Run(name+"/broker", func(b *testing.B) {
				address, trim := serveBroker(b)
				load.run(b, address, inFlight, trim)
			})
			b.Run(name+"/floor", func(b *testing.B) {
				load.run(b, serveFloor(b, load.answer), inFlight, func() {})
			})
		}
	}
}

// A load is a Produce request of one batch whose sequence is changed in place.
type load struct {
	frame   []byte
	batch   []byte // within the frame
	records int32
	answer  []byte // as it has to be but for correlation id and offset
}

func newLoad(records, size int) *load {
	batch := by(1, 0, 0, records).sized(size).bytes()
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = produceVersion, -1, 30_000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: "bench", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: batch}}}}
	l := &load{frame: kmsg.NewRequestFormatter().AppendRequest(nil, req, 0), records: int32(records)}
	at := bytes.Index(l.frame, batch)
	l.batch = l.frame[at : at+len(batch)]

	told := kmsg.NewProduceResponseTopicPartition()
	told.LogStartOffset = 0
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	resp.Topics = []kmsg.ProduceResponseTopic{{Topic: "bench", Partitions: []kmsg.ProduceResponseTopicPartition{told}}}
	l.answer = resp.AppendTo([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0}) // length, correlation id, no tags
	binary.BigEndian.PutUint32(l.answer, uint32(len(l.answer)-4))
	return l
}

// run sends b.N requests with so many in flight. The error code stands at the
// same place in every answer.
func (l *load) run(b *testing.B, address string, inFlight int, trim func()) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	answer := make([]byte, len(l.answer))
	codeAt := bytes.Index(l.answer, []byte("bench")) + len("bench") + 1 + 4 // a count and a partition
	sequence, kept := int32(0), 0
	receive := func() {
		if _, err := io.ReadFull(conn, answer); err != nil {
			b.Fatal(err)
		}
		if code := int16(binary.BigEndian.Uint16(answer[codeAt:])); code != 0 {
			b.Fatalf("a batch was told %s", codeName(code))
		}
	}
	b.SetBytes(int64(len(l.batch)))
	b.ResetTimer()
	for i := range b.N {
		binary.BigEndian.PutUint32(l.batch[sequenceAt:], uint32(sequence))
		sign(l.batch)
		if sequence += l.records; sequence < 0 {
			sequence &= 1<<31 - 1
		}
		if _, err := conn.Write(l.frame); err != nil {
			b.Fatal(err)
		}
		if i >= inFlight-1 {
			receive()
		}
		if kept += len(l.batch); kept > keptBytes {
			trim()
			kept = 0
		}
	}
	for range min(inFlight-1, b.N) {
		receive()
	}
}

// serveBroker listens with a broker and gives its address and what trims the log.
func serveBroker(b *testing.B) (address string, trim func()) {
	n := &node{Broker: New(Options{}), t: b}
	n.server = wire.NewServer(n.Broker, n.TopicName, zap.NewNop())
	n.make("bench", 1, nil)
	l := listen(b)
	var work sync.WaitGroup
	work.Go(func() { n.server.Serve(l, wire.Advertised{}) }) //nolint:errcheck // ends with the server
	b.Cleanup(func() { n.stop(); work.Wait() })
	p := n.at("bench", 0)
	return l.Addr().String(), func() {
		if _, err := p.trim(-1); err != nil {
			b.Fatal(err)
		}
	}
}

// serveFloor listens with a server that knows no Kafka.
func serveFloor(b *testing.B, answer []byte) (address string) {
	l := listen(b)
	var work sync.WaitGroup
	work.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		answerFrames(conn, answer)
	})
	b.Cleanup(func() { l.Close(); work.Wait() })
	return l.Addr().String()
}

// answerFrames answers each frame with the same bytes until the client goes. It
// holds answers back while a whole further frame waits, as the broker does.
func answerFrames(conn net.Conn, answer []byte) {
	r := bufio.NewReaderSize(conn, 64<<10)
	var frame, out []byte
	for {
		head, err := r.Peek(4)
		if err != nil {
			return
		}
		n := 4 + int(binary.BigEndian.Uint32(head))
		if cap(frame) < n {
			frame = make([]byte, n)
		}
		if _, err := io.ReadFull(r, frame[:n]); err != nil {
			return
		}
		out = append(out, answer...)
		if r.Buffered() >= n { // all frames are of one size
			continue
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
		out = out[:0]
	}
}

func listen(b *testing.B) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return l
}
