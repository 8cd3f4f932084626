package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A source is one producer's way to one partition.
type source struct {
	partition int32
	producer  int64
	epoch     int16
	sequence  int32  // of the next batch
	end       *int64 // of the partition's log, as far as it was told; sources of one partition share it
}

// A flight is a request that is not answered yet.
type flight struct {
	correlation int32
	source      *source
	sent        time.Time
}

// A lane is one connection with what is sent over it. It is driven by one goroutine,
// which reads an answer when as many requests are under way as may be.
type lane struct {
	conn    *conn
	frame   *frame
	sources []source
	turn    int // of the sources
	flights []flight
	window  int  // the most flights
	silent  bool // acks=0: nothing is answered
	fixed   bool // a floor answers, which knows no offsets
	codeAt  int  // where the error code stands in an answer
	size    int  // bytes of an answer of a floor
}

func newLane(c *conn, f *frame, w work, topic string, fixed bool) *lane {
	return &lane{
		conn: c, frame: f, window: w.inFlight, silent: w.acks == 0, fixed: fixed,
		codeAt: answerHeader - lengthBytes + 1 + 1 + len(topic) + 1 + 4, // a count, the topic, a count, the partition
		size:   len(produceAnswer(topic)) - lengthBytes,
	}
}

// A tally is what came of a sample.
type tally struct {
	batches, bytes int64
	took           time.Duration
	latencies      []time.Duration // of each request that was answered
}

func (t *tally) add(o tally) {
	t.batches += o.batches
	t.bytes += o.bytes
	t.latencies = append(t.latencies, o.latencies...)
}

// run sends until the limit is reached and everything is answered.
func (l *lane) run(ctx context.Context, until limit) (t tally, err error) {
	for now := time.Now(); !until.reached(now, &t) && ctx.Err() == nil; now = time.Now() {
		if err := l.send(now); err != nil {
			return t, err
		}
		t.batches++
		t.bytes += int64(len(l.frame.batch))
		if len(l.flights) == l.window {
			if err := l.receive(&t); err != nil {
				return t, err
			}
		}
	}
	for len(l.flights) > 0 {
		if err := l.receive(&t); err != nil {
			return t, err
		}
	}
	if l.silent {
		err = l.conn.settle()
	}
	return t, err
}

func (l *lane) send(now time.Time) error {
	s := &l.sources[l.turn]
	l.turn = (l.turn + 1) % len(l.sources)
	l.conn.correlation++
	l.frame.stamp(l.conn.correlation, s)
	s.sequence = producer.Next(producer.Last(s.sequence, l.frame.records))
	if !l.silent {
		l.flights = append(l.flights, flight{l.conn.correlation, s, now})
	}
	_, err := l.conn.Write(l.frame.bytes)
	return err
}

// receive reads the answer to the oldest request and checks it.
func (l *lane) receive(t *tally) error {
	f := l.flights[0]
	l.flights = l.flights[:copy(l.flights, l.flights[1:])]
	b, err := l.conn.read(f.correlation)
	if err != nil {
		return err
	}
	t.latencies = append(t.latencies, time.Since(f.sent))
	if len(b) < l.codeAt+10 || l.fixed && len(b) != l.size {
		return fmt.Errorf("an answer to a Produce has %d bytes, and one for this topic that says no error has %d", len(b), l.size)
	}
	if code := int16(binary.BigEndian.Uint16(b[l.codeAt:])); code != 0 {
		return refused(code, b)
	}
	if l.fixed {
		return nil
	}
	offset := int64(binary.BigEndian.Uint64(b[l.codeAt+2:]))
	if offset != *f.source.end {
		return fmt.Errorf("a batch of partition %d was written at offset %d, and %d was next", f.source.partition, offset, *f.source.end)
	}
	*f.source.end += int64(l.frame.records)
	return nil
}

// refused says what an answer says.
func refused(code int16, answer []byte) error {
	req := kmsg.NewPtrProduceRequest()
	req.Version = produceVersion
	if resp, err := decode(req, answer); err == nil {
		for _, t := range resp.(*kmsg.ProduceResponse).Topics {
			for _, p := range t.Partitions {
				if p.ErrorMessage != nil {
					return fmt.Errorf("a batch was refused: %w (%s)", kerr.ErrorForCode(code), *p.ErrorMessage)
				}
			}
		}
	}
	return fmt.Errorf("a batch was refused: %w", kerr.ErrorForCode(code))
}
