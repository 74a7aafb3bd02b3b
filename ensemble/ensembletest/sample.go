package ensembletest

import (
	"crypto/sha256"
	"testing"
)

// Sample skips two of three tests under the race detector, which makes them four times as slow. The tests run the same code in many
// ways, so that a third of them finds most races. `make faults` runs all of them without the detector.
func Sample(t *testing.T) {
	t.Helper()
	// Note: with a weaker hash, a check is left out for all variants or for none.
	if RaceDetector && sha256.Sum256([]byte(t.Name()))[0]%3 != 0 {
		t.Skip("not in the sample that runs with the race detector")
	}
}
