package journal

import (
	"slices"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// answers finds what a Produce answer says of each partition. Most answers are
// in the order of the request, so it looks on from where it found the last one;
// a partition that is asked for twice finds its answers one after the other.
type answers struct {
	resp             *kmsg.ProduceResponse
	topic, partition int // where to look next
}

func answersIn(resp kmsg.Response) answers {
	produce, _ := resp.(*kmsg.ProduceResponse)
	return answers{resp: produce}
}

// find is nil if nothing is said of the partition.
func (a *answers) find(topic string, partition int32) *kmsg.ProduceResponseTopicPartition {
	if a.resp == nil {
		return nil
	}
	for i := range len(a.resp.Topics) + 1 {
		t, from := a.topic+i, 0
		if i == 0 {
			from = a.partition
		}
		if t >= len(a.resp.Topics) {
			t -= len(a.resp.Topics)
		}
		if t >= len(a.resp.Topics) || a.resp.Topics[t].Topic != topic {
			continue
		}
		for p := from; p < len(a.resp.Topics[t].Partitions); p++ {
			if found := &a.resp.Topics[t].Partitions[p]; found.Partition == partition {
				a.topic, a.partition = t, p+1
				return found
			}
		}
	}
	return nil
}

// done is what an answer says that was done; whether a success was a duplicate
// is for the caller to know.
func done(answer *kmsg.ProduceResponseTopicPartition, b *wire.Batch) Done {
	switch {
	case answer == nil:
		return Done{Outcome: NotAsked, BaseOffset: -1}
	case answer.ErrorCode == 0:
		return Done{Outcome: Accepted, BaseOffset: answer.BaseOffset}
	}
	d := Done{Outcome: Refused, BaseOffset: -1, Reason: reason(answer, b)}
	switch answer.ErrorCode {
	case kerr.OutOfOrderSequenceNumber.Code:
		d.Outcome = OutOfOrder
	case kerr.InvalidProducerEpoch.Code:
		d.Outcome = Fenced
	}
	return d
}

func reason(answer *kmsg.ProduceResponseTopicPartition, b *wire.Batch) string {
	switch {
	case answer.ErrorMessage != nil && *answer.ErrorMessage != "":
		return *answer.ErrorMessage
	case b.Err != nil:
		return "malformed: " + b.Err.Error()
	}
	return errorName(answer.ErrorCode)
}

// answerOf says whether the client learns anything.
func answerOf(req *wire.Request, acks int16, reply *wire.Reply) Answer {
	switch {
	case acks == 0:
		return NotDue
	case reply.Fate == wire.Close:
		return Closed
	case reply.Fate == wire.Send && reply.Told != nil && !req.Conn.Muted():
		return Answered
	}
	return Lost
}

// toldBy is what the client is told of one batch.
func toldBy(answer Answer, told *kmsg.ProduceResponseTopicPartition) Told {
	switch {
	case answer != Answered:
		return Told{Answer: answer, BaseOffset: -1}
	case told == nil:
		return Told{Answer: Lost, BaseOffset: -1}
	}
	t := Told{Answer: Answered, Code: told.ErrorCode, Error: errorName(told.ErrorCode), BaseOffset: -1}
	if told.ErrorCode == 0 {
		t.BaseOffset = told.BaseOffset
	}
	return t
}

// rulesOn lists the rules that fired on a partition.
func rulesOn(fired []wire.Firing, at wire.TopicPartition) (rules []string) {
	for i := range fired {
		if f := &fired[i]; f.Partitions == nil || slices.Contains(f.Partitions, at) {
			rules = append(rules, f.Rule)
		}
	}
	return rules
}
