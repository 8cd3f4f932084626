package broker

import (
	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeProducers, version 0: what a partition remembers of its producers, in
// order of their ids. A name that no topic can have is INVALID_TOPIC_EXCEPTION.
//
// Differences from Apache Kafka: a partition that is not there comes with a
// message, and the message about a bad name does not repeat it for each partition.

func (b *Broker) describeProducers(r *kmsg.DescribeProducersRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.DescribeProducersResponse)
	for i := range r.Topics {
		asked := &r.Topics[i]
		t := b.lookup(asked.Topic)
		told := kmsg.DescribeProducersResponseTopic{Topic: asked.Topic}
		missing := refuse(kerr.UnknownTopicOrPartition, "there is no such partition")
		if badTopicName(asked.Topic) != "" {
			missing = refuse(kerr.InvalidTopicException, "the topic's name is none that a topic can have")
		}
		for _, n := range asked.Partitions {
			told.Partitions = append(told.Partitions, described(t.partition(n), n, missing))
		}
		resp.Topics = append(resp.Topics, told)
	}
	return resp
}

// described is what a partition remembers, or why it is missing.
func described(p *partition, n int32, missing *refusal) kmsg.DescribeProducersResponseTopicPartition {
	told := kmsg.NewDescribeProducersResponseTopicPartition()
	told.Partition = n
	if p == nil {
		told.ErrorCode, told.ErrorMessage = missing.code, &missing.text
		return told
	}
	for _, known := range p.known() {
		a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		a.ProducerID, a.ProducerEpoch = known.ProducerID, int32(known.Epoch)
		a.LastSequence, a.LastTimestamp = known.LastSequence, known.LastTimestamp
		a.CoordinatorEpoch, a.CurrentTxnStartOffset = known.coordinatorEpoch, known.txnStart
		told.ActiveProducers = append(told.ActiveProducers, a)
	}
	return told
}

// A knownProducer is what a partition knows of a producer.
type knownProducer struct {
	producer.Info
	txnStart         int64 // first offset of its open transaction, -1 if it has none
	coordinatorEpoch int32 // of its newest marker, -1 if it has none
}

func (p *partition) known() (all []knownProducer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for info := range p.producers.All() {
		k := knownProducer{Info: info, txnStart: -1, coordinatorEpoch: -1}
		if m, ok := p.txns.marked[info.ProducerID]; ok {
			k.coordinatorEpoch = 0
			if info.LastSequence < 0 || m.offset > info.LastOffset {
				k.LastTimestamp = m.timestamp
			}
		}
		if first, open := p.txns.open[info.ProducerID]; open {
			k.txnStart = first
		}
		all = append(all, k)
	}
	return all
}
