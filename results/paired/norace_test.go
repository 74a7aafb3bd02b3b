//go:build !race

package paired_test

const raceDetector = false
