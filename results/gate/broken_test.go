package gate

import (
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/outcome"
)

// The times of a variant that is known to be broken decide nothing: a rule for all variants leaves it out, and one that names it is
// inconclusive. Its counts are compared.
func TestTimesOfKnownBrokenVariants(t *testing.T) {
	sound, broken := syntheticClosed(1), syntheticClosed(1)
	broken.Variant, broken.KnownBroken = "broken", "two may hold"
	for _, tt := range []struct {
		claim  string
		checks int
		want   outcome.Outcome
	}{
		{Every + " ops/s > 0", 1, outcome.Pass},
		{Every + " writes/op >= 0", 2, outcome.Pass},
		{"broken ops/s > 0", 1, outcome.Inconclusive},
	} {
		claim, err := results.ParseClaim(tt.claim)
		if err != nil {
			t.Fatal(err)
		}
		a := Assertion{Claim: claim, Source: FromFile, Scenario: sound.Scenario.Name}
		checks := checkAssertions(Evidence{Documents: []*results.Document{sound, broken}}, []Assertion{a}, Names{})
		if len(checks) != tt.checks || checks[0].Outcome != tt.want {
			t.Errorf("%s: %d checks, the first is %s (%s); want %d, %s", tt.claim, len(checks), checks[0].Outcome, checks[0].Why, tt.checks, tt.want)
		}
	}
}

// Pairs of builds are not compared by the times of a variant that is known to be broken.
func TestPairsLeaveOutKnownBrokenVariants(t *testing.T) {
	d := syntheticClosed(1)
	d.KnownBroken = "two may hold"
	p := Pairs{Screen: [][2][]*results.Document{{{d}, {d}}}}
	if name := p.knownBroken(pairKey(d)); name != d.Key().Name() {
		t.Errorf("%q is known to be broken, want %s", name, d.Key().Name())
	}
	d.KnownBroken = ""
	if name := p.knownBroken(pairKey(d)); name != "" {
		t.Errorf("%s is known to be broken", name)
	}
}
