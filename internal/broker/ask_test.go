package broker

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The versions in which tests ask unless the version matters: the last that name
// topics by name.
const (
	produceVersion = 12
	fetchVersion   = 12
)

// newest is the highest version of an API that is served.
func newest(t testing.TB, key kmsg.Key) int16 {
	t.Helper()
	api, ok := wire.Lookup(int16(key))
	if !ok {
		t.Fatalf("API %d is not served", key)
	}
	return api.Max
}

// idOf is the id of a topic, zero if there is none.
func (c *client) idOf(name string) (id [16]byte) {
	if t := c.node.lookup(name); t != nil {
		id = t.id
	}
	return id
}

// An entry is what a Produce request holds for one partition.
type entry struct {
	topic     string
	partition int32
	records   []byte
}

// producing makes a Produce request that names topics as its version does.
// Entries of one topic stand under one name if they stand beside each other.
func (c *client) producing(version, acks int16, entries ...entry) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, acks, 30_000
	for _, e := range entries {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != e.topic {
			req.Topics = append(req.Topics, kmsg.ProduceRequestTopic{Topic: e.topic, TopicID: c.idOf(e.topic)})
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, kmsg.ProduceRequestTopicPartition{Partition: e.partition, Records: e.records})
	}
	return req
}

// produce sends one batch with acks=all and gives what was told of it.
func (c *client) produce(topic string, partition int32, d *draft) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	return c.produceAs(produceVersion, topic, partition, d)
}

func (c *client) produceAs(version int16, topic string, partition int32, d *draft) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	return onlyProduced(c.t, c.ask(c.producing(version, -1, entry{topic, partition, d.bytes()})))
}

func onlyProduced(t testing.TB, resp kmsg.Response) kmsg.ProduceResponseTopicPartition {
	t.Helper()
	topics := resp.(*kmsg.ProduceResponse).Topics
	if len(topics) != 1 || len(topics[0].Partitions) != 1 {
		t.Fatalf("the answer tells of %+v, and of one partition it should", topics)
	}
	return topics[0].Partitions[0]
}

// store sends a batch that has to be accepted and gives its base offset.
func (c *client) store(topic string, partition int32, d *draft) int64 {
	c.t.Helper()
	told := c.produce(topic, partition, d)
	if told.ErrorCode != 0 {
		c.t.Fatalf("a batch for %s-%d was refused: %s, %s", topic, partition, codeName(told.ErrorCode), text(told.ErrorMessage))
	}
	return told.BaseOffset
}

// A place is a partition in a Fetch request.
type place struct {
	topic     string
	partition int32
	offset    int64
	maxBytes  int32
}

// from is a place with room for all that may come.
func from(topic string, partition int32, offset int64) place {
	return place{topic, partition, offset, math.MaxInt32}
}

// fetching makes a Fetch request that waits for nothing.
func (c *client) fetching(version int16, places ...place) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version = version
	for _, at := range places {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != at.topic {
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = at.topic, c.idOf(at.topic)
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = at.partition, at.offset, at.maxBytes
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return req
}

// waiting makes a Fetch request that waits for min bytes, ms milliseconds at most.
func (c *client) waiting(minBytes, ms int32, places ...place) *kmsg.FetchRequest {
	req := c.fetching(fetchVersion, places...)
	req.MinBytes, req.MaxWaitMillis = minBytes, ms
	return req
}

// fetched lists the partitions of an answer, topic by topic.
func fetchedFrom(resp kmsg.Response) (all []kmsg.FetchResponseTopicPartition) {
	for _, t := range resp.(*kmsg.FetchResponse).Topics {
		all = append(all, t.Partitions...)
	}
	return all
}

// fetch reads one partition without waiting.
func (c *client) fetch(topic string, partition int32, offset int64) kmsg.FetchResponseTopicPartition {
	c.t.Helper()
	return fetchedFrom(c.ask(c.fetching(fetchVersion, from(topic, partition, offset))))[0]
}

// batchesIn cuts what Fetch gave into whole batches. What is left over is the
// beginning of one more.
func batchesIn(records []byte) (whole [][]byte, rest []byte) {
	for len(records) >= epochAt {
		size := int(binary.BigEndian.Uint32(records[lengthAt:])) + epochAt
		if size > len(records) {
			break
		}
		whole, records = append(whole, records[:size]), records[size:]
	}
	return whole, records
}

// offsetsIn lists the base offsets of the batches that Fetch gave.
func offsetsIn(records []byte) (all []int64) {
	whole, _ := batchesIn(records)
	for _, b := range whole {
		all = append(all, int64(binary.BigEndian.Uint64(b)))
	}
	return all
}

// everything reads a partition from an offset to its end.
func (c *client) everything(topic string, partition int32, offset int64) (records []byte) {
	c.t.Helper()
	for {
		told := c.fetch(topic, partition, offset)
		if told.ErrorCode != 0 {
			c.t.Fatalf("reading %s-%d from offset %d: %s", topic, partition, offset, codeName(told.ErrorCode))
		}
		records = append(records, told.RecordBatches...)
		whole, _ := batchesIn(told.RecordBatches)
		if len(whole) == 0 {
			return records
		}
		h, bad := wire.ParseBatchHeader(whole[len(whole)-1])
		if bad != nil {
			c.t.Fatalf("reading %s-%d from offset %d: %v", topic, partition, offset, bad)
		}
		offset = h.FirstOffset + int64(h.NumRecords)
	}
}

// listing makes a ListOffsets request.
func listing(version int16, topic string, partition int32, timestamp int64) *kmsg.ListOffsetsRequest {
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, timestamp
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID, req.Topics = version, -1, append(req.Topics, t)
	return req
}

// list asks for one offset.
func (c *client) list(topic string, partition int32, timestamp int64) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	return c.listAs(newest(c.t, kmsg.ListOffsets), topic, partition, timestamp)
}

func (c *client) listAs(version int16, topic string, partition int32, timestamp int64) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	resp := c.ask(listing(version, topic, partition, timestamp)).(*kmsg.ListOffsetsResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		c.t.Fatalf("the answer tells of %+v, and of one partition it should", resp.Topics)
	}
	return resp.Topics[0].Partitions[0]
}

// end is the log end offset of a partition.
func (c *client) end(topic string, partition int32) int64 {
	c.t.Helper()
	return c.list(topic, partition, latestOffset).Offset
}

// trimTo deletes records up to an offset.
func (c *client) trimTo(topic string, partition int32, offset int64) kmsg.DeleteRecordsResponseTopicPartition {
	c.t.Helper()
	resp := c.ask(trimming(newest(c.t, kmsg.DeleteRecords), topic, partition, offset)).(*kmsg.DeleteRecordsResponse)
	return resp.Topics[0].Partitions[0]
}

func trimming(version int16, topic string, partition int32, offset int64) *kmsg.DeleteRecordsRequest {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version = version
	req.Topics = []kmsg.DeleteRecordsRequestTopic{{
		Topic:      topic,
		Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: partition, Offset: offset}},
	}}
	return req
}

// describe asks what a partition remembers of its producers.
func (c *client) describe(topic string, partition int32) kmsg.DescribeProducersResponseTopicPartition {
	c.t.Helper()
	resp := c.ask(describing(topic, partition)).(*kmsg.DescribeProducersResponse)
	return resp.Topics[0].Partitions[0]
}

func describing(topic string, partitions ...int32) *kmsg.DescribeProducersRequest {
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: partitions}}
	return req
}

// A snapshot is all that a client can see of a partition.
type snapshot struct {
	Start, End int64
	Log        []byte
	Producers  []kmsg.DescribeProducersResponseTopicPartitionActiveProducer
}

func (c *client) snapshot(topic string, partition int32) snapshot {
	c.t.Helper()
	start := c.list(topic, partition, earliestOffset).Offset
	return snapshot{
		Start: start, End: c.end(topic, partition),
		Log:       c.everything(topic, partition, start),
		Producers: c.describe(topic, partition).ActiveProducers,
	}
}
