// Package broker answers Kafka requests from topics and partitions that it keeps
// in memory. One file serves one Kafka API; its head names the versions, what it
// does, and where it differs from Apache Kafka.
//
// It is one node, leader of every partition, controller and coordinator. It
// joins the leaves of the house: package producer judges a batch, package log
// keeps it, both under the partition's one lock, so that they never disagree.
//
// The package does not know that faults exist, nor who watches.
package broker

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/fencepostmq/fencepost/internal/group"
	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
)

const (
	// NodeID is the id of the one broker.
	NodeID = 1
	// leaderEpoch is the epoch of every partition: its leader never changes.
	leaderEpoch = 0
	// MaxTopicPartitions is the most partitions of one topic.
	MaxTopicPartitions = 10_000
	// MaxTotalPartitions is the most partitions of all topics together.
	MaxTotalPartitions = 100_000
)

// Options say how a broker behaves.
type Options struct {
	// AutoCreate makes a topic when Metadata asks for it and allows it
	// (auto.create.topics.enable).
	AutoCreate bool
	// Partitions is how many partitions a topic gets that does not say
	// (num.partitions), at least 1.
	Partitions int32
	// UnknownProducer says what becomes of a first batch that does not begin at
	// sequence 0.
	UnknownProducer producer.Policy
	// Seed makes the cluster id and the topic ids; the same seed gives the same.
	Seed uint64
	// Memory is the most bytes of batches that are kept, 0 for no limit.
	Memory int64
	// Log is told when the memory is full; nil tells nobody.
	Log *zap.Logger
}

// A Broker is the end of the chain of Handlers: it does the work.
type Broker struct {
	options   Options
	clusterID string
	memory    memory
	txns      *transactions
	groups    *group.Coordinator
	nextID    atomic.Int64 // the next producer id

	mu         sync.RWMutex // guards the topic map and what is handed out by name
	random     *rand.Rand
	topics     map[string]*topic
	byID       map[[16]byte]*topic
	byMetric   map[string]string // topic names by metricName
	partitions int               // of all topics
	// set is the configs of what is no topic, each set replaced as a whole.
	set         map[resource]map[string]string
	configBytes int       // of all configs, also those of topics
	unset       *settings // of a topic that sets none
	viewed      topicsView
}

// firstProducerID is the first producer id that is given out. Ids below are
// left free, so that one a test makes up does not meet one of the broker's.
const firstProducerID = 1000

// New makes a broker without topics.
func New(o Options) *Broker {
	o.Partitions = max(o.Partitions, 1)
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	b := &Broker{
		options: o, memory: memory{limit: o.Memory, log: o.Log}, random: rand.New(rand.NewPCG(o.Seed, 0)),
		topics: map[string]*topic{}, byID: map[[16]byte]*topic{}, byMetric: map[string]string{},
	}
	b.nextID.Store(firstProducerID)
	b.set = map[resource]map[string]string{allBrokers: {"min.insync.replicas": "1"}} // as a new cluster of Kafka
	b.memory.reclaim = b.reclaim
	b.groups = group.New(newMemberIDs(o.Seed))
	b.txns = newTransactions(b.newProducerID, b.groups, &b.memory, o.Log)
	id := b.uuidLocked()
	b.clusterID = base64.RawURLEncoding.EncodeToString(id[:])
	return b
}

// newMemberIDs draws what is unique in the ids of group members, one at a time.
// They have a generator of their own, so that members leave the ids of topics as
// they are.
func newMemberIDs(seed uint64) func() string {
	random := rand.New(rand.NewPCG(seed, 1))
	return func() string {
		id := uuid(random)
		return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	}
}

// uuidLocked draws an id of a cluster or topic.
func (b *Broker) uuidLocked() [16]byte { return uuid(b.random) }

// uuid draws a random UUID (version 4).
func uuid(random *rand.Rand) (id [16]byte) {
	binary.BigEndian.PutUint64(id[:], random.Uint64())
	binary.BigEndian.PutUint64(id[8:], random.Uint64())
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// Handle answers one request of any API that package wire serves.
func (b *Broker) Handle(ctx context.Context, req *wire.Request) wire.Reply {
	if req.Lost {
		return wire.Reply{Fate: wire.LoseRequests} // it never came
	}
	switch r := req.Body.(type) {
	case *kmsg.ProduceRequest:
		return b.produce(req, r)
	case *kmsg.FetchRequest:
		return answer(b.fetch(ctx, req, r))
	case *kmsg.ListOffsetsRequest:
		return answer(b.listOffsets(r))
	case *kmsg.MetadataRequest:
		return answer(b.metadata(req.Conn, r))
	case *kmsg.OffsetCommitRequest:
		return answer(b.offsetCommit(r))
	case *kmsg.OffsetFetchRequest:
		return answer(b.offsetFetch(r))
	case *kmsg.FindCoordinatorRequest:
		return answer(findCoordinator(req.Conn, r))
	case *kmsg.JoinGroupRequest:
		return b.joinGroup(ctx, req, r)
	case *kmsg.HeartbeatRequest:
		return answer(b.heartbeat(r))
	case *kmsg.LeaveGroupRequest:
		return answer(b.leaveGroup(r))
	case *kmsg.SyncGroupRequest:
		return b.syncGroup(ctx, req, r)
	case *kmsg.DescribeGroupsRequest:
		return answer(b.describeGroups(r))
	case *kmsg.ListGroupsRequest:
		return answer(b.listGroups(r))
	case *kmsg.ApiVersionsRequest:
		return answer(b.apiVersions(r))
	case *kmsg.CreateTopicsRequest:
		return answer(b.createTopics(r))
	case *kmsg.DeleteTopicsRequest:
		return answer(b.deleteTopics(r))
	case *kmsg.DeleteRecordsRequest:
		return answer(b.deleteRecords(r))
	case *kmsg.InitProducerIDRequest:
		return answer(b.initProducerID(r))
	case *kmsg.OffsetForLeaderEpochRequest:
		return answer(b.offsetForLeaderEpoch(r))
	case *kmsg.AddPartitionsToTxnRequest:
		return answer(b.addPartitionsToTxn(r))
	case *kmsg.AddOffsetsToTxnRequest:
		return answer(b.addOffsetsToTxn(r))
	case *kmsg.EndTxnRequest:
		return answer(b.endTxn(r))
	case *kmsg.TxnOffsetCommitRequest:
		return answer(b.txnOffsetCommit(r))
	case *kmsg.DescribeConfigsRequest:
		return answer(b.describeConfigs(req.Conn, r))
	case *kmsg.AlterConfigsRequest:
		return answer(b.alterConfigs(r))
	case *kmsg.DescribeLogDirsRequest:
		return answer(b.describeLogDirs(r))
	case *kmsg.CreatePartitionsRequest:
		return answer(b.createPartitions(r))
	case *kmsg.DeleteGroupsRequest:
		return answer(b.deleteGroups(r))
	case *kmsg.ElectLeadersRequest:
		return answer(b.electLeaders(r))
	case *kmsg.IncrementalAlterConfigsRequest:
		return answer(b.incrementalAlterConfigs(r))
	case *kmsg.ListPartitionReassignmentsRequest:
		return answer(listPartitionReassignments(r))
	case *kmsg.OffsetDeleteRequest:
		return answer(b.offsetDelete(r))
	case *kmsg.DescribeClusterRequest:
		return answer(b.describeCluster(req.Conn, r))
	case *kmsg.DescribeProducersRequest:
		return answer(b.describeProducers(r))
	case *kmsg.DescribeTransactionsRequest:
		return answer(b.describeTransactions(r))
	case *kmsg.ListTransactionsRequest:
		return answer(b.listTransactions(r))
	case *kmsg.ConsumerGroupHeartbeatRequest:
		return answer(b.consumerGroupHeartbeat(req, r))
	case *kmsg.ConsumerGroupDescribeRequest:
		return answer(b.consumerGroupDescribe(r))
	case *kmsg.ListConfigResourcesRequest:
		return answer(b.listConfigResources(r))
	case *kmsg.DescribeTopicPartitionsRequest:
		return answer(b.describeTopicPartitions(r))
	}
	panic("package wire serves " + kmsg.NameForKey(req.Body.Key()) + ", and the broker does not")
}

// answer sends what was done.
func answer(resp kmsg.Response) wire.Reply { return wire.Reply{Done: resp, Told: resp} }
