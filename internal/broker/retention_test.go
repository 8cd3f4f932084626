package broker

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestRetention_KeepsTheBytesAskedFor(t *testing.T) {
	size := len(plain(1).bytes())
	n, c := startSet(t, map[string]string{"retention.bytes": fmt.Sprint(3 * size)})
	for i := range int64(10) {
		told := c.produce("there", 0, plain(1))
		want(t, "offset and start", []int64{told.BaseOffset, told.LogStartOffset}, []int64{i, max(0, i-2)})
		want(t, "bytes in use", n.memory.used.Load(), int64(size)*min(i+1, 3))
	}
	want(t, "earliest", c.list("there", 0, earliestOffset).Offset, 7)
	told := fetchedFrom(c.ask(c.fetching(fetchVersion, from("there", 0, 6))))[0]
	wantCode(t, told.ErrorCode, "OFFSET_OUT_OF_RANGE")
}

// What was given to a reader stays as it is, and what a producer sent stays known.
func TestRetention_ForgetsNoProducer(t *testing.T) {
	_, c := startSet(t, map[string]string{"retention.bytes": "1"})
	for i := range int32(4) {
		c.store("there", 0, by(7, 0, i, 1))
	}
	want(t, "offset of a replay", c.store("there", 0, by(7, 0, 0, 1)), 0)
	want(t, "start", c.list("there", 0, earliestOffset).Offset, 3)
}

func TestRetention_LetsGoOfWhatIsTooOld(t *testing.T) {
	for name, look := range map[string]func(c *client) int64{
		"when offsets are asked for": func(c *client) int64 { return c.list("there", 0, earliestOffset).Offset },
		"when records are read": func(c *client) int64 {
			return fetchedFrom(c.ask(c.fetching(fetchVersion, from("there", 0, 3))))[0].LogStartOffset
		},
		"when something is appended": func(c *client) int64 {
			return c.produce("there", 0, plain(1).at(time.Now().UnixMilli())).LogStartOffset
		},
		"when a batch is not accepted": func(c *client) int64 { return c.produce("there", 0, by(7, 0, 9, 1)).LogStartOffset },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, c := startSet(t, map[string]string{"retention.ms": "60000"})
				now := time.Now().UnixMilli()
				c.store("there", 0, plain(2).at(now-1000, now))
				c.store("there", 0, plain(1).at(now-1000))
				c.store("there", 0, plain(1).at(now+30_000))
				<-time.After(time.Minute)
				want(t, "start at a minute", look(c), 0)
				<-time.After(time.Millisecond)
				want(t, "start a millisecond later", look(c), 3)
			})
		})
	}
}

func TestRetention_IsForTopicsThatDelete(t *testing.T) {
	for _, configs := range []map[string]string{
		{},
		{"retention.bytes": "-1", "retention.ms": "-1"},
		{"retention.bytes": "1", "retention.ms": "1", "cleanup.policy": ""},
	} {
		_, c := startSet(t, configs)
		c.store("there", 0, plain(1).at(0))
		c.store("there", 0, plain(1).at(0))
		want(t, fmt.Sprint("start with ", configs), c.list("there", 0, earliestOffset).Offset, 0)
	}
}

// Before a batch is refused for want of memory, all topics let go of what is too
// old, also those that nobody looks at.
func TestRetention_MakesRoomBeforeABatchIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		size := int64(len(plain(1).bytes()))
		n := start(t, Options{Memory: 2 * size})
		n.make("brief", 2, map[string]string{"retention.ms": "1000"})
		n.make("kept", 1, nil)
		c := n.dial()
		now := time.Now().UnixMilli()
		c.store("brief", 0, plain(1).at(now))
		c.store("brief", 1, plain(1).at(now))
		wantCode(t, c.produce("kept", 0, plain(1)).ErrorCode, storage)
		<-time.After(time.Minute)
		c.store("kept", 0, by(7, 0, 0, 1))
		want(t, "bytes in use", n.memory.used.Load(), size)
		c.store("kept", 0, by(7, 0, 1, 1))
		wantCode(t, c.produce("kept", 0, by(7, 0, 2, 1)).ErrorCode, storage)
	})
}
