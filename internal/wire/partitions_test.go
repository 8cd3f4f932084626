package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// everyAPI runs a test for every API that the decoder knows, served or not, with
// a request of the newest version as it would be decoded.
func everyAPI(t *testing.T, test func(t *testing.T, req kmsg.Request)) {
	for key := range int16(101) {
		req := kmsg.RequestForKey(key)
		if req == nil {
			continue
		}
		t.Run(kmsg.NameForKey(key), func(t *testing.T) {
			req.SetVersion(req.MaxVersion())
			test(t, copyOf(t, filled(req)))
		})
	}
}

// odd matches about half of all partitions, and half of all topics where those
// have none.
func odd(tp TopicPartition) bool {
	sum := tp.Partition
	for _, b := range []byte(tp.Topic) {
		sum += int32(b)
	}
	return sum%2 != 0
}

func matching(all []TopicPartition, match func(TopicPartition) bool) []TopicPartition {
	return slices.DeleteFunc(slices.Clone(all), not(match))
}

func partitionsIn(msg any) []TopicPartition { return slices.Collect(Partitions(msg)) }

func TestSplit_of_every_API_loses_nothing(t *testing.T) {
	everyAPI(t, func(t *testing.T, body kmsg.Request) {
		before := body.AppendTo(nil)
		all := partitionsIn(body)
		if len(all) == 0 && namesPartitions(structOf(body).Type()) {
			t.Skip("its newest version names partitions in another place")
		}
		req := &Request{Client: "c", Body: body, Internal: true}
		in, out := Split(req, odd)
		for _, part := range []struct {
			name string
			req  *Request
			want []TopicPartition
		}{{"in", in, matching(all, odd)}, {"out", out, matching(all, not(odd))}} {
			if (part.req == nil) != (len(part.want) == 0) {
				t.Fatalf("%s is %+v, want partitions %v", part.name, part.req, part.want)
			}
			if part.req == nil {
				continue
			}
			if got := partitionsIn(part.req.Body); !slices.Equal(got, part.want) {
				t.Errorf("%s has %v, want %v", part.name, got, part.want)
			}
			if part.req.Client != "c" || !part.req.Internal || part.req.Body.GetVersion() != body.GetVersion() {
				t.Errorf("%s lost what stands beside its partitions: %+v", part.name, part.req)
			}
			if again := copyOf(t, part.req.Body); !slices.Equal(partitionsIn(again), part.want) {
				t.Errorf("%s is encoded with %v, want %v", part.name, partitionsIn(again), part.want)
			}
		}
		if !bytes.Equal(body.AppendTo(nil), before) {
			t.Error("the request itself was changed")
		}
	})
}

func TestSplit_by_all_or_nothing_keeps_every_request_whole(t *testing.T) {
	always := func(TopicPartition) bool { return true }
	everyAPI(t, func(t *testing.T, body kmsg.Request) {
		if len(partitionsIn(body)) == 0 {
			t.Skip("it names no partitions")
		}
		for _, tt := range []struct {
			name  string
			whole func() (whole, nothing *Request)
		}{
			{"all", func() (*Request, *Request) { return Split(&Request{Body: body}, always) }},
			{"nothing", func() (*Request, *Request) {
				in, out := Split(&Request{Body: body}, not(always))
				return out, in
			}},
		} {
			whole, nothing := tt.whole()
			if nothing != nil {
				t.Errorf("%s: the other half has %v", tt.name, partitionsIn(nothing.Body))
			}
			if !bytes.Equal(whole.Body.AppendTo(nil), body.AppendTo(nil)) {
				t.Errorf("%s: %+v, want %+v", tt.name, whole.Body, body)
			}
		}
	})
}

func sorted(all []TopicPartition) []TopicPartition {
	slices.SortFunc(all, func(a, b TopicPartition) int {
		if a.Topic != b.Topic {
			return strings.Compare(a.Topic, b.Topic)
		}
		return int(a.Partition) - int(b.Partition)
	})
	return all
}

func TestWithout_and_Merge_of_every_API_put_back_together(t *testing.T) {
	everyAPI(t, func(t *testing.T, body kmsg.Request) {
		resp := copyOf(t, filled(body.ResponseKind()))
		before := resp.AppendTo(nil)
		all := partitionsIn(resp)
		even, rest := Without(resp, odd), Without(resp, not(odd))
		if got, want := partitionsIn(even), matching(all, not(odd)); !slices.Equal(got, want) {
			t.Errorf("Without gave %v, want %v", got, want)
		}
		merged := Merge(even, rest)
		if got, want := sorted(partitionsIn(merged)), sorted(slices.Clone(all)); !slices.Equal(got, want) {
			t.Errorf("Merge gave %v, want %v", got, want)
		}
		for _, r := range []kmsg.Response{even, rest, merged} {
			if got := copyOf(t, r); !slices.Equal(partitionsIn(got), partitionsIn(r)) {
				t.Errorf("%v is encoded as %v", partitionsIn(r), partitionsIn(got))
			}
		}
		if len(partitionsIn(even)) != len(matching(all, not(odd))) || !bytes.Equal(resp.AppendTo(nil), before) {
			t.Error("a response that went in was changed")
		}
	})
}

// twoTopics names partitions 0 and 1 of orders, and 7 of audit, in each request
// that names partitions.
var twoTopics = []TopicPartition{{"orders", 0}, {"orders", 1}, {"audit", 7}}

func produceTwo() *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(9)
	req.Acks = -1
	audit := produceOf("audit", []byte("c"))
	audit[0].Partitions[0].Partition = 7
	req.Topics = append(produceOf("orders", []byte("a"), []byte("b")), audit...)
	return req
}

func fetchTwo() *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(12)
	part := func(n int32) kmsg.FetchRequestTopicPartition {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset = n, 100
		return p
	}
	req.Topics = []kmsg.FetchRequestTopic{
		{Topic: "orders", Partitions: []kmsg.FetchRequestTopicPartition{part(0), part(1)}},
		{Topic: "audit", Partitions: []kmsg.FetchRequestTopicPartition{part(7)}},
	}
	return req
}

func listOffsetsTwo() *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.SetVersion(7)
	part := func(n int32) kmsg.ListOffsetsRequestTopicPartition {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp, p.CurrentLeaderEpoch = n, -2, 3
		return p
	}
	req.Topics = []kmsg.ListOffsetsRequestTopic{
		{Topic: "orders", Partitions: []kmsg.ListOffsetsRequestTopicPartition{part(0), part(1)}},
		{Topic: "audit", Partitions: []kmsg.ListOffsetsRequestTopicPartition{part(7)}},
	}
	return req
}

func describeProducersTwo() *kmsg.DescribeProducersRequest {
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "orders", Partitions: []int32{0, 1}}, {Topic: "audit", Partitions: []int32{7}}}
	return req
}

func deleteRecordsTwo() *kmsg.DeleteRecordsRequest {
	req := kmsg.NewPtrDeleteRecordsRequest()
	part := func(n int32) kmsg.DeleteRecordsRequestTopicPartition {
		return kmsg.DeleteRecordsRequestTopicPartition{Partition: n, Offset: 50}
	}
	req.Topics = []kmsg.DeleteRecordsRequestTopic{
		{Topic: "orders", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{part(0), part(1)}},
		{Topic: "audit", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{part(7)}},
	}
	return req
}

func metadataTwo() *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(12)
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr("orders")}, {TopicID: [16]byte{9}}}
	return req
}

func deleteTopics(version int16) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.SetVersion(version)
	if version < 6 {
		req.TopicNames = []string{"orders", "audit"}
		return req
	}
	req.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: kmsg.StringPtr("orders")}, {TopicID: [16]byte{9}}}
	return req
}

func createTopicsOne() *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(7)
	req.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "orders", NumPartitions: 3, ReplicationFactor: 1,
		Configs: []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms", Value: kmsg.StringPtr("1")}}}}
	return req
}

func TestPartitions_names_what_a_request_names(t *testing.T) {
	unnamed := produceTwo()
	unnamed.SetVersion(13)
	unnamed.Topics[0].Topic, unnamed.Topics[0].TopicID = "", [16]byte{1}
	tests := []struct {
		name string
		msg  any
		want []TopicPartition
	}{
		{"produce", produceTwo(), twoTopics},
		{"produce with an id that nobody knows", unnamed, []TopicPartition{{"", 0}, {"", 1}, {"audit", 7}}},
		{"fetch", fetchTwo(), twoTopics},
		{"list_offsets", listOffsetsTwo(), twoTopics},
		{"delete_records", deleteRecordsTwo(), twoTopics},
		{"describe_producers", describeProducersTwo(), twoTopics},
		{"describe_topic_partitions", topicPartitionsTwo(), []TopicPartition{{"orders", -1}, {"audit", -1}}},
		{"elect_leaders", electLeadersTwo(), twoTopics},
		{"offset_for_leader_epoch", epochsTwo(), twoTopics},
		{"metadata by name and by id", metadataTwo(), []TopicPartition{{"orders", -1}, {"", -1}}},
		{"metadata of all topics", kmsg.NewPtrMetadataRequest(), nil},
		{"delete_topics by name", deleteTopics(5), []TopicPartition{{"orders", -1}, {"audit", -1}}},
		{"delete_topics by name and by id", deleteTopics(6), []TopicPartition{{"orders", -1}, {"", -1}}},
		{"create_topics", createTopicsOne(), []TopicPartition{{"orders", -1}}},
		{"create_partitions", createPartitionsTwo(), []TopicPartition{{"orders", -1}, {"audit", -1}}},
		{"find_coordinator", kmsg.NewPtrFindCoordinatorRequest(), nil},
		{"init_producer_id", kmsg.NewPtrInitProducerIDRequest(), nil},
		{"api_versions", kmsg.NewPtrApiVersionsRequest(), nil},
		{"a produce of nothing", kmsg.NewPtrProduceRequest(), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, partitionsIn(tt.msg)); diff != "" {
				t.Errorf("the partitions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPartitions_may_be_left_early(t *testing.T) {
	for _, msg := range []any{produceTwo(), metadataTwo(), deleteTopics(5)} {
		for range Partitions(msg) {
			break
		}
	}
}

func TestHasTopics_and_HasPartitions(t *testing.T) {
	tests := []struct {
		name               string
		topics, partitions bool
	}{
		{"produce", true, true}, {"fetch", true, true}, {"list_offsets", true, true},
		{"delete_records", true, true}, {"describe_producers", true, true},
		{"offset_for_leader_epoch", true, true}, {"elect_leaders", true, true},
		{"describe_log_dirs", false, false}, {"list_partition_reassignments", false, false}, // they name them, and tell no errors of them
		{"add_partitions_to_txn", true, true}, {"end_txn", false, false},
		{"add_offsets_to_txn", false, false}, {"txn_offset_commit", true, true},
		{"describe_transactions", false, false}, {"list_transactions", false, false},
		{"offset_commit", true, true}, {"offset_fetch", true, true}, {"offset_delete", true, true},
		{"join_group", false, false}, {"heartbeat", false, false}, {"leave_group", false, false}, {"sync_group", false, false},
		{"describe_groups", false, false}, {"list_groups", false, false}, {"delete_groups", false, false},
		{"consumer_group_heartbeat", false, false}, {"consumer_group_describe", false, false},
		{"describe_cluster", false, false}, {"describe_topic_partitions", true, false},
		{"metadata", true, false}, {"create_topics", true, false}, {"delete_topics", true, false},
		{"create_partitions", true, false},
		{"find_coordinator", false, false}, {"api_versions", false, false}, {"init_producer_id", false, false},
		{"describe_configs", false, false}, {"alter_configs", false, false}, {"incremental_alter_configs", false, false},
		{"list_config_resources", false, false},
	}
	if len(tests) != len(Served()) {
		t.Errorf("%d APIs are looked at, %d are served", len(tests), len(Served()))
	}
	for _, tt := range tests {
		api, ok := LookupName(tt.name)
		if !ok || HasTopics(api.Key) != tt.topics || HasPartitions(api.Key) != tt.partitions {
			t.Errorf("%s: served %v, topics %v, partitions %v; want true, %v, %v", tt.name, ok, HasTopics(api.Key), HasPartitions(api.Key), tt.topics, tt.partitions)
		}
	}
	for _, key := range []int16{-1, 999} {
		if HasTopics(key) || HasPartitions(key) {
			t.Errorf("API key %d has topics or partitions, and there is no such API", key)
		}
	}
}

// requestOf makes of a Produce what a connection makes of it: its batches are
// listed beside it.
func requestOf(produce *kmsg.ProduceRequest) *Request {
	return &Request{Conn: &Conn{ID: 3}, Client: "app", Body: produce, Batches: AppendBatches(nil, produce)}
}

func TestSplit_of_a_Produce_takes_the_batches_along(t *testing.T) {
	tests := []struct {
		name    string
		match   func(TopicPartition) bool
		in, out []TopicPartition
	}{
		{"one partition", func(tp TopicPartition) bool { return tp == twoTopics[1] }, twoTopics[1:2], []TopicPartition{twoTopics[0], twoTopics[2]}},
		{"one topic", func(tp TopicPartition) bool { return tp.Topic == "orders" }, twoTopics[:2], twoTopics[2:]},
		{"all", func(TopicPartition) bool { return true }, twoTopics, nil},
		{"nothing", func(TopicPartition) bool { return false }, nil, twoTopics},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := requestOf(produceTwo())
			in, out := Split(req, tt.match)
			wantPart(t, req, in, tt.in)
			wantPart(t, req, out, tt.out)
			if !slices.Equal(partitionsIn(req.Body), twoTopics) || len(req.Batches) != 3 {
				t.Errorf("the request itself has now %v and %d batches", partitionsIn(req.Body), len(req.Batches))
			}
		})
	}
}

func wantPart(t *testing.T, whole, part *Request, want []TopicPartition) {
	t.Helper()
	if part == nil || len(want) == 0 {
		if part != nil || len(want) > 0 {
			t.Errorf("the part is %+v, want partitions %v", part, want)
		}
		return
	}
	if part.Conn != whole.Conn || part.Client != whole.Client || part.Body.(*kmsg.ProduceRequest).Acks != -1 {
		t.Errorf("the part lost what stands beside its partitions: %+v", part)
	}
	var batches []TopicPartition
	for _, b := range part.Batches {
		batches = append(batches, TopicPartition{b.Topic, b.Partition})
	}
	if diff := cmp.Diff([][]TopicPartition{want, want}, [][]TopicPartition{partitionsIn(part.Body), batches}); diff != "" {
		t.Errorf("the partitions, and those of the batches (-want +got):\n%s", diff)
	}
	for _, topic := range part.Body.(*kmsg.ProduceRequest).Topics {
		if len(topic.Partitions) == 0 {
			t.Errorf("topic %s is there without partitions", topic.Topic)
		}
	}
}

func TestMerge_lists_a_topic_of_both_once_and_keeps_what_stands_above_the_topics_of_the_first(t *testing.T) {
	a, b := kmsg.NewPtrProduceResponse(), kmsg.NewPtrProduceResponse()
	a.ThrottleMillis, b.ThrottleMillis = 1, 2
	a.Topics = []kmsg.ProduceResponseTopic{{Topic: "orders", Partitions: []kmsg.ProduceResponseTopicPartition{{Partition: 0, BaseOffset: 5}}}}
	b.Topics = []kmsg.ProduceResponseTopic{{Topic: "orders", Partitions: []kmsg.ProduceResponseTopicPartition{{Partition: 1, ErrorCode: 6}}}}
	want := kmsg.NewPtrProduceResponse()
	want.ThrottleMillis = 1
	want.Topics = []kmsg.ProduceResponseTopic{{Topic: "orders", Partitions: []kmsg.ProduceResponseTopicPartition{
		{Partition: 0, BaseOffset: 5}, {Partition: 1, ErrorCode: 6},
	}}}
	ignoreTags := cmpopts.IgnoreUnexported(kmsg.Tags{})
	if diff := cmp.Diff(want, Merge(a, b), ignoreTags); diff != "" {
		t.Errorf("Merge (-want +got):\n%s", diff)
	}
	if Merge(nil, b) != kmsg.Response(b) || Merge(a, nil) != kmsg.Response(a) || Merge(nil, nil) != nil {
		t.Error("what is merged with nil has to stay as it is")
	}
	if len(a.Topics[0].Partitions) != 1 || len(b.Topics[0].Partitions) != 1 {
		t.Error("a response that went in was changed")
	}
}

func TestMerge_tells_topics_apart_by_name_and_id(t *testing.T) {
	a, b := kmsg.NewPtrProduceResponse(), kmsg.NewPtrProduceResponse()
	part := []kmsg.ProduceResponseTopicPartition{{}}
	a.Topics = []kmsg.ProduceResponseTopic{{Topic: "orders", TopicID: [16]byte{1}, Partitions: part}}
	b.Topics = []kmsg.ProduceResponseTopic{{Topic: "orders", TopicID: [16]byte{2}, Partitions: part}, {Topic: "audit", TopicID: [16]byte{1}, Partitions: part}}
	if n := len(Merge(a, b).(*kmsg.ProduceResponse).Topics); n != 3 {
		t.Errorf("three topics become %d", n)
	}
}

func TestWithout_keeps_a_topic_without_partitions(t *testing.T) {
	r := kmsg.NewPtrMetadataResponse()
	name := "none"
	r.Topics = []kmsg.MetadataResponseTopic{{Topic: &name, ErrorCode: 3}}
	got := Without(r, func(tp TopicPartition) bool { return tp.Topic != name })
	if n := len(got.(*kmsg.MetadataResponse).Topics); n != 1 {
		t.Errorf("%d topics are left", n)
	}
}

// Two answers made from one must not write into each other's memory.
func TestMerge_does_not_write_behind_the_first(t *testing.T) {
	answer := func(topic string, partition int32) *kmsg.ProduceResponse {
		resp := kmsg.NewPtrProduceResponse()
		resp.Topics = append(make([]kmsg.ProduceResponseTopic, 0, 4), kmsg.ProduceResponseTopic{Topic: topic,
			Partitions: append(make([]kmsg.ProduceResponseTopicPartition, 0, 4), kmsg.ProduceResponseTopicPartition{Partition: partition})})
		return resp
	}
	first := answer("orders", 0)
	for _, tt := range []struct{ one, other *kmsg.ProduceResponse }{
		{answer("audit", 1), answer("users", 2)},   // topics are appended
		{answer("orders", 1), answer("orders", 2)}, // partitions are
	} {
		merged := Merge(first, tt.one)
		want := partitionsIn(merged)
		Merge(first, tt.other)
		if got := partitionsIn(merged); !slices.Equal(got, want) {
			t.Errorf("another merge made %v of %v", got, want)
		}
	}
}

func TestFillTopicNames(t *testing.T) {
	known, unknown := [16]byte{1}, [16]byte{2}
	name := func(id [16]byte) string {
		if id == known {
			return "orders"
		}
		return ""
	}
	produce, fetch := kmsg.NewPtrProduceRequest(), kmsg.NewPtrFetchRequest()
	produce.Topics = []kmsg.ProduceRequestTopic{{TopicID: known}, {TopicID: unknown}, {Topic: "kept", TopicID: known}, {}}
	fetch.Topics = []kmsg.FetchRequestTopic{{TopicID: known}, {TopicID: unknown}, {Topic: "kept", TopicID: known}, {}}
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Topics = []kmsg.OffsetCommitRequestTopic{{TopicID: known}, {TopicID: unknown}, {Topic: "kept", TopicID: known}, {}}
	want := []string{"orders", "", "kept", ""}
	for _, req := range []kmsg.Request{produce, fetch, commit} {
		FillTopicNames(req, name)
		if got := reflectTopics(req); !slices.Equal(got, want) {
			t.Errorf("%T has the names %q, want %q", req, got, want)
		}
	}
	// A name beside the id would be taken for what the client asked for.
	for _, req := range []kmsg.Request{metadataTwo(), deleteTopics(6)} {
		before := fmt.Sprintf("%+v", req)
		FillTopicNames(req, func([16]byte) string { t.Errorf("%T: a name was asked for", req); return "x" })
		if after := fmt.Sprintf("%+v", req); after != before {
			t.Errorf("%T was changed from %s to %s", req, before, after)
		}
	}
}

func reflectTopics(req kmsg.Request) []string {
	var names []string
	topics := reflect.ValueOf(req).Elem().FieldByName("Topics")
	for i := range topics.Len() {
		names = append(names, topics.Index(i).FieldByName("Topic").String())
	}
	return names
}
