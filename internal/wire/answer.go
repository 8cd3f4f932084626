package wire

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// answer puts an answer behind those that are not written yet.
func (c *Conn) answer(h header, resp kmsg.Response) *failure {
	if c.muted {
		return nil
	}
	taken := c.takeApart(resp)
	if !c.makeRoom(resp, taken) {
		return errNoAnswerMemory
	}
	at := len(c.out)
	out := append(c.out, 0, 0, 0, 0)
	out = kbin.AppendInt32(out, h.correlation)
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		out = append(out, 0) // no tags
	}
	before := c.apartBytes
	out = c.unmark(resp.AppendTo(out), at, taken, resp.IsFlexible())
	size := len(out) - at + c.apartBytes - before
	binary.BigEndian.PutUint32(out[at:], uint32(size-lengthBytes))
	c.answered += size
	c.out = out // not before it is whole: encoding may have panicked
	if !c.countOut(cap(out) + c.apartBytes) {
		return errNoAnswerMemory
	}
	return nil
}

var errNoAnswerMemory = fail(ReasonNoAnswerMemory, "%d bytes of answers wait to be read", MaxAnswerMemory)

// makeRoom takes memory for the records of a Fetch answer before they are copied. Those
// that are written from where they are count as well: they may be kept for this client
// alone. What else an answer holds is in memory already, and counted afterwards.
func (c *Conn) makeRoom(resp kmsg.Response, taken []apart) bool {
	fetch, ok := resp.(*kmsg.FetchResponse)
	if !ok {
		return true
	}
	need, there := len(c.out)+fetchedBytes(fetch), c.apartBytes
	for _, a := range taken {
		there += a.size
	}
	if !c.countOut(max(need, cap(c.out)) + there) {
		return false
	}
	if need <= writeBehind || need <= cap(c.out) {
		return true
	}
	c.out = append(make([]byte, 0, need), c.out...)
	return true
}

// fetchOverhead is the most bytes of a Fetch answer for each of its partitions,
// besides the records and aborted transactions.
const fetchOverhead = 100

func fetchedBytes(resp *kmsg.FetchResponse) int {
	n := writeBehind
	for i := range resp.Topics {
		t := &resp.Topics[i]
		n += len(t.Topic) + len(t.Partitions)*fetchOverhead
		for j := range t.Partitions {
			n += len(t.Partitions[j].RecordBatches)
		}
	}
	return n
}

// countOut counts a buffer for answers of this capacity. Small ones are free.
func (c *Conn) countOut(capacity int) bool {
	held := outCost(capacity)
	if more := held - c.outHeld; more > 0 {
		if !c.server.answers.take(c.ctx, c, more) {
			c.out, c.apart, c.apartBytes = nil, nil, 0
			return false
		}
		c.outHeld = held
	}
	return true
}

func outCost(capacity int) int64 {
	if capacity > writeBehind {
		return int64(capacity)
	}
	return 0
}

// How many topics or partitions a request may name and still count as small.
const (
	fewTopics     = 100
	fewPartitions = 1000
)

// listsMuch says whether the answer to a request may name every topic, partition
// or producer that there is, or a good many: it is much work.
func listsMuch(body kmsg.Request) bool {
	switch r := body.(type) {
	case *kmsg.ProduceRequest:
		n := 0
		for i := range r.Topics {
			n += len(r.Topics[i].Partitions)
		}
		return n > fewPartitions
	case *kmsg.FetchRequest:
		n := 0
		for i := range r.Topics {
			n += len(r.Topics[i].Partitions)
		}
		return n > fewPartitions
	case *kmsg.MetadataRequest:
		return r.Topics == nil || len(r.Topics) > fewTopics || r.Version == 0 && len(r.Topics) == 0
	case *kmsg.DescribeTopicPartitionsRequest:
		return len(r.Topics) == 0 || len(r.Topics) > fewTopics
	case *kmsg.DescribeConfigsRequest:
		return len(r.Resources) > fewTopics
	case *kmsg.DescribeLogDirsRequest, *kmsg.DescribeProducersRequest, *kmsg.DescribeGroupsRequest,
		*kmsg.ListGroupsRequest, *kmsg.ListTransactionsRequest:
		return true
	}
	return false
}

// enterListing waits for a place among the requests that list much.
func (c *Conn) enterListing(body kmsg.Request) {
	if !listsMuch(body) {
		return
	}
	select {
	case c.server.listing <- struct{}{}:
		c.listing = true
		return
	default:
	}
	c.flushBefore()
	select {
	case c.server.listing <- struct{}{}:
		c.listing = true
	case <-c.ctx.Done():
	}
}

// leaveListing gives the place to another, also when a handler is about to wait.
func (c *Conn) leaveListing() {
	if c.listing {
		c.listing = false
		<-c.server.listing
	}
}

// versionsUnsupported answers an ApiVersions request of a version that is not
// served, as KIP-511 has it: in the shape of version 0, with the one entry that
// tells the client which versions of ApiVersions are.
func versionsUnsupported() kmsg.Response {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = kerr.UnsupportedVersion.Code
	api, _ := Lookup(int16(kmsg.ApiVersions))
	resp.ApiKeys = append(resp.ApiKeys, api.entry())
	return resp
}
