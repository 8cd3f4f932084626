package broker

import (
	"maps"
	"slices"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Metadata, versions 0 to 13: all topics, topics by name, and by id from 12.
//
// The one broker is the controller and leads every partition. Without an
// advertised address a client is told the address that it connected to.
//
// Differences from Apache Kafka: a topic that is made on first use is there in
// the very answer, where Kafka says UNKNOWN_TOPIC_OR_PARTITION once. Versions 10
// and 11 by id list the broker beside the error. Authorized operations are not
// filled in.

func (b *Broker) metadata(c *wire.Conn, r *kmsg.MetadataRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.MetadataResponse)
	resp.ClusterID, resp.ControllerID = &b.clusterID, NodeID
	node := kmsg.NewMetadataResponseBroker()
	node.NodeID, node.Host, node.Port = NodeID, c.Host, c.Port
	resp.Brokers = append(resp.Brokers, node)
	for _, t := range b.asked(r) {
		resp.Topics = append(resp.Topics, t.describe())
	}
	return resp
}

// found is a topic of a Metadata answer: there, or with an error.
type found struct {
	topic *topic
	name  *string
	id    [16]byte
	code  int16
}

// asked finds what a request asks for, each topic once. Version 0 asks for all
// with an empty list, later ones with a null one.
func (b *Broker) asked(r *kmsg.MetadataRequest) []found {
	if r.Topics == nil || r.Version == 0 && len(r.Topics) == 0 {
		return b.all()
	}
	var all []found
	seen, seenID := map[string]bool{}, map[[16]byte]bool{}
	for i := range r.Topics {
		asked := &r.Topics[i]
		if asked.TopicID != [16]byte{} || asked.Topic == nil {
			if !seenID[asked.TopicID] {
				seenID[asked.TopicID] = true
				all = append(all, b.findID(r.Version, asked.TopicID))
			}
			continue
		}
		if !seen[*asked.Topic] {
			seen[*asked.Topic] = true
			all = append(all, b.findName(r, *asked.Topic))
		}
	}
	return all
}

func (b *Broker) all() (all []found) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(b.topics)) {
		all = append(all, found{topic: b.topics[name]})
	}
	return all
}

func (b *Broker) findID(version int16, id [16]byte) found {
	if version < 12 {
		return found{id: id, code: kerr.InvalidRequest.Code}
	}
	if t := b.lookupID(id); t != nil {
		return found{topic: t}
	}
	return found{id: id, code: kerr.UnknownTopicID.Code}
}

func (b *Broker) findName(r *kmsg.MetadataRequest, name string) found {
	f := found{topic: b.lookup(name), name: &name}
	switch allowed := r.Version < 4 || r.AllowAutoTopicCreation; {
	case f.topic != nil:
	case badTopicName(name) != "":
		f.code = kerr.InvalidTopicException.Code
	case b.options.AutoCreate && allowed:
		b.create(topicSpec{name: name, partitions: -1}, false) //nolint:errcheck // found or not is what counts
		f.topic = b.lookup(name)
	}
	if f.topic == nil && f.code == 0 {
		f.code = kerr.UnknownTopicOrPartition.Code
	}
	return f
}

func (f found) describe() kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.TopicID, t.ErrorCode = f.name, f.id, f.code
	if f.topic == nil {
		return t
	}
	t.Topic, t.TopicID = &f.topic.name, f.topic.id
	t.Partitions = make([]kmsg.MetadataResponseTopicPartition, len(f.topic.all()))
	for i := range t.Partitions {
		p := &t.Partitions[i]
		p.Default()
		p.Partition, p.Leader, p.LeaderEpoch = int32(i), NodeID, leaderEpoch
		p.Replicas, p.ISR = []int32{NodeID}, []int32{NodeID}
	}
	return t
}
