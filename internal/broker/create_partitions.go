package broker

import (
	"slices"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreatePartitions, versions 0 to 3.
//
// A topic's new partitions are there, with leaders, when the answer is. A count
// has to be above the present one; an assignment has to name the one broker for
// each new partition.
//
// Difference from Apache Kafka: there is a limit to the partitions of a topic,
// also to what it has after several requests, and to those of all topics.

func (b *Broker) createPartitions(r *kmsg.CreatePartitionsRequest) kmsg.Response {
	times := map[string]int{}
	for i := range r.Topics {
		times[r.Topics[i].Topic]++
	}
	if b.additional(r, times) > maxRequestPartitions {
		return wire.ErrorAnswer(r, kerr.PolicyViolation.Code, "Excessively large number of additional partitions per request.")
	}
	resp := r.ResponseKind().(*kmsg.CreatePartitionsResponse)
	for i := range r.Topics {
		asked := &r.Topics[i]
		var refused *refusal
		switch n := times[asked.Topic]; {
		case n == 1:
			refused = b.grow(asked, r.ValidateOnly)
		case n > 1:
			refused = refuse(kerr.InvalidRequest, "Duplicate topic name.")
			times[asked.Topic] = 0 // told once
		default:
			continue
		}
		told := kmsg.NewCreatePartitionsResponseTopic()
		told.Topic = asked.Topic
		told.ErrorCode, told.ErrorMessage = refused.told()
		resp.Topics = append(resp.Topics, told)
	}
	return resp
}

// additional counts the partitions that a request asks for, without those of
// topics that it names twice.
func (b *Broker) additional(r *kmsg.CreatePartitionsRequest, times map[string]int) (n int) {
	for i := range r.Topics {
		asked := &r.Topics[i]
		if times[asked.Topic] > 1 {
			continue
		}
		now := 0
		if t := b.lookup(asked.Topic); t != nil {
			now = len(t.all())
		}
		n += max(int(asked.Count)-now, 0)
	}
	return n
}

// grow gives a topic more partitions, or with validateOnly says whether it could.
// It holds the broker's lock, so that a topic that is being deleted at the same
// time is deleted with its new partitions, or is not there any more.
func (b *Broker) grow(asked *kmsg.CreatePartitionsRequestTopic, validateOnly bool) *refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.topics[asked.Topic]
	if t == nil {
		return refuse(kerr.UnknownTopicOrPartition, "")
	}
	now := t.all()
	if r := checkGrowth(asked, len(now)); r != nil {
		return r
	}
	if r := b.spaceLocked(int(asked.Count) - len(now)); r != nil || validateOnly {
		return r
	}
	more := append(slices.Clone(now), b.newPartitions(t, int(asked.Count)-len(now))...)
	t.partitions.Store(&more)
	b.partitions += len(more) - len(now)
	return nil
}

// checkGrowth judges a count and an assignment for a topic of so many partitions.
func checkGrowth(asked *kmsg.CreatePartitionsRequestTopic, now int) *refusal {
	switch count := int(asked.Count); {
	case count == now:
		return refuse(kerr.InvalidPartitions, "Topic already has %d partition(s).", now)
	case count < now:
		return refuse(kerr.InvalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.", asked.Topic, now, count)
	case asked.Assignment != nil && len(asked.Assignment) != count-now:
		return refuse(kerr.InvalidReplicaAssignment, "Attempted to add %d additional partition(s), but only %d assignment(s) were specified.",
			count-now, len(asked.Assignment))
	}
	for _, a := range asked.Assignment {
		if r := checkReplicas(a.Replicas); r != nil {
			return r
		}
	}
	return checkCount(asked.Count)
}
