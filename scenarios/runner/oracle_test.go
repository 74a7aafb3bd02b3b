package runner_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/scenarios/runner"
)

// Clients' and servers' counts are equal to the last notification and transaction, while connections and sessions fail.
func TestOracleUnderFaults(t *testing.T) {
	for seed := range uint64(10) {
		load := runner.FaultedLoad{Clients: 10, Seed: seed, Faults: mixOf(100, 1, seed)}
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			ensembletest.Sample(t)
			t.Parallel()
			bubble(t, func(t *testing.T, e *embedded.Ensemble) { checkOracle(t, e, load) })
		})
	}
}

func TestLiveOracleUnderFaults(t *testing.T) {
	checkOracle(t, onServers(t), runner.FaultedLoad{Clients: 50, Faults: mixOf(200, 2, 0)})
}

func checkOracle(t *testing.T, e ensemble.Ensemble, load runner.FaultedLoad) {
	t.Helper()
	o, counts := load.Run(t, e)
	if !o.Checked || !o.Agrees() || o.Doubtful() {
		t.Errorf("oracle %+v", o)
	}
	if o.ServerTransactions == 0 || o.SessionTransactions == 0 || counts.LostReplies == 0 {
		t.Errorf("nothing was lost: oracle %+v, counts %+v", o, counts)
	}
	t.Logf("%+v", o)
}

// mixOf returns faults of all kinds in random order, few of which sever a session: it takes a while until it has run out.
func mixOf(n, severed int, seed uint64) []string {
	random := rand.New(rand.NewPCG(seed, 1))
	faults := make([]string, n)
	for i := range faults {
		faults[i] = []string{"cut", "before", "after", "expire"}[random.IntN(4)]
	}
	for _, i := range random.Perm(n)[:severed] {
		faults[i] = "sever"
	}
	return faults
}
