package kafka

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A place is a partition: "t-0" in a script.
type place struct {
	topic     string
	partition int32
}

func placeOf(text string) place {
	i := strings.LastIndexByte(text, '-')
	n, err := strconv.ParseInt(text[i+1:], 10, 32)
	if err != nil {
		panic(fmt.Sprintf("%q is no TOPIC-PARTITION", text))
	}
	return place{text[:i], int32(n)}
}

// outside is a partition whose number cannot stand behind a dash.
func outside(topic string, partition int32) place { return place{topic, partition} }

// A delivery is what one partition of a Produce gets.
type delivery struct {
	place
	words   string
	records func(s *scene) []byte
}

// to is one batch, or more in one record set, for a partition.
func to(at string, batches ...batch) delivery { return toPlace(placeOf(at), batches...) }

func toPlace(at place, batches ...batch) delivery {
	words := make([]string, len(batches))
	for i, b := range batches {
		words[i] = b.String()
	}
	return delivery{at, fmt.Sprintf("%s-%d: %s", at.topic, at.partition, strings.Join(words, " and ")), func(s *scene) []byte {
		all := []byte{}
		for _, b := range batches {
			all = append(all, b.encode(s)...)
		}
		return all
	}}
}

// bytesTo is a record set as it is; nil is null.
func bytesTo(at, what string, records []byte) delivery {
	return delivery{placeOf(at), at + ": " + what, func(*scene) []byte { return records }}
}

// A production is a Produce step in the making.
type production struct {
	version    int16
	acks       int16
	txn        *string
	topicID    *[16]byte
	deliveries []delivery
}

// usualVersion is the last version of Produce that names topics by name.
const usualVersion = 12

// send is a Produce of one batch, with acks from all.
func send(at string, batches ...batch) step {
	return production{version: usualVersion, acks: -1, deliveries: []delivery{to(at, batches...)}}.step()
}

// produce is a Produce to several partitions.
func produce(deliveries ...delivery) step {
	return production{version: usualVersion, acks: -1, deliveries: deliveries}.step()
}

// sendIn is a Produce in another version.
func sendIn(version int16, deliveries ...delivery) step {
	return production{version: version, acks: -1, deliveries: deliveries}.step()
}

// sendAcks is a Produce with other acks.
func sendAcks(acks int16, deliveries ...delivery) step {
	return production{version: usualVersion, acks: acks, deliveries: deliveries}.step()
}

func (p production) step() step {
	words := []string{fmt.Sprintf("Produce v%d", p.version)}
	if p.acks != -1 {
		words[0] += fmt.Sprintf(" acks=%d", p.acks)
	}
	if p.txn != nil {
		words[0] += fmt.Sprintf(" transactional id %q", *p.txn)
	}
	for _, d := range p.deliveries {
		words = append(words, d.words)
	}
	return request(strings.Join(words, " | "), p.request)
}

func (p production) request(s *scene) kmsg.Request {
	r := kmsg.NewPtrProduceRequest()
	r.Version, r.Acks, r.TimeoutMillis, r.TransactionID = p.version, p.acks, 5000, p.txn
	for _, d := range p.deliveries {
		at := kmsg.NewProduceRequestTopicPartition()
		at.Partition, at.Records = d.partition, d.records(s)
		if n := len(r.Topics); n > 0 && r.Topics[n-1].Topic == d.topic {
			r.Topics[n-1].Partitions = append(r.Topics[n-1].Partitions, at)
			continue
		}
		t := kmsg.NewProduceRequestTopic()
		t.Topic, t.TopicID = d.topic, idOf(d.topic)
		if p.topicID != nil {
			t.TopicID = *p.topicID
		}
		t.Partitions = append(t.Partitions, at)
		r.Topics = append(r.Topics, t)
	}
	return r
}

// initIn is an InitProducerId; the answer's id gets the name.
func initIn(version int16, name string, change func(s *scene, r *kmsg.InitProducerIDRequest)) step {
	words := fmt.Sprintf("InitProducerId v%d for %s", version, name)
	return step{words: words, play: func(s *scene) (kmsg.Response, error) {
		r := kmsg.NewPtrInitProducerIDRequest()
		r.Version, r.TransactionTimeoutMillis = version, 60_000
		if change != nil {
			change(s, r)
		}
		s.resolve(r)
		resp, err := s.exchange(r, head{client: kmsg.StringPtr(clientID)})
		if err != nil {
			return nil, err
		}
		told := resp.(*kmsg.InitProducerIDResponse)
		if told.ErrorCode == 0 && !s.known(told.ProducerID) {
			s.producers[name] = identity{told.ProducerID, told.ProducerEpoch}
		}
		return resp, nil
	}}
}

func (s *scene) known(id int64) bool {
	for _, p := range s.producers {
		if p.id == id {
			return true
		}
	}
	return false
}

// described is a DescribeProducers.
func described(places ...string) step {
	return request("DescribeProducers v0 of "+strings.Join(places, ", "), func(*scene) kmsg.Request { return producersOf(places...) })
}

func producersOf(places ...string) *kmsg.DescribeProducersRequest {
	r := kmsg.NewPtrDescribeProducersRequest()
	for _, at := range places {
		p := placeOf(at)
		if n := len(r.Topics); n > 0 && r.Topics[n-1].Topic == p.topic {
			r.Topics[n-1].Partitions = append(r.Topics[n-1].Partitions, p.partition)
			continue
		}
		t := kmsg.NewDescribeProducersRequestTopic()
		t.Topic, t.Partitions = p.topic, []int32{p.partition}
		r.Topics = append(r.Topics, t)
	}
	return r
}
