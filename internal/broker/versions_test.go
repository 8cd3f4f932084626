package broker

import (
	"fmt"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A sample is an ordinary use of one API: what to ask, and what is wrong with
// the answer.
type sample struct {
	ask   func(c *client, version int16) kmsg.Request
	check func(t *testing.T, resp kmsg.Response)
}

// samples has one for each API that is served. Each sees a topic "there" of two
// partitions, whose first holds two records of producer 7.
var samples = map[kmsg.Key]sample{
	kmsg.Produce: {
		func(c *client, v int16) kmsg.Request {
			return c.producing(v, -1, entry{"there", 1, by(7, 0, 0, 1).bytes()})
		},
		func(t *testing.T, resp kmsg.Response) {
			told := onlyProduced(t, resp)
			want(t, "told", []int64{int64(told.ErrorCode), told.BaseOffset, int64(told.Partition)}, []int64{0, 0, 1})
		},
	},
	kmsg.Fetch: {
		func(c *client, v int16) kmsg.Request { return c.fetching(v, from("there", 0, 0)) },
		func(t *testing.T, resp kmsg.Response) {
			told := fetchedFrom(resp)[0]
			wantCode(t, told.ErrorCode, "NONE")
			want(t, "high watermark and last stable offset", []int64{told.HighWatermark, told.LastStableOffset}, []int64{2, 2})
			want(t, "records", told.RecordBatches, stored(by(7, 0, 0, 2).bytes(), 0))
		},
	},
	kmsg.ListOffsets: {
		func(_ *client, v int16) kmsg.Request { return listing(v, "there", 0, latestOffset) },
		func(t *testing.T, resp kmsg.Response) {
			told := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
			wantCode(t, told.ErrorCode, "NONE")
			want(t, "offset", told.Offset, 2)
		},
	},
	kmsg.Metadata: {
		func(_ *client, v int16) kmsg.Request { return metadataOf(v, "there") },
		func(t *testing.T, resp kmsg.Response) {
			r := resp.(*kmsg.MetadataResponse)
			want(t, "topic", text(r.Topics[0].Topic), "there")
			want(t, "partitions and brokers", []int{len(r.Topics[0].Partitions), len(r.Brokers)}, []int{2, 1})
		},
	},
	kmsg.OffsetCommit: {
		func(c *client, v int16) kmsg.Request { return c.committing(v, "g", "there", 0, 17) },
		func(t *testing.T, resp kmsg.Response) { want(t, "codes", committed(resp), []string{"NONE"}) },
	},
	kmsg.OffsetFetch: {
		func(c *client, v int16) kmsg.Request {
			c.ask(c.committing(9, "g", "there", 0, 17))
			return c.fetchingOffsets(v, "g", "there", 0)
		},
		func(t *testing.T, resp kmsg.Response) { want(t, "offsets", offsetsTold(resp), []int64{17}) },
	},
	kmsg.FindCoordinator: {
		func(_ *client, v int16) kmsg.Request { return finding(v, groupKey, "group") },
		func(t *testing.T, resp kmsg.Response) {
			told := coordinators(resp)
			told[0].Key = "" // it came with version 4
			want(t, "coordinators", told, []coordinator{{Node: NodeID, Host: "pipe", Port: 9092}})
		},
	},
	kmsg.JoinGroup: {
		func(_ *client, v int16) kmsg.Request {
			req := joining(v, "g", "")
			req.InstanceID = kmsg.StringPtr("i") // so that it counts at once, in versions that ask for an id first
			return req
		},
		func(t *testing.T, resp kmsg.Response) {
			r := resp.(*kmsg.JoinGroupResponse)
			if r.Version == 4 { // no instance ids, and an id first
				wantCode(t, r.ErrorCode, "MEMBER_ID_REQUIRED")
				return
			}
			wantCode(t, r.ErrorCode, "NONE")
			want(t, "protocol and members", []string{text(r.Protocol), r.Members[0].MemberID}, []string{"range", r.MemberID})
		},
	},
	kmsg.Heartbeat: {
		func(c *client, v int16) kmsg.Request { return c.joined("g").beat(v) },
		func(t *testing.T, resp kmsg.Response) { wantCode(t, resp.(*kmsg.HeartbeatResponse).ErrorCode, "NONE") },
	},
	kmsg.LeaveGroup: {
		func(c *client, v int16) kmsg.Request { return c.joined("g").leaving(v) },
		func(t *testing.T, resp kmsg.Response) {
			r := resp.(*kmsg.LeaveGroupResponse)
			wantCode(t, r.ErrorCode, "NONE")
			for _, m := range r.Members {
				wantCode(t, m.ErrorCode, "NONE")
			}
		},
	},
	kmsg.SyncGroup: {
		func(c *client, v int16) kmsg.Request { return c.joined("g").syncing(v, "all") },
		func(t *testing.T, resp kmsg.Response) {
			r := resp.(*kmsg.SyncGroupResponse)
			wantCode(t, r.ErrorCode, "NONE")
			want(t, "assignment", string(r.MemberAssignment), "all")
		},
	},
	kmsg.DescribeGroups: {
		func(c *client, v int16) kmsg.Request {
			c.joined("g")
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Version, req.Groups, req.IncludeAuthorizedOperations = v, []string{"g"}, true
			return req
		},
		func(t *testing.T, resp kmsg.Response) {
			told := resp.(*kmsg.DescribeGroupsResponse).Groups[0]
			want(t, "state, type and host", []string{told.State, told.ProtocolType, told.Members[0].ClientHost}, []string{"CompletingRebalance", "consumer", "/pipe"})
		},
	},
	kmsg.ListGroups: {
		func(c *client, v int16) kmsg.Request {
			c.ask(c.committing(9, "g", "there", 0, 17))
			req := kmsg.NewPtrListGroupsRequest()
			req.StatesFilter, req.TypesFilter = []string{"empty"}, []string{"Classic"}
			return req
		},
		func(t *testing.T, resp kmsg.Response) {
			want(t, "group", resp.(*kmsg.ListGroupsResponse).Groups[0].Group, "g")
		},
	},
	kmsg.ApiVersions: {
		func(_ *client, v int16) kmsg.Request { return asking(v) },
		func(t *testing.T, resp kmsg.Response) {
			want(t, "entries", len(resp.(*kmsg.ApiVersionsResponse).ApiKeys), len(wire.Served()))
		},
	},
	kmsg.CreateTopics: {
		func(_ *client, v int16) kmsg.Request { return creating(v, newTopic("new", 3)) },
		func(t *testing.T, resp kmsg.Response) {
			told := resp.(*kmsg.CreateTopicsResponse).Topics[0]
			wantCode(t, told.ErrorCode, "NONE")
			want(t, "topic", told.Topic, "new")
		},
	},
	kmsg.DeleteTopics: {
		func(_ *client, v int16) kmsg.Request { return deleting(v, "there") },
		func(t *testing.T, resp kmsg.Response) {
			told := resp.(*kmsg.DeleteTopicsResponse).Topics[0]
			wantCode(t, told.ErrorCode, "NONE")
			want(t, "topic", text(told.Topic), "there")
		},
	},
	kmsg.DeleteRecords: {
		func(_ *client, v int16) kmsg.Request { return trimming(v, "there", 0, 1) },
		func(t *testing.T, resp kmsg.Response) {
			want(t, "low watermark", resp.(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0].LowWatermark, 1)
		},
	},
	kmsg.InitProducerID: {
		func(_ *client, v int16) kmsg.Request { return identifying(v, nil) },
		func(t *testing.T, resp kmsg.Response) {
			r := resp.(*kmsg.InitProducerIDResponse)
			want(t, "id and epoch", []int64{r.ProducerID, int64(r.ProducerEpoch)}, []int64{firstProducerID, 0})
		},
	},
	kmsg.OffsetForLeaderEpoch: {
		func(_ *client, v int16) kmsg.Request { return endOfEpoch(v, "there", 0, noEpoch, leaderEpoch) },
		func(t *testing.T, resp kmsg.Response) {
			told := resp.(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0]
			want(t, "end of the epoch", []int64{int64(told.LeaderEpoch), told.EndOffset}, []int64{leaderEpoch, 2})
		},
	},
	kmsg.DescribeLogDirs: {
		func(_ *client, v int16) kmsg.Request { return sizing(v) },
		func(t *testing.T, resp kmsg.Response) {
			want(t, "partitions", len(resp.(*kmsg.DescribeLogDirsResponse).Dirs[0].Topics[0].Partitions), 2)
		},
	},
	kmsg.DeleteGroups: {
		func(c *client, _ int16) kmsg.Request {
			c.ask(c.committing(9, "g", "there", 0, 17))
			req := kmsg.NewPtrDeleteGroupsRequest()
			req.Groups = []string{"g", "g"}
			return req
		},
		func(t *testing.T, resp kmsg.Response) {
			want(t, "groups", resp.(*kmsg.DeleteGroupsResponse).Groups, []kmsg.DeleteGroupsResponseGroup{{Group: "g"}})
		},
	},
	kmsg.ElectLeaders: {
		func(_ *client, v int16) kmsg.Request { return electing(v, preferredElection, "there", 0) },
		func(t *testing.T, resp kmsg.Response) {
			wantCode(t, resp.(*kmsg.ElectLeadersResponse).Topics[0].Partitions[0].ErrorCode, "ELECTION_NOT_NEEDED")
		},
	},
	kmsg.ListPartitionReassignments: {
		func(*client, int16) kmsg.Request { return kmsg.NewPtrListPartitionReassignmentsRequest() },
		func(t *testing.T, resp kmsg.Response) {
			want(t, "topics", len(resp.(*kmsg.ListPartitionReassignmentsResponse).Topics), 0)
		},
	},
	kmsg.OffsetDelete: {
		func(c *client, _ int16) kmsg.Request {
			c.ask(c.committing(9, "g", "there", 0, 17))
			return deletingOffsets("g", "there", 0, 9)
		},
		func(t *testing.T, resp kmsg.Response) {
			want(t, "codes", deletedOffsetCodes(resp), []string{"NONE", "UNKNOWN_TOPIC_OR_PARTITION"})
		},
	},
	kmsg.DescribeCluster: {
		func(*client, int16) kmsg.Request { return kmsg.NewPtrDescribeClusterRequest() },
		func(t *testing.T, resp kmsg.Response) {
			want(t, "controller", resp.(*kmsg.DescribeClusterResponse).ControllerID, NodeID)
		},
	},
	kmsg.ConsumerGroupHeartbeat: {
		func(_ *client, v int16) kmsg.Request { return entering(v, "g", "there") },
		func(t *testing.T, resp kmsg.Response) {
			r := resp.(*kmsg.ConsumerGroupHeartbeatResponse)
			wantCode(t, r.ErrorCode, "NONE")
			want(t, "epoch and partitions", []any{r.MemberEpoch, r.Assignment.Topics[0].Partitions}, []any{int32(2), []int32{0, 1}})
		},
	},
	kmsg.ConsumerGroupDescribe: {
		func(c *client, _ int16) kmsg.Request {
			c.ask(entering(1, "g", "there"))
			req := kmsg.NewPtrConsumerGroupDescribeRequest()
			req.Groups, req.IncludeAuthorizedOperations = []string{"g"}, true
			return req
		},
		func(t *testing.T, resp kmsg.Response) {
			told := resp.(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
			want(t, "state, topic and operations", []any{told.State, told.Members[0].Assignment.TopicPartitions[0].Topic, told.AuthorizedOperations},
				[]any{"Stable", "there", int32(groupOperations)})
		},
	},
	kmsg.AddPartitionsToTxn: {
		func(c *client, v int16) kmsg.Request { return addingTo("tx", c.producerOf("tx"), v, "there", 0) },
		func(t *testing.T, resp kmsg.Response) {
			want(t, "codes", addedTo(resp), []string{"NONE"})
		},
	},
	kmsg.AddOffsetsToTxn: {
		func(c *client, _ int16) kmsg.Request { return addingOffsets("tx", c.producerOf("tx"), "g") },
		func(t *testing.T, resp kmsg.Response) {
			wantCode(t, resp.(*kmsg.AddOffsetsToTxnResponse).ErrorCode, "NONE")
		},
	},
	kmsg.TxnOffsetCommit: {
		func(c *client, v int16) kmsg.Request {
			p := c.producerOf("tx")
			c.ask(addingOffsets("tx", p, "g"))
			return c.committingIn("tx", p, v, "g", "there", 0, 5)
		},
		func(t *testing.T, resp kmsg.Response) {
			wantCode(t, resp.(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode, "NONE")
		},
	},
	kmsg.EndTxn: {
		func(c *client, v int16) kmsg.Request {
			p := c.producerOf("tx")
			c.ask(addingTo("tx", p, 3, "there", 0))
			return endingTxn("tx", p, v, true)
		},
		func(t *testing.T, resp kmsg.Response) {
			wantCode(t, resp.(*kmsg.EndTxnResponse).ErrorCode, "NONE")
		},
	},
	kmsg.DescribeTransactions: {
		func(c *client, _ int16) kmsg.Request {
			c.producerOf("tx")
			req := kmsg.NewPtrDescribeTransactionsRequest()
			req.TransactionalIDs = []string{"tx"}
			return req
		},
		func(t *testing.T, resp kmsg.Response) {
			want(t, "state", resp.(*kmsg.DescribeTransactionsResponse).TransactionStates[0].State, "Empty")
		},
	},
	kmsg.ListTransactions: {
		func(c *client, _ int16) kmsg.Request {
			c.producerOf("tx")
			return kmsg.NewPtrListTransactionsRequest()
		},
		func(t *testing.T, resp kmsg.Response) {
			want(t, "ids", resp.(*kmsg.ListTransactionsResponse).TransactionStates[0].TransactionalID, "tx")
		},
	},
	kmsg.DescribeConfigs: {
		func(_ *client, v int16) kmsg.Request {
			return describingConfigs(v, resource{ofTopic, "there"}, "retention.ms")
		},
		func(t *testing.T, resp kmsg.Response) {
			want(t, "configs", configsIn(resp), []string{"retention.ms=604800000"})
		},
	},
	kmsg.AlterConfigs: {
		func(_ *client, v int16) kmsg.Request { return altering(v, resource{ofTopic, "there"}, "flush.ms=7") },
		func(t *testing.T, resp kmsg.Response) { want(t, "told", altered(resp), []string{"there NONE null"}) },
	},
	kmsg.CreatePartitions: {
		func(_ *client, v int16) kmsg.Request { return growing(v, more("there", 3)) },
		func(t *testing.T, resp kmsg.Response) { want(t, "told", grown(resp), []string{"there NONE null"}) },
	},
	kmsg.IncrementalAlterConfigs: {
		func(_ *client, v int16) kmsg.Request {
			return operating(v, resource{ofTopic, "there"}, "set flush.ms=7")
		},
		func(t *testing.T, resp kmsg.Response) { want(t, "told", altered(resp), []string{"there NONE null"}) },
	},
	kmsg.DescribeProducers: {
		func(*client, int16) kmsg.Request { return describing("there", 0) },
		func(t *testing.T, resp kmsg.Response) {
			want(t, "producers", len(resp.(*kmsg.DescribeProducersResponse).Topics[0].Partitions[0].ActiveProducers), 1)
		},
	},
	kmsg.DescribeTopicPartitions: {
		func(*client, int16) kmsg.Request { return describingTopics(10, nil, "there") },
		func(t *testing.T, resp kmsg.Response) {
			want(t, "told", partitionsTold(resp), []string{"there NONE 0 1"})
		},
	},
	kmsg.ListConfigResources: {
		func(_ *client, v int16) kmsg.Request { return listingResources(v, ofTopic) },
		func(t *testing.T, resp kmsg.Response) {
			expected := []string{"2 there"}
			if resp.GetVersion() == 0 { // which lists client metrics, of which there are none
				expected = nil
			}
			want(t, "resources", resourcesIn(resp), expected)
		},
	},
}

func TestEveryServedVersion(t *testing.T) {
	for _, api := range wire.Served() {
		s, ok := samples[kmsg.Key(api.Key)]
		if !ok {
			t.Errorf("%s is served and has no sample here", api.Name)
			continue
		}
		for version := api.Min; version <= api.Max; version++ {
			t.Run(fmt.Sprintf("%s %d answers and decodes", api.Name, version), func(t *testing.T) {
				_, c := startWith(t, "there")
				c.store("there", 0, by(7, 0, 0, 2))
				req := s.ask(c, version)
				req.SetVersion(version)
				s.check(t, c.ask(req))
			})
		}
	}
}

func TestHandle_PanicsOnAnAPIThatIsNotServed(t *testing.T) {
	defer func() {
		want(t, "panic", fmt.Sprint(recover()), "package wire serves SASLHandshake, and the broker does not")
	}()
	New(Options{}).Handle(t.Context(), &wire.Request{Body: kmsg.NewPtrSASLHandshakeRequest()})
}

// asking makes an ApiVersions request.
func asking(version int16) *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = version, "apache-kafka-java", "4.0.0"
	return req
}

func TestApiVersions_TellsTheTableOfWhatIsServed(t *testing.T) {
	c := start(t, Options{}).dial()
	resp := c.ask(asking(newest(t, kmsg.ApiVersions))).(*kmsg.ApiVersionsResponse)
	wantCode(t, resp.ErrorCode, "NONE")
	var table []kmsg.ApiVersionsResponseApiKey
	for _, api := range wire.Served() {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = api.Key, api.Advertised, api.Max
		table = append(table, k)
	}
	want(t, "entries", resp.ApiKeys, table)
	want(t, "features", len(resp.SupportedFeatures)+len(resp.FinalizedFeatures), 0)
}

// librdkafka before 2.11.1 sends gzip, snappy and lz4 only where Produce is
// advertised from version 0 on.
func TestApiVersions_AdvertisesProduceFromZero(t *testing.T) {
	c := start(t, Options{}).dial()
	for _, k := range c.ask(asking(0)).(*kmsg.ApiVersionsResponse).ApiKeys {
		if kmsg.Key(k.ApiKey) == kmsg.Produce {
			want(t, "range", []int16{k.MinVersion, k.MaxVersion}, []int16{0, 13})
			return
		}
	}
	t.Error("Produce is not advertised")
}

func TestApiVersions_OfAVersionThatIsNotServed(t *testing.T) {
	for _, version := range []int16{-1, 6, 99} {
		t.Run(fmt.Sprintf("version %d gets one entry in the shape of version 0", version), func(t *testing.T) {
			c := start(t, Options{}).dial()
			// A formatter of kmsg would give version -1 the wrong header.
			c.correlation++
			frame := []byte{0, 0, 0, 10, 0, 18, byte(version >> 8), byte(version), 0, 0, 0, 1, 0xff, 0xff}
			if _, err := c.conn.Write(frame); err != nil {
				t.Fatal(err)
			}
			resp := c.receive(asking(0)).(*kmsg.ApiVersionsResponse)
			wantCode(t, resp.ErrorCode, "UNSUPPORTED_VERSION")
			if len(resp.ApiKeys) != 1 {
				t.Fatalf("the answer has %d entries, and kgo wants one", len(resp.ApiKeys))
			}
			k := resp.ApiKeys[0]
			want(t, "entry", []int16{k.ApiKey, k.MinVersion, k.MaxVersion}, []int16{int16(kmsg.ApiVersions), 0, newest(t, kmsg.ApiVersions)})

			wantCode(t, c.ask(asking(k.MaxVersion)).(*kmsg.ApiVersionsResponse).ErrorCode, "NONE")
		})
	}
}

func TestApiVersions_JudgesWhatAClientCallsItself(t *testing.T) {
	for _, tt := range []struct {
		name, software, version, want string
	}{
		{"letters digits dots and hyphens pass", "confluent-kafka.js2", "1.10.1-RC1", "NONE"},
		{"one letter passes", "k", "1", "NONE"},
		{"a hyphen at the beginning", "-bad", "1", "INVALID_REQUEST"},
		{"a dot at the end", "bad.", "1", "INVALID_REQUEST"},
		{"a space", "b ad", "1", "INVALID_REQUEST"},
		{"an empty name", "", "1", "INVALID_REQUEST"},
		{"an empty version", "kgo", "", "INVALID_REQUEST"},
		{"a bad version", "kgo", "v_1", "INVALID_REQUEST"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, Options{}).dial()
			for version := int16(0); version <= newest(t, kmsg.ApiVersions); version++ {
				req := asking(version)
				req.ClientSoftwareName, req.ClientSoftwareVersion = tt.software, tt.version
				resp := c.ask(req).(*kmsg.ApiVersionsResponse)
				expected := tt.want
				if version < 3 { // it has no place for a name
					expected = "NONE"
				}
				wantCode(t, resp.ErrorCode, expected)
				if told := len(resp.ApiKeys) > 0; told != (expected == "NONE") {
					t.Errorf("version %d tells %d entries with %s", version, len(resp.ApiKeys), expected)
				}
			}
		})
	}
}

func TestApiVersions_TellsAClientThatMeantAnotherNode(t *testing.T) {
	const unsaid = -1
	n := start(t, Options{})
	c := n.dial()
	right, wrong, empty := &n.clusterID, kmsg.StringPtr("another"), kmsg.StringPtr("")
	for _, tt := range []struct {
		name    string
		cluster *string
		node    int32
		want    string
	}{
		{"it says nothing", nil, unsaid, "NONE"},
		{"it means this node", right, NodeID, "NONE"},
		{"it means another node", right, 99, "REBOOTSTRAP_REQUIRED"},
		{"it means a node that cannot be", right, -2, "REBOOTSTRAP_REQUIRED"},
		{"it means another cluster", wrong, NodeID, "REBOOTSTRAP_REQUIRED"},
		{"it means a cluster of no name", empty, NodeID, "REBOOTSTRAP_REQUIRED"},
		{"it says the cluster alone", right, unsaid, "INVALID_REQUEST"},
		{"it says another cluster alone", wrong, unsaid, "INVALID_REQUEST"},
		{"it says the node alone", nil, NodeID, "INVALID_REQUEST"},
		{"it says another node alone", nil, 99, "INVALID_REQUEST"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			everyVersion(t, kmsg.ApiVersions, func(t *testing.T, version int16) {
				req := asking(version)
				req.ClusterID, req.NodeID = tt.cluster, tt.node
				expected := tt.want
				if version < 5 { // it has no place for them
					expected = "NONE"
				}
				resp := c.ask(req).(*kmsg.ApiVersionsResponse)
				wantCode(t, resp.ErrorCode, expected)
				if told := len(resp.ApiKeys) > 0; told != (expected == "NONE") {
					t.Errorf("%d entries come with %s", len(resp.ApiKeys), expected)
				}
			})
		})
	}
}

func TestProduce_OfAVersionThatIsNotServedCloses(t *testing.T) {
	for _, version := range []int16{0, 1, 2, 14} {
		t.Run(fmt.Sprintf("version %d", version), func(t *testing.T) {
			_, c := startWith(t, "there")
			frame := []byte{0, 0, 0, 10, 0, 0, 0, byte(version), 0, 0, 0, 1, 0xff, 0xff}
			if _, err := c.conn.Write(frame); err != nil {
				t.Fatal(err)
			}
			c.wantClosed()
		})
	}
}
