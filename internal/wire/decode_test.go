package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// wantLikeKmsg fails unless a Produce was decoded as kmsg does it, or refused where
// countProduce or kmsg refuses it.
func wantLikeKmsg(t rapid.TB, d *decoder, version int16, body []byte) {
	t.Helper()
	_, got, failed := d.decode(frameWith(int16(kmsg.Produce), version, body), admitAll)
	want := kmsg.NewPtrProduceRequest()
	want.Version = version
	_, err := countProduce(version, body)
	if err == nil {
		err = want.ReadFrom(body)
	}
	if err != nil || failed != nil {
		if (err == nil) != (failed == nil) {
			t.Fatalf("version %d of %x: refused with %v, and kmsg says %v", version, body, failed, err)
		}
		return
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(kmsg.Tags{})); diff != "" {
		t.Fatalf("version %d of %x (-kmsg +got):\n%s", version, body, diff)
	}
}

func drawProduce(t *rapid.T) *kmsg.ProduceRequest {
	small := rapid.IntRange(0, 3)
	names := rapid.SampledFrom([]string{"orders", "orders", "a", "", strings.Repeat("n", MaxTopicName), strings.Repeat("n", MaxTopicName+1)})
	req := kmsg.NewPtrProduceRequest()
	req.Version = int16(rapid.IntRange(3, 13).Draw(t, "version"))
	req.Acks = int16(rapid.IntRange(-1, 1).Draw(t, "acks"))
	req.TimeoutMillis = rapid.Int32().Draw(t, "timeout")
	if rapid.Bool().Draw(t, "transactional") {
		id := rapid.SampledFrom([]string{"", "tx"}).Draw(t, "id")
		req.TransactionID = &id
	}
	many := rapid.SampledFrom([]int{0, 0, 0, smallProduce - 4, smallProduce, smallProduce + 1})
	for range small.Draw(t, "topics") {
		topic := kmsg.NewProduceRequestTopic()
		topic.Topic, topic.TopicID[15] = names.Draw(t, "topic"), byte(small.Draw(t, "topic id"))
		for range small.Draw(t, "partitions") + many.Draw(t, "more partitions") {
			p := kmsg.NewProduceRequestTopicPartition()
			p.Partition = rapid.Int32().Draw(t, "partition")
			p.Records = rapid.SampledFrom([][]byte{nil, {}, []byte("records")}).Draw(t, "records")
			tagged(t, &p.UnknownTags)
			topic.Partitions = append(topic.Partitions, p)
		}
		tagged(t, &topic.UnknownTags)
		req.Topics = append(req.Topics, topic)
	}
	tagged(t, &req.UnknownTags)
	return req
}

// tagged adds a tagged field now and then.
func tagged(t *rapid.T, to *kmsg.Tags) {
	if rapid.IntRange(0, 30).Draw(t, "tagged") == 30 {
		to.Set(7, []byte("tag"))
	}
}

// One decoder reads many requests, and nothing of one is left in the next, nor in what
// was cut off or garbled.
func TestDecoder_reads_a_Produce_as_kmsg_does(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d decoder
		for range rapid.IntRange(1, 5).Draw(t, "requests") {
			req := drawProduce(t)
			body := req.AppendTo(nil)
			switch rapid.IntRange(0, 3).Draw(t, "harm") {
			case 0:
				body = body[:rapid.IntRange(0, len(body)).Draw(t, "cut")]
			case 1:
				body[rapid.IntRange(0, len(body)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "garbled")
			}
			wantLikeKmsg(t, &d, req.Version, body)
			if rapid.Bool().Draw(t, "forget") {
				d.forget()
			}
		}
	})
}

// Whoever keeps a string of a request has it for good.
func TestDecoder_keeps_its_strings_and_nothing_of_the_frame(t *testing.T) {
	var d decoder
	var kept []string
	for _, name := range []string{"orders", "orders", "orderz"} {
		req := kmsg.NewPtrProduceRequest()
		req.Topics = produceOf(name, []byte("records"))
		frame := frameOf(req, 9, 1)[lengthBytes:]
		h, got, f := d.decode(frame, admitAll)
		if f != nil {
			t.Fatal(f.err)
		}
		kept = append(kept, h.client, got.(*kmsg.ProduceRequest).Topics[0].Topic)
		d.forget()
		clear(frame)
	}
	if want := []string{"tester", "orders", "tester", "orders", "tester", "orderz"}; !slices.Equal(kept, want) {
		t.Errorf("kept are %q, want %q", kept, want)
	}
	for _, p := range d.partitions[:cap(d.partitions)] {
		if p.Records != nil {
			t.Errorf("the records %q are kept", p.Records)
		}
	}
}

func TestDecoder_takes_no_memory_for_a_Produce_like_the_last_one(t *testing.T) {
	req := kmsg.NewPtrProduceRequest()
	req.Topics = produceOf("orders", []byte("one"), []byte("two"))
	for _, version := range []int16{3, 9, 13} {
		frame := frameOf(req, version, 1)[lengthBytes:]
		var d decoder
		if n := testing.AllocsPerRun(100, func() {
			if _, _, f := d.decode(frame, admitAll); f != nil {
				t.Fatal(f.err)
			}
			d.forget()
		}); n > 0 {
			t.Errorf("version %d: %.1f allocations", version, n)
		}
	}
}

// What counts as small is the same for whoever reads it, and for whoever admits it.
func TestDecoder_asks_for_memory_beyond_a_small_Produce(t *testing.T) {
	for entries, want := range map[int]int64{smallProduce - 1: 0, smallProduce: 0, smallProduce + 1: (smallProduce + 1) * entryCost} {
		var asked int64
		of := kmsg.NewPtrProduceRequest()
		of.Topics = produceOf("t", make([][]byte, entries-1)...)
		frame := frameOf(of, 9, 1)[lengthBytes:]
		_, req, f := new(decoder).decode(frame, func(cost int64) bool { asked += cost; return true })
		if f != nil {
			t.Fatal(f.err)
		}
		if got := len(req.(*kmsg.ProduceRequest).Topics[0].Partitions); got != entries-1 || asked != want {
			t.Errorf("%d entries: %d partitions, and %d bytes asked for, want %d", entries, got, asked, want)
		}
	}
}

func TestProduceAnswer_takes_half_of_what_is_admitted_at_most(t *testing.T) {
	const topics, each = 10_000, 10
	req := kmsg.NewPtrProduceRequest()
	for range topics {
		req.Topics = append(req.Topics, produceOf("t", make([][]byte, each)...)...)
	}
	r := &Request{Body: req, answer: &produceAnswer{}}
	var resp *kmsg.ProduceResponse
	wantAllocated(t, allocated(func() { resp = r.ProduceAnswer() }), topics*(1+each)*entryCost/2)
	for i := range resp.Topics {
		if p := resp.Topics[i].Partitions; len(p) != each || cap(p) != each || p[each-1].BaseOffset != -1 || p[each-1].Partition != req.Topics[i].Partitions[each-1].Partition {
			t.Fatalf("topic %d is answered with %+v", i, p)
		}
	}
	if r.answer.forget(); r.answer.partitions != nil || r.answer.topics != nil {
		t.Error("a connection keeps the memory of a large answer")
	}
}
