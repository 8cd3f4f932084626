package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A writer is what DescribeProducers tells of one producer.
type writer struct {
	ID       int64
	Epoch    int32
	Sequence int32
	Time     int64
}

func writers(told kmsg.DescribeProducersResponseTopicPartition) (all []writer) {
	for _, a := range told.ActiveProducers {
		all = append(all, writer{a.ProducerID, a.ProducerEpoch, a.LastSequence, a.LastTimestamp})
	}
	return all
}

func TestDescribeProducers_TellsWhatAPartitionRemembers(t *testing.T) {
	_, c := startWith(t, "there")
	want(t, "of an empty partition", writers(c.describe("there", 0)), nil)

	c.store("there", 0, by(9, 3, 0, 2).at(1000, 3000))
	c.store("there", 0, by(8, 0, 0, 1).at(2000))
	c.store("there", 0, by(9, 3, 2, 4).at(5000, 4000, 4000, 4000))
	c.store("there", 0, plain(5))
	c.store("there", 1, by(1, 0, 0, 1).at(7000))
	told := c.describe("there", 0)
	wantCode(t, told.ErrorCode, "NONE")
	want(t, "producers, in order of id", writers(told), []writer{{8, 0, 0, 2000}, {9, 3, 5, 5000}})
	for _, a := range told.ActiveProducers {
		want(t, "coordinator epoch and transaction", []int64{int64(a.CoordinatorEpoch), a.CurrentTxnStartOffset}, []int64{-1, -1})
	}
	want(t, "the other partition's", writers(c.describe("there", 1)), []writer{{1, 0, 0, 7000}})
}

func TestDescribeProducers_AReplayChangesNothing(t *testing.T) {
	_, c := startWith(t, "there")
	c.store("there", 0, by(9, 0, 0, 1).at(1000))
	c.store("there", 0, by(9, 0, 1, 1).at(2000))
	c.store("there", 0, by(9, 0, 0, 1).at(9000))
	want(t, "producers", writers(c.describe("there", 0)), []writer{{9, 0, 1, 2000}})
}

func TestDescribeProducers_OfWhatIsNotThere(t *testing.T) {
	_, c := startWith(t, "there")
	for _, tt := range []struct {
		name, topic string
		partition   int32
		want        string
	}{
		{"no such topic", "missing", 0, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"no such partition", "there", 2, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"partition minus one", "there", -1, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"a name that cannot be", "no such", 0, "INVALID_TOPIC_EXCEPTION"},
		{"no name", "", 0, "INVALID_TOPIC_EXCEPTION"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told := c.describe(tt.topic, tt.partition)
			wantCode(t, told.ErrorCode, tt.want)
			want(t, "partition", told.Partition, tt.partition)
			if text(told.ErrorMessage) == "null" {
				t.Error("nothing says why")
			}
		})
	}
}

func TestDescribeProducers_TellsOfPartitionsInTheOrderAsked(t *testing.T) {
	_, c := startWith(t, "there")
	var told []int32
	for _, p := range c.ask(describing("there", 1, 7, 0)).(*kmsg.DescribeProducersResponse).Topics[0].Partitions {
		told = append(told, p.Partition)
	}
	want(t, "partitions", told, []int32{1, 7, 0})
}
