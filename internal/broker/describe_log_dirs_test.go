package broker

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// sizing makes a DescribeLogDirs request; without topics it asks for all.
func sizing(version int16, topics ...kmsg.DescribeLogDirsRequestTopic) *kmsg.DescribeLogDirsRequest {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Version, req.Topics = version, topics
	return req
}

// sizesTold lists the partitions of an answer as "topic-partition size", behind
// the directory.
func sizesTold(resp kmsg.Response) (told []string) {
	for _, d := range resp.(*kmsg.DescribeLogDirsResponse).Dirs {
		told = append(told, fmt.Sprintf("%s %s", d.Dir, codeName(d.ErrorCode)))
		for _, t := range d.Topics {
			for _, p := range t.Partitions {
				told = append(told, fmt.Sprintf("%s-%d %d", t.Topic, p.Partition, p.Size))
			}
		}
	}
	return told
}

func TestDescribeLogDirs_TellsTheBytesOfEachPartition(t *testing.T) {
	type asked = kmsg.DescribeLogDirsRequestTopic
	_, c := startWith(t, "b", "a")
	c.store("a", 1, records(t, 1))
	c.store("a", 1, records(t, 2))
	c.store("b", 0, records(t, 1))
	for _, tt := range []struct {
		name   string
		topics []asked
		want   []string
	}{
		{"of all", nil, []string{"a-0 0", fmt.Sprint("a-1 ", 2*size), fmt.Sprint("b-0 ", size), "b-1 0"}},
		{"of none", []asked{}, nil},
		{"of one", []asked{{Topic: "b", Partitions: []int32{0}}}, []string{fmt.Sprint("b-0 ", size)}},
		{"of a topic without partitions", []asked{{Topic: "b"}}, nil},
		{"of a partition twice", []asked{{Topic: "b", Partitions: []int32{0, 1, 0}}}, []string{fmt.Sprint("b-0 ", size), "b-1 0"}},
		{"of a topic twice", []asked{{Topic: "b", Partitions: []int32{1}}, {Topic: "a", Partitions: []int32{0}}, {Topic: "b", Partitions: []int32{0}}},
			[]string{"a-0 0", fmt.Sprint("b-0 ", size), "b-1 0"}},
		{"of what is not there", []asked{{Topic: "missing", Partitions: []int32{0}}, {Topic: "a", Partitions: []int32{9, -1, 0}}}, []string{"a-0 0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			everyVersion(t, kmsg.DescribeLogDirs, func(t *testing.T, version int16) {
				want(t, "told", sizesTold(c.ask(sizing(version, tt.topics...))), append([]string{"memory NONE"}, tt.want...))
			})
		})
	}
}

func TestDescribeLogDirs_ATrimMakesAPartitionSmaller(t *testing.T) {
	n := start(t, Options{Memory: 10 * size})
	n.make("there", 1, nil)
	c := n.dial()
	c.store("there", 0, records(t, 1))
	c.store("there", 0, records(t, 2))
	for _, tt := range []struct{ start, size int64 }{{0, 2 * size}, {1, size}, {2, size}, {3, 0}} {
		c.trimTo("there", 0, tt.start)
		dir := c.ask(sizing(newest(t, kmsg.DescribeLogDirs))).(*kmsg.DescribeLogDirsResponse).Dirs[0]
		wanted := kmsg.NewDescribeLogDirsResponseDir()
		wanted.Dir, wanted.TotalBytes, wanted.UsableBytes = logDir, 10*size, 10*size-tt.size
		wanted.Topics = []kmsg.DescribeLogDirsResponseDirTopic{{Topic: "there",
			Partitions: []kmsg.DescribeLogDirsResponseDirTopicPartition{{Size: tt.size}}}}
		want(t, fmt.Sprint("from offset ", tt.start), dir, wanted)
	}
}

func TestDescribeLogDirs_WithoutALimitTheTotalIsUnknown(t *testing.T) {
	_, c := startWith(t)
	dir := c.ask(sizing(newest(t, kmsg.DescribeLogDirs))).(*kmsg.DescribeLogDirsResponse).Dirs[0]
	want(t, "total and usable bytes", []int64{dir.TotalBytes, dir.UsableBytes}, []int64{-1, -1})
}
