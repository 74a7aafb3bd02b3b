//go:build !race

package ensembletest

// RaceDetector reports whether the tests were built with the race detector.
const RaceDetector = false
