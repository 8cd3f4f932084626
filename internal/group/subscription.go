package group

import (
	"encoding/binary"
	"slices"
)

// consumers is the protocol type of consumers (ConsumerProtocol.PROTOCOL_TYPE).
// Only of them it is known how they say what they are subscribed to.
const consumers = "consumer"

// subscribedTo lists the topics that the members of a generation are subscribed
// to, sorted. It is nil if that cannot be told: they are no consumers, or do not
// speak as consumers do.
func subscribedTo(g *classic) []string {
	topics := []string{}
	if g.protocolType != consumers {
		return nil
	}
	for _, m := range g.members {
		more, ok := subscription(m.metadata(g.protocol))
		if !ok {
			return nil
		}
		topics = append(topics, more...)
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// isSubscribed says whether members may be reading a topic.
func (g *classic) isSubscribed(topic string) bool {
	if g.subscribed == nil {
		return g.protocolType == consumers
	}
	_, found := slices.BinarySearch(g.subscribed, topic)
	return found
}

// subscription reads the topics that a consumer says it wants, which is how its
// metadata begins in every version (ConsumerProtocolSubscription.json): an int16
// version, an int32 count, and each topic behind an int16 length. It is not ok if
// the metadata is something else.
func subscription(metadata []byte) (topics []string, ok bool) {
	r := reader{left: metadata}
	r.take(2)
	for range r.count(2) {
		topics = append(topics, string(r.take(r.short())))
	}
	return topics, !r.bad
}

// A reader takes a message apart. Once it meets the end it is bad, and gives
// nothing more.
type reader struct {
	left []byte
	bad  bool
}

// take gives the next n bytes.
func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.left) {
		r.bad = true
		return nil
	}
	taken := r.left[:n]
	r.left = r.left[n:]
	return taken
}

func (r *reader) short() int {
	if b := r.take(2); b != nil {
		return int(int16(binary.BigEndian.Uint16(b)))
	}
	return 0
}

// count reads how many things follow, of at least so many bytes each: more than
// there can be are none.
func (r *reader) count(least int) int {
	b := r.take(4)
	if b == nil {
		return 0
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	if n < 0 || n > len(r.left)/least {
		r.bad = true
		return 0
	}
	return n
}
