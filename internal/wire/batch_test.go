package wire

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type checkTest struct {
	name  string
	raw   []byte
	rules func(*BatchRules) // nil for anyBatch
	want  BatchError
}

func corrupt(unread bool, problem string) BatchError {
	return BatchError{Code: kerr.CorruptMessage.Code, Unread: unread, Problem: problem}
}

func invalid(unread bool, problem string) BatchError {
	return BatchError{Code: kerr.InvalidRecord.Code, Unread: unread, Problem: problem}
}

// coded is an error of another code, in a batch that was looked into.
func coded(err *kerr.Error, problem string) BatchError {
	return BatchError{Code: err.Code, Problem: problem}
}

func runCheckTests(t *testing.T, tests []checkTest) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rules := anyBatch
			if tt.rules != nil {
				tt.rules(&rules)
			}
			before := bytes.Clone(tt.raw)
			_, err := CheckBatch(tt.raw, rules)
			if err == nil {
				t.Fatalf("accepted, want code %d: %s", tt.want.Code, tt.want.Problem)
			}
			if diff := cmp.Diff(tt.want, *err); diff != "" {
				t.Errorf("the error (-want +got):\n%s", diff)
			}
			if err.Error() != err.Problem {
				t.Errorf("Error() is %q, want the problem", err.Error())
			}
			if !bytes.Equal(before, tt.raw) {
				t.Error("the batch was changed")
			}
		})
	}
}

func maxBytes(n int) func(*BatchRules)  { return func(r *BatchRules) { r.MaxBytes = n } }
func version(v int16) func(*BatchRules) { return func(r *BatchRules) { r.Version = v } }

func TestCheckBatch_refuses_a_record_set_that_is_no_batch(t *testing.T) {
	two := batchOf(plainRecords(2))
	runCheckTests(t, []checkTest{
		{"null", nil, nil, invalid(true, "the record set is null")},
		{"empty", []byte{}, nil, invalid(true, "the record set has no bytes")},
		{"one byte", []byte{0}, nil, invalid(true, "the record set ends after 1 bytes, inside the header of a batch")},
		{"no magic", two[:16], nil, invalid(true, "the record set ends after 16 bytes, inside the header of a batch")},
		{"zeros", make([]byte, 100), nil, corrupt(true, "the batch says that it has 0 bytes, less than its own header")},
		{"twelve zeros", make([]byte, 12), nil, corrupt(true, "the batch says that it has 0 bytes, less than its own header")},
		{"a header and no more", two[:17], nil, invalid(true, "the batch says that it has 90 bytes, and 5 are there")},
		{"half a header", two[:60], nil, invalid(true, "the batch says that it has 90 bytes, and 48 are there")},
		{"the last byte is missing", two[:len(two)-1], nil, invalid(true, "the batch says that it has 90 bytes, and 89 are there")},
	})
}

func TestCheckBatch_refuses_magic_other_than_2(t *testing.T) {
	sound := batchOf(plainRecords(1))
	runCheckTests(t, []checkTest{
		{"0, of Kafka 0.8", patched(sound, 16, 0), nil, invalid(true, "magic 0 is not served, only 2 (Kafka 0.11 and later)")},
		{"1, of Kafka 0.10", patched(sound, 16, 1), nil, invalid(true, "magic 1 is not served, only 2 (Kafka 0.11 and later)")},
		{"3", patched(sound, 16, 3), nil, corrupt(true, "magic 3 is not served, only 2 (Kafka 0.11 and later)")},
		{"9", patched(sound, 16, 9), nil, corrupt(true, "magic 9 is not served, only 2 (Kafka 0.11 and later)")},
		{"-1", patched(sound, 16, 0xff), nil, corrupt(true, "magic -1 is not served, only 2 (Kafka 0.11 and later)")},
		{"9 in half a batch", patched(sound[:30], 16, 9), nil, corrupt(true, "magic 9 is not served, only 2 (Kafka 0.11 and later)")},
	})
}

func TestCheckBatch_refuses_a_length_that_is_not_the_batch(t *testing.T) {
	one := batchOf(plainRecords(1)) // 81 bytes, 69 of them counted
	runCheckTests(t, []checkTest{
		{"4", patched(one, 8, 0, 0, 0, 4), nil, corrupt(true, "the batch says that it has 4 bytes, less than its own header")},
		{"0", patched(one, 8, 0, 0, 0, 0), nil, corrupt(true, "the batch says that it has 0 bytes, less than its own header")},
		{"-1", patched(one, 8, 0xff, 0xff, 0xff, 0xff), nil, corrupt(true, "the batch says that it has -1 bytes, less than its own header")},
		{"the most negative", patched(one, 8, 0x80, 0, 0, 0), nil, corrupt(true, "the batch says that it has -2147483648 bytes, less than its own header")},
		{"one less than a header", patched(one, 8, 0, 0, 0, 48), nil, corrupt(true, "the batch says that it has 48 bytes, less than its own header")},
		{"one more than there is", patched(one, 8, 0, 0, 0, byte(len(one)-11)), nil, invalid(true, "the batch says that it has 70 bytes, and 69 are there")},
		{"2 GB", patched(one, 8, 0x7f, 0xff, 0xff, 0xff), nil, invalid(true, "the batch says that it has 2147483647 bytes, and 69 are there")},
		{"one less than there is", patched(one, 8, 0, 0, 0, byte(len(one)-13)), nil,
			corrupt(true, fmt.Sprintf("the batch says that its CRC-32C is %x, and it is %08x", one[17:21], crc32.Checksum(one[21:len(one)-1], castagnoli)))},
	})
}

func TestCheckBatch_refuses_what_follows_the_batch_and_is_another(t *testing.T) {
	one := batchOf(plainRecords(1))
	behind := func(more []byte) []byte { return append(bytes.Clone(one), more...) }
	second := func(n int) BatchError {
		return invalid(true, fmt.Sprintf("the record set holds more than one batch: %d bytes follow the first", n))
	}
	follow := func(n int, problem string) BatchError {
		return corrupt(true, fmt.Sprintf("%d bytes follow the batch, and are none themselves: %s", n, problem))
	}
	runCheckTests(t, []checkTest{
		{"a batch", behind(one), nil, second(81)},
		{"a batch with a wrong checksum", behind(patched(one, 17, 0, 0, 0, 0)), nil, second(81)},
		{"a batch of magic 1", behind(patched(one, 16, 1)), nil, second(81)},
		{"the smallest batch there ever was", behind(patched(one[:26], 8, 0, 0, 0, 14)), nil, second(26)},
		{"one that is smaller", behind(patched(one[:26], 8, 0, 0, 0, 13)), nil, follow(26, "the batch says that it has 13 bytes, less than its own header")},
		{"twelve zeros", behind(make([]byte, 12)), nil, follow(12, "the batch says that it has 0 bytes, less than its own header")},
		{"half a batch of magic 9", behind(patched(one[:40], 16, 9)), nil, follow(40, "magic 9 is not served, only 2 (Kafka 0.11 and later)")},
	})
}

// What cannot be a batch is cut off: the log must not get it.
func TestCheckBatch_cuts_off_what_is_no_batch(t *testing.T) {
	one := batchOf(plainRecords(1))
	for name, more := range map[string][]byte{
		"a byte":                        {0},
		"11 bytes":                      bytes.Repeat([]byte{0xab}, 11),
		"the beginning of a batch":      one[:12],
		"a batch without the last byte": one[:80],
		"a length and no magic":         append(make([]byte, 8), 0x7f, 0, 0, 0, 9, 9, 9, 9),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := CheckBatch(append(bytes.Clone(one), more...), anyBatch)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Raw, one) {
				t.Errorf("%d bytes are left of %d", len(got.Raw), len(one))
			}
		})
	}
}

func TestCheckBatch_refuses_a_batch_larger_than_the_topic_allows(t *testing.T) {
	one := batchOf(plainRecords(1))
	runCheckTests(t, []checkTest{
		{"by a byte", one, maxBytes(len(one) - 1), BatchError{Code: kerr.MessageTooLarge.Code, Unread: true,
			Problem: "the batch has 81 bytes, and the topic's max.message.bytes is 80"}},
		{"by all", one, maxBytes(0), BatchError{Code: kerr.MessageTooLarge.Code, Unread: true,
			Problem: "the batch has 81 bytes, and the topic's max.message.bytes is 0"}},
	})
	rules := anyBatch
	rules.MaxBytes = len(one)
	wantAccepted(t, one, rules)
}

// Whatever bit flips behind the checksum or in it, the batch is refused for it.
func TestCheckBatch_refuses_every_flipped_bit(t *testing.T) {
	sound := batchOf(plainRecords(2), producerOf(5, 1, 7))
	for at := 17; at < len(sound); at++ {
		for bit := range 8 {
			_, err := CheckBatch(patched(sound, at, sound[at]^1<<bit), anyBatch)
			if err == nil || err.Code != kerr.CorruptMessage.Code || !err.Unread {
				t.Fatalf("bit %d of byte %d flipped: %v, want a corrupt message", bit, at, err)
			}
		}
	}
	runCheckTests(t, []checkTest{
		{"a checksum of zero", patched(sound, 17, 0, 0, 0, 0), nil,
			corrupt(true, fmt.Sprintf("the batch says that its CRC-32C is 00000000, and it is %x", sound[17:21]))},
	})
}

// The broker writes the base offset and the leader epoch: the checksum covers
// neither, and what a client sends as leader epoch does not matter.
func TestCheckBatch_takes_any_leader_epoch(t *testing.T) {
	for _, epoch := range []byte{0, 0xff, 0x7f} {
		wantAccepted(t, patched(batchOf(plainRecords(1)), 12, epoch, epoch, epoch, epoch), anyBatch)
	}
}

func TestCheckBatch_refuses_a_header_that_a_producer_may_not_send(t *testing.T) {
	counts := func(records, lastDelta int32) func(*kmsg.RecordBatch) {
		return func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = records, lastDelta }
	}
	base := func(offset int64) func(*kmsg.RecordBatch) {
		return func(b *kmsg.RecordBatch) { b.FirstOffset = offset }
	}
	two := plainRecords(2)
	runCheckTests(t, []checkTest{
		{"base offset 77", batchOf(two, base(77)), nil, invalid(false, "the base offset is 77, and a producer has to send 0")},
		{"base offset -1", batchOf(two, base(-1)), nil, invalid(false, "the base offset is -1, and a producer has to send 0")},
		{"no records", batchOf(nil), nil, invalid(false, "the batch says that it has 0 records")},
		{"records, and a count of 0", batchOf(two, counts(0, -1)), nil, invalid(false, "the batch says that it has 0 records")},
		{"a negative count", batchOf(two, counts(-2, -3)), nil, invalid(false, "the batch says that it has -2 records")},
		{"the most negative count", batchOf(two, counts(math.MinInt32, math.MaxInt32)), nil, invalid(false, "the batch says that it has -2147483648 records")},
		{"a count too high", batchOf(two, counts(5, 1)), nil, invalid(false, "the batch says that it has 5 records, and a last offset delta of 1")},
		{"a last offset delta too high", batchOf(two, counts(2, 7)), nil, invalid(false, "the batch says that it has 2 records, and a last offset delta of 7")},
		{"a negative last offset delta", batchOf(two, counts(2, -1)), nil, invalid(false, "the batch says that it has 2 records, and a last offset delta of -1")},
		{"a control batch", batchOf(two, attributes(0x20)), nil, invalid(false, "a producer cannot write control batches")},
		{"a transactional control batch", batchOf(two, attributes(0x30), producerOf(1, 0, 0)), nil, invalid(false, "a producer cannot write control batches")},
		{"codec 5", batchOf(two, attributes(5)), nil, coded(kerr.UnknownServerError, "compression type 5 is not known, the highest is 4")},
		{"codec 6", batchOf(two, attributes(6)), nil, coded(kerr.UnknownServerError, "compression type 6 is not known, the highest is 4")},
		{"codec 7", batchOf(two, attributes(7)), nil, coded(kerr.UnknownServerError, "compression type 7 is not known, the highest is 4")},
		{"zstd before Produce 7", batchOf(two, attributes(4)), version(6), BatchError{Code: kerr.UnsupportedCompressionType.Code, Unread: true,
			Problem: "zstd needs Produce version 7 or later, and this is version 6"}},
	})
}

func TestCheckBatch_refuses_a_producer_that_cannot_be(t *testing.T) {
	two := plainRecords(2)
	runCheckTests(t, []checkTest{
		{"epoch -1", batchOf(two, producerOf(4, -1, 0)), nil, coded(kerr.InvalidProducerEpoch, "producer 4 has epoch -1, and epochs begin at 0")},
		{"epoch -2", batchOf(two, producerOf(4, -2, 0)), nil, coded(kerr.InvalidProducerEpoch, "producer 4 has epoch -2, and epochs begin at 0")},
		{"sequence -1", batchOf(two, producerOf(4, 0, -1)), nil, invalid(false, "producer 4 has sequence -1, and sequences begin at 0")},
		{"sequence -5", batchOf(two, producerOf(0, 0, -5)), nil, invalid(false, "producer 0 has sequence -5, and sequences begin at 0")},
		{"epoch and sequence -1", batchOf(two, producerOf(4, -1, -1)), nil, coded(kerr.InvalidProducerEpoch, "producer 4 has epoch -1, and epochs begin at 0")},
	})
}

// What is wrong first is what the client is told: the order is Kafka's.
func TestCheckBatch_tells_the_first_of_several_problems(t *testing.T) {
	broken := func(edit ...func(*kmsg.RecordBatch)) []byte {
		return patched(batchOf(plainRecords(1), edit...), 17, 1, 2, 3, 4)
	}
	checksum := batchOf(plainRecords(1))[17:21]
	runCheckTests(t, []checkTest{
		{"length before magic", patched(batchOf(plainRecords(1)), 8, 0, 0, 0, 4, 0, 0, 0, 0, 9), nil, corrupt(true, "the batch says that it has 4 bytes, less than its own header")},
		{"two batches before size", append(broken(), broken()...), maxBytes(50), invalid(true, "the record set holds more than one batch: 81 bytes follow the first")},
		{"size before checksum", broken(), maxBytes(50), BatchError{Code: kerr.MessageTooLarge.Code, Unread: true,
			Problem: "the batch has 81 bytes, and the topic's max.message.bytes is 50"}},
		{"checksum before base offset", broken(func(b *kmsg.RecordBatch) { b.FirstOffset = 1 }), nil,
			corrupt(true, fmt.Sprintf("the batch says that its CRC-32C is 01020304, and it is %x", checksum))},
		{"count before producer", batchOf(nil, producerOf(4, -1, -1)), nil, invalid(false, "the batch says that it has 0 records")},
		{"producer before records", batchOf([][]byte{{0xff}}, producerOf(4, -1, 0)), nil, coded(kerr.InvalidProducerEpoch, "producer 4 has epoch -1, and epochs begin at 0")},
		{"codec before producer", batchOf(plainRecords(1), attributes(5), producerOf(4, -1, 0)), nil, coded(kerr.UnknownServerError, "compression type 5 is not known, the highest is 4")},
	})
}

func TestCheckBatch_accepts_what_stock_clients_send(t *testing.T) {
	two := plainRecords(2)
	tests := []struct {
		name  string
		raw   []byte
		rules func(*BatchRules)
	}{
		{"no producer: -1, -1, -1", batchOf(two, producerOf(-1, -1, -1)), nil},
		{"no producer: -1, -1, 0 (kgo, sarama, aiokafka)", batchOf(two, producerOf(-1, -1, 0)), nil},
		{"no producer: -1, 0, 0 (kafkajs, platformatic)", batchOf(two, producerOf(-1, 0, 0)), nil},
		{"producer id -7 is none either", batchOf(two, producerOf(-7, -7, -7)), nil},
		{"a producer", batchOf(two, producerOf(0, 0, 0)), nil},
		{"the highest numbers", batchOf(two, producerOf(math.MaxInt64, math.MaxInt16, math.MaxInt32)), nil},
		{"a batch that straddles the wrap", batchOf(plainRecords(4), producerOf(1, 0, math.MaxInt32-1)), nil},
		{"the transactional bit and no producer", batchOf(two, attributes(0x10)), nil},
		{"a batch of a transaction", batchOf(two, attributes(0x10), producerOf(4, 0, 0)), nil},
		{"Produce 3", batchOf(two), version(3)},
		{"a record without key, value or headers", batchOf([][]byte{record(kmsg.Record{})}), nil},
		{"no timestamps", batchOf(two, func(b *kmsg.RecordBatch) { b.FirstTimestamp, b.MaxTimestamp = -1, -1 }), nil},
		{"many records", batchOf(plainRecords(10_000)), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rules := anyBatch
			if tt.rules != nil {
				tt.rules(&rules)
			}
			wantAccepted(t, tt.raw, rules)
		})
	}
}

func TestCheckBatch_tells_the_header(t *testing.T) {
	raw := batchOf(plainRecords(3), producerOf(77, 5, 9), attributes(0x40), func(b *kmsg.RecordBatch) {
		b.PartitionLeaderEpoch = 4
	})
	got := wantAccepted(t, raw, anyBatch)
	want := kmsg.RecordBatch{
		Length: int32(len(raw) - 12), PartitionLeaderEpoch: 4, Magic: 2, CRC: got.CRC, Attributes: 0x40,
		LastOffsetDelta: 2, NumRecords: 3, FirstTimestamp: 1_000_000, MaxTimestamp: 1_000_002,
		ProducerID: 77, ProducerEpoch: 5, FirstSequence: 9, Records: raw[61:],
	}
	if diff := cmp.Diff(want, got.RecordBatch); diff != "" {
		t.Errorf("the header (-want +got):\n%s", diff)
	}
}

// Kafka writes the greatest timestamp over a wrong one, and so a consumer never
// sees what the producer claimed.
func TestCheckBatch_corrects_a_wrong_greatest_timestamp(t *testing.T) {
	for name, lie := range map[string]int64{"too low": 5, "too high": 1 << 50, "negative": -1} {
		t.Run(name, func(t *testing.T) {
			raw := batchOf(plainRecords(3), producerOf(7, 0, 0), func(b *kmsg.RecordBatch) { b.MaxTimestamp = lie })
			want := batchOf(plainRecords(3), producerOf(7, 0, 0))
			if got := wantAccepted(t, raw, anyBatch); !bytes.Equal(got.Raw, want) {
				t.Errorf("the batch is %x, want %x", got.Raw, want)
			}
			wantAccepted(t, raw, anyBatch) // once more, now that it is right
		})
	}
}

// Only a topic may say that the broker gives the times.
func TestCheckBatch_takes_the_claim_of_LogAppendTime_away(t *testing.T) {
	raw := batchOf(plainRecords(3), attributes(0x08), func(b *kmsg.RecordBatch) { b.MaxTimestamp = 5 })
	if got := wantAccepted(t, raw, anyBatch); !bytes.Equal(got.Raw, batchOf(plainRecords(3))) {
		t.Errorf("the batch is %x", got.Raw)
	}
}

func TestParseBatchHeader_reads_the_first_batch_and_checks_nothing_in_it(t *testing.T) {
	raw := batchOf(plainRecords(2), producerOf(4, 5, 6), attributes(7), func(b *kmsg.RecordBatch) { b.NumRecords = -9 })
	raw = patched(raw, 17, 0, 0, 0, 0)
	for name, set := range map[string][]byte{
		"alone":              raw,
		"before another":     append(bytes.Clone(raw), batchOf(plainRecords(1))...),
		"before half of one": append(bytes.Clone(raw), raw[:30]...),
	} {
		t.Run(name, func(t *testing.T) {
			b, err := ParseBatchHeader(set)
			if err != nil {
				t.Fatal(err)
			}
			if b.ProducerID != 4 || b.ProducerEpoch != 5 || b.FirstSequence != 6 || b.NumRecords != -9 || b.Attributes != 7 || b.CRC != 0 {
				t.Errorf("read as %+v", b)
			}
			if !bytes.Equal(b.Records, raw[61:]) {
				t.Errorf("the records have %d bytes, want %d", len(b.Records), len(raw)-61)
			}
		})
	}
}
