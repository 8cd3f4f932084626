package broker

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// size is the bytes of each batch of threeBatches.
const size = 961

// records is a batch of n records, 1 to 3, that takes size bytes.
func records(t *testing.T, n int) *draft {
	const overhead = 9 // of a record with a value of 64 bytes to 8 kB
	d := plain(n).sized((size-headerSize)/n - overhead)
	if got := len(d.bytes()); got != size {
		t.Fatalf("a batch has %d bytes instead of %d", got, size)
	}
	return d
}

// threeBatches gives a-0 the offsets 0 to 5 in batches that begin at 0, 2 and 3,
// and a-1 the offsets 0 and 1 in two.
func threeBatches(t *testing.T) *client {
	_, c := startWith(t, "a", "b")
	for _, n := range []int{2, 1, 3} {
		c.store("a", 0, records(t, n))
	}
	c.store("a", 1, records(t, 1))
	c.store("a", 1, records(t, 1))
	return c
}

func TestFetch_FromAnOffset(t *testing.T) {
	for _, tt := range []struct {
		name   string
		offset int64
		want   []int64 // base offsets
	}{
		{"the start", 0, []int64{0, 2, 3}},
		{"inside a batch gives the whole batch", 1, []int64{0, 2, 3}},
		{"a batch", 2, []int64{2, 3}},
		{"the last record", 5, []int64{3}},
		{"the end", 6, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := threeBatches(t)
			everyVersion(t, kmsg.Fetch, func(t *testing.T, version int16) {
				told := fetchedFrom(c.ask(c.fetching(version, from("a", 0, tt.offset))))[0]
				wantCode(t, told.ErrorCode, "NONE")
				want(t, "batches", offsetsIn(told.RecordBatches), tt.want)
				want(t, "high watermark and last stable offset", []int64{told.HighWatermark, told.LastStableOffset}, []int64{6, 6})
				if told.RecordBatches == nil {
					t.Error("the records are null, and clients do not expect that")
				}
			})
		})
	}
}

func TestFetch_Limits(t *testing.T) {
	at := func(partition int32, offset int64, maxBytes int32) place {
		return place{"a", partition, offset, maxBytes}
	}
	const all = math.MaxInt32
	for _, tt := range []struct {
		name   string
		max    int32
		places []place
		want   []int // bytes of each partition
	}{
		{"no limit", all, []place{at(0, 0, all), at(1, 0, all)}, []int{3 * size, 2 * size}},
		{"the first batch comes whole over a partition's limit of 1", all, []place{at(0, 0, 1)}, []int{size}},
		{"the first batch comes whole over a partition's limit of 0", all, []place{at(0, 0, 0)}, []int{size}},
		{"a limit is one for the first partition alone if it is negative", -1, []place{at(0, 6, all), at(1, 0, all)}, []int{0, size}},
		{"the first batch comes whole over a limit of 1", 1, []place{at(0, 0, all)}, []int{size}},
		{"the first batch comes whole over a limit of 0", 0, []place{at(0, 0, all)}, []int{size}},
		{"the first batch comes whole from the middle", 1, []place{at(0, 2, 1)}, []int{size}},
		{"the second batch is cut at the partition's limit", all, []place{at(0, 0, size+1)}, []int{size + 1}},
		{"the third batch is cut at the partition's limit", all, []place{at(0, 0, 3*size-1)}, []int{3*size - 1}},
		{"nothing is cut at the limit itself", all, []place{at(0, 0, 2*size)}, []int{2 * size}},
		{"the second batch is cut at the limit", size + 500, []place{at(0, 0, all)}, []int{size + 500}},
		{"the lesser limit counts", size + 700, []place{at(0, 0, size+200)}, []int{size + 200}},
		{"the lesser limit counts the other way", size + 200, []place{at(0, 0, size+700)}, []int{size + 200}},
		{"the second partition gets what is left", 4*size + 500, []place{at(0, 0, all), at(1, 0, all)}, []int{3 * size, size + 500}},
		{"the second partition is not begun where its first batch has no place", 4*size - 1, []place{at(0, 0, all), at(1, 0, all)}, []int{3 * size, 0}},
		{"the second partition gets nothing when nothing is left", 3 * size, []place{at(0, 0, all), at(1, 0, all)}, []int{3 * size, 0}},
		{"the second partition gets nothing after a batch over the limit", 1, []place{at(0, 0, all), at(1, 0, all)}, []int{size, 0}},
		{"the second partition is not begun where its first batch is over its own limit", all, []place{at(0, 0, 1), at(1, 0, size-1)}, []int{size, 0}},
		{"the second partition is cut at its own limit", all, []place{at(0, 0, 1), at(1, 0, size+1)}, []int{size, size + 1}},
		{"a negative limit at the end is none", all, []place{at(0, 0, all), at(1, 2, -1)}, []int{3 * size, 0}},
		{"an empty partition first does not count", 1, []place{at(0, 6, all), at(1, 0, 1)}, []int{0, size}},
		{"a partition that is not there does not count", 1, []place{at(9, 0, all), at(1, 0, 1)}, []int{size, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := threeBatches(t)
			everyVersion(t, kmsg.Fetch, func(t *testing.T, version int16) {
				req := c.fetching(version, tt.places...)
				req.MaxBytes = tt.max
				var got []int
				for _, told := range fetchedFrom(c.ask(req)) {
					got = append(got, len(told.RecordBatches))
					whole := c.everything("a", told.Partition%2, offsetOf(told.Partition, tt.places))
					if !bytes.HasPrefix(whole, told.RecordBatches) {
						t.Errorf("partition %d: what came is not how the log begins there", told.Partition)
					}
				}
				want(t, "bytes", got, tt.want)
			})
		})
	}
}

// offsetOf is the offset that is asked for in a partition, each of which is asked
// for once.
func offsetOf(partition int32, places []place) int64 {
	at := slices.IndexFunc(places, func(p place) bool { return p.partition == partition })
	return places[at].offset
}

func TestFetch_ManyBatchesOverManyPieces(t *testing.T) {
	_, c := startWith(t, "there")
	var sent []byte
	for i := range int64(200) {
		batch := plain(1).of(fmt.Sprint("record ", i)).sized(int(50 + i))
		c.store("there", 0, batch)
		sent = append(sent, stored(batch.bytes(), i)...)
	}
	if !bytes.Equal(c.everything("there", 0, 0), sent) {
		t.Error("what was read is not what was sent")
	}
	want(t, "from the middle", offsetsIn(c.everything("there", 0, 197)), []int64{197, 198, 199})
}

func TestFetch_Errors(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   place
		want string
	}{
		{"one beyond the end", from("a", 0, 7), "OFFSET_OUT_OF_RANGE"},
		{"far beyond the end", from("a", 0, math.MaxInt64), "OFFSET_OUT_OF_RANGE"},
		{"minus one", from("a", 0, -1), "OFFSET_OUT_OF_RANGE"},
		{"far below the start", from("a", 0, math.MinInt64), "OFFSET_OUT_OF_RANGE"},
		{"beyond the end of an empty log", from("b", 0, 1), "OFFSET_OUT_OF_RANGE"},
		{"a negative limit where there are records", place{"a", 0, 0, -1}, "UNKNOWN_SERVER_ERROR"},
		{"the least limit where there are records", place{"a", 0, 5, math.MinInt32}, "UNKNOWN_SERVER_ERROR"},
		{"no such partition", from("a", 2, 0), "UNKNOWN_TOPIC_OR_PARTITION"},
		{"partition minus one", from("a", -1, 0), "UNKNOWN_TOPIC_OR_PARTITION"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := threeBatches(t)
			everyVersion(t, kmsg.Fetch, func(t *testing.T, version int16) {
				told := fetchedFrom(c.ask(c.fetching(version, tt.at)))
				wantFetchError(t, told[0], tt.want)
			})
		})
	}
}

// wantFetchError wants a partition of an answer to be an error and nothing else.
func wantFetchError(t *testing.T, told kmsg.FetchResponseTopicPartition, code string) {
	t.Helper()
	wantCode(t, told.ErrorCode, code)
	want(t, "high watermark, last stable offset and start", []int64{told.HighWatermark, told.LastStableOffset, told.LogStartOffset}, []int64{-1, -1, -1})
	if told.RecordBatches == nil || len(told.RecordBatches) > 0 {
		t.Errorf("the records are %v instead of empty", told.RecordBatches)
	}
}

func TestFetch_AnErrorLeavesTheOtherPartitionsAlone(t *testing.T) {
	c := threeBatches(t)
	told := fetchedFrom(c.ask(c.fetching(fetchVersion, from("no such", 0, 0), from("a", 9, 0), from("a", 0, 7), from("a", 1, 0), from("b", 0, 0))))
	wantFetchError(t, told[0], "OFFSET_OUT_OF_RANGE")
	want(t, "batches", offsetsIn(told[1].RecordBatches), []int64{0, 1})
	wantCode(t, told[2].ErrorCode, "NONE")
	wantFetchError(t, told[3], "UNKNOWN_TOPIC_OR_PARTITION")
	wantFetchError(t, told[4], "UNKNOWN_TOPIC_OR_PARTITION")
}

func TestFetch_UnknownTopics(t *testing.T) {
	c := threeBatches(t)
	everyVersion(t, kmsg.Fetch, func(t *testing.T, version int16) {
		ids, code := [][16]byte{{}}, "UNKNOWN_TOPIC_OR_PARTITION"
		if version >= 13 {
			ids, code = append(ids, [16]byte{1, 2, 3}), "UNKNOWN_TOPIC_ID"
		}
		for _, id := range ids {
			req := c.fetching(version, from("no such", 0, 0))
			req.Topics[0].TopicID = id
			resp := c.ask(req).(*kmsg.FetchResponse)
			wantFetchError(t, resp.Topics[0].Partitions[0], code)
			want(t, "the id comes back", resp.Topics[0].TopicID, id)
		}
	})
}

func TestFetch_TellsTheNameOrTheID(t *testing.T) {
	n, c := startWith(t, "there")
	everyVersion(t, kmsg.Fetch, func(t *testing.T, version int16) {
		topic := c.ask(c.fetching(version, from("there", 0, 0))).(*kmsg.FetchResponse).Topics[0]
		if version >= 13 {
			want(t, "id", topic.TopicID, n.id("there"))
		} else {
			want(t, "name", topic.Topic, "there")
		}
	})
}

func TestFetch_LeaderEpochs(t *testing.T) {
	c := threeBatches(t)
	for version := int16(9); version <= newest(t, kmsg.Fetch); version++ {
		for _, tt := range []struct {
			epoch  int32
			offset int64
			want   string
		}{
			{-1, 0, "NONE"}, {0, 0, "NONE"}, {-2, 0, "NONE"}, {1, 0, "UNKNOWN_LEADER_EPOCH"},
			{1, 7, "UNKNOWN_LEADER_EPOCH"}, // looked at before the offset
		} {
			req := c.fetching(version, from("a", 0, tt.offset))
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = tt.epoch
			told := fetchedFrom(c.ask(req))[0]
			if tt.want != "NONE" {
				wantFetchError(t, told, tt.want)
			} else {
				wantCode(t, told.ErrorCode, tt.want)
			}
		}
	}
}

// read_committed is the default of librdkafka, kafkajs and platformatic: they
// read up to the last stable offset only.
func TestFetch_ReadCommitted(t *testing.T) {
	c := threeBatches(t)
	everyVersion(t, kmsg.Fetch, func(t *testing.T, version int16) {
		for isolation := range int8(2) {
			req := c.fetching(version, from("a", 0, 0), from("b", 0, 0))
			req.IsolationLevel = isolation
			told := fetchedFrom(c.ask(req))
			want(t, "last stable offset", told[0].LastStableOffset, 6)
			want(t, "batches", offsetsIn(told[0].RecordBatches), []int64{0, 2, 3})
			for _, p := range told {
				if committed := isolation == 1; (p.AbortedTransactions != nil) != committed {
					t.Errorf("isolation level %d tells aborted transactions %v", isolation, p.AbortedTransactions)
				}
				want(t, "aborted transactions", len(p.AbortedTransactions), 0)
			}
		}
	})
}
