package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// drawFetch draws a Fetch answer and, for partitions whose records lie in several
// pieces of memory, what follows the first.
func drawFetch(t *rapid.T) (resp *kmsg.FetchResponse, behind [][][]byte) {
	resp = filled(kmsg.NewPtrFetchResponse())
	resp.Topics = nil
	sizes := rapid.SampledFrom([]int{0, 1, 100, lentFrom - 1, lentFrom, lentFrom + 1, 2 << 20})
	for i := range rapid.IntRange(0, 3).Draw(t, "topics") {
		topic := kmsg.FetchResponseTopic{Topic: fmt.Sprint("topic-", i)}
		for j := range rapid.IntRange(0, 3).Draw(t, "partitions") {
			p := *filled(&kmsg.FetchResponseTopicPartition{})
			p.Partition = int32(j)
			p.RecordBatches = bytes.Repeat([]byte{byte(1 + i + j)}, sizes.Draw(t, "records"))
			var more [][]byte
			if len(p.RecordBatches) > 0 {
				for range rapid.IntRange(0, 3).Draw(t, "further pieces") {
					more = append(more, bytes.Repeat([]byte{byte(101 + len(more))}, 1+sizes.Draw(t, "size")))
				}
			}
			topic.Partitions, behind = append(topic.Partitions, p), append(behind, more)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp, behind
}

// joined is the answer as it is on the wire, with all records in it.
func joined(resp *kmsg.FetchResponse, behind [][][]byte, correlation int32) []byte {
	n := 0
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[j]
			p.RecordBatches = append(bytes.Clone(p.RecordBatches), bytes.Join(behind[n], nil)...)
			n++
		}
	}
	frame := kbin.AppendInt32(make([]byte, 4), correlation)
	if resp.IsFlexible() {
		frame = append(frame, 0)
	}
	frame = resp.AppendTo(frame)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

// Records that are written from where they are make the same bytes as those that are
// copied into the answer, whatever lies around them, over a pipe and over TCP.
func TestAnswer_records_are_written_from_where_they_are(t *testing.T) {
	type reply struct {
		resp   *kmsg.FetchResponse
		behind [][][]byte
	}
	const most = 3
	replies := make(chan reply, most)
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		r, n := <-replies, 0
		for i := range r.resp.Topics {
			for j := range r.resp.Topics[i].Partitions {
				records := r.resp.Topics[i].Partitions[j].RecordBatches
				if lent := req.Conn.LendRecords(records, r.behind[n]); lent != (len(r.behind[n]) > 0 || len(records) >= lentFrom) {
					t.Errorf("%d bytes and what follows in %d pieces were lent: %t", len(records), len(r.behind[n]), lent)
				}
				n++
			}
		}
		return tell(r.resp)
	})
	conns := map[string]net.Conn{"pipe": s.connect(), "TCP": s.connectTCP()}
	rapid.Check(t, func(t *rapid.T) {
		c := conns[rapid.SampledFrom([]string{"pipe", "TCP"}).Draw(t, "connection")]
		version := int16(rapid.IntRange(4, 16).Draw(t, "version"))
		var want, asked []byte
		requests := rapid.IntRange(1, most).Draw(t, "requests")
		for i := range requests {
			resp, behind := drawFetch(t)
			resp.SetVersion(version)
			replies <- reply{copyFetch(resp), behind}
			want = append(want, joined(resp, behind, int32(i))...)
			asked = append(asked, frameOf(kmsg.NewPtrFetchRequest(), version, int32(i))...)
		}
		if _, err := c.Write(asked); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 0, len(want))
		for range requests {
			frame, err := readAnswer(c)
			if err != nil {
				t.Fatal(err)
			}
			got = append(binary.BigEndian.AppendUint32(got, uint32(len(frame))), frame...)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes were written, want %d others", len(got), len(want))
		}
	})
}

// copyFetch has topics and partitions of its own.
func copyFetch(resp *kmsg.FetchResponse) *kmsg.FetchResponse {
	c := *resp
	c.Topics = nil
	for _, topic := range resp.Topics {
		topic.Partitions = append([]kmsg.FetchResponseTopicPartition(nil), topic.Partitions...)
		c.Topics = append(c.Topics, topic)
	}
	return &c
}
