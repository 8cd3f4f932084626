package wire

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Handler answers one request. It is called for one request of a connection
// at a time, in the order in which the connection sent them; requests of
// different connections come concurrently. The context ends when the server
// shuts down.
type Handler interface {
	Handle(ctx context.Context, req *Request) Reply
}

// The HandlerFunc type makes a Handler of a function.
type HandlerFunc func(ctx context.Context, req *Request) Reply

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, req *Request) Reply { return f(ctx, req) }

// A Request is one decoded request of a client.
//
// It is valid until the outermost Handler returns: the connection reads the next one
// into the same memory, and the byte slices in Body and Batches alias its read buffer.
// Strings may be kept. Whoever keeps anything else copies it, or asks with Claim.
type Request struct {
	Conn   *Conn        // the connection that it came over, never nil
	Client string       // the client id of the request header, "" where it was null
	Body   kmsg.Request // decoded, its version set

	// Batches is one entry for each partition of a Produce request, in the order
	// of the body, and empty for every other API.
	Batches []Batch

	// Lost marks a Produce that a fault rule keeps from arriving: its connection
	// went dark for requests. It is noted, and nothing is done. LostBy are the
	// rules that did it.
	Lost   bool
	LostBy []Firing

	// Internal marks a request of this process itself, such as the verdict
	// reading the log back: no fault applies to it and no journal notes it.
	Internal bool

	checked CheckedBatch   // see CheckBatch
	answer  *produceAnswer // see ProduceAnswer; nil where no memory is kept
}

// Claim asks for the memory of the one batch of a Produce request, so that whoever keeps
// the batch need not copy it. If it says yes, that memory is the caller's for good, and
// the connection reads its next request into other memory. It says no to what is small,
// or has much in its memory beside it, or does not lie in the request.
func (r *Request) Claim(raw []byte) bool {
	if r == nil || len(raw) < claimFrom || !r.isOnly(raw) {
		return false
	}
	return r.Conn.giveFrame(len(raw))
}

// isOnly says whether raw is the one record set of the request, or begins with it.
func (r *Request) isOnly(raw []byte) bool {
	return len(r.Batches) == 1 && len(raw) > 0 && unsafe.SliceData(raw) == unsafe.SliceData(r.Batches[0].Raw)
}

// A Batch is what a Produce request holds for one partition.
type Batch struct {
	Topic     string // "" if the request names a topic id that nobody knows
	Partition int32
	Raw       []byte // the record set as it was sent

	// Header is the first record batch of Raw as it says of itself; nothing in
	// it has been checked. Valid only if Err is nil. Whoever changes Raw changes it.
	Header kmsg.RecordBatch
	Err    error // why Raw does not begin with a batch header

	// Attempt counts the deliveries of this batch, this one included: 1 is the
	// first. The journal, which sees every delivery, fills it in; 0 means that
	// nobody counted.
	Attempt int
}

// A Reply is what became of a request.
type Reply struct {
	// Done is the answer of whoever did the work: what really happened. It is nil
	// if nobody was asked. With acks=0 it is there, though nobody is told.
	Done kmsg.Response

	// Told is what the client is told, nil if nothing.
	Told kmsg.Response

	// Fate is what becomes of the answer and of the connection.
	Fate Fate

	// Fired lists the fault rules that had a hand in this, in the order in which
	// they acted.
	Fired []Firing

	// Reason says why Fate is Close; the closed connection is logged with it.
	Reason CloseReason
}

// A Firing is one application of a fault rule.
type Firing struct {
	Rule       string           // the rule in its canonical form
	Name       string           // the rule's name, "" if it has none
	Partitions []TopicPartition // the partitions it applied to, nil for the whole request
}

// A TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is topic-partition, as Kafka's own tools print it.
func (tp TopicPartition) String() string { return fmt.Sprintf("%s-%d", tp.Topic, tp.Partition) }

// A Fate is what becomes of an answer.
type Fate uint8

const (
	// Send writes Told to the client.
	Send Fate = iota
	// Silent writes nothing and goes on: the fate of a Produce with acks=0.
	Silent
	// LoseAnswers loses this answer and all later ones of the connection, which
	// stays open; its later requests are still handled.
	LoseAnswers
	// LoseRequests loses all later requests of the connection as well: they are
	// read and thrown away, and the connection stays open.
	LoseRequests
	// Close closes the connection without an answer.
	Close
)
