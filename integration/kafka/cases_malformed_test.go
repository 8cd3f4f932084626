package kafka

import (
	"bytes"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// bad is a script in which a sound batch, a malformed one, and the next sound one
// come in turn: the last tells whether the malformed one counted.
func bad(name string, malformed ...batch) script {
	s := script{name: "malformed: " + name, steps: prepare(topic("t", 1), producer("a"), send("t-0", by("a", 0, 2)))}
	for _, b := range malformed {
		s.steps = append(s.steps, send("t-0", b))
	}
	s.steps = append(s.steps, end("t-0"), send("t-0", by("a", 2, 2)), read(from("t-0", 2)))
	return s
}

// nextBatch is the batch that would be right.
func nextBatch() batch { return by("a", 2, 2) }

// Batches whose header or length is not so.
var malformedScripts = []script{
	bad("a wrong checksum",
		nextBatch().damaged("checksum wrong", flip(crcAt)),
		nextBatch().damaged("a record's byte wrong", func(raw []byte) []byte { raw[len(raw)-2] ^= 1; return raw }),
		nextBatch().damaged("attributes wrong", flip(coveredAt+1)),
		nextBatch().damaged("sequence wrong", flip(56)),
		nextBatch().damaged("checksum 0", func(raw []byte) []byte { copy(raw[crcAt:], []byte{0, 0, 0, 0}); return raw })),
	bad("the length says less",
		nextBatch().damaged("length 0", length(0)),
		nextBatch().damaged("length 4", length(4)),
		nextBatch().damaged("length 48", length(headerSize-leaderAt-1)),
		nextBatch().damaged("length 49", length(headerSize-leaderAt)),
		nextBatch().damaged("length less by 1", longer(-1)),
		nextBatch().damaged("length -1", length(-1)),
		nextBatch().damaged("least length", length(math.MinInt32))),
	bad("the length says more",
		nextBatch().damaged("length more by 1", longer(1)),
		nextBatch().damaged("length more by 1000", longer(1000)),
		nextBatch().damaged("greatest length", length(math.MaxInt32))),
	bad("it ends early",
		nextBatch().damaged("cut by 1", cutBy(1)),
		nextBatch().damaged("cut by 10", cutBy(10)),
		nextBatch().damaged("header alone", cutTo(headerSize)),
		nextBatch().damaged("60 bytes", cutTo(headerSize-1)),
		nextBatch().damaged("17 bytes", cutTo(crcAt)),
		nextBatch().damaged("16 bytes", cutTo(magicAt)),
		nextBatch().damaged("12 bytes", cutTo(leaderAt)),
		nextBatch().damaged("11 bytes", cutTo(leaderAt-1)),
		nextBatch().damaged("1 byte", cutTo(1))),
	bad("another magic",
		nextBatch().damaged("magic 0", putting(magicAt, 0)),
		nextBatch().damaged("magic 1", putting(magicAt, 1)),
		nextBatch().damaged("magic 3", putting(magicAt, 3)),
		nextBatch().damaged("magic 9", putting(magicAt, 9)),
		nextBatch().damaged("magic -1", putting(magicAt, 255))),
	bad("the record count is not so",
		nextBatch().saying("1 record said", numRecords(1)),
		nextBatch().saying("3 records said", numRecords(3)),
		nextBatch().saying("0 records said", numRecords(0)),
		nextBatch().saying("-1 records said", numRecords(-1)),
		nextBatch().saying("most records said", numRecords(math.MaxInt32)),
		nextBatch().saying("least records said", numRecords(math.MinInt32))),
	bad("the last offset delta is not so",
		nextBatch().saying("delta 0", lastDelta(0)),
		nextBatch().saying("delta 2", lastDelta(2)),
		nextBatch().saying("delta -1", lastDelta(-1)),
		nextBatch().saying("greatest delta", lastDelta(math.MaxInt32)),
		nextBatch().saying("least delta", lastDelta(math.MinInt32))),
	bad("count and delta agree and are not so",
		nextBatch().saying("3 records, delta 2", func(h *kmsg.RecordBatch) { h.NumRecords, h.LastOffsetDelta = 3, 2 }),
		nextBatch().saying("1 record, delta 0", func(h *kmsg.RecordBatch) { h.NumRecords, h.LastOffsetDelta = 1, 0 }),
		nextBatch().saying("0 records, delta -1", func(h *kmsg.RecordBatch) { h.NumRecords, h.LastOffsetDelta = 0, -1 })),
	bad("a base offset that only the broker gives",
		nextBatch().saying("base offset 77", firstOffset(77)),
		nextBatch().saying("base offset 2", firstOffset(2)),
		nextBatch().saying("base offset -1", firstOffset(-1)),
		nextBatch().saying("greatest base offset", firstOffset(math.MaxInt64))),
	{name: "a leader epoch in the batch is not looked at", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 1).saying("leader epoch 0", leaderEpoch(0))),
		send("t-0", by("a", 1, 1).saying("leader epoch 99", leaderEpoch(99))),
		send("t-0", by("a", 2, 1).saying("leader epoch -7", leaderEpoch(-7))),
		read(from("t-0", 0)),
	}},
	bad("a control batch",
		nextBatch().saying("control", attributes(0x20)),
		plain(1).saying("control", attributes(0x20)),
		nextBatch().saying("control and transactional", attributes(0x30))),
	{name: "a transactional batch without a transactional id", steps: []step{
		topic("t", 2), producer("a"),
		send("t-0", by("a", 0, 1).saying("transactional", attributes(0x10))),
		sendIn(3, to("t-0", by("a", 0, 1).saying("transactional", attributes(0x10)))),
		produce(to("t-0", by("a", 0, 1).saying("transactional", attributes(0x10))), to("t-1", by("a", 0, 1))),
		send("t-0", by("a", 0, 1)),
		end("t-0"),
	}},
	{name: "attributes that mean nothing are kept", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 1).saying("bit 7", attributes(0x80))),
		send("t-0", by("a", 1, 1).saying("bit 14", attributes(0x4000))),
		send("t-0", by("a", 2, 1).saying("bit 15", attributes(math.MinInt16))),
		send("t-0", by("a", 3, 1).saying("delete horizon", attributes(0x40))),
		read(from("t-0", 0)),
	}},
	bad("no records at all",
		by("a", 2, 0),
		plain(0),
		by("a", 2, 0).saying("1 record said", numRecords(1)),
		by("a", 2, 0).with(gzipCodec)),
	{name: "malformed: a null record set", steps: []step{
		topic("t", 1), producer("a"), send("t-0", by("a", 0, 2)),
		produce(bytesTo("t-0", "null", nil)),
		end("t-0"), send("t-0", by("a", 2, 2)),
	}},
	{name: "malformed: an empty record set", steps: []step{
		topic("t", 2), producer("a"), send("t-0", by("a", 0, 2)),
		produce(bytesTo("t-0", "empty", []byte{})),
		produce(bytesTo("t-0", "empty", []byte{}), to("t-1", by("a", 0, 1))),
		sendIn(3, bytesTo("t-0", "empty", []byte{})),
		end("t-0"), end("t-1"),
	}},
	{name: "malformed: bytes that are no batch", steps: []step{
		topic("t", 1),
		produce(bytesTo("t-0", "100 times 0", make([]byte, 100))),
		produce(bytesTo("t-0", "100 times ff", bytes.Repeat([]byte{0xff}, 100))),
		produce(bytesTo("t-0", "7 bytes", []byte("records"))),
		produce(bytesTo("t-0", "61 times 0", make([]byte, headerSize))),
		end("t-0"),
	}},
	{name: "two batches in one record set are refused together", steps: []step{
		topic("t", 2), producer("a", "b"),
		send("t-0", by("a", 0, 1), by("a", 1, 1)),
		send("t-0", plain(1), plain(1)),
		send("t-0", by("a", 0, 1), by("b", 0, 1)),
		send("t-0", by("a", 0, 1), by("a", 1, 1).damaged("checksum wrong", flip(crcAt))),
		send("t-0", by("a", 0, 1).damaged("checksum wrong", flip(crcAt)), by("a", 1, 1)),
		produce(to("t-0", plain(1), plain(1)), to("t-1", by("a", 0, 1))),
		send("t-0", by("a", 0, 1)),
		end("t-0"), end("t-1"),
	}},
	{name: "bytes behind a sound batch", steps: []step{
		topic("t", 1), producer("a"),
		send("t-0", by("a", 0, 1).damaged("1 byte behind", trailed(1))),
		send("t-0", by("a", 1, 1).damaged("3 bytes behind", trailed(1, 2, 3))),
		send("t-0", by("a", 2, 1).damaged("11 bytes behind", trailed(make([]byte, 11)...))),
		send("t-0", by("a", 3, 1).damaged("12 bytes 0 behind", trailed(make([]byte, 12)...))),
		send("t-0", by("a", 3, 1).damaged("12 bytes ff behind", trailed(bytes.Repeat([]byte{0xff}, 12)...))),
		send("t-0", by("a", 3, 1).damaged("17 bytes 0 behind", trailed(make([]byte, 17)...))),
		send("t-0", by("a", 3, 1).damaged("60 bytes 0 behind", trailed(make([]byte, 60)...))),
		send("t-0", by("a", 3, 1).damaged("61 bytes 0 behind", trailed(make([]byte, 61)...))),
		end("t-0"),
		read(from("t-0", 0)),
	}},
}
