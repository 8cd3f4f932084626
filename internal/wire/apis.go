package wire

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// An API is one Kafka API that is served, with its range of versions.
type API struct {
	Key  int16
	Name string // as Kafka's protocol page spells it
	Min  int16  // lowest version that is answered
	Max  int16  // highest version that is answered

	// Advertised is the lowest version that ApiVersions names. It is Min except
	// for Produce: librdkafka before 2.11.1 compresses with gzip, snappy and lz4
	// only where version 0 is advertised (KAFKA-18659).
	Advertised int16
}

// served is the one table of what is served. ApiVersions, the README and the
// tests read it.
var served = []API{
	{Key: int16(kmsg.Produce), Min: 3, Max: 13},
	{Key: int16(kmsg.Fetch), Min: 4, Max: 18, Advertised: 4},
	{Key: int16(kmsg.ListOffsets), Min: 1, Max: 11, Advertised: 1},
	{Key: int16(kmsg.Metadata), Min: 0, Max: 13},
	{Key: int16(kmsg.OffsetCommit), Min: 2, Max: 10, Advertised: 2},
	{Key: int16(kmsg.OffsetFetch), Min: 1, Max: 10, Advertised: 1},
	{Key: int16(kmsg.FindCoordinator), Min: 0, Max: 6},
	{Key: int16(kmsg.JoinGroup), Min: 0, Max: 9},
	{Key: int16(kmsg.Heartbeat), Min: 0, Max: 4},
	{Key: int16(kmsg.LeaveGroup), Min: 0, Max: 5},
	{Key: int16(kmsg.SyncGroup), Min: 0, Max: 5},
	{Key: int16(kmsg.DescribeGroups), Min: 0, Max: 6},
	{Key: int16(kmsg.ListGroups), Min: 0, Max: 5},
	{Key: int16(kmsg.ApiVersions), Min: 0, Max: 5},
	{Key: int16(kmsg.CreateTopics), Min: 2, Max: 7, Advertised: 2},
	{Key: int16(kmsg.DeleteTopics), Min: 1, Max: 6, Advertised: 1},
	{Key: int16(kmsg.DeleteRecords), Min: 0, Max: 2},
	{Key: int16(kmsg.InitProducerID), Min: 0, Max: 5},
	{Key: int16(kmsg.OffsetForLeaderEpoch), Min: 2, Max: 4, Advertised: 2},
	{Key: int16(kmsg.AddPartitionsToTxn), Min: 0, Max: 5},
	{Key: int16(kmsg.AddOffsetsToTxn), Min: 0, Max: 4},
	{Key: int16(kmsg.EndTxn), Min: 0, Max: 5},
	{Key: int16(kmsg.TxnOffsetCommit), Min: 0, Max: 6},
	{Key: int16(kmsg.DescribeConfigs), Min: 1, Max: 4, Advertised: 1},
	{Key: int16(kmsg.AlterConfigs), Min: 0, Max: 2},
	{Key: int16(kmsg.DescribeLogDirs), Min: 1, Max: 5, Advertised: 1},
	{Key: int16(kmsg.CreatePartitions), Min: 0, Max: 3},
	{Key: int16(kmsg.DeleteGroups), Min: 0, Max: 3},
	{Key: int16(kmsg.ElectLeaders), Min: 0, Max: 2},
	{Key: int16(kmsg.IncrementalAlterConfigs), Min: 0, Max: 1},
	{Key: int16(kmsg.ListPartitionReassignments), Min: 0, Max: 0},
	{Key: int16(kmsg.OffsetDelete), Min: 0, Max: 0},
	{Key: int16(kmsg.DescribeCluster), Min: 0, Max: 2},
	{Key: int16(kmsg.DescribeProducers), Min: 0, Max: 0},
	{Key: int16(kmsg.DescribeTransactions), Min: 0, Max: 0},
	{Key: int16(kmsg.ListTransactions), Min: 0, Max: 2},
	{Key: int16(kmsg.ConsumerGroupHeartbeat), Min: 0, Max: 1},
	{Key: int16(kmsg.ConsumerGroupDescribe), Min: 0, Max: 1},
	{Key: int16(kmsg.ListConfigResources), Min: 0, Max: 1},
	{Key: int16(kmsg.DescribeTopicPartitions), Min: 0, Max: 0},
}

func init() {
	for i := range served {
		served[i].Name = protocolName(kmsg.NameForKey(served[i].Key))
	}
}

// protocolName turns the Go spelling of kmsg into the one of Kafka's protocol
// page: InitProducerID is InitProducerId there.
func protocolName(name string) string {
	if base, ok := strings.CutSuffix(name, "ID"); ok {
		return base + "Id"
	}
	return name
}

// Served lists the served APIs by key.
func Served() []API { return append([]API(nil), served...) }

// Lookup finds a served API by its key.
func Lookup(key int16) (API, bool) {
	for i := range served {
		if served[i].Key == key {
			return served[i], true
		}
	}
	return API{}, false
}

// LookupName finds a served API by its name, in either case and with or without
// underscores: produce, init_producer_id and InitProducerId are all found.
func LookupName(name string) (API, bool) {
	want := strings.ToLower(strings.ReplaceAll(name, "_", ""))
	for i := range served {
		if strings.ToLower(served[i].Name) == want {
			return served[i], true
		}
	}
	return API{}, false
}

// SnakeName is the name as a fault sentence spells it: init_producer_id.
func (a API) SnakeName() string {
	var b strings.Builder
	for i, r := range a.Name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// entry is the API's line in an ApiVersions answer.
func (a API) entry() kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = a.Key, a.Advertised, a.Max
	return k
}

// Entries lists every served API as ApiVersions answers it.
func Entries() []kmsg.ApiVersionsResponseApiKey {
	entries := make([]kmsg.ApiVersionsResponseApiKey, len(served))
	for i, a := range served {
		entries[i] = a.entry()
	}
	return entries
}
