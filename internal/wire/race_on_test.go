//go:build race

package wire

// raceCosts is how much more memory is allocated under the race detector, which
// makes sync.Pool forget and growing buffers take twice their size.
const raceCosts = 3
