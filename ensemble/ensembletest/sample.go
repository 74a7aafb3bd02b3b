package ensembletest

import (
	"hash/fnv"
	"testing"
)

// Sample leaves three of four tests out while the race detector is on, with which each takes four times as long. A race shows whenever the
// code that has it runs, and these tests run the same code in many ways, for which `make faults` has no detector.
func Sample(t *testing.T) {
	t.Helper()
	name := fnv.New32a()
	_, _ = name.Write([]byte(t.Name()))
	if RaceDetector && name.Sum32()%4 != 0 {
		t.Skip("not in the sample that runs with the race detector")
	}
}
