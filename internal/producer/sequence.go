package producer

import "math"

// Sequences are int32 in 0..2147483647 and count the records that a producer
// sends to one partition; after 2147483647 comes 0 (KIP-98; in Kafka
// DefaultRecordBatch.incrementSequence). All of the project's arithmetic on
// them stands in this file.

// wrap brings a sum or difference of sequences back into 0..2147483647. There
// are 1<<31 sequences, so dropping the sign bit of the overflowing int32 is the
// remainder that is wanted.
func wrap(sequence int32) int32 { return sequence & math.MaxInt32 }

// Next is the sequence after this one.
func Next(sequence int32) int32 { return wrap(sequence + 1) }

// Last is the sequence of the last record of a batch that begins with the
// sequence first and has records records, at least 1. It is below first where
// the batch straddles the wrap.
func Last(first, records int32) int32 { return wrap(first + (records - 1)) }

// Contains says whether a batch that begins with the sequence first and has
// records records holds this sequence; the batch may straddle the wrap. Batches
// are asked about as they came from a client, so numbers that are no batch (a
// first sequence below 0, no records) hold nothing, and no batch holds a
// negative sequence.
func Contains(first, records, sequence int32) bool {
	if first < 0 || sequence < 0 {
		return false
	}
	return wrap(sequence-first) < records
}
