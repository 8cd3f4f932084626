package producer_test

import (
	"slices"
	"testing"

	"github.com/fencepostmq/fencepost/internal/producer"
)

// fill is six batches of two records; the window holds the last five.
var fill = []step{
	{a, 0, 0, 2, "accepted 0"},
	{a, 0, 2, 2, "accepted 2"},
	{a, 0, 4, 2, "accepted 4"},
	{a, 0, 6, 2, "accepted 6"},
	{a, 0, 8, 2, "accepted 8"},
	{a, 0, 10, 2, "accepted 10"},
}

func after(first []step, then ...step) []step { return append(slices.Clone(first), then...) }

// TestMistakes has a story for each way in which brokers and mocks of brokers
// are known to get this wrong.
func TestMistakes(t *testing.T) {
	tell(t, producer.Refuse, []story{
		{"an old sequence outside the window is no duplicate", after(fill,
			step{a, 0, 0, 2, "out of order: expected 12, got 0"},
			step{a, 0, 2, 2, "duplicate of base offset 2"},
		)},
		{"a part of a remembered batch is no duplicate", after(fill,
			step{a, 0, 8, 1, "out of order: expected 12, got 8"},
			step{a, 0, 9, 1, "out of order: expected 12, got 9"},
			step{a, 0, 11, 1, "out of order: expected 12, got 11"},
		)},
		{"the same first with another last is no duplicate", after(fill,
			step{a, 0, 10, 1, "out of order: expected 12, got 10"},
			step{a, 0, 10, 3, "out of order: expected 12, got 10"},
		)},
		{"the same last with another first is no duplicate", after(fill,
			step{a, 0, 11, 1, "out of order: expected 12, got 11"},
			step{a, 0, 9, 3, "out of order: expected 12, got 9"},
		)},
		{"two remembered batches sent as one are no duplicate", after(fill,
			step{a, 0, 8, 4, "out of order: expected 12, got 8"},
			step{a, 0, 2, 10, "out of order: expected 12, got 2"},
		)},
		{"a remembered batch and a new one sent as one are no duplicate and not new", after(fill,
			step{a, 0, 10, 4, "out of order: expected 12, got 10"},
			step{a, 0, 12, 2, "accepted 12"},
		)},
		{"a duplicate is answered with the first offset, each time", after(fill,
			step{a, 0, 4, 2, "duplicate of base offset 4"},
			step{a, 0, 12, 1, "accepted 12"},
			step{a, 0, 4, 2, "duplicate of base offset 4"},
			step{a, 0, 4, 2, "duplicate of base offset 4"},
		)},
		{"a replay pushes nothing out of the window", after(fill,
			step{a, 0, 10, 2, "duplicate of base offset 10"},
			step{a, 0, 10, 2, "duplicate of base offset 10"},
			step{a, 0, 2, 2, "duplicate of base offset 2"},
			step{a, 0, 2, 2, "duplicate of base offset 2"},
			step{a, 0, 4, 2, "duplicate of base offset 4"},
			step{a, 0, 12, 1, "accepted 12"},
			step{a, 0, 2, 2, "out of order: expected 13, got 2"},
			step{a, 0, 4, 2, "duplicate of base offset 4"},
		)},
		{"a replay does not move the expected sequence back", after(fill,
			step{a, 0, 6, 2, "duplicate of base offset 6"},
			step{a, 0, 12, 1, "accepted 12"},
		)},
		{"a refused batch changes neither log nor window nor epoch", after(fill,
			step{a, 0, 13, 1, "out of order: expected 12, got 13"},
			step{a, 0, 14, 1, "out of order: expected 12, got 14"},
			step{a, 1, 12, 1, "out of order: expected 0, got 12"},
			step{b, 4, 12, 1, "out of order: expected 0, got 12"},
			step{a, 0, 2, 2, "duplicate of base offset 2"},
			step{a, 0, 12, 1, "accepted 12"},
			step{b, 0, 0, 1, "accepted 13"},
		)},
		{"a fenced batch changes nothing", after(fill,
			step{a, 2, 0, 1, "accepted 12"},
			step{a, 1, 0, 1, "fenced by epoch 2"},
			step{a, 0, 10, 2, "fenced by epoch 2"},
			step{a, 2, 0, 1, "duplicate of base offset 12"},
			step{a, 2, 1, 1, "accepted 13"},
		)},
		{"producers do not count for each other", []step{
			{a, 0, 0, 3, "accepted 0"},
			{b, 0, 0, 3, "accepted 3"},
			{a, 0, 0, 3, "duplicate of base offset 0"},
			{b, 0, 0, 3, "duplicate of base offset 3"},
			{b, 0, 3, 1, "accepted 6"},
			{a, 0, 3, 1, "accepted 7"},
		}},
	})
}

func TestMistake_one_counter_for_all_partitions(t *testing.T) {
	first, second := newPartition(producer.Refuse), newPartition(producer.Refuse)
	play(t, first, []step{{a, 1, 0, 3, "accepted 0"}})
	play(t, second, []step{
		{a, 1, 3, 1, "out of order: expected 0, got 3"},
		{a, 0, 0, 3, "accepted 0"}, // neither known nor fenced here
		{a, 0, 3, 1, "accepted 3"},
	})
	play(t, first, []step{
		{a, 1, 0, 3, "duplicate of base offset 0"},
		{a, 1, 3, 1, "accepted 3"},
	})
}
