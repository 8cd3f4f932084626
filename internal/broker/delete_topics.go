package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteTopics, versions 1 to 6 (by name or id from 6).
//
// The topic, its records and the memory of its producers are gone when the
// answer comes. A topic that is made again under the name has another id. One
// that is named twice is told once, INVALID_REQUEST, and stays; so is one that is
// named by its name and by its id.

func (b *Broker) deleteTopics(r *kmsg.DeleteTopicsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.DeleteTopicsResponse)
	asked := r.Topics
	for _, name := range r.TopicNames {
		asked = append(asked, kmsg.DeleteTopicsRequestTopic{Topic: &name})
	}
	times := map[any]int{}
	for i := range asked {
		if misnamed(&asked[i]) == nil {
			times[identifier(&asked[i])]++
		}
	}
	clash := b.namedByBoth(times)
	for i := range asked {
		told := kmsg.DeleteTopicsResponseTopic{Topic: asked[i].Topic, TopicID: asked[i].TopicID}
		id := identifier(&asked[i])
		refused := misnamed(&asked[i])
		switch {
		case refused != nil:
		case times[id] > 1:
			refused = twice(id)
			times[id] = 0 // told once
		case times[id] == 0, clash[id] && told.Topic == nil:
			continue // told with the other one
		case clash[id]:
			told.TopicID = b.idOf(*told.Topic)
			refused = refuse(kerr.InvalidRequest, "The provided topic name maps to an ID that was already supplied.")
		default:
			refused = b.deleteTopic(&told)
		}
		told.ErrorCode, told.ErrorMessage = refused.told()
		resp.Topics = append(resp.Topics, told)
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

// misnamed wants a name or an id.
func misnamed(asked *kmsg.DeleteTopicsRequestTopic) *refusal {
	switch byID := asked.TopicID != [16]byte{}; {
	case byID && asked.Topic != nil:
		return refuse(kerr.InvalidRequest, "You may not specify both topic name and topic id.")
	case !byID && asked.Topic == nil:
		return refuse(kerr.InvalidRequest, "Neither topic name nor id were specified.")
	}
	return nil
}

func twice(identifier any) *refusal {
	if _, byName := identifier.(string); byName {
		return refuse(kerr.InvalidRequest, "Duplicate topic name.")
	}
	return refuse(kerr.InvalidRequest, "Duplicate topic id.")
}

// namedByBoth finds the names, each asked for once, whose ids are asked for too,
// and those ids.
func (b *Broker) namedByBoth(times map[any]int) map[any]bool {
	clash := map[any]bool{}
	for identifier, n := range times {
		name, byName := identifier.(string)
		if !byName || n > 1 {
			continue
		}
		if id := b.idOf(name); id != [16]byte{} && times[id] > 0 {
			clash[name], clash[id] = true, true
		}
	}
	return clash
}

// idOf is the id of a topic, zero if there is none.
func (b *Broker) idOf(name string) (id [16]byte) {
	if t := b.lookup(name); t != nil {
		id = t.id
	}
	return id
}

// deleteTopic deletes a topic of this name or id, and fills in the other.
func (b *Broker) deleteTopic(told *kmsg.DeleteTopicsResponseTopic) *refusal {
	if told.Topic == nil {
		t := b.lookupID(told.TopicID)
		if t == nil || !b.remove(t) {
			return refuse(kerr.UnknownTopicID, "This server does not host this topic ID.")
		}
		told.Topic = &t.name
		return nil
	}
	t := b.lookup(*told.Topic)
	if t == nil || !b.remove(t) {
		return refuse(kerr.UnknownTopicOrPartition, "This server does not host this topic-partition.")
	}
	told.TopicID = t.id
	return nil
}
