package wire

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A batchSeen is what a handler sees of a Batch.
type batchSeen struct {
	Topic     string
	Partition int32
	Raw       string
	Producer  int64
	Records   int32
	Err       string
}

func seen(b Batch) batchSeen {
	s := batchSeen{Topic: b.Topic, Partition: b.Partition, Raw: string(b.Raw)}
	if b.Err != nil {
		s.Err = b.Err.Error()
	} else {
		s.Producer, s.Records = b.Header.ProducerID, b.Header.NumRecords
	}
	return s
}

func TestServer_lists_the_batches_of_a_Produce_in_the_order_of_its_body(t *testing.T) {
	first, second := batchOf(plainRecords(3), producerOf(7, 0, 0)), batchOf(plainRecords(1), producerOf(8, 0, 5))
	unsound := patched(first, 17, 0, 0, 0, 0) // the header is read all the same
	req := kmsg.NewPtrProduceRequest()
	req.Topics = append(produceOf("orders", first, nil, []byte{}), produceOf("audit", second, []byte("junk"), unsound)...)
	want := []batchSeen{
		{"orders", 0, string(first), 7, 3, ""},
		{"orders", 1, "", 0, 0, "the record set is null"},
		{"orders", 2, "", 0, 0, "the record set has no bytes"},
		{"audit", 0, string(second), 8, 1, ""},
		{"audit", 1, "junk", 0, 0, "the record set ends after 4 bytes, inside the header of a batch"},
		{"audit", 2, string(unsound), 7, 3, ""},
	}
	api, _ := Lookup(int16(kmsg.Produce))
	for v := api.Min; v < 13; v++ {
		wantBatches(t, req, v, want)
	}

	// From version 13 on topics have ids, and those that are known their names.
	req.Topics[0].TopicID, req.Topics[1].TopicID = [16]byte{1}, [16]byte{2}
	for i := range want[3:] {
		want[3+i].Topic = ""
	}
	wantBatches(t, req, 13, want)
}

func wantBatches(t *testing.T, req *kmsg.ProduceRequest, v int16, want []batchSeen) {
	t.Helper()
	var got []batchSeen
	s := newNamingServer(t, func(_ context.Context, req *Request) Reply {
		for _, b := range req.Batches {
			got = append(got, seen(b))
		}
		return tell(req.Body.ResponseKind())
	}, func(id [16]byte) string {
		if id == [16]byte{1} {
			return "orders"
		}
		return ""
	})
	c := s.connect()
	for range 2 { // the second request finds the memory of the first in use
		got = nil
		c.ask(req, v, 1)
		c.answer(req.ResponseKind(), v, 1)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version %d: the batches (-want +got):\n%s", v, diff)
		}
	}
}

func TestServer_lists_no_batches_for_other_APIs(t *testing.T) {
	s := newTestServer(t, func(_ context.Context, req *Request) Reply {
		if _, produce := req.Body.(*kmsg.ProduceRequest); !produce && len(req.Batches) > 0 {
			t.Errorf("%T came with %d batches", req.Body, len(req.Batches))
		}
		return tell(req.Body.ResponseKind())
	})
	c := s.connect()
	for _, req := range []kmsg.Request{produceTwo(), fetchTwo(), kmsg.NewPtrMetadataRequest()} {
		c.ask(req, 9, 1)
		c.answer(req.ResponseKind(), 9, 1)
	}
}
