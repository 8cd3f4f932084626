package wire

import "time"

const (
	// DefaultMaxConnections is how many connections a Server has open at a time
	// unless it is told otherwise. Kafka sets no limit (max.connections).
	DefaultMaxConnections = 10_000

	// DefaultIdleTimeout is how long a connection may send nothing unless the
	// Server is told otherwise, as Kafka's connections.max.idle.ms has it.
	DefaultIdleTimeout = 10 * time.Minute

	// FrameTime is how long a request may take from its first byte to its last.
	// Large ones have a second more for each SlowestRate bytes of the buffer that
	// what has come so far fills, so that the most, for MaxFrame, is 27 minutes,
	// and that a byte a second is cut after FrameTime and a second.
	FrameTime = 30 * time.Second

	// SlowestRate is the bytes per second at which a large request has to come.
	SlowestRate = 64 << 10

	// WriteTime is how long a client may take to read the next writePiece bytes of
	// its answers.
	WriteTime = 30 * time.Second

	// StallTime is how long a client may keep others from memory that they share
	// once that runs short: whoever has for longer not sent the rest of a large
	// request, or not read a large answer, is cut.
	StallTime = 250 * time.Millisecond

	// MaxAnswerMemory is the most bytes that large answers may take until they are
	// read, all connections together, 256 MiB. The first writeBehind bytes of each
	// connection are not counted.
	MaxAnswerMemory = 256 << 20

	// MaxListing is how many requests that are much work, such as a Metadata for
	// everything or a Produce to thousands of partitions, are handled at a time;
	// further ones wait, so that others find a processor.
	MaxListing = 2

	// cutGrace is how long Shutdown waits for a connection that it has cut: its
	// handler may be one that does not end with its context.
	cutGrace = 100 * time.Millisecond

	// keptTime is how long a connection that is idle keeps its buffers.
	keptTime = time.Second

	writePiece = 1 << 20 // bytes that are written at a time
)

// Limits are what a user may want to change. They are set before the first
// connection.
type Limits struct {
	// MaxConnections is the most connections that are open at a time. One above
	// it is closed at once.
	MaxConnections int
	// IdleTimeout is how long a connection may send nothing while it waits for no
	// answer; 0 for no limit.
	IdleTimeout time.Duration
}

// DefaultLimits are those of a new Server.
func DefaultLimits() Limits {
	return Limits{MaxConnections: DefaultMaxConnections, IdleTimeout: DefaultIdleTimeout}
}

// ConnectionOverhead is the most bytes that a connection takes which are counted
// in no budget: what is read ahead, a frame and an answer within their first
// 64 KiB, and a small request in its decoded form.
const ConnectionOverhead = 512 << 10

// Overhead is the most bytes that requests and answers of all connections
// together take, ConnectionOverhead for each not counted: large requests, large
// answers, which may keep as much again of a log that was trimmed, and what is
// decompressed, each buffer twice, as those that gave their place up are still read.
func Overhead() int64 {
	n := int64(MaxFrameMemory + 2*MaxAnswerMemory)
	for _, r := range rooms {
		n += 2 * int64(cap(r.places)*r.size)
	}
	return n
}
