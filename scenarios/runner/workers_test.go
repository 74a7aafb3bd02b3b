package runner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/block"
	"github.com/zkbench/zkbench/scenarios/remote"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// joined returns workers in this process that are connected by loopback, as those on other machines are.
func joined(t *testing.T, n int, recipes []variants.Recipe) []*remote.Worker {
	t.Helper()
	c := must.Get(remote.Listen("127.0.0.1:0", remote.Self(""), block.Known()))(t)
	ctx := context.WithoutCancel(t.Context()) // they end after the test
	var group errgroup.Group
	for range n {
		self := remote.Self("")
		w := block.NewWorker(recipes, self.Epoch(), func(s ensemble.Server) ensemble.Server { return s })
		group.Go(func() error {
			err := remote.Join(ctx, c.Addr().String(), c.Token(), self, block.Known(), w.Handle)
			return errors.Join(err, w.Leave(ctx))
		})
	}
	workers := must.Get(c.Gather(t.Context(), n, time.Minute))(t)
	t.Cleanup(func() {
		must.Do(t, c.Close())
		must.Do(t, group.Wait())
	})
	return workers
}

// spreadLoads are loads of each kind, whose clients have to agree across blocks.
func spreadLoads() []scenarios.Scenario {
	lock, gate, open := closedOf("lock", 6, "predecessor-watch"), closedOf("doublebarrier", 6, "counted"), closedOf("queue", 6, "multi-claim")
	lock.Operations, gate.Duration = 5, 500*time.Millisecond
	open.Mode, open.Rate, open.Arrivals, open.Duration = scenarios.Open, []results.Rate{50}, scenarios.Poisson, 500*time.Millisecond
	staged := closedOf("lock", 6, "predecessor-watch")
	staged.Stages = []results.StageLoad{{Clients: 2, For: 250 * time.Millisecond}, {Clients: 6, For: 250 * time.Millisecond}}
	staged.Duration = 2 * time.Second
	for i, s := range []*scenarios.Scenario{&lock, &gate, &open, &staged} {
		s.Name = fmt.Sprintf("spread-%d", i)
	}
	return []scenarios.Scenario{lock, gate, open, staged}
}

// However the clients are divided into blocks, the servers confirm their counts, and no promise is broken.
func TestClientsInBlocks(t *testing.T) {
	for _, s := range spreadLoads() {
		for _, n := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%s in %d", s.Name, n), func(t *testing.T) {
				bubble(t, func(t *testing.T, e *embedded.Ensemble) {
					r := runnerOf(t, e, catalog.Recipes(), func(d *results.Document) { checkSpread(t, d, n) })
					r.ShortenFloors()
					r.InBlocks(n)
					must.Do(t, r.RunScenario(t.Context(), s))
				})
			})
		}
	}
}

// Workers have the clients as this process does.
func TestClientsOnWorkers(t *testing.T) {
	e := ensembletest.Embedded(t, embedded.Config{})
	for _, n := range []int{1, 3} {
		workers := joined(t, n, catalog.Recipes())
		for _, s := range spreadLoads() {
			t.Run(fmt.Sprintf("%s on %d", s.Name, n), func(t *testing.T) {
				r := runnerOf(t, e, catalog.Recipes(), func(d *results.Document) { checkSpread(t, d, n) })
				r.ShortenFloors()
				r.SkipRehearsals()
				r.Workers = workers
				must.Do(t, r.RunScenario(t.Context(), s))
			})
		}
	}
}

func checkSpread(t *testing.T, d *results.Document, n int) {
	t.Helper()
	if !d.Oracle.Checked || !d.Oracle.Agrees() || len(d.Violations) > 0 || d.Window.Operations == 0 {
		t.Errorf("%s: oracle %+v, violations %v, %d operations", d.Variant, d.Oracle, d.Violations, d.Window.Operations)
	}
	clients := 0
	for _, w := range d.Workers {
		clients += w.Clients
	}
	if len(d.Workers) > 0 && (len(d.Workers) != n || clients != d.Clients) {
		t.Errorf("%d workers have %d clients: %+v", len(d.Workers), clients, d.Workers)
	}
}

// Faults happen to clients of any block.
func TestFaultsInBlocks(t *testing.T) {
	for _, text := range []string{"expire: holder, at: 500ms", "expire: waiter, at: 500ms", "cut: all, at: 500ms", "cut: any, after: create, at: 500ms"} {
		t.Run(text, func(t *testing.T) {
			bubble(t, func(t *testing.T, e *embedded.Ensemble) {
				s := faulty("lock", 6, schedule(t, text))
				s.Variants = []string{"predecessor-watch"}
				hit := 0
				r := runnerOf(t, e, catalog.Recipes(), func(d *results.Document) { hit += len(d.Failure.Faults) })
				r.ShortenFloors()
				r.SkipRehearsals()
				r.InBlocks(3)
				must.Do(t, r.RunScenario(t.Context(), s))
				if hit != 1 {
					t.Errorf("%d faults happened, want one", hit)
				}
			})
		})
	}
}
