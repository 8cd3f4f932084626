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

// Large requests that are being read take no more memory together than is
// stated, and give it back when they have ended.
func TestServer_large_requests_share_a_bounded_memory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, func(_ context.Context, req *Request) Reply { return tell(req.Body.ResponseKind()) })
		s.frameLimit = 4 << 20
		stalled := s.connect()
		stalled.Write(unfinished(3 << 20)) //nolint:errcheck // it is closed at the end of the test
		synctest.Wait()

		refused := s.connect()
		refused.Write(unfinished(3 << 20)) //nolint:errcheck // it is closed in the middle
		s.wantClose(ReasonNoFrameMemory)

		stalled.Close()
		s.wantClose(ReasonReadFailed)
		again := s.connect()
		again.Write(unfinished(3 << 20)) //nolint:errcheck // it is closed at the end of the test
		synctest.Wait()
		again.Close()
		s.wantClose(ReasonReadFailed)
		if n := s.frameMemory.Load(); n != 0 {
			t.Errorf("%d bytes were not given back", n)
		}
	})
}

// unfinished is the beginning of a Produce of 90 MB: its announcement, and n
// bytes.
func unfinished(n int) []byte {
	frame := make([]byte, 4+n)
	copy(frame, []byte{0x05, 0x5d, 0x4a, 0x80, 0, 0, 0, 9})
	return frame
}
