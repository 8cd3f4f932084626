package wire

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func produceFrame(number int32) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(9)
	req.Acks = -1
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: "orders", Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: number}}}}
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("c")).AppendRequest(nil, req, number)
}

// A Produce on a connection that has gone dark for requests is noted with the
// rules that darkened it, and answered by nobody.
func TestServer_a_lost_Produce_is_handed_on_as_lost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fired := []Firing{{Rule: "drop before produce"}}
		var lost []TopicPartition
		s := newTestServer(t, func(_ context.Context, req *Request) Reply {
			if req.Lost {
				if diff := cmp.Diff(fired, req.LostBy); diff != "" {
					t.Errorf("it was lost by (-want +got):\n%s", diff)
				}
				lost = append(lost, TopicPartition{req.Batches[0].Topic, req.Batches[0].Partition})
				return tell(req.Body.ResponseKind())
			}
			return Reply{Fate: LoseRequests, Fired: fired}
		})
		c := s.connect()
		for n := range int32(3) {
			c.send(produceFrame(n))
		}
		c.send(metadataFrames(3, 4)) // leaves no trace
		synctest.Wait()
		if diff := cmp.Diff([]TopicPartition{{"orders", 1}, {"orders", 2}}, lost); diff != "" {
			t.Errorf("lost were (-want +got):\n%s", diff)
		}
		wantOpen(t, s, c, true)
	})
}

// unfinished is the beginning of a Produce of 90 MB: its announcement, and n
// bytes.
func unfinished(n int) []byte {
	frame := make([]byte, 4+n)
	copy(frame, []byte{0x05, 0x5d, 0x4a, 0x80, 0, 0, 0, 9})
	return frame
}
