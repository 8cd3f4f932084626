package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestCreateTopic_SaysWhatIsWrong(t *testing.T) {
	b := New(Options{Partitions: -5})
	if err := b.CreateTopic("a", -1, nil); err != nil {
		t.Fatal(err)
	}
	want(t, "partitions by default", len(b.lookup("a").all()), 1)
	for _, tt := range []struct {
		name, topic string
		partitions  int32
		configs     map[string]string
		says        string
	}{
		{"a bad name", "a b", 1, nil, "Topic name is invalid"},
		{"no partitions", "b", 0, nil, "invalid non-positive value"},
		{"an unknown config", "b", 1, map[string]string{"x": "1"}, "Unknown topic config name: x"},
		{"an existing topic", "a", 1, nil, "already exists"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := b.CreateTopic(tt.topic, tt.partitions, tt.configs)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the error is %v and does not say %q", err, tt.says)
			}
		})
	}
}

func TestLimits_PartitionsOfATopic(t *testing.T) {
	n := start(t, Options{})
	c := n.dial()
	says := fmt.Sprintf("%d partitions are more than the %d that a topic may have here.", MaxTopicPartitions+1, MaxTopicPartitions)
	want(t, "at the start", n.CreateTopic("over", MaxTopicPartitions+1, nil).Error(), says)
	n.make("grows", 1, nil)
	want(t, "later", c.grow(more("grows", MaxTopicPartitions+1)), []string{"grows INVALID_PARTITIONS " + says})
	wantCode(t, c.createOne(newTopic("most", MaxTopicPartitions)).ErrorCode, "NONE")
	want(t, "topics", n.Topics(), []string{"grows", "most"})
}

// A name of half a frame beside each of many partitions would make the answer a
// hundred thousand times as large.
func TestLimits_ALongNameIsNotRepeatedForEachPartition(t *testing.T) {
	_, c := startWith(t)
	name, partitions := strings.Repeat("x", 30_000), make([]int32, 10_000)
	req := electing(2, preferredElection, name, partitions...)
	for _, resp := range []kmsg.Response{c.ask(req), c.ask(describing(name, partitions...))} {
		if n := len(resp.AppendTo(nil)); n > 1<<20 {
			t.Errorf("%T has %d bytes", resp, n)
		}
	}
}

func TestLimits_PartitionsInAll(t *testing.T) {
	n := start(t, Options{AutoCreate: true})
	for i := range MaxTotalPartitions / MaxTopicPartitions {
		n.make(fmt.Sprint("t", i), MaxTopicPartitions, nil)
	}
	c := n.dial()
	told := c.createOne(newTopic("over", 1))
	wantCode(t, told.ErrorCode, "POLICY_VIOLATION")
	if !strings.Contains(text(told.ErrorMessage), fmt.Sprint(MaxTotalPartitions)) {
		t.Errorf("the message %q does not tell the limit", text(told.ErrorMessage))
	}

	req := metadataOf(12, "over")
	req.AllowAutoTopicCreation = true
	want(t, "made on first use", topicsTold(c.ask(req)), []string{"over UNKNOWN_TOPIC_OR_PARTITION 0"})
	wantCode(t, c.produce("t0", 1, plain(1)).ErrorCode, "NONE") // others are served

	c.ask(deleting(6, "t1"))
	wantCode(t, c.createOne(newTopic("over", MaxTopicPartitions)).ErrorCode, "NONE")
	wantCode(t, c.createOne(newTopic("over2", 1)).ErrorCode, "POLICY_VIOLATION")
}
