package broker

import (
	"testing"

	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestOffsetCommit_TellsEachPartition(t *testing.T) {
	_, c := startWith(t, "there", "also")
	everyVersion(t, kmsg.OffsetCommit, func(t *testing.T, version int16) {
		req := c.committing(version, "g", "there", 0, 5)
		more := c.committing(version, "g", "nowhere", 0, 5).Topics[0]
		beside := c.committing(version, "g", "there", 9, 5).Topics[0].Partitions[0]
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, beside)
		req.Topics = append(req.Topics, more, c.committing(version, "g", "also", 1, 6).Topics[0])
		unknown := "UNKNOWN_TOPIC_OR_PARTITION"
		if version >= commitTopicIDsSince {
			unknown = "UNKNOWN_TOPIC_ID"
		}
		want(t, "codes", committed(c.ask(req)), []string{"NONE", "UNKNOWN_TOPIC_OR_PARTITION", unknown, "NONE"})
		want(t, "offsets", offsetsTold(c.ask(c.fetchingOffsets(9, "g", "there", 0, 9))), []int64{5, -1})
	})
}

func TestOffsetCommit_OfAMemberOfAGroupThatIsNotThere(t *testing.T) {
	_, c := startWith(t, "there")
	everyVersion(t, kmsg.OffsetCommit, func(t *testing.T, version int16) {
		req := c.committing(version, "none", "there", 0, 5)
		req.Generation, req.MemberID = 3, "ghost"
		expected := "ILLEGAL_GENERATION"
		if version >= commitGroupNotFoundSince {
			expected = "GROUP_ID_NOT_FOUND"
		}
		want(t, "codes", committed(c.ask(req)), []string{expected})
	})
}

func TestOffsetCommit_OfNothingThatIsThereMakesNoGroup(t *testing.T) {
	n, c := startWith(t)
	want(t, "codes", committed(c.ask(c.committing(9, "g", "nowhere", 0, 5))), []string{"UNKNOWN_TOPIC_OR_PARTITION"})
	want(t, "groups", len(n.groups.List()), 0)
}

func TestOffsetFetch_AsksForAll(t *testing.T) {
	_, c := startWith(t, "there", "also")
	c.ask(c.committing(9, "g", "there", 1, 7))
	c.ask(c.committing(9, "g", "also", 0, 6))
	everyVersion(t, kmsg.OffsetFetch, func(t *testing.T, version int16) {
		if version < 2 {
			return // it has no way to ask for all
		}
		req := c.fetchingOffsets(version, "g", "there", 0)
		req.Topics, req.Groups[0].Topics = nil, nil
		want(t, "offsets", offsetsTold(c.ask(req)), []int64{6, 7})

		req.Topics, req.Groups[0].Topics = []kmsg.OffsetFetchRequestTopic{}, []kmsg.OffsetFetchRequestGroupTopic{}
		want(t, "offsets of no topics", offsetsTold(c.ask(req)), nil)
	})
}

func TestOffsetFetch_OfWhatIsNotThere(t *testing.T) {
	_, c := startWith(t, "there")
	everyVersion(t, kmsg.OffsetFetch, func(t *testing.T, version int16) {
		for _, topic := range []string{"there", "nowhere"} {
			resp := c.ask(c.fetchingOffsets(version, "none", topic, 0, 9)).(*kmsg.OffsetFetchResponse)
			want(t, "offsets", offsetsTold(resp), []int64{-1, -1})
			if version < offsetFetchTopicIDsSince {
				continue
			}
			expected := map[string]string{"there": "NONE", "nowhere": "UNKNOWN_TOPIC_ID"}[topic]
			wantCode(t, resp.Groups[0].Topics[0].Partitions[0].ErrorCode, expected)
		}
	})
}

func TestOffsetFetch_OfSeveralGroups(t *testing.T) {
	n, c := startWith(t, "there")
	n.commitFor("g", "there", 0, 5)
	req := c.fetchingOffsets(9, "g", "there", 0)
	req.Groups = append(req.Groups, c.fetchingOffsets(9, "h", "there", 0).Groups...)
	resp := c.ask(req).(*kmsg.OffsetFetchResponse)
	want(t, "groups", []string{resp.Groups[0].Group, resp.Groups[1].Group}, []string{"g", "h"})
	want(t, "offsets", offsetsTold(resp), []int64{5, -1})
}

func TestDeleteTopics_TakesOffsetsAlong(t *testing.T) {
	n, c := startWith(t, "there")
	n.commitFor("g", "there", 0, 5)
	c.ask(deleting(6, "there"))
	n.make("there", 2, nil)
	want(t, "offsets", offsetsTold(c.ask(c.fetchingOffsets(9, "g", "there", 0))), []int64{-1})
}

func TestOffsetDelete_OfAGroupThatIsNotThere(t *testing.T) {
	_, c := startWith(t, "there")
	resp := c.ask(deletingOffsets("none", "there", 0)).(*kmsg.OffsetDeleteResponse)
	wantCode(t, resp.ErrorCode, "GROUP_ID_NOT_FOUND")
	want(t, "topics", len(resp.Topics), 0)
}

func TestOffsetFetch_TellsWhatATransactionMayChange(t *testing.T) {
	n, c := startWith(t, "there")
	n.commitFor("g", "there", 0, 5)
	for _, partition := range []int32{0, 1} {
		n.groups.CommitPending(group.Commit{
			Identity: group.Identity{Group: "g", Generation: -1},
			Offsets:  []group.PartitionOffset{{Partition: group.Partition{Topic: "there", Number: partition}, Offset: group.Offset{At: 9}}},
		}, 7)
	}
	for _, stable := range []bool{false, true} {
		req := c.fetchingOffsets(9, "g", "there", 0, 1)
		req.RequireStable = stable
		told := c.ask(req).(*kmsg.OffsetFetchResponse)
		offsets, code := []int64{5, -1}, "NONE"
		if stable {
			offsets, code = []int64{-1, -1}, "UNSTABLE_OFFSET_COMMIT"
		}
		want(t, "offsets", offsetsTold(told), offsets)
		wantCode(t, told.Groups[0].Topics[0].Partitions[0].ErrorCode, code)

		req.Groups[0].Topics = nil
		want(t, "of all", offsetsTold(c.ask(req)), offsets[:1])
	}
}
