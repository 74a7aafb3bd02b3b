package runner_test

import (
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants/catalog"
)

// Every variant keeps its promises under every fault of clients, their sessions and their connections. The table is the one of
// `zkbench run fault-matrix`, with sessions that expire sooner.
func TestFaultMatrix(t *testing.T) {
	ofHundreds(t)
	ofClients := list.Where(scenarios.Matrix(catalog.Recipes()), func(s scenarios.Scenario) bool { return !s.Faults[0].Kind.OfServer() })
	var columns []string
	for _, f := range scenarios.MatrixFaults() {
		columns = append(columns, f.Name)
	}
	var mu sync.Mutex
	byFault := map[string][]*results.Document{}
	t.Run("cells", func(t *testing.T) {
		for _, s := range ofClients {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				docs := measureCell(t, s)
				mu.Lock()
				defer mu.Unlock()
				fault := scenarios.FaultOfMatrix(s.Name)
				byFault[fault] = append(byFault[fault], docs...)
			})
		}
	})
	report.WriteMatrix(os.Stdout, 120, columns, byFault)
}

func measureCell(t *testing.T, s scenarios.Scenario) (docs []*results.Document) {
	t.Helper()
	if endsSessions(s.Faults) {
		s.SessionTimeout = time.Second
	}
	s.Duration = min(s.Duration, 3*time.Second)
	if s.Recipe == "masterworker" {
		s.Duration *= 2 // its operation is a batch, of which some windows of three seconds have no end
	}
	bubbleOn(t, quickTicks, func(t *testing.T, e *embedded.Ensemble) { docs = mustMeasure(t, e, s, catalog.Recipes()) })
	for _, r := range catalog.Recipes() {
		for _, v := range r.Variants {
			if r.Name == s.Recipe && !slices.ContainsFunc(docs, func(d *results.Document) bool { return d.Variant == v.Name }) {
				t.Errorf("%s was not measured", v.Name)
			}
		}
	}
	for _, d := range docs {
		checkSound(t, d)
	}
	return docs
}

// endsSessions reports whether a schedule ends sessions. In other runs, no session may expire.
func endsSessions(schedule []faults.Fault) bool {
	return slices.ContainsFunc(schedule, func(f faults.Fault) bool { return f.Kind == faults.Stop || f.Kind == faults.Expire })
}
