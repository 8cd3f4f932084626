package broker

import (
	"slices"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Metadata, versions 0 to 13: all topics, topics by name, and by id from 12.
//
// The one broker is the controller and leads every partition. Without an
// advertised address a client is told the address that it connected to. A
// request that names one topic by id is answered for its ids alone. One by id
// before version 12, and one with neither a name nor an id, is an error as a
// whole, without brokers. Kafka's internal topics are made as others are, with 50
// partitions. Authorized operations are all there are: everything is allowed.
//
// A topic that is made on first use is UNKNOWN_TOPIC_OR_PARTITION in the answer to
// the request that makes it, as in Kafka, and there in the next: clients ask again.

// topicOperations and clusterOperations are what may be done to a topic and to
// the cluster: a bit for each operation (AclEntry.supportedOperations).
const (
	topicOperations = 1<<kmsg.ACLOperationRead | 1<<kmsg.ACLOperationWrite | 1<<kmsg.ACLOperationCreate |
		1<<kmsg.ACLOperationDelete | 1<<kmsg.ACLOperationAlter | 1<<kmsg.ACLOperationDescribe |
		1<<kmsg.ACLOperationDescribeConfigs | 1<<kmsg.ACLOperationAlterConfigs
	clusterOperations = 1<<kmsg.ACLOperationCreate | 1<<kmsg.ACLOperationAlter | 1<<kmsg.ACLOperationDescribe |
		1<<kmsg.ACLOperationClusterAction | 1<<kmsg.ACLOperationDescribeConfigs | 1<<kmsg.ACLOperationAlterConfigs |
		1<<kmsg.ACLOperationIdempotentWrite
)

func (b *Broker) metadata(c *wire.Conn, r *kmsg.MetadataRequest) kmsg.Response {
	if err := nameless(r); err != nil {
		return allRefused(r, err)
	}
	resp := r.ResponseKind().(*kmsg.MetadataResponse)
	resp.ClusterID, resp.ControllerID = &b.clusterID, NodeID
	if r.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = clusterOperations
	}
	node := kmsg.NewMetadataResponseBroker()
	node.NodeID, node.Host, node.Port = NodeID, c.Host, c.Port
	resp.Brokers = append(resp.Brokers, node)
	for _, f := range b.asked(r) {
		t := f.describe()
		if r.IncludeTopicAuthorizedOperations && t.Topic != nil {
			t.AuthorizedOperations = topicOperations
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// nameless is the error of a request that names a topic in a way that its
// version does not have, or in none; nil for any other.
func nameless(r *kmsg.MetadataRequest) *kerr.Error {
	unnamed := slices.ContainsFunc(r.Topics, func(t kmsg.MetadataRequestTopic) bool { return t.Topic == nil })
	byID := slices.ContainsFunc(r.Topics, func(t kmsg.MetadataRequestTopic) bool { return t.TopicID != [16]byte{} })
	switch {
	case r.Version < 12 && (unnamed || byID):
		return kerr.InvalidRequest
	case unnamed && !byID:
		return kerr.UnknownServerError
	}
	return nil
}

func allRefused(r *kmsg.MetadataRequest, err *kerr.Error) kmsg.Response {
	resp := wire.ErrorAnswer(r, err.Code, "").(*kmsg.MetadataResponse)
	for i := range resp.Topics {
		if t := &resp.Topics[i]; t.Topic == nil {
			t.Topic = kmsg.StringPtr("") // as in Kafka
		}
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
	var byID, byName []found
	seen, seenID := map[string]bool{}, map[[16]byte]bool{{}: true}
	for i := range r.Topics {
		switch asked := &r.Topics[i]; {
		case !seenID[asked.TopicID]:
			seenID[asked.TopicID] = true
			byID = append(byID, b.findID(asked.TopicID))
		case len(byID) == 0 && asked.Topic != nil && !seen[*asked.Topic]:
			seen[*asked.Topic] = true
			byName = append(byName, found{name: asked.Topic})
		}
	}
	if len(byID) > 0 {
		return byID
	}
	for i := range byName {
		byName[i] = b.findName(r, *byName[i].name)
	}
	return byName
}

func (b *Broker) all() (all []found) {
	for _, t := range b.everyTopic() {
		all = append(all, found{topic: t})
	}
	return all
}

func (b *Broker) findID(id [16]byte) found {
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
	case b.options.AutoCreate && allowed && name != clusterMetadata:
		b.create(specOnFirstUse(name), false) //nolint:errcheck // the next request tells
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
		t.IsInternal = f.name != nil && isInternal(*f.name)
		return t
	}
	t.Topic, t.TopicID, t.IsInternal = &f.topic.name, f.topic.id, isInternal(f.topic.name)
	t.Partitions = make([]kmsg.MetadataResponseTopicPartition, len(f.topic.all()))
	for i := range t.Partitions {
		p := &t.Partitions[i]
		p.Default()
		p.Partition, p.Leader, p.LeaderEpoch = int32(i), NodeID, leaderEpoch
		p.Replicas, p.ISR = []int32{NodeID}, []int32{NodeID}
	}
	return t
}
