package runner_test

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants/catalog"
)

// withFaults returns the scenarios that come with zkbench in which servers, or else clients, fail.
func withFaults(t *testing.T, ofServers bool) []scenarios.Scenario {
	t.Helper()
	var out []scenarios.Scenario
	for _, name := range scenarios.Names() {
		if s := loaded(t, name); len(s.Faults) > 0 && faults.OfServers(s.Faults) == ofServers {
			out = append(out, s)
		}
	}
	return out
}

func loaded(t *testing.T, name string) scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Load(name, catalog.Recipes())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wholeLength has the scenarios that are not shortened, because a variant has times of its own: forced is patient for 5s.
func wholeLength() []string { return []string{"revocable-deaf-holder"} }

func shorten(s *scenarios.Scenario, by time.Duration) {
	s.Duration, s.WarmUp, s.Think = s.Duration/by, s.WarmUp/by, s.Think/by
	s.SessionTimeout /= by
	if s.Hold > 100*time.Millisecond { // a short one is work, which does not depend on how long sessions live
		s.Hold /= by
	}
	for i := range s.Faults {
		f := &s.Faults[i]
		f.At, f.Every, f.For = f.At/by, f.Every/by, f.For/by
	}
}

// ofHundreds skips a test of hundreds of measurements if each takes ten times as long, such as with the race detector.
func ofHundreds(t *testing.T) {
	t.Helper()
	if ensembletest.RaceDetector {
		t.Skip("takes minutes with the race detector: `make faults` runs it without, and the tests of single loads run with it")
	}
}

// In every scenario in which clients fail, the promises are kept. Its claims that something never happens, or that configurations are
// torn, hold. Sessions expire sooner than in the scenario.
func TestFailureScenarios(t *testing.T) {
	ofHundreds(t)
	for _, s := range withFaults(t, false) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			s.Clients, s.Repeats = s.Clients[len(s.Clients)-1:], 1
			if !slices.Contains(wholeLength(), s.Name) {
				shorten(&s, 4)
			}
			if problems := s.Validate(catalog.Recipes()); len(problems) > 0 {
				t.Fatalf("shortened: %v", problems)
			}
			slow := quickTicks // these loads are longer
			slow.ReadDelay, slow.WriteDelay = 2*slow.ReadDelay, 2*slow.WriteDelay
			if s.Size > 1000 { // pings wait behind the reads of a large tree
				slow.ReadDelay, slow.WriteDelay = slow.ReadDelay/20, slow.WriteDelay/20
			}
			bubbleOn(t, slow, func(t *testing.T, e *embedded.Ensemble) { checkFailure(t, e, s) })
		})
	}
}

// In the scenarios in which servers fail, all variants keep their promises on servers that lag, and all servers work afterwards.
func TestServerFailureScenarios(t *testing.T) {
	ofHundreds(t)
	for _, s := range withFaults(t, true) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			s.Clients, s.Repeats = s.Clients[:1], 1
			servers := trio
			if s.QuorumLoss { // the session that owns the run's znodes outlives the loss
				servers.Tick = time.Second
			}
			bubbleOn(t, servers, func(t *testing.T, e *embedded.Ensemble) { checkFailure(t, e, s) })
		})
	}
}

// Real servers behave like embedded ones when their leader is killed: a variant keeps its promise, and all servers work afterwards. The
// session timeout is 4 s, the shortest that the servers grant.
func TestLiveLeaderLoss(t *testing.T) {
	e := onServers(t)
	s := loaded(t, "lock-leader-loss")
	s.Variants, s.Clients, s.Repeats, s.Expect = []string{"released-mark"}, s.Clients[:1], 1, nil
	shorten(&s, 2)
	s.SessionTimeout = max(s.SessionTimeout, 4*time.Second)
	checkFailure(t, e, s)
}

// checkFailure runs a scenario with faults, which must happen. No promise may be broken, and the claims must hold that something
// never happens, or that configurations are torn. Others depend on how much the machine gets done in a short load.
func checkFailure(t *testing.T, e ensemble.Ensemble, s scenarios.Scenario) {
	t.Helper()
	docs := mustMeasure(t, e, s, catalog.Recipes())
	if len(docs) == 0 {
		t.Error("nothing was measured")
	}
	for _, d := range docs {
		stays := func(f results.Fault) bool { return f.Length == 0 }
		if f := d.Failure; f == nil || len(f.Faults) == 0 || faults.OfServers(s.Faults) && slices.ContainsFunc(f.Faults, stays) {
			t.Errorf("%s: failure %+v, want faults, and those of servers undone", d.Variant, f)
		}
		checkSound(t, d)
	}
	if err := ensemble.CheckQuorum(t.Context(), e.Servers()); err != nil {
		t.Error(err)
	}
	for _, c := range claim.Of(docs).Check(s.Claims()...) {
		if never := c.Op == "==" && c.Value == 0; !never && c.Metric != metric.TornReads {
			continue
		}
		if c.Got == nil || !c.Holds(float64(*c.Got)) { // no time of this server passes a claim
			t.Errorf("claim %s: %s", c.Claim, c.Why)
		}
	}
}
