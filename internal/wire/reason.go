package wire

// A CloseReason names why a connection was closed.
type CloseReason uint8

// The reasons. Those of a handler come first, the others are the connection's.
const (
	ReasonNone         CloseReason = iota
	ReasonFault                    // a fault rule said disconnect
	ReasonRefusedAcks0             // a batch was refused, and with acks=0 closing is the only way to say so

	ReasonClientClosed
	ReasonReadFailed
	ReasonWriteFailed
	ReasonShutdown
	ReasonFrameTooLarge
	ReasonFrameTooSmall
	ReasonNoFrameMemory
	ReasonNoAnswerMemory
	ReasonTooManyConnections
	ReasonIdle
	ReasonSlowRequest
	ReasonSlowReader
	ReasonBadHeader
	ReasonBadBody
	ReasonUnknownAPI
	ReasonUnknownVersion
	ReasonInternal
)

var reasons = [...]string{
	ReasonNone:               "no reason given",
	ReasonFault:              "a fault rule disconnected it",
	ReasonRefusedAcks0:       "a batch sent with acks=0 was refused",
	ReasonClientClosed:       "the client closed it",
	ReasonReadFailed:         "reading failed",
	ReasonWriteFailed:        "writing failed",
	ReasonShutdown:           "the broker shuts down",
	ReasonFrameTooLarge:      "a frame is larger than its API may send",
	ReasonFrameTooSmall:      "a frame is too small for a request header",
	ReasonNoFrameMemory:      "large requests that are being read take too much memory together",
	ReasonNoAnswerMemory:     "large answers that nobody reads take too much memory together",
	ReasonTooManyConnections: "there are too many connections",
	ReasonIdle:               "it was idle for too long",
	ReasonSlowRequest:        "a request took too long to arrive",
	ReasonSlowReader:         "the client took too long to read its answers",
	ReasonBadHeader:          "a request header cannot be read",
	ReasonBadBody:            "a request body cannot be read",
	ReasonUnknownAPI:         "the API is not served",
	ReasonUnknownVersion:     "the version of the API is not served",
	ReasonInternal:           "a bug in this broker",
}

// String says the reason in words.
func (r CloseReason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return "unknown reason"
}

// ordinary says whether a reason is everyday life, or told elsewhere, and is
// logged at debug level only.
func (r CloseReason) ordinary() bool {
	return r == ReasonClientClosed || r == ReasonShutdown || r == ReasonFault || r == ReasonIdle
}
