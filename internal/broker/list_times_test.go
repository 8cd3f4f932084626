package broker

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestListOffsets_ByTime(t *testing.T) {
	for _, tt := range []struct {
		timestamp int64
		want      spot
	}{
		{0, spot{"NONE", 0, 1000, 0}},
		{1000, spot{"NONE", 0, 1000, 0}},
		{1001, spot{"NONE", 1, 1010, 0}},
		{1020, spot{"NONE", 2, 1020, 0}},
		{1021, spot{"NONE", 3, 1500, 0}},
		{1300, spot{"NONE", 3, 1500, 0}}, // the first in the log, not the nearest in time
		{1501, spot{"NONE", 4, 1600, 0}},
		{1600, spot{"NONE", 4, 1600, 0}},
		{1601, nowhere},
		{1 << 62, nowhere},
	} {
		t.Run(fmt.Sprint("from ", tt.timestamp), func(t *testing.T) {
			c := timed(t)
			everyVersion(t, kmsg.ListOffsets, func(t *testing.T, version int16) {
				want(t, "told", spotOf(c.listAs(version, "there", 0, tt.timestamp)), tt.want.in(version))
				want(t, "of an empty log", spotOf(c.listAs(version, "there", 1, tt.timestamp)), nowhere)
			})
		})
	}
}

func TestListOffsets_ByTimeInsideBatchesOfEveryCodec(t *testing.T) {
	for _, codec := range append([]codec{{name: "none"}}, codecs...) {
		t.Run(codec.name, func(t *testing.T) {
			_, c := startWith(t, "there")
			for i := range int64(3) {
				first := 1000 + 100*i
				batch := plain(5).at(first, first+30, first+10, first+20, first+30)
				if codec.compress != nil {
					batch.with(codec)
				}
				c.store("there", 0, batch)
			}
			for timestamp, expected := range map[int64]spot{
				1000: {"NONE", 0, 1000, 0},
				1001: {"NONE", 1, 1030, 0},
				1031: {"NONE", 5, 1100, 0},
				1120: {"NONE", 6, 1130, 0},
				1201: {"NONE", 11, 1230, 0},
				1231: nowhere,
			} {
				want(t, fmt.Sprint("from ", timestamp), spotOf(c.list("there", 0, timestamp)), expected)
			}
			want(t, "greatest time, the first that has it", spotOf(c.list("there", 0, maxTimestampOffset)), spot{"NONE", 11, 1230, 0})
		})
	}
}

func TestListOffsets_ByTimeAfterATrim(t *testing.T) {
	for _, tt := range []struct {
		name      string
		start     int64
		timestamp int64
		want      spot
	}{
		{"before all that is left", 4, 0, spot{"NONE", 4, 1600, 0}},
		{"inside the batch around the start", 1, 0, spot{"NONE", 1, 1010, 0}},
		{"a later record of that batch", 1, 1011, spot{"NONE", 2, 1020, 0}},
		{"what only deleted records reached", 5, 1301, nowhere},
		{"the last record", 5, 1300, spot{"NONE", 5, 1300, 0}},
		{"nothing is left", 6, 0, nowhere},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := timed(t)
			c.trimTo("there", 0, tt.start)
			want(t, "told", spotOf(c.list("there", 0, tt.timestamp)), tt.want)
		})
	}
}

// The batch around the start reaches a time with a record that was deleted; a
// later batch reaches it with one that was not.
func TestListOffsets_ByTimeLooksBehindTheBatchAroundTheStart(t *testing.T) {
	_, c := startWith(t, "there")
	c.store("there", 0, plain(2).at(2000, 1000))
	c.store("there", 0, plain(1).at(1500))
	c.store("there", 0, plain(2).at(1000, 2000))
	c.trimTo("there", 0, 1)
	want(t, "from 1200", spotOf(c.list("there", 0, 1200)), spot{"NONE", 2, 1500, 0})
	want(t, "from 1800", spotOf(c.list("there", 0, 1800)), spot{"NONE", 4, 2000, 0})
	want(t, "from 2001", spotOf(c.list("there", 0, 2001)), nowhere)
}

func TestListOffsets_GreatestTimeIsTheFirstRecordThatHasIt(t *testing.T) {
	_, c := startWith(t, "there")
	c.store("there", 0, plain(3).at(1000, 3000, 3000))
	c.store("there", 0, plain(2).at(3000, 2000))
	want(t, "told", spotOf(c.list("there", 0, maxTimestampOffset)), spot{"NONE", 1, 3000, 0})
	c.store("there", 0, plain(1).at(3001))
	want(t, "told of a greater one", spotOf(c.list("there", 0, maxTimestampOffset)), spot{"NONE", 5, 3001, 0})
}

// -1 is what a producer says that has no time.
func TestListOffsets_RecordsWithoutATime(t *testing.T) {
	_, c := startWith(t, "there")
	c.store("there", 0, plain(2).at(-1, -1))
	want(t, "from 0", spotOf(c.list("there", 0, 0)), nowhere)
	want(t, "earliest", spotOf(c.list("there", 0, earliestOffset)), spot{"NONE", 0, -1, 0})
	c.store("there", 0, plain(1).at(0))
	want(t, "from 0", spotOf(c.list("there", 0, 0)), spot{"NONE", 2, 0, 0})
}
