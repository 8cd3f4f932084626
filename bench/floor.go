package main

import (
	"bufio"
	"encoding/binary"
	"flag"
	"io"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// modeFloor is the word that makes this program a floor.
const modeFloor = "floor"

const (
	floorReadAhead = 256 << 10
	// floorPiece is how much memory a floor that keeps takes at a time, 64 MiB: the
	// larger the pieces, the less it costs to touch them for the first time.
	floorPiece = 64 << 20
	// requestHead is length, API key, version and correlation id.
	requestHead = lengthBytes + 2 + 2 + 4
)

// A floor is the server that no broker can be faster than: it reads the same frames and
// answers fixed bytes, and knows of Kafka's protocol only where a frame ends and which
// answer it wants.
type floor struct {
	keep    bool   // frames are copied into memory that is never given back
	silent  bool   // a Produce is not answered
	produce []byte // the answer to a Produce
	fetch   []byte // the answer to a Fetch
	other   []byte // the answer to anything else: a correlation id

	mu    sync.Mutex // guards what follows
	spare [][]byte   // pieces that nobody has touched yet
	kept  [][]byte   // never read: it is there so that nothing is given back
}

// reserve takes pieces before anything is served. The runtime clears one now and then,
// though it is new, and a short sample would show little else.
func (f *floor) reserve(pieces int) {
	for range pieces {
		f.spare = append(f.spare, make([]byte, floorPiece))
	}
}

// piece is memory for n bytes and more that is never given back.
func (f *floor) piece(n int) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	var p []byte
	if last := len(f.spare) - 1; last >= 0 && n <= floorPiece {
		p, f.spare = f.spare[last], f.spare[:last]
	} else {
		p = make([]byte, max(floorPiece, n))
	}
	f.kept = append(f.kept, p)
	return p
}

// newFloor makes a floor for a work.
func newFloor(w work, topic string, keep bool) (*floor, error) {
	fetch, err := fetchAnswer(w, topic)
	return &floor{
		keep: keep, silent: w.acks == 0,
		produce: produceAnswer(topic), fetch: fetch, other: framed(make([]byte, lengthBytes+4)),
	}, err
}

// fetchAnswer is an answer that holds as many bytes as a Fetch asks for, the last batch
// cut where they end.
func fetchAnswer(w work, topic string) ([]byte, error) {
	f, err := newFrame(w, topic)
	if err != nil {
		return nil, err
	}
	f.stamp(0, &source{})
	var records []byte
	for len(records) < fetchBytes {
		records = append(records, f.batch...)
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = fetchVersion
	p := kmsg.NewFetchResponseTopicPartition()
	p.RecordBatches = records[:fetchBytes]
	resp.Topics = []kmsg.FetchResponseTopic{{Topic: topic, Partitions: []kmsg.FetchResponseTopicPartition{p}}}
	return framed(resp.AppendTo(make([]byte, lengthBytes+4))), nil
}

func runFloor(args []string) error {
	flags := flag.NewFlagSet(modeFloor, flag.ContinueOnError)
	keep := flags.Bool("keep", false, "copy every frame into memory that is never given back")
	pieces := flags.Int("pieces", 0, "take so many pieces of 64 MiB of it before the first connection")
	topic := flags.String("topic", "", "the topic of the answers")
	w := work{codec: codecNone}
	flags.IntVar(&w.records, "records", 1, "records of a batch that is read")
	flags.IntVar(&w.size, "size", 100, "bytes of a record that is read")
	silent := flags.Bool("silent", false, "do not answer a Produce, as with acks=0")
	if err := parse(flags, args); err != nil {
		return err
	}
	if !*silent {
		w.acks = acksAll
	}
	f, err := newFloor(w, *topic, *keep)
	if err != nil {
		return err
	}
	f.reserve(*pieces)
	return serveUntilEnd(f.serve)
}

func (f *floor) serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go f.answerAll(c)
	}
}

// answerAll answers requests until the client goes. Answers are held back while more
// has been read already.
func (f *floor) answerAll(c net.Conn) {
	defer c.Close()
	r, w := bufio.NewReaderSize(c, floorReadAhead), bufio.NewWriterSize(c, readAhead)
	var left, answer []byte
	for {
		key, correlation, body, err := readHead(r)
		if err != nil {
			return
		}
		if err := f.take(r, &left, key, body); err != nil {
			return
		}
		if from := f.answerTo(key); from != nil {
			answer = append(answer[:0], from...) // a copy: connections share what is fixed
			copy(answer[lengthBytes:], correlation[:])
			if _, err := w.Write(answer); err != nil {
				return
			}
		}
		if r.Buffered() == 0 && w.Flush() != nil {
			return
		}
	}
}

// readHead reads the head of a request; body is how many bytes are left of it.
func readHead(r *bufio.Reader) (key kmsg.Key, correlation [4]byte, body int, err error) {
	var head [requestHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, correlation, 0, err
	}
	copy(correlation[:], head[correlationAt:])
	body = int(binary.BigEndian.Uint32(head[:])) + lengthBytes - requestHead
	if body < 0 {
		return 0, correlation, 0, io.ErrUnexpectedEOF
	}
	return kmsg.Key(binary.BigEndian.Uint16(head[lengthBytes:])), correlation, body, nil
}

// take reads the rest of a request, and keeps it if that is wanted, in what is left of
// the connection's piece.
func (f *floor) take(r *bufio.Reader, left *[]byte, key kmsg.Key, n int) error {
	if !f.keep || key != kmsg.Produce {
		_, err := r.Discard(n)
		return err
	}
	if len(*left) < n {
		*left = f.piece(n)
	}
	room := (*left)[:n]
	*left = (*left)[n:]
	_, err := io.ReadFull(r, room)
	return err
}

func (f *floor) answerTo(key kmsg.Key) []byte {
	switch {
	case key == kmsg.Fetch:
		return f.fetch
	case key != kmsg.Produce:
		return f.other
	case f.silent:
		return nil
	}
	return f.produce
}
