package broker

import (
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// more is a topic that is to have so many partitions, the new ones on these
// brokers if any are named.
func more(name string, count int32, replicas ...[]int32) kmsg.CreatePartitionsRequestTopic {
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = name, count
	for _, r := range replicas {
		t.Assignment = append(t.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: r})
	}
	return t
}

func growing(version int16, topics ...kmsg.CreatePartitionsRequestTopic) *kmsg.CreatePartitionsRequest {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Version, req.TimeoutMillis, req.Topics = version, 30_000, topics
	return req
}

// grown lists what was told as "topic code message".
func grown(resp kmsg.Response) []string {
	var told []string
	for _, t := range resp.(*kmsg.CreatePartitionsResponse).Topics {
		told = append(told, t.Topic+" "+codeName(t.ErrorCode)+" "+text(t.ErrorMessage))
	}
	return told
}

func (c *client) grow(topics ...kmsg.CreatePartitionsRequestTopic) []string {
	c.t.Helper()
	return grown(c.ask(growing(newest(c.t, kmsg.CreatePartitions), topics...)))
}

func TestCreatePartitions_NewOnesAreThereAtOnce(t *testing.T) {
	everyVersion(t, kmsg.CreatePartitions, func(t *testing.T, version int16) {
		n, c := startWith(t, "there")
		c.store("there", 1, by(7, 0, 0, 2))
		before := c.snapshot("there", 1)
		want(t, "told", grown(c.ask(growing(version, more("there", 4)))), []string{"there NONE null"})
		want(t, "topic", topicsTold(c.ask(metadataOf(12, "there"))), []string{"there NONE 4"})
		want(t, "base offset", c.store("there", 3, by(7, 0, 0, 1)), 0)
		want(t, "what is read", offsetsIn(c.fetch("there", 3, 0).RecordBatches), []int64{0})
		want(t, "an old partition", c.snapshot("there", 1), before)
		want(t, "partitions in all", n.partitions, 4)
	})
}

func TestCreatePartitions_Refuses(t *testing.T) {
	empty := more("there", 3)
	empty.Assignment = []kmsg.CreatePartitionsRequestTopicAssignment{}
	const (
		fewer  = "there INVALID_PARTITIONS The topic there currently has 2 partition(s); "
		places = "there INVALID_REPLICA_ASSIGNMENT "
	)
	for _, tt := range []struct {
		name string
		spec kmsg.CreatePartitionsRequestTopic
		want string
	}{
		{"the same count", more("there", 2), "there INVALID_PARTITIONS Topic already has 2 partition(s)."},
		{"the same count with an assignment", more("there", 2, []int32{99}), "there INVALID_PARTITIONS Topic already has 2 partition(s)."},
		{"fewer", more("there", 1), fewer + "1 would not be an increase."},
		{"none", more("there", 0), fewer + "0 would not be an increase."},
		{"minus one", more("there", -1), fewer + "-1 would not be an increase."},
		{"an unknown topic", more("no such", 0), "no such UNKNOWN_TOPIC_OR_PARTITION null"},
		{"an assignment of too few", more("there", 4, []int32{NodeID}), places + "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."},
		{"an assignment of too many", more("there", 3, []int32{NodeID}, []int32{NodeID}),
			places + "Attempted to add 1 additional partition(s), but only 2 assignment(s) were specified."},
		{"an empty assignment", empty, places + "Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified."},
		{"an unknown broker", more("there", 4, []int32{NodeID}, []int32{99}),
			places + "The manual partition assignment includes broker 99, but no such broker is registered."},
		{"a broker twice", more("there", 3, []int32{NodeID, NodeID}), places + "The manual partition assignment includes the broker 1 more than once."},
		{"no broker", more("there", 3, []int32{}), places + "The manual partition assignment includes an empty replica list."},
		{"more than one request may ask for", more("there", maxRequestPartitions+3),
			"there POLICY_VIOLATION Excessively large number of additional partitions per request."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, c := startWith(t, "there")
			want(t, "told", c.grow(tt.spec), []string{tt.want})
			want(t, "partitions", []int{len(n.lookup("there").all()), n.partitions}, []int{2, 2})
		})
	}
}

func TestCreatePartitions_JudgesEachTopicByItself(t *testing.T) {
	_, c := startWith(t, "a", "b", "twice")
	want(t, "told", c.grow(more("a", 3, []int32{NodeID}), more("twice", 5), more("b", 2), more("twice", 6)), []string{
		"a NONE null", "twice INVALID_REQUEST Duplicate topic name.", "b INVALID_PARTITIONS Topic already has 2 partition(s).",
	})
	want(t, "topics", topicsTold(c.ask(allTopics(1))), []string{"a NONE 3", "b NONE 2", "twice NONE 2"})
	want(t, "of none", c.grow(), nil)
}

func TestCreatePartitions_TooManyAreRefusedWhole(t *testing.T) {
	_, c := startWith(t, "a", "b")
	const says = "POLICY_VIOLATION Excessively large number of additional partitions per request."
	want(t, "told", c.grow(more("a", 6_000), more("b", 6_000), more("no such", 1)), []string{"a " + says, "b " + says, "no such " + says})
	want(t, "topics", topicsTold(c.ask(allTopics(1))), []string{"a NONE 2", "b NONE 2"})
}

func TestCreatePartitions_ValidateOnlyMakesNothing(t *testing.T) {
	n, c := startWith(t, "there")
	req := growing(3, more("there", 7), more("no such", 1))
	req.ValidateOnly = true
	want(t, "told", grown(c.ask(req)), []string{"there NONE null", "no such UNKNOWN_TOPIC_OR_PARTITION null"})
	want(t, "partitions", []int{len(n.lookup("there").all()), n.partitions}, []int{2, 2})
}

func TestLimits_PartitionsInAllWhenATopicGrows(t *testing.T) {
	n, c := startWith(t, "there")
	n.partitions = MaxTotalPartitions - 1 // as if of other topics
	want(t, "told", c.grow(more("there", 4)),
		[]string{"there POLICY_VIOLATION With 2 more partitions there would be over 100000, the most that this broker keeps."})
	want(t, "one less", c.grow(more("there", 3)), []string{"there NONE null"})
}

// Whoever grows a topic while another deletes it grows it before, or finds that
// it is gone: no partition is counted for a topic that is not there.
func TestCreatePartitions_WhileTheTopicIsDeleted(t *testing.T) {
	n := start(t, Options{})
	for range 20 {
		n.make("a", 1, nil)
		var work sync.WaitGroup
		for _, req := range []kmsg.Request{growing(3, more("a", 5)), deleting(6, "a"), growing(3, more("a", 9))} {
			c := n.dial()
			work.Go(func() {
				if _, err := c.try(req); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		want(t, "topics and partitions", []int{len(n.Topics()), n.partitions}, []int{0, 0})
	}
}
