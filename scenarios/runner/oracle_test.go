package runner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants/catalog"
)

// Clients' and servers' counts are equal to the last notification and transaction, while connections and sessions fail.
func TestOracleUnderFaults(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			ensembletest.Sample(t)
			t.Parallel()
			s := failingOften(t, 10)
			s.Seed = seed
			bubbleOn(t, quickTicks, func(t *testing.T, e *embedded.Ensemble) {
				if o := checkOracle(t, e, s); o.Doubtful() {
					t.Errorf("doubtful: %+v", o)
				}
			})
		})
	}
}

// A server that takes more than two seconds to answer, as on an overloaded machine, leaves a doubt. The counts then have bounds, in which
// they must be all the same, and the load is repeated.
func TestLiveOracleUnderFaults(t *testing.T) {
	const attempts = 3
	s := failingOften(t, 50)
	s.Duration, s.SessionTimeout, s.Roam = 10*time.Second, 4*time.Second, true // so that sessions move between servers
	e := onServers(t)
	for range attempts {
		if o := checkOracle(t, e, s); !o.Doubtful() {
			return
		}
	}
	t.Errorf("in each of %d loads, a connection ended at the servers before all had been counted", attempts)
}

// failingOften returns a load of a lock with cuts, expired sessions and clients that stop. The lock has a herd, so that many notifications
// are under way when a connection ends.
func failingOften(t *testing.T, clients int) scenarios.Scenario {
	t.Helper()
	texts := []string{"cut: any, every: 70ms", "expire: any, every: 170ms", "stop: any, every: 800ms"}
	for i, op := range []string{"create", "getChildren", "delete"} {
		texts = append(texts,
			fmt.Sprintf("cut: any, before: %s, every: %dms", op, 190+10*i), fmt.Sprintf("cut: any, after: %s, every: %dms", op, 230+10*i))
	}
	s := faulty("lock", clients, schedule(t, texts...))
	s.Variants = []string{"children-watch"}
	return s
}

func checkOracle(t *testing.T, e ensemble.Ensemble, s scenarios.Scenario) results.Oracle {
	t.Helper()
	d := mustMeasure(t, e, s, catalog.Recipes())[0]
	if o := d.Oracle; !o.Checked || !o.Agrees() || d.Health.UnmatchedReplies > 0 {
		t.Errorf("oracle %+v, %d replies are unmatched", o, d.Health.UnmatchedReplies)
	}
	happened := map[results.FaultKind]int{}
	for _, f := range d.Failure.Faults {
		happened[results.FaultKind(f.Kind)]++
	}
	if happened[faults.Cut] < 20 || happened[faults.Expire] < 5 || happened[faults.Stop] == 0 || d.Failure.Rejoins == 0 {
		t.Errorf("little failed: %v, %d rejoins", happened, d.Failure.Rejoins)
	}
	if o := d.Oracle; o.SessionTransactions == 0 || o.ServerTransactions == 0 || o.LostNotifications == 0 {
		t.Errorf("little was lost: %+v", o)
	}
	t.Logf("%+v", d.Oracle)
	return d.Oracle
}
