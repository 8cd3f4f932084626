//go:build unix

package main

import (
	"math"
	"syscall"
)

// openFiles is how many files, connections included, the process may have open.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt
	}
	return int(min(uint64(limit.Cur), math.MaxInt32)) //nolint:unconvert // signed on some systems
}
