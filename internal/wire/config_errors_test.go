package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// The requests of TestErrorAnswer that are about configs and partitions to make,
// each for two things, and what answers them.

func createPartitionsTwo() *kmsg.CreatePartitionsRequest {
	req := at(3, kmsg.NewPtrCreatePartitionsRequest())
	for _, name := range []string{"orders", "audit"} {
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = name, 5
		req.Topics = append(req.Topics, t)
	}
	return req
}

func createPartitionsRefused() *kmsg.CreatePartitionsResponse {
	resp := kmsg.NewPtrCreatePartitionsResponse()
	for _, name := range []string{"orders", "audit"} {
		resp.Topics = append(resp.Topics, kmsg.CreatePartitionsResponseTopic{Topic: name, ErrorCode: notLeader, ErrorMessage: why})
	}
	return resp
}

// The resources of the requests below: a topic and a broker.
const (
	ofTopic  = kmsg.ConfigResourceTypeTopic
	ofBroker = kmsg.ConfigResourceTypeBroker
)

func describeConfigsTwo() *kmsg.DescribeConfigsRequest {
	req := at(4, kmsg.NewPtrDescribeConfigsRequest())
	req.Resources = []kmsg.DescribeConfigsRequestResource{
		{ResourceType: ofTopic, ResourceName: "orders", ConfigNames: []string{"retention.ms"}}, {ResourceType: ofBroker, ResourceName: "1"},
	}
	return req
}

func describeConfigsRefused() *kmsg.DescribeConfigsResponse {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	resp.Resources = []kmsg.DescribeConfigsResponseResource{
		{ErrorCode: notLeader, ErrorMessage: why, ResourceType: ofTopic, ResourceName: "orders", Configs: []kmsg.DescribeConfigsResponseResourceConfig{}},
		{ErrorCode: notLeader, ErrorMessage: why, ResourceType: ofBroker, ResourceName: "1", Configs: []kmsg.DescribeConfigsResponseResourceConfig{}},
	}
	return resp
}

func alterConfigsTwo() *kmsg.AlterConfigsRequest {
	req := at(2, kmsg.NewPtrAlterConfigsRequest())
	req.Resources = []kmsg.AlterConfigsRequestResource{
		{ResourceType: ofTopic, ResourceName: "orders", Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "retention.ms"}}},
		{ResourceType: ofBroker, ResourceName: "1"},
	}
	return req
}

func alterConfigsRefused() *kmsg.AlterConfigsResponse {
	resp := kmsg.NewPtrAlterConfigsResponse()
	resp.Resources = []kmsg.AlterConfigsResponseResource{
		{ErrorCode: notLeader, ErrorMessage: why, ResourceType: ofTopic, ResourceName: "orders"},
		{ErrorCode: notLeader, ErrorMessage: why, ResourceType: ofBroker, ResourceName: "1"},
	}
	return resp
}

func incrementalAlterConfigsTwo() *kmsg.IncrementalAlterConfigsRequest {
	req := at(1, kmsg.NewPtrIncrementalAlterConfigsRequest())
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{
		{ResourceType: ofTopic, ResourceName: "orders", Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "retention.ms"}}},
		{ResourceType: ofBroker, ResourceName: "1"},
	}
	return req
}

func incrementalAlterConfigsRefused() *kmsg.IncrementalAlterConfigsResponse {
	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	resp.Resources = []kmsg.IncrementalAlterConfigsResponseResource{
		{ErrorCode: notLeader, ErrorMessage: why, ResourceType: ofTopic, ResourceName: "orders"},
		{ErrorCode: notLeader, ErrorMessage: why, ResourceType: ofBroker, ResourceName: "1"},
	}
	return resp
}

func listConfigResourcesRefused() *kmsg.ListConfigResourcesResponse {
	resp := kmsg.NewPtrListConfigResourcesResponse()
	resp.ErrorCode = notLeader
	return resp
}
