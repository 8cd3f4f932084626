package group

import "slices"

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
		r := reader{left: m.metadata(g.protocol)}
		_, more := r.subscribed()
		if r.bad {
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
