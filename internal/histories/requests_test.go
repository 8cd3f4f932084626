package histories

import "github.com/twmb/franz-go/pkg/kmsg"

// The timestamps that ask ListOffsets for an end of the log.
const (
	latest   = -1
	earliest = -2
)

// Versions that name topics, and no ids.
const (
	fetchVersion         = 12
	listOffsetsVersion   = 7
	deleteRecordsVersion = 2
	initVersion          = 4
)

// A position is where a partition is read from.
type position struct {
	partition int32
	offset    int64
}

func at(partition int32, offset int64) position { return position{partition, offset} }

// fetching makes a Fetch without a session that waits for nothing.
func fetching(maxBytes int32, places ...position) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.SessionEpoch, req.MaxBytes = fetchVersion, -1, -1, maxBytes
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	for _, place := range places {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = place.partition, place.offset, maxBytes
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	return req
}

func listing(partition int32, timestamp int64) *kmsg.ListOffsetsRequest {
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, timestamp
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID, req.Topics = listOffsetsVersion, -1, append(req.Topics, t)
	return req
}

// offsetOf is the offset that a ListOffsets answer tells, -1 if it tells an error
// or there is no answer.
func offsetOf(resp kmsg.Response) int64 {
	list, ok := resp.(*kmsg.ListOffsetsResponse)
	if !ok || len(list.Topics) != 1 || len(list.Topics[0].Partitions) != 1 || list.Topics[0].Partitions[0].ErrorCode != 0 {
		return -1
	}
	return list.Topics[0].Partitions[0].Offset
}

func trimming(partition int32, offset int64) *kmsg.DeleteRecordsRequest {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version = deleteRecordsVersion
	req.Topics = []kmsg.DeleteRecordsRequestTopic{{
		Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: partition, Offset: offset}},
	}}
	return req
}

func describing(partition int32) *kmsg.DescribeProducersRequest {
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: []int32{partition}}}
	return req
}

func identifying() *kmsg.InitProducerIDRequest {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.ProducerID, req.ProducerEpoch = initVersion, -1, -1
	return req
}

// producing makes a Produce of one batch for each of some partitions.
func producing(version, acks int16, batches map[int32][]byte, order []int32) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, acks, 30_000
	t := kmsg.ProduceRequestTopic{Topic: topic}
	for _, n := range order {
		t.Partitions = append(t.Partitions, kmsg.ProduceRequestTopicPartition{Partition: n, Records: batches[n]})
	}
	req.Topics = append(req.Topics, t)
	return req
}
