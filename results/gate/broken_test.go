package gate

import (
	"testing"

	"github.com/zkbench/zkbench/results"
)

// Pairs of builds are not compared by the times of a variant that is known to be broken.
func TestPairsLeaveOutKnownBrokenVariants(t *testing.T) {
	d := syntheticClosed(1)
	d.KnownBroken = "two may hold"
	p := Pairs{Screen: [][2][]*results.Document{{{d}, {d}}}}
	if name := p.comparisons()[0].knownBroken(); name != d.Key().Name() {
		t.Errorf("%q is known to be broken, want %s", name, d.Key().Name())
	}
	d.KnownBroken = ""
	if name := p.comparisons()[0].knownBroken(); name != "" {
		t.Errorf("%s is known to be broken", name)
	}
}
