package wire

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"net"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// lentFrom is the fewest bytes of records that are written from where they are: fewer
// are copied into the answer.
const lentFrom = 16 << 10

// An apart is records of an answer that are written from where they are.
type apart struct {
	at     int // where in the connection's out they belong
	pieces [][]byte
	size   int // bytes of all pieces
}

// LendRecords says that records of the answer to come, first, and behind, which follow
// them in other memory, stay as they are until the answer is written, so that they need
// not be copied into it. It says no if they are few, or if the connection cannot.
func (c *Conn) LendRecords(first []byte, behind [][]byte) bool {
	if c.c == nil || len(first) == 0 || len(behind) == 0 && len(first) < lentFrom {
		return false
	}
	if c.lent == nil {
		c.lent = map[*byte][][]byte{}
	}
	c.lent[unsafe.SliceData(first)] = behind
	return true
}

// recordsMark stands in an answer where records belong that are written from where they
// are. Nobody can know it: it is drawn when the process begins, and never sent.
var recordsMark = func() (mark [16]byte) {
	rand.Read(mark[:]) //nolint:errcheck // never fails
	return mark
}()

// takeApart puts the mark in the place of lent records in a Fetch answer, and gives what
// it stands for.
func (c *Conn) takeApart(resp kmsg.Response) (taken []apart) {
	fetch, ok := resp.(*kmsg.FetchResponse)
	if !ok || len(c.lent) == 0 {
		return nil
	}
	for i := range fetch.Topics {
		for j := range fetch.Topics[i].Partitions {
			p := &fetch.Topics[i].Partitions[j]
			behind, lent := c.lent[unsafe.SliceData(p.RecordBatches)]
			if !lent || len(p.RecordBatches) == 0 {
				continue
			}
			a := apart{pieces: append([][]byte{p.RecordBatches}, behind...)}
			for _, b := range a.pieces {
				a.size += len(b)
			}
			taken = append(taken, a)
			p.RecordBatches = recordsMark[:]
		}
	}
	return taken
}

// unmark takes the marks out of an answer that begins at from, and notes what belongs
// there. What is behind moves forward: a mark is longer than the length before it can
// get.
func (c *Conn) unmark(out []byte, from int, taken []apart, flexible bool) []byte {
	to := from
	for _, a := range taken {
		mark := from + bytes.Index(out[from:], recordsMark[:])
		if flexible {
			to += copy(out[to:], out[from:mark-1])
			to += binary.PutUvarint(out[to:], uint64(a.size)+1)
		} else {
			to += copy(out[to:], out[from:mark-4])
			binary.BigEndian.PutUint32(out[to:], uint32(a.size))
			to += 4
		}
		a.at, from = to, mark+len(recordsMark)
		c.apart, c.apartBytes = append(c.apart, a), c.apartBytes+a.size
	}
	return out[:to+copy(out[to:], out[from:])]
}

// pending is the bytes that are not written yet.
func (c *Conn) pending() int { return len(c.out) + c.apartBytes }

// buffers are all bytes that are not written yet.
func (c *Conn) buffers() net.Buffers {
	from := 0
	all := c.list[:0]
	for _, a := range c.apart {
		all = append(append(all, c.out[from:a.at]), a.pieces...)
		from = a.at
	}
	if from < len(c.out) {
		all = append(all, c.out[from:])
	}
	c.list = all
	return all
}

// first takes n bytes, or all that there are, off the front.
func first(all net.Buffers, n int) (some, rest net.Buffers) {
	for i, b := range all {
		if len(b) > n {
			some = append(all[:i:i], b[:n])
			all[i] = b[n:]
			return some, all[i:]
		}
		n -= len(b)
	}
	return all, nil
}
