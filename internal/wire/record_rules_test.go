package wire

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ruled is the rules of a batch for orders-3 at the time 1,000,000.
func ruled(records *RecordRules) BatchRules {
	rules := anyBatch
	rules.Records, rules.Partition, rules.Now = records, TopicPartition{"orders", 3}, 1_000_000
	return rules
}

// asked is rules of a topic that wants keys and times from 100 ms before to 10 ms
// after 1,000,000.
func asked() *RecordRules {
	return &RecordRules{Before: 100, After: 10, Keys: true}
}

// anyTime is rules of a topic that says nothing.
func anyTime() *RecordRules {
	return &RecordRules{Before: math.MaxInt64, After: 3_600_000}
}

// timed is records with keys, created at these times after 1,000,000.
func timed(deltas ...int64) [][]byte {
	var records [][]byte
	for i, d := range deltas {
		records = append(records, record(kmsg.Record{OffsetDelta: int32(i), TimestampDelta64: d, Key: []byte("k")}))
	}
	return records
}

func keyless(offset int32, delta int64) []byte {
	return record(kmsg.Record{OffsetDelta: offset, TimestampDelta64: delta, Value: []byte("value")})
}

const (
	noKey  = "Compacted topic cannot accept message without key in topic partition orders-3"
	badAge = "Timestamp %d of message with offset %d is out of range. The timestamp should be within [999900, 1000010]"
)

func TestCheckBatch_refuses_records_that_the_topic_does_not_want(t *testing.T) {
	for _, tt := range []struct {
		name    string
		records [][]byte
		code    *kerr.Error
		problem string
		listed  []RecordError
	}{
		{"a record without a key", [][]byte{keyless(0, 0)}, kerr.InvalidRecord,
			"One or more records have been rejected due to 1 record errors in total, and only showing the first three errors at most: [RecordError(batchIndex=0, message='" + noKey + "')]",
			[]RecordError{{0, noKey}}},
		{"one of three without a key", [][]byte{timed(0)[0], keyless(1, 0), timed(0, 0, 0)[2]}, kerr.InvalidRecord,
			"One or more records have been rejected due to 1 record errors in total, and only showing the first three errors at most: [RecordError(batchIndex=1, message='" + noKey + "')]",
			[]RecordError{{1, noKey}}},
		{"four without keys", [][]byte{keyless(0, 0), keyless(1, 0), keyless(2, 0), keyless(3, 0)}, kerr.InvalidRecord,
			"One or more records have been rejected due to 4 record errors in total, and only showing the first three errors at most: [" +
				"RecordError(batchIndex=0, message='" + noKey + "'), RecordError(batchIndex=1, message='" + noKey + "'), RecordError(batchIndex=2, message='" + noKey + "')]",
			[]RecordError{{0, noKey}, {1, noKey}, {2, noKey}, {3, noKey}}},
		{"too old", timed(0, -101), kerr.InvalidTimestamp, "One or more records have been rejected due to invalid timestamp",
			[]RecordError{{1, fmt.Sprintf(badAge, 999_899, 1)}}},
		{"too far ahead", timed(11, 10), kerr.InvalidTimestamp, "One or more records have been rejected due to invalid timestamp",
			[]RecordError{{0, fmt.Sprintf(badAge, 1_000_011, 0)}}},
		{"a time before all times", timed(-1_000_002), kerr.InvalidTimestamp, "One or more records have been rejected due to invalid timestamp",
			[]RecordError{{0, fmt.Sprintf(badAge, -2, 0)}}},
		{"no key and a bad time is no key", [][]byte{keyless(0, 11)}, kerr.InvalidRecord,
			"One or more records have been rejected due to 1 record errors in total, and only showing the first three errors at most: [RecordError(batchIndex=0, message='" + noKey + "')]",
			[]RecordError{{0, noKey}}},
		{"a bad time among missing keys decides", [][]byte{keyless(0, 0), timed(0, 11)[1]}, kerr.InvalidTimestamp, "One or more records have been rejected due to invalid timestamp",
			[]RecordError{{0, noKey}, {1, fmt.Sprintf(badAge, 1_000_011, 1)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules := ruled(asked())
			want := BatchError{Code: tt.code.Code, Problem: tt.problem, Records: tt.listed}
			for bits := range int16(5) {
				_, err := CheckBatch(packed(bits, tt.records...), rules)
				if err == nil {
					t.Fatalf("%s: accepted", codecName(bits))
				}
				if diff := cmp.Diff(want, *err); diff != "" {
					t.Errorf("%s: the error (-want +got):\n%s", codecName(bits), diff)
				}
			}
		})
	}
}

// packed is batchOf for records that a codec compresses.
func packed(bits int16, records ...[]byte) []byte {
	var all []byte
	for _, r := range records {
		all = append(all, r...)
	}
	if bits != codecNone {
		all = codecs[bits-1].pack(all)
	}
	return packedBatch(int32(len(records)), all, attributes(bits))
}

func TestCheckBatch_accepts_records_that_the_topic_wants(t *testing.T) {
	empty := record(kmsg.Record{Key: []byte{}})
	for name, tt := range map[string]struct {
		records [][]byte
		rules   *RecordRules
	}{
		"the edges of what is allowed": {timed(-100, 10), asked()},
		"no time":                      {timed(-1_000_001), asked()},
		"an empty key is a key":        {[][]byte{empty}, asked()},
		"an hour ahead by default":     {timed(3_600_000), anyTime()},
		"any time back by default":     {timed(-1_000_000, -1_000_002, -1<<62), anyTime()},
		"any time where the broker's counts": {timed(1<<60, -1<<60),
			&RecordRules{AppendTime: true}},
	} {
		t.Run(name, func(t *testing.T) {
			rules := ruled(tt.rules)
			wantAccepted(t, batchOf(tt.records), rules)
		})
	}
}

// Most topics limit nothing but how far ahead a time is, and their records are not
// looked at one by one unless one is.
func TestCheckBatch_looks_ahead_an_hour_by_default(t *testing.T) {
	rules := ruled(anyTime())
	for name, delta := range map[string]int64{"an hour and a millisecond": 3_600_001, "the least there is": math.MaxInt64 - 999_999} {
		_, err := CheckBatch(batchOf(timed(0, delta)), rules)
		if err == nil || err.Code != kerr.InvalidTimestamp.Code || len(err.Records) != 1 || err.Records[0].Index != 1 {
			t.Errorf("%s: %+v, want record 1 refused for its time", name, err)
		}
	}
}

func TestCheckBatch_refuses_LogAppendTime_from_a_producer_where_the_broker_gives_it(t *testing.T) {
	const problem = "Invalid timestamp type in message %s. Producer should not set timestamp type to LogAppendTime."
	rules := ruled(&RecordRules{AppendTime: true})
	for bits, want := range map[int16]string{
		codecNone: "DefaultRecord(offset=0, timestamp=1000000, key=0 bytes, value=5 bytes)",
		codecLz4:  "PartialDefaultRecord(offset=0, timestamp=1000000, key=-1 bytes, value=5 bytes)",
	} {
		raw := packed(bits, keyless(0, 77))
		raw[22] |= appendTimeBit
		_, err := CheckBatch(sealed(raw), rules)
		if err == nil || err.Code != kerr.InvalidTimestamp.Code {
			t.Fatalf("%s: %+v", codecName(bits), err)
		}
		if diff := cmp.Diff([]RecordError{{0, fmt.Sprintf(problem, want)}}, err.Records); diff != "" {
			t.Errorf("%s: the records (-want +got):\n%s", codecName(bits), diff)
		}
	}
}

// An answer has to stay small, however many records are refused.
func TestCheckBatch_lists_a_limited_number_of_records(t *testing.T) {
	var records [][]byte
	for i := range int32(MaxRecordErrors + 5) {
		records = append(records, keyless(i, 0))
	}
	rules := ruled(asked())
	_, err := CheckBatch(batchOf(records), rules)
	if err == nil || len(err.Records) != MaxRecordErrors || err.Records[MaxRecordErrors-1].Index != MaxRecordErrors-1 {
		t.Fatalf("%d records are listed, want the first %d", len(err.Records), MaxRecordErrors)
	}
}

func TestCheckedBatch_StampAppendTime_gives_all_records_one_time(t *testing.T) {
	for bits := range int16(5) {
		c, err := CheckBatch(packed(bits, timed(7, 3, 9)...), anyBatch)
		if err != nil {
			t.Fatal(err)
		}
		c.StampAppendTime(55)
		want := packed(bits, timed(7, 3, 9)...)
		want[22] |= appendTimeBit
		want[42], want[41], want[40] = 55, 0, 0
		if diff := cmp.Diff(sealed(want), c.Raw); diff != "" {
			t.Errorf("%s: the batch (-want +got):\n%s", codecName(bits), diff)
		}
		if c.MaxTimestamp != 55 || c.MaxTimestampDelta != 0 {
			t.Errorf("the greatest time is %d at %d", c.MaxTimestamp, c.MaxTimestampDelta)
		}
		created := []int64{1_000_007, 1_000_003, 1_000_009}
		all, readErr := readAll(c.Raw, 1<<20)
		for i, r := range all {
			if r.Timestamp != 55 || r.Created != created[i] {
				t.Errorf("record %d has time %d, created %d", i, r.Timestamp, r.Created)
			}
		}
		if readErr != nil || len(all) != 3 {
			t.Errorf("%d records (%v)", len(all), readErr)
		}
	}
}
