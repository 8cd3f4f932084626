package kafka

import (
	"bytes"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// last changes the last record of two.
func last(change func(r *kmsg.Record)) func(i int, r *kmsg.Record) {
	return func(i int, r *kmsg.Record) {
		if i == 1 {
			change(r)
		}
	}
}

// Batches whose records are not so.
var recordScripts = []script{
	bad("a record's length is not so",
		nextBatch().each("length more by 1", last(func(r *kmsg.Record) { r.Length++ })),
		nextBatch().each("length less by 1", last(func(r *kmsg.Record) { r.Length-- })),
		nextBatch().each("length 0", last(func(r *kmsg.Record) { r.Length = 0 })),
		nextBatch().each("length -1", last(func(r *kmsg.Record) { r.Length = -1 })),
		nextBatch().each("greatest length", last(func(r *kmsg.Record) { r.Length = math.MaxInt32 })),
		nextBatch().each("least length", last(func(r *kmsg.Record) { r.Length = math.MinInt32 }))),
	{name: "an offset delta inside a record", steps: []step{
		topic("t", 4), producer("a"),
		send("t-0", by("a", 0, 2).each("delta 5", last(func(r *kmsg.Record) { r.OffsetDelta = 5 }))),
		send("t-1", by("a", 0, 2).each("delta 0 twice", last(func(r *kmsg.Record) { r.OffsetDelta = 0 }))),
		send("t-2", by("a", 0, 2).each("delta -1", last(func(r *kmsg.Record) { r.OffsetDelta = -1 }))),
		send("t-3", by("a", 0, 2).with(gzipCodec).each("delta 5", last(func(r *kmsg.Record) { r.OffsetDelta = 5 }))),
		end("t-0"), end("t-1"), end("t-2"), end("t-3"),
		read(from("t-0", 0)),
	}},
	{name: "a record's own attributes mean nothing", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 2).each("attributes 1", last(func(r *kmsg.Record) { r.Attributes = 1 }))),
		send("t-0", by("a", 2, 2).each("attributes -1", last(func(r *kmsg.Record) { r.Attributes = -1 }))),
		read(from("t-0", 0)),
	}},
	{name: "records with null, empty and many", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 1).each("null value", func(_ int, r *kmsg.Record) { r.Value = nil; r.Length = 6 })),
		send("t-0", by("a", 1, 1).of("")),
		send("t-0", by("a", 2, 1).keyed("k").of("")),
		send("t-0", by("a", 3, 1).each("a header", func(_ int, r *kmsg.Record) {
			r.Headers = []kmsg.Header{{Key: "h", Value: []byte("v")}}
			r.Length += 4
		})),
		send("t-0", by("a", 4, 1).each("a header of a null value", func(_ int, r *kmsg.Record) {
			r.Headers = []kmsg.Header{{Key: "h"}}
			r.Length += 3
		})),
		read(from("t-0", 0)),
	}},
	bad("bytes behind the records",
		nextBatch().followed(0),
		nextBatch().followed(1, 2, 3),
		nextBatch().with(gzipCodec).followed(0),
		nextBatch().with(zstdCodec).followed(9, 9, 9, 9)),
	bad("bytes that are no records",
		nextBatch().holding("20 times ff", bytes.Repeat([]byte{0xff}, 20)),
		nextBatch().holding("20 times 0", make([]byte, 20)),
		nextBatch().holding("80 80 80", []byte{0x80, 0x80, 0x80}),
		nextBatch().holding("1 byte", []byte{2}),
		nextBatch().with(gzipCodec).holding("20 times ff", bytes.Repeat([]byte{0xff}, 20)),
		nextBatch().with(lz4Codec).holding("nothing", nil)),
	bad("negative lengths inside a record",
		nextBatch().holding("key of -2", recordOf(3, 0, 0, 2)),
		nextBatch().holding("value of -2", recordOf(0, 0, 1, 3)),
		nextBatch().holding("-1 headers", recordOf(0, 0, 1, 1, 1)),
		nextBatch().holding("key beyond the end", recordOf(0, 0, 100))),
	bad("compression that cannot be read",
		nextBatch().with(claiming(1)), nextBatch().with(claiming(2)), nextBatch().with(claiming(3)), nextBatch().with(claiming(4)),
		nextBatch().with(claiming(1)).holding("nothing", nil)),
	bad("a codec that there is not",
		nextBatch().with(claiming(5)), nextBatch().with(claiming(6)), nextBatch().with(claiming(7))),
	bad("compression that ends early",
		nextBatch().with(cutShort(gzipCodec)), nextBatch().with(cutShort(snappyCodec)), nextBatch().with(cutShort(lz4Codec)),
		nextBatch().with(cutShort(zstdCodec)), nextBatch().with(cutShort(xerialCodec))),
	bad("a count that the compressed records do not have",
		nextBatch().with(gzipCodec).saying("3 records, delta 2", func(h *kmsg.RecordBatch) { h.NumRecords, h.LastOffsetDelta = 3, 2 }),
		nextBatch().with(zstdCodec).saying("1 record, delta 0", func(h *kmsg.RecordBatch) { h.NumRecords, h.LastOffsetDelta = 1, 0 }),
		nextBatch().with(lz4Codec).saying("3 records said", numRecords(3))),
	{name: "every codec is kept as it was sent", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 2).with(gzipCodec)),
		send("t-0", by("a", 2, 2).with(snappyCodec).of("snappy")),
		send("t-0", by("a", 4, 2).with(xerialCodec).sized(1000)),
		send("t-0", by("a", 6, 2).with(lz4Codec)),
		send("t-0", by("a", 8, 2).with(zstdCodec)),
		send("t-0", plain(3).with(gzipCodec)),
		read(from("t-0", 0)),
	}},
	{name: "zstd came with version 7", steps: []step{
		topic("t", 1), producer("a"),
		sendIn(3, to("t-0", by("a", 0, 1).with(zstdCodec))),
		sendIn(6, to("t-0", by("a", 0, 1).with(zstdCodec))),
		sendIn(7, to("t-0", by("a", 0, 1).with(zstdCodec))),
		sendIn(6, to("t-0", by("a", 1, 1).with(lz4Codec))),
		fetchIn(4, nil, from("t-0", 0)), fetchIn(9, nil, from("t-0", 0)), fetchIn(10, nil, from("t-0", 0)),
	}},
	{name: "batches that are too large", steps: []step{
		topic("t", 1), topic("small", 1, "max.message.bytes=200"), producer("a"),
		send("t-0", by("a", 0, 1).sized(1_100_000)),
		send("t-0", by("a", 0, 1).sized(1_000_000)),
		send("t-0", by("a", 0, 1).sized(1_000_000)),
		send("small-0", by("a", 0, 1).sized(200)),
		send("small-0", by("a", 0, 1).sized(128)), send("small-0", by("a", 1, 1).sized(129)), send("small-0", by("a", 1, 1).sized(130)),
		send("small-0", by("a", 1, 1).sized(131)), send("small-0", by("a", 2, 1).sized(132)),
		send("small-0", by("a", 9, 1).sized(300)), // the size is judged before the sequence
		send("small-0", by("a", 1, 1).sized(3000).with(gzipCodec)),
		end("small-0"),
	}},
	{name: "a producer's times are corrected", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 2).at(5, 3)),
		send("t-0", by("a", 2, 2).saying("greatest time too late", func(h *kmsg.RecordBatch) { h.MaxTimestamp += 1000 })),
		send("t-0", by("a", 4, 2).saying("greatest time -1", func(h *kmsg.RecordBatch) { h.MaxTimestamp = -1 })),
		send("t-0", by("a", 6, 2).saying("a broker's time", attributes(8))),
		send("t-0", by("a", 8, 1).saying("no time", func(h *kmsg.RecordBatch) { h.FirstTimestamp, h.MaxTimestamp = -1, -1 })),
		read(from("t-0", 0)),
	}},
	{name: "times that are too far ahead", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 1).at(4*hour)),
		send("t-0", by("a", 1, 1).at(7*hour)),
		send("t-0", by("a", 1, 3).at(0, 7*hour, 8*hour)),
		sendIn(7, to("t-0", by("a", 1, 1).at(7*hour))),
		send("t-0", by("a", 0, 1).at(7*hour)),
		send("t-0", by("a", 1, 1)),
		end("t-0"),
	}},
}

// hour is one in milliseconds.
const hour = 3_600_000

// recordOf is a record of these bytes behind its attributes and times: a length
// before them, and the second like it.
func recordOf(fields ...byte) []byte {
	body := append([]byte{0, 0, 0}, fields...)
	one := append([]byte{byte(2 * len(body))}, body...)
	return append(one, one...)
}

// cutShort is a codec whose last bytes are lost.
func cutShort(c codec) codec {
	return codec{c.name + " cut short", c.bits, func(b []byte) []byte { b = c.compress(b); return b[:len(b)-5] }}
}
