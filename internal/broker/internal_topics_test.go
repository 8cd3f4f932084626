package broker

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// allowing makes a Metadata request that may make topics.
func allowing(version int16, names ...string) *kmsg.MetadataRequest {
	req := metadataOf(version, names...)
	req.AllowAutoTopicCreation = true
	return req
}

func TestMetadata_MakesInternalTopicsOfFiftyPartitions(t *testing.T) {
	for _, name := range []string{"__consumer_offsets", "__transaction_state", "__share_group_state"} {
		t.Run(name, func(t *testing.T) {
			everyVersion(t, kmsg.Metadata, func(t *testing.T, version int16) {
				c := start(t, Options{AutoCreate: true, Partitions: 3}).dial()
				c.ask(allowing(version, name)) // makes it
				resp := c.ask(allowing(version, name))
				want(t, "told", topicsTold(resp), []string{name + " NONE 50"})
				want(t, "internal", resp.(*kmsg.MetadataResponse).Topics[0].IsInternal, version >= 1)
			})
		})
	}
}

func TestMetadata_SaysWhatIsInternalThereOrNot(t *testing.T) {
	n := start(t, Options{})
	n.make("__consumer_offsets", 1, nil)
	n.make("__x", 1, nil)
	resp := n.dial().ask(metadataOf(newest(t, kmsg.Metadata), "__consumer_offsets", "__transaction_state", "__x", "x"))
	internal := map[string]bool{}
	for _, topic := range resp.(*kmsg.MetadataResponse).Topics {
		internal[fmt.Sprint(text(topic.Topic), " ", codeName(topic.ErrorCode))] = topic.IsInternal
	}
	want(t, "internal", internal, map[string]bool{
		"__consumer_offsets NONE": true, "__transaction_state UNKNOWN_TOPIC_OR_PARTITION": true,
		"__x NONE": false, "x UNKNOWN_TOPIC_OR_PARTITION": false,
	})
}

func TestMetadata_NeverMakesTheControllersLog(t *testing.T) {
	n := start(t, Options{AutoCreate: true})
	want(t, "told", topicsTold(n.dial().ask(allowing(12, clusterMetadata))), []string{clusterMetadata + " UNKNOWN_TOPIC_OR_PARTITION 0"})
	want(t, "topics", n.Topics(), nil)
}

func TestInternalTopics_AreNotWrittenByClients(t *testing.T) {
	n := start(t, Options{})
	n.make("__consumer_offsets", 2, nil)
	n.make("__x", 2, nil)
	c := n.dial()
	everyVersion(t, kmsg.Produce, func(t *testing.T, version int16) {
		told := c.produceAs(version, "__consumer_offsets", 0, by(7, 0, 0, 1))
		wantCode(t, told.ErrorCode, "INVALID_TOPIC_EXCEPTION")
		want(t, "base offset and log start", []int64{told.BaseOffset, told.LogStartOffset}, []int64{-1, -1})
		wantCode(t, c.produceAs(version, "__consumer_offsets", 9, by(7, 0, 0, 1)).ErrorCode, "UNKNOWN_TOPIC_OR_PARTITION")
	})
	want(t, "what is in it", c.snapshot("__consumer_offsets", 0), snapshot{})
	wantCode(t, c.produce("__x", 0, plain(1)).ErrorCode, "NONE")

	wantCode(t, c.trimTo("__consumer_offsets", 0, 0).ErrorCode, "INVALID_TOPIC_EXCEPTION")
	wantCode(t, c.trimTo("__consumer_offsets", 9, 0).ErrorCode, "UNKNOWN_TOPIC_OR_PARTITION")
	wantCode(t, c.trimTo("__x", 0, -1).ErrorCode, "NONE")
}

func TestInternalTopics_AreDescribedAsSuch(t *testing.T) {
	n := start(t, Options{})
	n.make("__transaction_state", 1, nil)
	n.make("plain", 1, nil)
	internal := map[string]bool{}
	for _, topic := range n.dial().ask(describingTopics(10, nil, "__consumer_offsets", "__transaction_state", "plain")).(*kmsg.DescribeTopicPartitionsResponse).Topics {
		internal[text(topic.Topic)] = topic.IsInternal
	}
	want(t, "internal", internal, map[string]bool{"__consumer_offsets": true, "__transaction_state": true, "plain": false})
}

// Each config has to be one that a topic can have, or the topic could not be made.
func TestInternalTopics_HaveTheConfigsOfKafka(t *testing.T) {
	n := start(t, Options{AutoCreate: true})
	n.dial().ask(allowing(12, "__consumer_offsets", "__share_group_state", "__transaction_state"))
	want(t, "topics", n.Topics(), []string{"__consumer_offsets", "__share_group_state", "__transaction_state"})
	for _, name := range n.Topics() {
		want(t, name, n.lookup(name).settings.Load().configs, internalTopics[name])
	}
}
