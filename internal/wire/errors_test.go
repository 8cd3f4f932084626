package wire

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// at sets the version of a request.
func at[M kmsg.Request](v int16, m M) M {
	m.SetVersion(v)
	return m
}

var why = kmsg.StringPtr("the fault said so")

// The code that stands for all of these tests: NOT_LEADER_OR_FOLLOWER.
var notLeader = kerr.NotLeaderForPartition.Code

func produceRefused(message *string) *kmsg.ProduceResponse {
	part := func(n int32) kmsg.ProduceResponseTopicPartition {
		p := kmsg.NewProduceResponseTopicPartition()
		p.Partition, p.ErrorCode, p.ErrorMessage = n, notLeader, message
		p.BaseOffset, p.LogAppendTime, p.LogStartOffset = -1, -1, -1
		return p
	}
	resp := kmsg.NewPtrProduceResponse()
	resp.Topics = []kmsg.ProduceResponseTopic{
		{Topic: "orders", Partitions: []kmsg.ProduceResponseTopicPartition{part(0), part(1)}},
		{Topic: "audit", Partitions: []kmsg.ProduceResponseTopicPartition{part(7)}},
	}
	return resp
}

// Records of a refused fetch are empty, never null, which sarama cannot read.
func fetchRefused() *kmsg.FetchResponse {
	part := func(n int32) kmsg.FetchResponseTopicPartition {
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.ErrorCode, p.RecordBatches = n, notLeader, []byte{}
		p.HighWatermark, p.LastStableOffset, p.LogStartOffset = -1, -1, -1
		return p
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.ErrorCode = notLeader
	resp.Topics = []kmsg.FetchResponseTopic{
		{Topic: "orders", Partitions: []kmsg.FetchResponseTopicPartition{part(0), part(1)}},
		{Topic: "audit", Partitions: []kmsg.FetchResponseTopicPartition{part(7)}},
	}
	return resp
}

func listOffsetsRefused() *kmsg.ListOffsetsResponse {
	part := func(n int32) kmsg.ListOffsetsResponseTopicPartition {
		p := kmsg.NewListOffsetsResponseTopicPartition()
		p.Partition, p.ErrorCode, p.Timestamp, p.Offset, p.LeaderEpoch = n, notLeader, -1, -1, -1
		return p
	}
	resp := kmsg.NewPtrListOffsetsResponse()
	resp.Topics = []kmsg.ListOffsetsResponseTopic{
		{Topic: "orders", Partitions: []kmsg.ListOffsetsResponseTopicPartition{part(0), part(1)}},
		{Topic: "audit", Partitions: []kmsg.ListOffsetsResponseTopicPartition{part(7)}},
	}
	return resp
}

func deleteRecordsRefused() *kmsg.DeleteRecordsResponse {
	part := func(n int32) kmsg.DeleteRecordsResponseTopicPartition {
		return kmsg.DeleteRecordsResponseTopicPartition{Partition: n, LowWatermark: -1, ErrorCode: notLeader}
	}
	resp := kmsg.NewPtrDeleteRecordsResponse()
	resp.Topics = []kmsg.DeleteRecordsResponseTopic{
		{Topic: "orders", Partitions: []kmsg.DeleteRecordsResponseTopicPartition{part(0), part(1)}},
		{Topic: "audit", Partitions: []kmsg.DeleteRecordsResponseTopicPartition{part(7)}},
	}
	return resp
}

func describeProducersRefused() *kmsg.DescribeProducersResponse {
	part := func(n int32) kmsg.DescribeProducersResponseTopicPartition {
		return kmsg.DescribeProducersResponseTopicPartition{Partition: n, ErrorCode: notLeader, ErrorMessage: why}
	}
	resp := kmsg.NewPtrDescribeProducersResponse()
	resp.Topics = []kmsg.DescribeProducersResponseTopic{
		{Topic: "orders", Partitions: []kmsg.DescribeProducersResponseTopicPartition{part(0), part(1)}},
		{Topic: "audit", Partitions: []kmsg.DescribeProducersResponseTopicPartition{part(7)}},
	}
	return resp
}

func epochsTwo() *kmsg.OffsetForLeaderEpochRequest {
	part := func(n int32) kmsg.OffsetForLeaderEpochRequestTopicPartition {
		return kmsg.OffsetForLeaderEpochRequestTopicPartition{Partition: n, CurrentLeaderEpoch: 3, LeaderEpoch: 2}
	}
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version = 4
	req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{
		{Topic: "orders", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{part(0), part(1)}},
		{Topic: "audit", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{part(7)}},
	}
	return req
}

func epochsRefused() *kmsg.OffsetForLeaderEpochResponse {
	part := func(n int32) kmsg.OffsetForLeaderEpochResponseTopicPartition {
		return kmsg.OffsetForLeaderEpochResponseTopicPartition{Partition: n, ErrorCode: notLeader, LeaderEpoch: -1, EndOffset: -1}
	}
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	resp.Topics = []kmsg.OffsetForLeaderEpochResponseTopic{
		{Topic: "orders", Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{part(0), part(1)}},
		{Topic: "audit", Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{part(7)}},
	}
	return resp
}

func electLeadersTwo() *kmsg.ElectLeadersRequest {
	req := kmsg.NewPtrElectLeadersRequest()
	req.Version = 2
	req.Topics = []kmsg.ElectLeadersRequestTopic{
		{Topic: "orders", Partitions: []int32{0, 1}}, {Topic: "audit", Partitions: []int32{7}}}
	return req
}

func electLeadersRefused(top int16) *kmsg.ElectLeadersResponse {
	part := func(n int32) kmsg.ElectLeadersResponseTopicPartition {
		return kmsg.ElectLeadersResponseTopicPartition{Partition: n, ErrorCode: notLeader, ErrorMessage: why}
	}
	resp := kmsg.NewPtrElectLeadersResponse()
	resp.ErrorCode = top
	resp.Topics = []kmsg.ElectLeadersResponseTopic{
		{Topic: "orders", Partitions: []kmsg.ElectLeadersResponseTopicPartition{part(0), part(1)}},
		{Topic: "audit", Partitions: []kmsg.ElectLeadersResponseTopicPartition{part(7)}},
	}
	return resp
}

func topicPartitionsTwo() *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: "orders"}, {Topic: "audit"}}
	return req
}

func topicPartitionsRefused() *kmsg.DescribeTopicPartitionsResponse {
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	for _, name := range []string{"orders", "audit"} {
		topic := kmsg.NewDescribeTopicPartitionsResponseTopic()
		topic.Topic, topic.ErrorCode = &name, notLeader
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

// The directory without a name is where versions before 3 have room for a code.
func logDirsRefused(top int16) *kmsg.DescribeLogDirsResponse {
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.ErrorCode = notLeader
	resp.ErrorCode, resp.Dirs = top, []kmsg.DescribeLogDirsResponseDir{dir}
	return resp
}

func reassignmentsOne() *kmsg.ListPartitionReassignmentsRequest {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	req.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: "orders", Partitions: []int32{0}}}
	return req
}

func metadataRefused() *kmsg.MetadataResponse {
	topic := func(name *string, id [16]byte) kmsg.MetadataResponseTopic {
		t := kmsg.NewMetadataResponseTopic()
		t.ErrorCode, t.Topic, t.TopicID = notLeader, name, id
		return t
	}
	resp := kmsg.NewPtrMetadataResponse()
	resp.Topics = []kmsg.MetadataResponseTopic{topic(kmsg.StringPtr("orders"), [16]byte{}), topic(nil, [16]byte{9})}
	return resp
}

func deleteTopicsRefused(version int16) *kmsg.DeleteTopicsResponse {
	topic := func(name *string, id [16]byte) kmsg.DeleteTopicsResponseTopic {
		return kmsg.DeleteTopicsResponseTopic{Topic: name, TopicID: id, ErrorCode: notLeader, ErrorMessage: why}
	}
	resp := kmsg.NewPtrDeleteTopicsResponse()
	second := topic(nil, [16]byte{9})
	if version < 6 {
		second = topic(kmsg.StringPtr("audit"), [16]byte{})
	}
	resp.Topics = []kmsg.DeleteTopicsResponseTopic{topic(kmsg.StringPtr("orders"), [16]byte{}), second}
	return resp
}

// Counts are -1 in an error, and there are no configs: nothing was created.
func createTopicsRefused() *kmsg.CreateTopicsResponse {
	resp := kmsg.NewPtrCreateTopicsResponse()
	topic := kmsg.NewCreateTopicsResponseTopic()
	topic.Topic, topic.ErrorCode, topic.ErrorMessage = "orders", notLeader, why
	topic.NumPartitions, topic.ReplicationFactor = -1, -1
	topic.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	resp.Topics = []kmsg.CreateTopicsResponseTopic{topic}
	return resp
}

func findCoordinator(version int16) (*kmsg.FindCoordinatorRequest, *kmsg.FindCoordinatorResponse) {
	req, resp := at(version, kmsg.NewPtrFindCoordinatorRequest()), kmsg.NewPtrFindCoordinatorResponse()
	if version < 4 {
		req.CoordinatorKey = "billing"
		resp.NodeID, resp.Port, resp.ErrorCode, resp.ErrorMessage = -1, -1, notLeader, why
		return req, resp
	}
	for _, key := range []string{"billing", "shipping"} {
		req.CoordinatorKeys = append(req.CoordinatorKeys, key)
		resp.Coordinators = append(resp.Coordinators, kmsg.FindCoordinatorResponseCoordinator{
			Key: key, NodeID: -1, Port: -1, ErrorCode: notLeader, ErrorMessage: why})
	}
	return req, resp
}

func TestErrorAnswer_tells_the_code_for_everything_that_was_asked(t *testing.T) {
	byID := at(13, produceTwo())
	byID.Topics[0].TopicID, byID.Topics[1].TopicID = [16]byte{1}, [16]byte{2}
	byIDRefused := produceRefused(why)
	byIDRefused.Topics[0].TopicID, byIDRefused.Topics[1].TopicID = [16]byte{1}, [16]byte{2}
	noProducer := kmsg.NewPtrInitProducerIDResponse()
	noProducer.ErrorCode, noProducer.ProducerID, noProducer.ProducerEpoch = notLeader, -1, -1
	noCluster := kmsg.NewPtrDescribeClusterResponse()
	noCluster.ErrorCode, noCluster.ErrorMessage, noCluster.EndpointType = notLeader, why, 1
	noReassignments := kmsg.NewPtrListPartitionReassignmentsResponse()
	noReassignments.ErrorCode, noReassignments.ErrorMessage = notLeader, why
	noVersions := kmsg.NewPtrApiVersionsResponse()
	noVersions.ErrorCode = notLeader
	oneCoordinator, oneRefused := findCoordinator(3)
	manyCoordinators, manyRefused := findCoordinator(4)

	tests := []struct {
		name string
		req  kmsg.Request
		want kmsg.Response
	}{
		{"produce 3", at(3, produceTwo()), produceRefused(why)},
		{"produce 8", at(8, produceTwo()), produceRefused(why)},
		{"produce 12", at(12, produceTwo()), produceRefused(why)},
		{"produce 13, by id", byID, byIDRefused},
		{"fetch 4", at(4, fetchTwo()), fetchRefused()},
		{"fetch 12", at(12, fetchTwo()), fetchRefused()},
		{"fetch 17", at(17, fetchTwo()), fetchRefused()},
		{"list_offsets 1", at(1, listOffsetsTwo()), listOffsetsRefused()},
		{"list_offsets 11", at(11, listOffsetsTwo()), listOffsetsRefused()},
		{"offset_for_leader_epoch 2", at(2, epochsTwo()), epochsRefused()},
		{"offset_for_leader_epoch 4", at(4, epochsTwo()), epochsRefused()},
		{"delete_records 2", at(2, deleteRecordsTwo()), deleteRecordsRefused()},
		{"describe_producers 0", at(0, describeProducersTwo()), describeProducersRefused()},
		{"metadata 12", at(12, metadataTwo()), metadataRefused()},
		{"describe_cluster 2", kmsg.NewPtrDescribeClusterRequest(), noCluster},
		{"describe_topic_partitions 0", topicPartitionsTwo(), topicPartitionsRefused()},
		{"describe_log_dirs 1", at(1, kmsg.NewPtrDescribeLogDirsRequest()), logDirsRefused(0)},
		{"describe_log_dirs 5", at(5, kmsg.NewPtrDescribeLogDirsRequest()), logDirsRefused(notLeader)},
		{"elect_leaders 0", at(0, electLeadersTwo()), electLeadersRefused(0)},
		{"elect_leaders 2", at(2, electLeadersTwo()), electLeadersRefused(notLeader)},
		{"list_partition_reassignments 0", reassignmentsOne(), noReassignments},
		{"create_topics 7", createTopicsOne(), createTopicsRefused()},
		{"delete_topics 1", deleteTopics(1), deleteTopicsRefused(1)},
		{"delete_topics 5", deleteTopics(5), deleteTopicsRefused(5)},
		{"delete_topics 6", deleteTopics(6), deleteTopicsRefused(6)},
		{"create_partitions 3", createPartitionsTwo(), createPartitionsRefused()},
		{"describe_configs 4", describeConfigsTwo(), describeConfigsRefused()},
		{"alter_configs 2", alterConfigsTwo(), alterConfigsRefused()},
		{"incremental_alter_configs 1", incrementalAlterConfigsTwo(), incrementalAlterConfigsRefused()},
		{"list_config_resources 1", at(1, kmsg.NewPtrListConfigResourcesRequest()), listConfigResourcesRefused()},
		{"find_coordinator 3", oneCoordinator, oneRefused},
		{"find_coordinator 4", manyCoordinators, manyRefused},
		{"init_producer_id 5", at(5, kmsg.NewPtrInitProducerIDRequest()), noProducer},
		{"api_versions 5", at(5, kmsg.NewPtrApiVersionsRequest()), noVersions},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.SetVersion(tt.req.GetVersion())
			got := ErrorAnswer(tt.req, notLeader, *why)
			if got.GetVersion() != tt.req.GetVersion() {
				t.Errorf("the answer has version %d, want that of the request", got.GetVersion())
			}
			// What a client reads is compared: the fields of other versions do not count.
			if diff := cmp.Diff(copyOf(t, tt.want), copyOf(t, got), cmpopts.IgnoreUnexported(kmsg.Tags{})); diff != "" {
				t.Errorf("the answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorAnswer_leaves_the_message_null_if_there_is_none(t *testing.T) {
	want := produceRefused(nil)
	want.SetVersion(9)
	if diff := cmp.Diff(want, ErrorAnswer(produceTwo(), notLeader, ""), cmpopts.IgnoreUnexported(kmsg.Tags{})); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
}

func TestErrorAnswer_of_a_request_that_names_nothing_is_empty(t *testing.T) {
	for _, req := range []kmsg.Request{kmsg.NewPtrProduceRequest(), kmsg.NewPtrMetadataRequest(), kmsg.NewPtrListOffsetsRequest()} {
		req.SetVersion(req.MaxVersion())
		if got := partitionsIn(ErrorAnswer(req, notLeader, "")); len(got) > 0 {
			t.Errorf("%T: the answer names %v", req, got)
		}
	}
}

func TestErrorAnswer_names_the_topics_and_partitions_of_every_served_request(t *testing.T) {
	eachServedVersion(t, func(t *testing.T, api API, v int16) {
		req := kmsg.RequestForKey(api.Key)
		req.SetVersion(v)
		req = copyOf(t, filled(req))
		answer := copyOf(t, ErrorAnswer(req, notLeader, "why"))
		want := topicsIn(req)
		if !HasTopics(api.Key) {
			want = nil
		}
		if got := topicsIn(answer); !slices.Equal(got, want) || (len(got) > 0) != HasTopics(api.Key) {
			t.Errorf("the answer names topics %v, want %v", got, want)
		}
		if !HasPartitions(api.Key) {
			return
		}
		if got, want := partitionsIn(answer), partitionsIn(req); !slices.Equal(got, want) || len(got) < 4 {
			t.Errorf("the answer names %v, want %v", got, want)
		}
	})
}

// topicsIn names the topics of a message, with and without partitions.
func topicsIn(msg any) []string {
	var names []string
	for _, list := range topicLists(structOf(msg)) {
		for i := range list.Len() {
			names = append(names, topicName(list.Index(i)))
		}
	}
	return names
}

func TestErrorAnswer_of_every_API_can_be_encoded_and_tells_the_code(t *testing.T) {
	everyAPI(t, func(t *testing.T, newest kmsg.Request) {
		for v := range newest.MaxVersion() + 1 {
			req := copyOf(t, at(v, filled(kmsg.RequestForKey(newest.Key()))))
			for _, message := range []string{"why", ""} {
				answer := ErrorAnswer(req, notLeader, message)
				if codes := codesIn(answer); count(codes, notLeader) != len(codes) {
					t.Errorf("version %d tells the codes %d, want %d alone", v, codes, notLeader)
				}
				arrived := copyOf(t, answer)
				if _, served := Lookup(req.Key()); served && count(codesIn(arrived), notLeader) == 0 {
					t.Errorf("version %d tells the code nowhere: %+v", v, arrived)
				}
			}
		}
	})
}

// codesIn gathers every ErrorCode of a message, at all depths.
func codesIn(msg any) []int16 { return codesOf(structOf(msg)) }

func codesOf(v reflect.Value) []int16 {
	var codes []int16
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case v.Type().Field(i).Name == "ErrorCode":
			codes = append(codes, int16(f.Int()))
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
			for j := range f.Len() {
				codes = append(codes, codesOf(f.Index(j))...)
			}
		}
	}
	return codes
}

func TestErrorAnswer_shares_nothing_with_the_request(t *testing.T) {
	req := metadataTwo()
	answer := ErrorAnswer(req, notLeader, "why").(*kmsg.MetadataResponse)
	if *answer.Topics[0].Topic != "orders" {
		t.Fatalf("the answer names %q", *answer.Topics[0].Topic)
	}
	req.Topics[0] = kmsg.MetadataRequestTopic{Topic: kmsg.StringPtr("other")}
	if *answer.Topics[0].Topic != "orders" {
		t.Error("the answer changed with the request")
	}
}
