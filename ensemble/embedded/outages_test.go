package embedded_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
)

// The faults of embedded servers have the same effects as those of real ones.
func TestBreaker(t *testing.T) {
	ensembletest.CheckBreaker(t, ensembletest.Embedded(t, embedded.Config{Voters: 3, Tick: 200 * time.Millisecond}))
}
