package broker

import "github.com/twmb/franz-go/pkg/kmsg"

// DescribeLogDirs, versions 1 to 5 (total and usable bytes from 4).
//
// Everything is in memory, which is told as the one directory: its total is the
// memory that there is for records, -1 if there is no limit. The size of a
// partition is the bytes of its batches. Partitions that are not there are left
// out, as in Kafka; a null list of topics asks for all.
//
// Differences from Apache Kafka: batches before the log's start do not count,
// where Kafka counts the files that still hold them.

// logDir is the name of the one log directory.
const logDir = "memory"

func (b *Broker) describeLogDirs(r *kmsg.DescribeLogDirsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir = logDir
	if limit := b.memory.limit; limit > 0 {
		dir.TotalBytes, dir.UsableBytes = limit, max(limit-b.memory.used.Load(), 0)
	}
	wanted := partitionsWanted(r)
	for _, f := range b.all() {
		if t := sizesOf(f.topic, wanted); len(t.Partitions) > 0 {
			dir.Topics = append(dir.Topics, t)
		}
	}
	resp.Dirs = append(resp.Dirs, dir)
	return resp
}

// partitionsWanted are those that a request names, by topic; nil for all.
func partitionsWanted(r *kmsg.DescribeLogDirsRequest) map[string]map[int32]bool {
	if r.Topics == nil {
		return nil
	}
	wanted := map[string]map[int32]bool{}
	for i := range r.Topics {
		t := &r.Topics[i]
		if wanted[t.Topic] == nil {
			wanted[t.Topic] = map[int32]bool{}
		}
		for _, n := range t.Partitions {
			wanted[t.Topic][n] = true
		}
	}
	return wanted
}

func sizesOf(t *topic, wanted map[string]map[int32]bool) kmsg.DescribeLogDirsResponseDirTopic {
	told := kmsg.DescribeLogDirsResponseDirTopic{Topic: t.name}
	if wanted != nil && len(wanted[t.name]) == 0 {
		return told
	}
	for i, p := range t.all() {
		if n := int32(i); wanted == nil || wanted[t.name][n] {
			told.Partitions = append(told.Partitions, kmsg.DescribeLogDirsResponseDirTopicPartition{Partition: n, Size: p.size()})
		}
	}
	return told
}

// size is the bytes of the batches that the partition holds.
func (p *partition) size() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Size()
}
