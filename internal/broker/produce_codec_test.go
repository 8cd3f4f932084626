package broker

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestProduce_CompressedBatchesAreStoredAsTheyCame(t *testing.T) {
	for _, codec := range codecs {
		t.Run(codec.name, func(t *testing.T) {
			everyVersion(t, kmsg.Produce, func(t *testing.T, version int16) {
				if codec.name == "zstd" && version < 7 {
					t.Skip("zstd came with version 7")
				}
				_, c := startWith(t, "there")
				c.store("there", 0, plain(2))
				batch := by(7, 0, 0, 3).at(1000, 3000, 2000).of("compressible compressible").with(codec)
				told := c.produceAs(version, "there", 0, batch)
				wantCode(t, told.ErrorCode, "NONE")
				want(t, "base offset", told.BaseOffset, 2)
				for v := int16(4); v <= newest(t, kmsg.Fetch); v++ { // zstd as well, though it came with version 10
					told := fetchedFrom(c.ask(c.fetching(v, from("there", 0, 2))))[0]
					want(t, "stored", told.RecordBatches, stored(batch.bytes(), 2))
				}
				want(t, "producers", writers(c.describe("there", 0)), []writer{{7, 0, 2, 3000}})
			})
		})
	}
}

func TestProduce_ZstdNeedsVersionSeven(t *testing.T) {
	for version := int16(3); version < 7; version++ {
		t.Run(fmt.Sprintf("version %d", version), func(t *testing.T) {
			_, c := startWith(t, "there")
			told := c.produceAs(version, "there", 0, by(7, 0, 0, 1).with(codecNamed(t, "zstd")))
			wantCode(t, told.ErrorCode, "UNSUPPORTED_COMPRESSION_TYPE")
			want(t, "base offset", told.BaseOffset, -1)
			want(t, "end", c.end("there", 0), 0)
		})
	}
}

// The size that counts is the one on the wire, so a batch may be larger than
// max.message.bytes when it is decompressed.
func TestProduce_SizeIsThatOfTheBatchAsItIsSent(t *testing.T) {
	_, c := startWith(t, "there")
	batch := plain(1).sized(2 * defaultMaxMessageBytes)
	wantCode(t, c.produce("there", 0, batch).ErrorCode, "MESSAGE_TOO_LARGE")
	wantCode(t, c.produce("there", 0, batch.with(codecNamed(t, "lz4"))).ErrorCode, "NONE")
}

// DescribeProducers, a duplicate's answer and ListOffsets tell a batch's time:
// the records have it, whatever the header says.
func TestProduce_TimeOfABatchIsThatOfItsRecords(t *testing.T) {
	_, c := startWith(t, "there")
	batch := by(7, 0, 0, 2).at(1000, 2000).saying(func(b *kmsg.RecordBatch) { b.MaxTimestamp = 9000 })
	c.store("there", 0, batch)
	want(t, "log append time of a replay", c.produce("there", 0, batch).LogAppendTime, 2000)
	want(t, "producers", writers(c.describe("there", 0)), []writer{{7, 0, 1, 2000}})
	want(t, "greatest time", c.list("there", 0, maxTimestampOffset).Timestamp, 2000)
}
