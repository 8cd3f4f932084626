package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// wantServed is what the README promises, in the order of the keys.
var wantServed = []struct {
	key        int16
	name       string
	snake      string
	min, max   int16
	advertised int16
}{
	{0, "Produce", "produce", 3, 13, 0},
	{1, "Fetch", "fetch", 4, 18, 4},
	{2, "ListOffsets", "list_offsets", 1, 11, 1},
	{3, "Metadata", "metadata", 0, 13, 0},
	{8, "OffsetCommit", "offset_commit", 2, 10, 2},
	{9, "OffsetFetch", "offset_fetch", 1, 10, 1},
	{10, "FindCoordinator", "find_coordinator", 0, 6, 0},
	{11, "JoinGroup", "join_group", 0, 9, 0},
	{12, "Heartbeat", "heartbeat", 0, 4, 0},
	{13, "LeaveGroup", "leave_group", 0, 5, 0},
	{14, "SyncGroup", "sync_group", 0, 5, 0},
	{15, "DescribeGroups", "describe_groups", 0, 6, 0},
	{16, "ListGroups", "list_groups", 0, 5, 0},
	{18, "ApiVersions", "api_versions", 0, 5, 0},
	{19, "CreateTopics", "create_topics", 2, 7, 2},
	{20, "DeleteTopics", "delete_topics", 1, 6, 1},
	{21, "DeleteRecords", "delete_records", 0, 2, 0},
	{22, "InitProducerId", "init_producer_id", 0, 5, 0},
	{23, "OffsetForLeaderEpoch", "offset_for_leader_epoch", 2, 4, 2},
	{24, "AddPartitionsToTxn", "add_partitions_to_txn", 0, 5, 0},
	{25, "AddOffsetsToTxn", "add_offsets_to_txn", 0, 4, 0},
	{26, "EndTxn", "end_txn", 0, 5, 0},
	{28, "TxnOffsetCommit", "txn_offset_commit", 0, 6, 0},
	{32, "DescribeConfigs", "describe_configs", 1, 4, 1},
	{33, "AlterConfigs", "alter_configs", 0, 2, 0},
	{35, "DescribeLogDirs", "describe_log_dirs", 1, 5, 1},
	{37, "CreatePartitions", "create_partitions", 0, 3, 0},
	{42, "DeleteGroups", "delete_groups", 0, 3, 0},
	{43, "ElectLeaders", "elect_leaders", 0, 2, 0},
	{44, "IncrementalAlterConfigs", "incremental_alter_configs", 0, 1, 0},
	{46, "ListPartitionReassignments", "list_partition_reassignments", 0, 0, 0},
	{47, "OffsetDelete", "offset_delete", 0, 0, 0},
	{60, "DescribeCluster", "describe_cluster", 0, 2, 0},
	{61, "DescribeProducers", "describe_producers", 0, 0, 0},
	{65, "DescribeTransactions", "describe_transactions", 0, 0, 0},
	{66, "ListTransactions", "list_transactions", 0, 2, 0},
	{68, "ConsumerGroupHeartbeat", "consumer_group_heartbeat", 0, 1, 0},
	{69, "ConsumerGroupDescribe", "consumer_group_describe", 0, 1, 0},
	{74, "ListConfigResources", "list_config_resources", 0, 1, 0},
	{75, "DescribeTopicPartitions", "describe_topic_partitions", 0, 0, 0},
}

func TestServed_lists_every_API_with_its_versions(t *testing.T) {
	var want []API
	for _, w := range wantServed {
		want = append(want, API{Key: w.key, Name: w.name, Min: w.min, Max: w.max, Advertised: w.advertised})
	}
	if diff := cmp.Diff(want, Served()); diff != "" {
		t.Errorf("Served() (-want +got):\n%s", diff)
	}
}

func TestServed_is_a_copy(t *testing.T) {
	Served()[0].Max = 99
	if got, _ := Lookup(0); got.Max != 13 {
		t.Errorf("a caller changed the table: Produce now goes up to version %d", got.Max)
	}
}

func TestServed_has_no_version_that_cannot_be_decoded(t *testing.T) {
	for _, api := range Served() {
		if most := kmsg.RequestForKey(api.Key).MaxVersion(); api.Max > most {
			t.Errorf("%s is served up to version %d, and the decoder knows %d", api.Name, api.Max, most)
		}
	}
}

func TestEntries_are_what_ApiVersions_tells(t *testing.T) {
	var want []kmsg.ApiVersionsResponseApiKey
	for _, w := range wantServed {
		want = append(want, kmsg.ApiVersionsResponseApiKey{ApiKey: w.key, MinVersion: w.advertised, MaxVersion: w.max})
	}
	if diff := cmp.Diff(want, Entries(), cmpopts.IgnoreUnexported(kmsg.Tags{})); diff != "" {
		t.Errorf("Entries() (-want +got):\n%s", diff)
	}
}

func TestLookup_finds_what_is_served_and_nothing_else(t *testing.T) {
	served := map[int16]bool{}
	for _, w := range wantServed {
		served[w.key] = true
	}
	for key := int16(-2); key < 120; key++ {
		api, ok := Lookup(key)
		if ok != served[key] {
			t.Errorf("Lookup(%d) found: %v, want %v", key, ok, served[key])
		}
		if ok && api.Key != key {
			t.Errorf("Lookup(%d) found the API with key %d", key, api.Key)
		}
	}
}

func TestLookupName_takes_every_spelling(t *testing.T) {
	for _, w := range wantServed {
		for _, name := range []string{w.name, w.snake, strings.ToUpper(w.snake), strings.ToLower(w.name), kmsg.NameForKey(w.key)} {
			if api, ok := LookupName(name); !ok || api.Key != w.key {
				t.Errorf("LookupName(%q) = %+v, %v; want key %d", name, api, ok, w.key)
			}
		}
	}
}

func TestLookupName_finds_nothing_for_other_names(t *testing.T) {
	for _, name := range []string{"", "_", "produc", "produces", "init producer id", "JoinGroups", "0"} {
		if api, ok := LookupName(name); ok {
			t.Errorf("LookupName(%q) found %s", name, api.Name)
		}
	}
}

func TestAPI_SnakeName_is_the_name_in_a_fault_sentence(t *testing.T) {
	for _, w := range wantServed {
		if api, _ := Lookup(w.key); api.SnakeName() != w.snake {
			t.Errorf("%s is %q in snake case, want %q", w.name, api.SnakeName(), w.snake)
		}
	}
}
