//go:build race

package ensembletest

// RaceDetector tells whether the race detector is on.
const RaceDetector = true
