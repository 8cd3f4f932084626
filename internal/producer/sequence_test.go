package producer_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/fencepostmq/fencepost/internal/producer"
)

const (
	highest   = int32(math.MaxInt32) // the last sequence before the wrap
	sequences = uint64(1) << 31      // how many sequences there are
)

func TestNext(t *testing.T) {
	for _, tt := range []struct {
		name           string
		sequence, want int32
	}{
		{"counts from the first sequence", 0, 1},
		{"counts on", 41, 42},
		{"reaches the highest", highest - 1, highest},
		{"wraps to 0 after the highest", highest, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := producer.Next(tt.sequence); got != tt.want {
				t.Errorf("Next(%d) = %d, want %d", tt.sequence, got, tt.want)
			}
		})
	}
}

func TestLast(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		first, records, want int32
	}{
		{"of one record is the first", 7, 1, 7},
		{"of three records", 0, 3, 2},
		{"ends exactly at the highest", highest - 2, 3, highest},
		{"of one record at the highest", highest, 1, highest},
		{"wraps to 0 by one record", highest, 2, 0},
		{"straddles the wrap", highest - 1, 4, 1},
		{"of the largest batch from 0", 0, highest, highest - 1},
		{"of the largest batch from the highest", highest, highest, highest - 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := producer.Last(tt.first, tt.records); got != tt.want {
				t.Errorf("Last(%d, %d) = %d, want %d", tt.first, tt.records, got, tt.want)
			}
			if got := (producer.Batch{First: tt.first, Records: tt.records}).Last(); got != tt.want {
				t.Errorf("Batch.Last() = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestContains(t *testing.T) {
	for _, tt := range []struct {
		name                     string
		first, records, sequence int32
		want                     bool
	}{
		{"its first", 5, 3, 5, true},
		{"its middle", 5, 3, 6, true},
		{"its last", 5, 3, 7, true},
		{"not the one before", 5, 3, 4, false},
		{"not the one after", 5, 3, 8, false},
		{"the highest as its last", highest - 1, 2, highest, true},
		{"not 0 when it ends at the highest", highest - 1, 2, 0, false},
		{"the highest when it straddles", highest - 1, 4, highest, true},
		{"0 when it straddles", highest - 1, 4, 0, true},
		{"its last when it straddles", highest - 1, 4, 1, true},
		{"not the one after when it straddles", highest - 1, 4, 2, false},
		{"not the one before when it straddles", highest - 1, 4, highest - 2, false},
		{"not the highest when it begins at 0", 0, 4, highest, false},
		{"all but one in the largest batch", 0, highest, highest - 1, true},
		{"not that one in the largest batch", 0, highest, highest, false},
		{"nothing without records", 5, 0, 5, false},
		{"nothing with a negative count", 5, -1, 5, false},
		{"nothing from a negative first", -1, 3, 0, false},
		{"never a negative sequence", highest, 2, -1, false},
		{"never the lowest negative", 0, 1, math.MinInt32, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := producer.Contains(tt.first, tt.records, tt.sequence); got != tt.want {
				t.Errorf("Contains(%d, %d, %d) = %v, want %v", tt.first, tt.records, tt.sequence, got, tt.want)
			}
		})
	}
}

// TestSequences_everywhere compares with the same sums in a wide type.
func TestSequences_everywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sequence := rapid.OneOf(rapid.Int32Range(0, highest), rapid.Int32Range(highest-9, highest))
		first := sequence.Draw(t, "first")
		records := rapid.OneOf(rapid.Int32Range(1, 9), rapid.Int32Range(1, highest)).Draw(t, "records")
		other := rapid.OneOf(sequence, rapid.Int32Range(0, 9)).Draw(t, "sequence")

		if got, want := producer.Next(first), wide(first, 1); got != want {
			t.Errorf("Next(%d) = %d, want %d", first, got, want)
		}
		if got, want := producer.Last(first, records), wide(first, uint64(records)-1); got != want {
			t.Errorf("Last(%d, %d) = %d, want %d", first, records, got, want)
		}
		distance := (uint64(other) + sequences - uint64(first)) % sequences
		if got, want := producer.Contains(first, records, other), distance < uint64(records); got != want {
			t.Errorf("Contains(%d, %d, %d) = %v, want %v", first, records, other, got, want)
		}
	})
}

// wide adds to a sequence in uint64 modulo 1<<31.
func wide(sequence int32, n uint64) int32 {
	return int32((uint64(sequence) + n) % sequences)
}
