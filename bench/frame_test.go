package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// asked decodes a frame as a broker does.
func asked(t *testing.T, frame []byte) (correlation int32, req *kmsg.ProduceRequest) {
	t.Helper()
	r := kbin.Reader{Src: frame}
	if n := int(r.Int32()); n != len(frame)-lengthBytes {
		t.Fatalf("the frame says that it has %d bytes, and it has %d", n, len(frame)-lengthBytes)
	}
	key, version := r.Int16(), r.Int16()
	if key != int16(kmsg.Produce) || version != produceVersion {
		t.Fatalf("API key %d, version %d", key, version)
	}
	correlation = r.Int32()
	r.NullableString()
	kmsg.SkipTags(&r)
	req = kmsg.NewPtrProduceRequest()
	req.Version = version
	if err := req.ReadFrom(r.Src); err != nil {
		t.Fatal(err)
	}
	return correlation, req
}

func TestFrame_stamped_is_a_sound_batch_of_its_source(t *testing.T) {
	for _, codec := range append([]string{codecNone}, compressions...) {
		for _, base := range []work{large, small} {
			w := base.with(func(w *work) { w.codec, w.acks = codec, 1 })
			t.Run(w.String(), func(t *testing.T) {
				f, err := newFrame(w, "orders")
				if err != nil {
					t.Fatal(err)
				}
				for i, s := range []source{{}, {partition: 9_999, producer: firstMadeUp + 7, epoch: 3, sequence: math.MaxInt32}, {sequence: 100}} {
					f.stamp(int32(i), &s)
					wantStamped(t, f.bytes, int32(i), s, w)
				}
			})
		}
	}
}

func wantStamped(t *testing.T, frame []byte, correlation int32, s source, w work) {
	t.Helper()
	got, req := asked(t, frame)
	if got != correlation || req.Acks != w.acks || len(req.Topics) != 1 || req.Topics[0].Topic != "orders" || len(req.Topics[0].Partitions) != 1 {
		t.Fatalf("correlation id %d, request %+v", got, req)
	}
	p := req.Topics[0].Partitions[0]
	sent := bytes.Clone(p.Records)
	b, bad := new(wire.Request).CheckBatch(p.Records, wire.BatchRules{MaxBytes: 1 << 20, Version: produceVersion})
	if bad != nil {
		t.Fatal(bad)
	}
	if !bytes.Equal(sent, p.Records) {
		t.Error("the batch had to be corrected")
	}
	if p.Partition != s.partition || b.ProducerID != s.producer || b.ProducerEpoch != s.epoch || b.FirstSequence != s.sequence || b.NumRecords != int32(w.records) {
		t.Errorf("partition %d, producer %d, epoch %d, sequence %d, %d records, want %+v", p.Partition, b.ProducerID, b.ProducerEpoch, b.FirstSequence, b.NumRecords, s)
	}
	wantRecords(t, sent, w)
}

func wantRecords(t *testing.T, batch []byte, w work) {
	t.Helper()
	n := 0
	err := wire.EachRecord(batch, wire.MaxDecompressed, func(r wire.Record) error {
		if n++; len(r.Value) != w.size {
			t.Errorf("record %d has %d bytes", n, len(r.Value))
		}
		return nil
	})
	if err != nil || n != w.records {
		t.Errorf("%d records: %v", n, err)
	}
}

func TestFrame_compresses(t *testing.T) {
	plain, err := newBatch(large)
	if err != nil {
		t.Fatal(err)
	}
	for _, codec := range compressions {
		packed, err := newBatch(large.with(func(w *work) { w.codec = codec }))
		if err != nil {
			t.Fatal(err)
		}
		if share := float64(len(packed)) / float64(len(plain)); share < 0.1 || share > 0.7 {
			t.Errorf("%s leaves %.2f of the bytes, and of log lines a tenth to two thirds are left", codec, share)
		}
	}
}

func TestProduceAnswer_has_its_code_where_a_lane_looks_for_it(t *testing.T) {
	a := produceAnswer("orders")
	at := newLane(nil, nil, small, "orders", true).codeAt + lengthBytes
	binary.BigEndian.PutUint16(a[at:], 45)
	binary.BigEndian.PutUint64(a[at+2:], 4711)
	req := kmsg.NewPtrProduceRequest()
	req.Version = produceVersion
	resp, err := decode(req, a[lengthBytes:])
	if err != nil {
		t.Fatal(err)
	}
	if p := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]; p.ErrorCode != 45 || p.BaseOffset != 4711 {
		t.Errorf("code %d, offset %d", p.ErrorCode, p.BaseOffset)
	}
}
