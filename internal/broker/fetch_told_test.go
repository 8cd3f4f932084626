package broker

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// told is a whole Fetch answer in words: its error code and session, and of each
// partition the error, or the log's ends and the base offsets of what came. A
// session is "s" if it has an id, since ids are drawn, and a topic by an id that
// is no more is "gone".
func (c *client) told(resp kmsg.Response) []string {
	r := resp.(*kmsg.FetchResponse)
	session := "s"
	if r.SessionID == 0 {
		session = "0"
	}
	all := []string{codeName(r.ErrorCode) + " " + session}
	for _, t := range r.Topics {
		if t.TopicID != [16]byte{} {
			t.Topic = cmp.Or(c.node.TopicName(t.TopicID), "gone")
		}
		for i := range t.Partitions {
			all = append(all, fmt.Sprintf("%s-%s", t.Topic, toldOf(&t.Partitions[i])))
		}
	}
	return all
}

func toldOf(p *kmsg.FetchResponseTopicPartition) string {
	s := fmt.Sprintf("%d %s", p.Partition, codeName(p.ErrorCode))
	if p.HighWatermark >= 0 || p.LogStartOffset >= 0 || p.LastStableOffset >= 0 {
		s += fmt.Sprintf(" %d..%d", p.LogStartOffset, p.HighWatermark)
	}
	if p.LastStableOffset != p.HighWatermark {
		s += fmt.Sprintf(" last stable %d", p.LastStableOffset)
	}
	if len(p.RecordBatches) > 0 {
		s += " " + fmt.Sprint(offsetsIn(p.RecordBatches))
	}
	return s
}

// unstarted is what toldOf says of a version without a log start offset.
func unstarted(s string) string { return strings.Replace(s, " 0..", " -1..", 1) }
