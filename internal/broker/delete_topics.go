package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteTopics, versions 1 to 6 (by name or id from 6).
//
// The topic, its records and the memory of its producers are gone when the
// answer comes. A topic that is made again under the name has another id. One
// that is named twice is told once, INVALID_REQUEST, and stays.

func (b *Broker) deleteTopics(r *kmsg.DeleteTopicsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.DeleteTopicsResponse)
	asked := r.Topics
	for _, name := range r.TopicNames {
		asked = append(asked, kmsg.DeleteTopicsRequestTopic{Topic: &name})
	}
	times := map[any]int{}
	for i := range asked {
		times[identifier(&asked[i])]++
	}
	for i := range asked {
		switch n := times[identifier(&asked[i])]; {
		case n == 1:
			resp.Topics = append(resp.Topics, b.deleteTopic(&asked[i]))
		case n > 1:
			told := kmsg.NewDeleteTopicsResponseTopic()
			told.Topic, told.TopicID = asked[i].Topic, asked[i].TopicID
			resp.Topics = append(resp.Topics, notDeleted(told, kerr.InvalidRequest, "The topic is named more than once."))
			times[identifier(&asked[i])] = 0 // told once
		}
	}
	return resp
}

// identifier is what a topic is asked for by: its name, or its id.
func identifier(asked *kmsg.DeleteTopicsRequestTopic) any {
	if asked.Topic != nil {
		return *asked.Topic
	}
	return asked.TopicID
}

func (b *Broker) deleteTopic(asked *kmsg.DeleteTopicsRequestTopic) kmsg.DeleteTopicsResponseTopic {
	told := kmsg.NewDeleteTopicsResponseTopic()
	told.Topic, told.TopicID = asked.Topic, asked.TopicID
	byID := asked.TopicID != [16]byte{}
	if byID == (asked.Topic != nil) {
		return notDeleted(told, kerr.InvalidRequest, "Name the topic or give its id, one of them.")
	}
	if byID {
		t := b.lookupID(asked.TopicID)
		if t == nil || !b.remove(t) {
			return notDeleted(told, kerr.UnknownTopicID, "There is no topic of this id.")
		}
		told.Topic = &t.name
		return told
	}
	t := b.lookup(*asked.Topic)
	if t == nil || !b.remove(t) {
		return notDeleted(told, kerr.UnknownTopicOrPartition, "There is no topic of this name.")
	}
	told.TopicID = t.id
	return told
}

func notDeleted(told kmsg.DeleteTopicsResponseTopic, err *kerr.Error, why string) kmsg.DeleteTopicsResponseTopic {
	told.ErrorCode, told.ErrorMessage = err.Code, &why
	return told
}
