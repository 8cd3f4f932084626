package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A produceAnswer is memory for the answers to the Produce requests of one connection,
// one at a time.
type produceAnswer struct {
	resp       kmsg.ProduceResponse
	topics     []kmsg.ProduceResponseTopic
	partitions []kmsg.ProduceResponseTopicPartition
}

// ProduceAnswer is the answer to a Produce that says nothing yet of its partitions: no
// error and base offset -1. Topics of which no partition is named are left out, as Kafka
// does. It is valid until its reply is written, or another one is asked for.
func (r *Request) ProduceAnswer() *kmsg.ProduceResponse {
	a := r.answer
	if a == nil {
		a = &produceAnswer{}
	}
	a.begin(r.Body.(*kmsg.ProduceRequest))
	return &a.resp
}

func (a *produceAnswer) begin(req *kmsg.ProduceRequest) {
	a.forget()
	a.grow(req)
	for i := range req.Topics {
		t := &req.Topics[i]
		if len(t.Partitions) == 0 {
			continue
		}
		from := len(a.partitions)
		for j := range t.Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.BaseOffset = t.Partitions[j].Partition, -1
			a.partitions = append(a.partitions, p)
		}
		a.topics = append(a.topics, kmsg.ProduceResponseTopic{Topic: t.Topic, TopicID: t.TopicID, Partitions: slices.Clip(a.partitions[from:])})
	}
	a.resp.Version, a.resp.Topics = req.Version, a.topics
}

// grow makes room for all of an answer at once: an array that grows leaves others behind,
// and a request may name very many partitions.
func (a *produceAnswer) grow(req *kmsg.ProduceRequest) {
	partitions := 0
	for i := range req.Topics {
		partitions += len(req.Topics[i].Partitions)
	}
	a.topics = slices.Grow(a.topics, len(req.Topics))
	a.partitions = slices.Grow(a.partitions, partitions)
}

// forget lets go of what an answer held. The memory of a small one is kept.
func (a *produceAnswer) forget() {
	a.resp = kmsg.ProduceResponse{}
	clear(a.topics)
	clear(a.partitions)
	if a.topics, a.partitions = a.topics[:0], a.partitions[:0]; cap(a.topics)+cap(a.partitions) > 2*smallProduce {
		a.topics, a.partitions = nil, nil
	}
}
