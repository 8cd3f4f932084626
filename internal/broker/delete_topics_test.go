package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleting asks to delete topics by name, as the version does.
func deleting(version int16, names ...string) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis = version, 30_000
	if version < 6 {
		req.TopicNames = names
		return req
	}
	for _, name := range names {
		req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{Topic: &name})
	}
	return req
}

// deletingIDs asks to delete topics by id.
func deletingIDs(ids ...[16]byte) *kmsg.DeleteTopicsRequest {
	req := deleting(6)
	for _, id := range ids {
		req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{TopicID: id})
	}
	return req
}

// deleted lists what was told as "name code".
func deleted(resp kmsg.Response) []string {
	var told []string
	for _, t := range resp.(*kmsg.DeleteTopicsResponse).Topics {
		told = append(told, text(t.Topic)+" "+codeName(t.ErrorCode))
	}
	return told
}

func TestDeleteTopics_ByName(t *testing.T) {
	everyVersion(t, kmsg.DeleteTopics, func(t *testing.T, version int16) {
		n, c := startWith(t, "a", "b", "c")
		id := n.id("a")
		resp := c.ask(deleting(version, "a", "no such", "c")).(*kmsg.DeleteTopicsResponse)
		want(t, "told", deleted(resp), []string{"a NONE", "no such UNKNOWN_TOPIC_OR_PARTITION", "c NONE"})
		if version >= 6 {
			want(t, "its id", resp.Topics[0].TopicID, id)
		}
		want(t, "again", deleted(c.ask(deleting(version, "a"))), []string{"a UNKNOWN_TOPIC_OR_PARTITION"})
		want(t, "topics", n.Topics(), []string{"b"})
		want(t, "partitions in all", n.partitions, 2)
	})
}

func TestDeleteTopics_ByID(t *testing.T) {
	n, c := startWith(t, "a", "b")
	id := n.id("a")
	resp := c.ask(deletingIDs(id)).(*kmsg.DeleteTopicsResponse)
	want(t, "told", deleted(resp), []string{"a NONE"})
	want(t, "its id", resp.Topics[0].TopicID, id)

	resp = c.ask(deletingIDs(id)).(*kmsg.DeleteTopicsResponse)
	want(t, "again", deleted(resp), []string{"null UNKNOWN_TOPIC_ID"})
	want(t, "the id comes back", resp.Topics[0].TopicID, id)
	want(t, "topics", n.Topics(), []string{"b"})
}

func TestDeleteTopics_WantsANameOrAnID(t *testing.T) {
	n, c := startWith(t, "a")
	both := deletingIDs(n.id("a"))
	both.Topics[0].Topic = kmsg.StringPtr("a")
	never := [16]byte{9}
	byBoth := deletingIDs(n.id("a"))
	byBoth.Topics = append(byBoth.Topics, deleting(6, "a").Topics...)
	for _, tt := range []struct {
		name string
		req  *kmsg.DeleteTopicsRequest
		want []string
	}{
		{"both", both, []string{"a INVALID_REQUEST You may not specify both topic name and topic id."}},
		{"neither, twice", deletingIDs([16]byte{}, [16]byte{}), []string{
			"null INVALID_REQUEST Neither topic name nor id were specified.", "null INVALID_REQUEST Neither topic name nor id were specified."}},
		{"its name and then its id", byBoth, []string{"a INVALID_REQUEST The provided topic name maps to an ID that was already supplied."}},
		{"a name twice", deleting(6, "a", "a"), []string{"a INVALID_REQUEST Duplicate topic name."}},
		{"an id twice", deletingIDs(n.id("a"), n.id("a")), []string{"null INVALID_REQUEST Duplicate topic id."}},
		{"no such name", deleting(6, "a b"), []string{"a b UNKNOWN_TOPIC_OR_PARTITION This server does not host this topic-partition."}},
		{"no such id", deletingIDs(never), []string{"null UNKNOWN_TOPIC_ID This server does not host this topic ID."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var told []string
			for _, t := range c.ask(tt.req).(*kmsg.DeleteTopicsResponse).Topics {
				told = append(told, text(t.Topic)+" "+codeName(t.ErrorCode)+" "+text(t.ErrorMessage))
			}
			want(t, "told", told, tt.want)
			want(t, "topics", n.Topics(), []string{"a"})
		})
	}
}

// An entry with both is refused by itself, and no second naming of the topic.
func TestDeleteTopics_ANameBesideOneWithANameAndAnID(t *testing.T) {
	n, c := startWith(t, "a")
	req := deletingIDs(n.id("a"))
	req.Topics[0].Topic = kmsg.StringPtr("a")
	req.Topics = append(req.Topics, deleting(6, "a").Topics...)
	want(t, "told", deleted(c.ask(req)), []string{"a INVALID_REQUEST", "a NONE"})
	want(t, "topics", n.Topics(), nil)
}

func TestDeleteTopics_TheSameTwiceIsToldOnceAndStays(t *testing.T) {
	everyVersion(t, kmsg.DeleteTopics, func(t *testing.T, version int16) {
		n, c := startWith(t, "a", "b")
		want(t, "told", deleted(c.ask(deleting(version, "a", "b", "a"))), []string{"a INVALID_REQUEST", "b NONE"})
		want(t, "topics", n.Topics(), []string{"a"})
	})
}

func TestDeleteTopics_TakesRecordsAndProducersAlong(t *testing.T) {
	n, c := startWith(t, "a")
	old := n.id("a")
	c.store("a", 0, by(7, 0, 0, 3))
	c.ask(deleting(6, "a"))

	wantCode(t, c.produce("a", 0, by(7, 0, 3, 1)).ErrorCode, "UNKNOWN_TOPIC_OR_PARTITION")
	wantCode(t, c.fetch("a", 0, 0).ErrorCode, "UNKNOWN_TOPIC_OR_PARTITION")
	wantCode(t, c.list("a", 0, latestOffset).ErrorCode, "UNKNOWN_TOPIC_OR_PARTITION")
	wantCode(t, c.describe("a", 0).ErrorCode, "UNKNOWN_TOPIC_OR_PARTITION")
	wantCode(t, c.trimTo("a", 0, 0).ErrorCode, "UNKNOWN_TOPIC_OR_PARTITION")

	n.make("a", 1, nil)
	if n.id("a") == old {
		t.Error("a topic made again has the id of the one that was deleted")
	}
	want(t, "producers", len(c.describe("a", 0).ActiveProducers), 0)
	wantCode(t, c.produce("a", 0, by(7, 0, 3, 1)).ErrorCode, "OUT_OF_ORDER_SEQUENCE_NUMBER")
	want(t, "base offset", c.store("a", 0, by(7, 0, 0, 3)), 0)

	byOldID := c.fetching(13, from("a", 0, 0))
	byOldID.Topics[0].TopicID = old
	wantCode(t, fetchedFrom(c.ask(byOldID))[0].ErrorCode, "UNKNOWN_TOPIC_ID")
}

func TestDeleteTopics_FreesTheNameForACollidingOne(t *testing.T) {
	_, c := startWith(t, "a.b")
	want(t, "before", c.create(newTopic("a_b", 1)), []string{"a_b INVALID_TOPIC_EXCEPTION"})
	c.ask(deleting(6, "a.b"))
	want(t, "after", c.create(newTopic("a_b", 1)), []string{"a_b NONE"})
}
