package kafka

import (
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a Produce may ask beside its batches.
var produceScripts = append([]script{
	{name: "acks none, one and all", steps: []step{
		topic("t", 1), producer("a"),
		sendAcks(0, to("t-0", by("a", 0, 1))),
		end("t-0"),
		sendAcks(1, to("t-0", by("a", 1, 1))),
		sendAcks(-1, to("t-0", by("a", 2, 1))),
		sendAcks(1, to("t-0", by("a", 0, 1))),
		sendAcks(0, to("t-0", by("a", 2, 1))), // a replay is no refusal
		sendAcks(1, to("t-0", by("a", 5, 1))),
		sendAcks(0, to("t-0", by("a", 3, 1))),
		end("t-0"), described("t-0"),
	}},
	{name: "a refusal with acks none closes the connection", steps: []step{
		topic("t", 2), producer("a"),
		sendAcks(0, to("t-0", by("a", 0, 1))),
		sendAcks(0, to("t-0", by("a", 5, 1))),
		sendAcks(0, to("t-0", by("a", 1, 1).damaged("checksum wrong", flip(crcAt)))),
		sendAcks(0, to("nosuch-0", by("a", 0, 1))),
		sendAcks(0, toPlace(outside("t", 9), by("a", 0, 1))),
		sendAcks(0, to("t-1", by("a", 0, 1))),
		sendAcks(0, to("t-0", by("a", 1, 1)), to("t-1", by("a", 4, 1))), // one of two
		end("t-0"), end("t-1"),
	}},
	{name: "acks that there are not", steps: []step{
		topic("t", 1), producer("a"),
		sendAcks(2, to("t-0", by("a", 0, 1))),
		sendAcks(-2, to("t-0", by("a", 0, 1))),
		sendAcks(math.MaxInt16, to("t-0", by("a", 0, 1)), to("nosuch-0", by("a", 0, 1))),
		sendAcks(3, to("t-0", by("a", 0, 1).damaged("checksum wrong", flip(crcAt)))),
		end("t-0"), send("t-0", by("a", 0, 1)),
	}},
	{name: "topics and partitions that there are not", steps: []step{
		topic("t", 2), producer("a"),
		send("nosuch-0", by("a", 0, 1)),
		produce(toPlace(outside("t", 2), by("a", 0, 1)), toPlace(outside("t", -1), by("a", 0, 1)), to("t-1", by("a", 0, 1))),
		produce(toPlace(outside("t", math.MaxInt32), by("a", 0, 1)), toPlace(outside("t", math.MinInt32), by("a", 0, 1))),
		produce(toPlace(outside("=", 0), by("a", 0, 1))),
		produce(toPlace(outside("bad name", 0), by("a", 0, 1))),
		produce(toPlace(outside("=..", 0), by("a", 0, 1))),
		end("t-0"), end("t-1"), end("nosuch-0"), // Produce makes no topic
	}},
	{name: "nothing to produce", steps: []step{
		topic("t", 1),
		produce(),
		sendAcks(2),
		request("Produce v12 of a topic of no partitions", func(s *scene) kmsg.Request {
			r := production{version: 12, acks: -1, deliveries: []delivery{to("t-0", plain(1))}}.request(s).(*kmsg.ProduceRequest)
			r.Topics[0].Partitions = nil
			return r
		}),
	}},
	{name: "a partition named twice", steps: []step{
		topic("t", 1), producer("a"),
		produce(to("t-0", by("a", 0, 1)), to("t-0", by("a", 1, 1))),
		end("t-0"), described("t-0"),
	}},
	{name: "a topic named twice", steps: []step{
		topic("t", 2), topic("u", 1), producer("a"),
		produce(to("t-0", by("a", 0, 1)), to("u-0", by("a", 0, 1)), to("t-1", by("a", 0, 1))),
		end("t-0"), end("t-1"),
	}},
	{name: "topics by id", steps: []step{
		topic("t", 1), topic("u", 1), producer("a"),
		sendIn(13, to("t-0", by("a", 0, 1)), to("u-0", by("a", 0, 1))),
		sendIn(13, to("t-0", by("a", 0, 1)), to("u-0", by("a", 2, 1))),
		sendIn(13, toPlace(outside("t", 7), by("a", 0, 1)), to("t-0", by("a", 1, 1))),
		production{version: 13, acks: -1, topicID: &madeUp, deliveries: []delivery{to("t-0", by("a", 2, 1))}}.step(),
		production{version: 13, acks: -1, topicID: &[16]byte{}, deliveries: []delivery{to("t-0", by("a", 2, 1))}}.step(),
		production{version: 13, acks: 2, topicID: &madeUp, deliveries: []delivery{to("t-0", by("a", 2, 1))}}.step(),
		end("t-0"), end("u-0"),
	}},
	{name: "the id of a topic that was deleted", steps: []step{
		topic("t", 1), producer("a"),
		sendIn(13, to("t-0", by("a", 0, 1))),
		deleteTopics(6, "t"), gone("t", "older"), topic("t", 1),
		sendIn(13, to("older-0", by("a", 1, 1))),
		sendIn(13, to("t-0", by("a", 0, 1))),
		end("t-0"),
	}},
	{name: "a transactional id and a plain batch", steps: []step{
		topic("t", 1), producer("a"),
		production{version: 12, acks: -1, txn: kmsg.StringPtr("of-nobody"), deliveries: []delivery{to("t-0", by("a", 0, 1))}}.step(),
		production{version: 3, acks: 1, txn: kmsg.StringPtr("of-nobody"), deliveries: []delivery{to("t-0", plain(1))}}.step(),
		end("t-0"),
	}},
	{name: "the timeout of a Produce", steps: []step{
		topic("t", 1), producer("a"),
		timed(0, to("t-0", by("a", 0, 1))), timed(-1, to("t-0", by("a", 1, 1))), timed(math.MinInt32, to("t-0", by("a", 2, 1))),
		end("t-0"),
	}},
	{name: "keys are wanted where a topic is compacted", steps: []step{
		topic("t", 1, "cleanup.policy=compact"), producer("a"),
		send("t-0", by("a", 0, 1).keyed("k")),
		send("t-0", by("a", 1, 1)),
		send("t-0", by("a", 1, 5)),
		sendIn(7, to("t-0", by("a", 1, 2))),
		send("t-0", by("a", 1, 1).keyed("k")),
		end("t-0"),
	}},
	{name: "the broker's time", steps: []step{
		topic("t", 1, "message.timestamp.type=LogAppendTime"), producer("a"),
		send("t-0", by("a", 0, 2)),
		send("t-0", by("a", 0, 2)),
		listOffsets(7, byTime("t-0", -3)),
		send("t-0", by("a", 2, 2).at(9*hour, 8*hour)),
		send("t-0", by("a", 4, 2).with(gzipCodec)),
		send("t-0", by("a", 9, 2)),
		read(from("t-0", 0)),
	}},
	{name: "limits of time that a topic sets", steps: []step{
		topic("t", 1, "message.timestamp.before.max.ms=3600000"), topic("u", 1, "message.timestamp.after.max.ms=1000"), producer("a"),
		send("t-0", by("a", 0, 1)),
		send("t-0", by("a", 0, 2).at(0, 5*hour)),
		send("t-0", by("a", 0, 1).at(5*hour-60_000)),
		send("u-0", by("a", 0, 1).at(5*hour+60_000)),
		send("u-0", by("a", 0, 1)),
		sendIn(8, to("t-0", by("a", 1, 3).at(0, 1, 5*hour))),
	}},
	{name: "compression that a topic sets", steps: []step{
		topic("t", 1, "compression.type=gzip"), topic("u", 1, "compression.type=uncompressed"), producer("a"),
		send("t-0", by("a", 0, 3)), send("t-0", by("a", 3, 3).with(zstdCodec)), send("t-0", by("a", 6, 3).with(gzipCodec)),
		send("t-0", by("a", 0, 3)),
		send("u-0", by("a", 0, 3).with(zstdCodec)), send("u-0", by("a", 3, 3)),
		read(from("t-0", 0)), read(from("u-0", 0)),
	}},
}, everyVersion()...)

// timed is a Produce with another timeout.
func timed(millis int32, deliveries ...delivery) step {
	p := production{version: usualVersion, acks: -1, deliveries: deliveries}
	return request(fmt.Sprintf("Produce timeout %d %s", millis, deliveries[0].words), func(s *scene) kmsg.Request {
		r := p.request(s).(*kmsg.ProduceRequest)
		r.TimeoutMillis = millis
		return r
	})
}

// everyVersion is one script for each version of Produce: versions differ in what an
// answer has room for.
func everyVersion() (all []script) {
	for v := range int16(14) {
		all = append(all, script{name: fmt.Sprintf("Produce in version %d", v), steps: []step{
			topic("t", 2), producer("a"),
			sendIn(v, to("t-0", by("a", 0, 2)), to("t-1", by("a", 1, 1).saying("3 records said", numRecords(3)))),
			sendIn(v, to("t-0", by("a", 7, 2))),
			sendIn(v, to("t-0", by("a", 0, 2))),
			sendIn(v, toPlace(outside("t", 5), plain(1))),
		}})
	}
	return all
}
