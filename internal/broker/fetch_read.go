package broker

import (
	"github.com/fencepostmq/fencepost/internal/log"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// mostPinned is how many times its bytes an answer may keep of memory that could be
// given back, if its records are written from there: a client may be slow to read.
const mostPinned = 2

// fetching is one pass over what a Fetch asks for.
type fetching struct {
	request   *kmsg.FetchRequest
	targets   []target                           // those that are known first
	told      []kmsg.FetchResponseTopicPartition // one for each target
	records   []log.Stretch                      // one for each target that is known
	left      int                                // bytes that may still be added
	bytes     int                                // bytes of records so far
	available int                                // bytes that there are to be read, of each partition up to its own limit
	failed    bool                               // an answer that is not worth waiting for
	more      bool                               // there is more to be read than the answer has room for, or a pass takes
}

// read makes a pass.
func (b *Broker) read(r *kmsg.FetchRequest) *fetching {
	f := &fetching{request: r, targets: b.targets(r)}
	f.told = make([]kmsg.FetchResponseTopicPartition, len(f.targets))
	f.records = make([]log.Stretch, 0, len(f.targets))
	f.left = f.limit()
	for i := range f.targets {
		t, told := &f.targets[i], &f.told[i]
		tellNothing(told, t.asked.Partition)
		if t.partition == nil {
			told.ErrorCode = t.refused.Code
			continue
		}
		f.records = append(f.records, log.Stretch{})
		if err := f.partition(t, told); err != nil {
			told.ErrorCode = err.Code
			f.failed = true
		}
		f.left = max(0, f.left) // a negative limit is one for the first partition alone, as in Kafka
	}
	return f
}

// tellNothing is what is told of a partition that cannot be read.
func tellNothing(told *kmsg.FetchResponseTopicPartition, partition int32) {
	told.Default()
	told.Partition = partition
	told.HighWatermark, told.LastStableOffset, told.LogStartOffset = -1, -1, -1
	told.RecordBatches = []byte{} // never null: clients do not expect it
}

// partition reads one partition that is there.
func (f *fetching) partition(t *target, told *kmsg.FetchResponseTopicPartition) *kerr.Error {
	if t.refused != nil {
		return t.refused
	}
	if err := f.check(t, told); err != nil {
		return err
	}
	most := int(t.asked.PartitionMaxBytes)
	limit := min(most, f.left)
	v := t.partition.read(t.asked.FetchOffset, limit, f.request.IsolationLevel)
	switch last := t.asked.LastFetchedEpoch; {
	case v.err == errDeleted && f.request.Version >= 13:
		return kerr.UnknownTopicID
	case v.err == errDeleted:
		return kerr.UnknownTopicOrPartition
	case last == leaderEpoch && t.asked.FetchOffset > v.end:
		told.DivergingEpoch.Epoch, told.DivergingEpoch.EndOffset = leaderEpoch, v.end
		f.failed = true
	case v.err != nil, last > leaderEpoch:
		return kerr.OffsetOutOfRange
	case len(v.records.First) > 0 && limit < 0:
		return kerr.UnknownServerError // Kafka's read fails
	default:
		told.AbortedTransactions = v.aborted
		f.failed = f.failed || v.beyond // the records may be long in coming
		if full := f.take(v.records, most, limit); full && v.aborted != nil {
			told.AbortedTransactions = v.aborted[:0:0] // told with the records
		}
	}
	told.HighWatermark, told.LastStableOffset, told.LogStartOffset = v.end, v.stable, v.start
	return nil
}

// check judges who asks. A broker that follows is no replica of any partition
// here; from version 16 on it is told who leads.
func (f *fetching) check(t *target, told *kmsg.FetchResponseTopicPartition) *kerr.Error {
	epoch := t.asked.CurrentLeaderEpoch
	switch follows := replicaOf(f.request) >= 0; {
	case epoch > leaderEpoch, follows && epoch >= 0:
		return kerr.UnknownLeaderEpoch
	case follows:
		if f.request.Version >= 16 {
			told.CurrentLeader.LeaderID, told.CurrentLeader.LeaderEpoch = NodeID, leaderEpoch
		}
		return kerr.NotLeaderForPartition
	}
	return nil
}

// replicaOf is the id of the broker that asks, below 0 for a consumer.
func replicaOf(r *kmsg.FetchRequest) int32 {
	if r.Version >= 15 {
		return r.ReplicaState.ID
	}
	return r.ReplicaID
}

// take counts what was read of the newest target, of which most bytes are wanted
// and limit may be given.
// It says whether the answer had no room for any.
func (f *fetching) take(s log.Stretch, most, limit int) (full bool) {
	f.available += min(s.Size(), most)
	full = f.bytes > 0 && len(s.First) > limit
	if full { // only the first batch of all comes whole
		s = log.Stretch{}
		f.more = f.more || limit < most
	}
	f.records[len(f.records)-1] = s
	f.more = f.more || s.More
	f.bytes += s.Size()
	f.left -= s.Size()
	return full
}

// answer tells what was read. A reader of this process itself, which asks for much to
// see little, is given what lies in one piece of memory, and goes on from its end: for
// others the pieces are written one by one, or copied. Partitions that stand side by side
// share an entry of their topic.
func (f *fetching) answer(req *wire.Request) *kmsg.FetchResponse {
	resp := f.request.ResponseKind().(*kmsg.FetchResponse)
	resp.Topics = make([]kmsg.FetchResponseTopic, 0, len(f.request.Topics))
	for i := range f.records {
		s := &f.records[i]
		switch {
		case len(s.First) == 0:
		case req.Internal, s.Size() >= s.Pinned/mostPinned && req.Conn.LendRecords(s.First, s.Behind):
			f.told[i].RecordBatches = s.First
		default:
			f.told[i].RecordBatches = s.Bytes()
		}
	}
	for start := 0; start < len(f.targets); {
		topic, end := f.targets[start].topic, start+1
		for end < len(f.targets) && sameTopic(f.targets[end].topic, topic) {
			end++
		}
		resp.Topics = append(resp.Topics, kmsg.FetchResponseTopic{
			Topic: topic.Topic, TopicID: topic.TopicID, Partitions: f.told[start:end:end],
		})
		start = end
	}
	return resp
}

func sameTopic(a, b *kmsg.FetchRequestTopic) bool {
	return a == b || a.Topic == b.Topic && a.TopicID == b.TopicID
}
