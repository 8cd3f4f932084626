package broker

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A spot is what ListOffsets tells of one partition.
type spot struct {
	Code      string
	Offset    int64
	Timestamp int64
	Epoch     int32
}

var nowhere = spot{"NONE", -1, -1, -1}

// spotOf reads an answer; versions before 4 tell no epoch.
func spotOf(told kmsg.ListOffsetsResponseTopicPartition) spot {
	return spot{codeName(told.ErrorCode), told.Offset, told.Timestamp, told.LeaderEpoch}
}

// in is a spot as a version tells it.
func (s spot) in(version int16) spot {
	if version < 4 {
		s.Epoch = -1
	}
	return s
}

// timed gives there-0 the offsets 0 to 5, whose times go up, jump, and go back.
func timed(t *testing.T) *client {
	_, c := startWith(t, "there")
	c.store("there", 0, plain(3).at(1000, 1010, 1020))
	c.store("there", 0, plain(2).at(1500, 1600))
	c.store("there", 0, plain(1).at(1300))
	return c
}

func TestListOffsets_SpecialTimes(t *testing.T) {
	for _, tt := range []struct {
		name      string
		timestamp int64
		since     int16 // the version that brought it
		full      spot
		empty     spot
		trimmed   spot // the full log from offset 4 on
		gone      spot // all deleted
	}{
		{"latest", -1, 1, spot{"NONE", 6, -1, 0}, spot{"NONE", 0, -1, 0}, spot{"NONE", 6, -1, 0}, spot{"NONE", 6, -1, 0}},
		{"earliest", -2, 1, spot{"NONE", 0, -1, 0}, spot{"NONE", 0, -1, 0}, spot{"NONE", 4, -1, 0}, spot{"NONE", 6, -1, 0}},
		{"greatest time", -3, 7, spot{"NONE", 4, 1600, 0}, nowhere, spot{"NONE", 4, 1600, 0}, spot{"NONE", 4, 1600, 0}},
		{"earliest local", -4, 8, spot{"NONE", 0, -1, 0}, spot{"NONE", 0, -1, 0}, spot{"NONE", 4, -1, 0}, spot{"NONE", 6, -1, 0}},
		{"latest tiered", -5, 9, nowhere, nowhere, nowhere, nowhere},
		{"earliest pending upload", -6, 11, nowhere, nowhere, nowhere, nowhere},
		{"no special time", -99, 100, nowhere, nowhere, nowhere, nowhere},
	} {
		t.Run(tt.name, func(t *testing.T) {
			everyVersion(t, kmsg.ListOffsets, func(t *testing.T, version int16) {
				c := timed(t)
				expect := func(what string, partition int32, s spot) {
					t.Helper()
					if version < tt.since {
						s = spot{"UNSUPPORTED_VERSION", -1, -1, -1}
					}
					want(t, what, spotOf(c.listAs(version, "there", partition, tt.timestamp)), s.in(version))
				}
				expect("a full log", 0, tt.full)
				expect("an empty log", 1, tt.empty)
				c.trimTo("there", 0, 4)
				expect("a trimmed log", 0, tt.trimmed)
				c.trimTo("there", 0, -1)
				expect("a log of which all is deleted", 0, tt.gone)
			})
		})
	}
}

func TestListOffsets_WhatIsNotThere(t *testing.T) {
	c := timed(t)
	everyVersion(t, kmsg.ListOffsets, func(t *testing.T, version int16) {
		for _, at := range []place{from("no such", 0, 0), from("there", 2, 0), from("there", -1, 0)} {
			for timestamp, code := range map[int64]string{
				latestOffset: "UNKNOWN_TOPIC_OR_PARTITION", earliestOffset: "UNKNOWN_TOPIC_OR_PARTITION", 0: "UNKNOWN_TOPIC_OR_PARTITION",
				-99: "UNSUPPORTED_VERSION", // which is seen before anybody looks for the partition
			} {
				want(t, fmt.Sprintf("%s-%d at %d", at.topic, at.partition, timestamp),
					spotOf(c.listAs(version, at.topic, at.partition, timestamp)), spot{code, -1, -1, -1})
			}
		}
	})
}

func TestListOffsets_LeaderEpochs(t *testing.T) {
	c := timed(t)
	for version := int16(4); version <= newest(t, kmsg.ListOffsets); version++ {
		for _, tt := range []struct {
			partition, epoch int32
			want             spot
		}{
			{0, -1, spot{"NONE", 6, -1, 0}},
			{0, 0, spot{"NONE", 6, -1, 0}},
			{0, 1, spot{"UNKNOWN_LEADER_EPOCH", -1, -1, -1}},
			{0, -2, spot{"FENCED_LEADER_EPOCH", -1, -1, -1}},
			{9, 5, spot{"UNKNOWN_TOPIC_OR_PARTITION", -1, -1, -1}},
		} {
			req := listing(version, "there", tt.partition, latestOffset)
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = tt.epoch
			told := c.ask(req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
			want(t, fmt.Sprintf("version %d partition %d epoch %d", version, tt.partition, tt.epoch), spotOf(told), tt.want)
		}
	}
}

func TestListOffsets_ReadCommittedIsTheSameWithoutTransactions(t *testing.T) {
	c := timed(t)
	for version := int16(2); version <= newest(t, kmsg.ListOffsets); version++ {
		req := listing(version, "there", 0, latestOffset)
		req.IsolationLevel = 1
		want(t, "end", c.ask(req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].Offset, 6)
	}
}

func TestListOffsets_TellsEachPartitionAsked(t *testing.T) {
	n, c := startWith(t, "a")
	n.make("wide", 3, nil)
	c.store("wide", 2, plain(4))
	req := listing(5, "wide", 2, latestOffset)
	for _, p := range []int32{0, 3} {
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, listing(5, "", p, latestOffset).Topics[0].Partitions...)
	}
	req.Topics = append(req.Topics, listing(5, "a", 1, earliestOffset).Topics...)
	var told []string
	for _, topic := range c.ask(req).(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range topic.Partitions {
			told = append(told, fmt.Sprintf("%s-%d %s %d", topic.Topic, p.Partition, codeName(p.ErrorCode), p.Offset))
		}
	}
	want(t, "told", told, []string{"wide-2 NONE 4", "wide-0 NONE 0", "wide-3 UNKNOWN_TOPIC_OR_PARTITION -1", "a-1 NONE 0"})
}

func TestListOffsets_APartitionTwiceIsToldOnceAsAnError(t *testing.T) {
	c := timed(t)
	everyVersion(t, kmsg.ListOffsets, func(t *testing.T, version int16) {
		req := listing(version, "there", 0, latestOffset)
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, listing(version, "", 1, latestOffset).Topics[0].Partitions...)
		req.Topics = append(req.Topics, listing(version, "there", 0, earliestOffset).Topics...)
		want(t, "told", listedIn(c.ask(req)), []string{"there", "0 INVALID_REQUEST -1", "1 NONE 0"})
	})
}

// listedIn lists an answer: each topic, and its partitions behind it.
func listedIn(resp kmsg.Response) (told []string) {
	for _, topic := range resp.(*kmsg.ListOffsetsResponse).Topics {
		told = append(told, topic.Topic)
		for _, p := range topic.Partitions {
			told = append(told, fmt.Sprintf("%d %s %d", p.Partition, codeName(p.ErrorCode), p.Offset))
		}
	}
	return told
}

// A client that reads an answer into a map by topic would lose what a first
// entry told.
func TestListOffsets_ATopicTwiceIsToldOnceWithAllItsPartitions(t *testing.T) {
	_, c := startWith(t, "a", "b")
	req := listing(6, "a", 0, latestOffset)
	for _, at := range []place{from("b", 0, 0), from("a", 1, 0), from("a", 9, 0)} {
		req.Topics = append(req.Topics, listing(6, at.topic, at.partition, latestOffset).Topics...)
	}
	req.Topics = append(req.Topics, kmsg.ListOffsetsRequestTopic{Topic: "c"})
	want(t, "told", listedIn(c.ask(req)), []string{"a", "0 NONE 0", "1 NONE 0", "9 UNKNOWN_TOPIC_OR_PARTITION -1", "b", "0 NONE 0"})
}

// What is wrong with a partition is told in the order in which Kafka looks.
func TestListOffsets_OneErrorComesBeforeAnother(t *testing.T) {
	c := timed(t)
	for _, tt := range []struct {
		name             string
		partition, epoch int32
		timestamp        int64
		want             string
	}{
		{"the time before the partition", 9, 0, -99, "UNSUPPORTED_VERSION"},
		{"the time before the epoch", 0, 5, -99, "UNSUPPORTED_VERSION"},
		{"the partition before the epoch", 9, 5, latestOffset, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"the epoch before a time that is not there", 0, 5, 1 << 62, "UNKNOWN_LEADER_EPOCH"},
		{"the epoch before what is never there", 0, -2, latestTiered, "FENCED_LEADER_EPOCH"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := listing(newest(t, kmsg.ListOffsets), "there", tt.partition, tt.timestamp)
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = tt.epoch
			told := c.ask(req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
			want(t, "told", spotOf(told), spot{tt.want, -1, -1, -1})
		})
	}
}

func TestListOffsets_WhoAsksMakesNoDifference(t *testing.T) {
	c := timed(t)
	everyVersion(t, kmsg.ListOffsets, func(t *testing.T, version int16) {
		for _, replica := range []int32{-1, -2, 0, NodeID, 5, -99} {
			req := listing(version, "there", 0, latestOffset)
			req.ReplicaID = replica
			told := c.ask(req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
			want(t, fmt.Sprint("replica ", replica), spotOf(told), spot{"NONE", 6, -1, 0}.in(version))
		}
	})
}

func TestListOffsets_RefusesAnIsolationLevelThatThereIsNot(t *testing.T) {
	c := timed(t)
	for _, level := range []int8{2, -1} {
		req := listing(2, "there", 0, latestOffset)
		req.IsolationLevel = level
		told := c.ask(req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
		want(t, fmt.Sprint("level ", level), spotOf(told), spot{"INVALID_REQUEST", -1, -1, -1})
	}
}
