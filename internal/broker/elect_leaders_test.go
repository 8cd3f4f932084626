package broker

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// electing makes an ElectLeaders request for partitions of one topic.
func electing(version int16, kind int8, topic string, partitions ...int32) *kmsg.ElectLeadersRequest {
	req := kmsg.NewPtrElectLeadersRequest()
	req.Version, req.ElectionType = version, kind
	req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: topic, Partitions: partitions}}
	return req
}

// elections lists an answer as "topic-partition code message".
func elections(resp kmsg.Response) (told []string) {
	for _, t := range resp.(*kmsg.ElectLeadersResponse).Topics {
		if len(t.Partitions) == 0 {
			told = append(told, t.Topic)
		}
		for _, p := range t.Partitions {
			told = append(told, fmt.Sprintf("%s-%d %s %s", t.Topic, p.Partition, codeName(p.ErrorCode), text(p.ErrorMessage)))
		}
	}
	return told
}

const notNeeded = "ELECTION_NOT_NEEDED Leader election not needed for topic partition."

func TestElectLeaders_NeedsNone(t *testing.T) {
	_, c := startWith(t, "there")
	everyVersion(t, kmsg.ElectLeaders, func(t *testing.T, version int16) {
		for _, kind := range []int8{preferredElection, uncleanElection} {
			req := electing(version, kind, "there", 1, 2, -1, 0)
			req.Topics = append(req.Topics, electing(version, kind, "missing", 0).Topics...)
			req.Topics = append(req.Topics, electing(version, kind, "empty").Topics...)
			resp := c.ask(req).(*kmsg.ElectLeadersResponse)
			wantCode(t, resp.ErrorCode, "NONE")
			want(t, "told", elections(resp), []string{
				"there-1 " + notNeeded,
				"there-2 UNKNOWN_TOPIC_OR_PARTITION there is no such partition",
				"there--1 UNKNOWN_TOPIC_OR_PARTITION there is no such partition",
				"there-0 " + notNeeded,
				"missing-0 UNKNOWN_TOPIC_OR_PARTITION there is no such topic",
				"empty",
			})
		}
	})
}

func TestElectLeaders_OfAllTopicsNamesThemAndNoPartition(t *testing.T) {
	_, c := startWith(t, "b", "a")
	everyVersion(t, kmsg.ElectLeaders, func(t *testing.T, version int16) {
		all := electing(version, preferredElection, "")
		all.Topics = nil
		want(t, "all", elections(c.ask(all)), []string{"a", "b"})
		all.Topics = []kmsg.ElectLeadersRequestTopic{}
		want(t, "none", elections(c.ask(all)), nil)
	})
}

func TestElectLeaders_RefusesAKindThatThereIsNot(t *testing.T) {
	_, c := startWith(t, "there")
	everyVersion(t, kmsg.ElectLeaders, func(t *testing.T, version int16) {
		for _, kind := range []int8{2, -1} {
			resp := c.ask(electing(version, kind, "there", 0)).(*kmsg.ElectLeadersResponse)
			if version == 0 { // it has no place for a kind
				want(t, "told", elections(resp), []string{"there-0 " + notNeeded})
				continue
			}
			wantCode(t, resp.ErrorCode, "INVALID_REQUEST")
			want(t, "told", elections(resp), []string{fmt.Sprintf("there-0 INVALID_REQUEST Unknown election type %d", kind)})
		}
	})
}
