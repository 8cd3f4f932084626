package log

import "math/bits"

const (
	// smallestPiece is what a partition costs that has just begun; a topic may
	// have thousands of them.
	smallestPiece = 4 << 10

	// largestDoubling is where pieces stop being as large as all before them, so
	// that a log of some hundred megabytes does not hold half as much again
	// unused.
	largestDoubling = 32 << 20

	// largestPiece is large since what costs is the first touch of memory, and
	// small pieces make it dearer: those of 4 MiB take clearly more CPU than
	// those of 64 MiB, those of 32 MiB hardly any.
	largestPiece = 64 << 20

	// betweenAdopted is the most that a piece takes behind a batch that was adopted:
	// more of these may follow.
	betweenAdopted = 1 << 20

	// leastAdopted is how much larger a batch that is adopted has to be than what it
	// leaves unused of the piece before it.
	leastAdopted = 5

	// largestShare keeps a piece beyond largestDoubling within a sixth of what
	// the log already holds: a piece just begun then makes it 1.17 times as large.
	largestShare = 6

	// passingShare keeps a piece that is written anew later within an eighth of what
	// the log holds: one that is just begun, one that is half trimmed and those that
	// wait, an eighth more, are not what is kept.
	passingShare = 8

	// markSpacing is the bytes between two marks of the index: a batch is found
	// by walking over no more than these, and for batches of 170 bytes the index
	// is 0.6% of them.
	markSpacing = 4 << 10
)

// A layout says how large pieces are and how far apart their marks.
type layout struct {
	smallest, doubling, largest int // piece sizes in bytes, powers of two
	between                     int // largest size behind an adopted batch
	spacing                     int // bytes between marks
}

var standardLayout = layout{
	smallest: smallestPiece,
	doubling: largestDoubling,
	largest:  largestPiece,
	between:  betweenAdopted,
	spacing:  markSpacing,
}

// orStandard gives the zero value its meaning.
func (y layout) orStandard() layout {
	if y == (layout{}) {
		return standardLayout
	}
	return y
}

// next is the size of the next piece of a log that holds so many bytes of
// memory. It goes by what is held now, not by what was ever appended: a log that
// is kept small by trims keeps small pieces.
func (y layout) next(held int64) int {
	size := min(powerOfTwo(held), max(powerOfTwo(held/largestShare), y.doubling))
	return min(max(size, y.smallest), y.largest)
}

// powerOfTwo is the greatest power of two that is not above n, 0 for 0.
func powerOfTwo(n int64) int {
	if n == 0 {
		return 0
	}
	return 1 << (bits.Len64(uint64(n)) - 1)
}
