//go:build race

package histories

// raceDetector says whether this is a slow build.
const raceDetector = true
