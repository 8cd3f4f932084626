package broker

import (
	"fmt"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ElectLeaders, versions 0 to 2 (the kind of election from 1).
//
// The one broker leads every partition already, whichever kind of election is
// asked for: ELECTION_NOT_NEEDED. A null list of topics asks for all that need an
// election, which are none: each topic is told, without partitions, as in Kafka.
//
// Differences from Apache Kafka: the message of a partition that is not there does
// not repeat the topic's name, which beside each of many partitions would make a
// small request a huge answer.

// The kinds of election (ElectionType).
const (
	preferredElection = 0
	uncleanElection   = 1
)

func (b *Broker) electLeaders(r *kmsg.ElectLeadersRequest) kmsg.Response {
	if k := r.ElectionType; r.Version >= 1 && k != preferredElection && k != uncleanElection {
		return wire.ErrorAnswer(r, kerr.InvalidRequest.Code, fmt.Sprintf("Unknown election type %d", k))
	}
	resp := r.ResponseKind().(*kmsg.ElectLeadersResponse)
	if r.Topics == nil {
		for _, name := range b.Topics() {
			resp.Topics = append(resp.Topics, kmsg.ElectLeadersResponseTopic{Topic: name})
		}
	}
	for i := range r.Topics {
		asked := &r.Topics[i]
		t := b.lookup(asked.Topic)
		told := kmsg.ElectLeadersResponseTopic{Topic: asked.Topic}
		for _, n := range asked.Partitions {
			refused := notElected(t, n)
			told.Partitions = append(told.Partitions, kmsg.ElectLeadersResponseTopicPartition{
				Partition: n, ErrorCode: refused.code, ErrorMessage: &refused.text,
			})
		}
		resp.Topics = append(resp.Topics, told)
	}
	return resp
}

// notElected says why there is no election for a partition.
func notElected(t *topic, n int32) *refusal {
	switch {
	case t == nil:
		return refuse(kerr.UnknownTopicOrPartition, "there is no such topic")
	case t.partition(n) == nil:
		return refuse(kerr.UnknownTopicOrPartition, "there is no such partition")
	}
	return refuse(kerr.ElectionNotNeeded, "Leader election not needed for topic partition.")
}
