package group

// A ConsumerDescription is what is known of a group of the consumer protocol
// (ConsumerGroupDescribe).
type ConsumerDescription struct {
	State              State
	Epoch, TargetEpoch int32
	Assignor           string
	Members            []ConsumerMemberDescription
}

// A ConsumerMemberDescription is what is known of one of its members.
type ConsumerMemberDescription struct {
	ID                   string
	InstanceID, RackID   *string
	Epoch                int32
	ClientID, ClientHost string
	Names                []string
	Regex                string
	Assigned, Target     []TopicPartition
	Classic              bool
}

// DescribeConsumers tells what is known of a group of the consumer protocol, not
// ok if there is no such group.
func (c *Coordinator) DescribeConsumers(id string) (d ConsumerDescription, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.lookupLocked(id); g != nil && g.consumer != nil {
		return g.consumer.describe(), true
	}
	return d, false
}

func (g *consumer) describe() ConsumerDescription {
	d := ConsumerDescription{State: g.state(), Epoch: g.epoch, TargetEpoch: g.targetEpoch, Assignor: g.assignor}
	for _, m := range g.members {
		d.Members = append(d.Members, ConsumerMemberDescription{
			ID: m.id, InstanceID: m.instance, RackID: m.rack, Epoch: m.epoch, ClientID: m.clientID, ClientHost: m.clientHost,
			Names: m.names, Regex: m.regex, Classic: m.classic != nil,
			Assigned: m.assigned.union(m.revoking).sorted(), Target: m.target.sorted(),
		})
	}
	return d
}
