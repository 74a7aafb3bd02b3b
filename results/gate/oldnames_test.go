package gate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/outcome"
)

// Baselines and rules with former names act like those with present ones, and one line says the new names.
func TestFormerNames(t *testing.T) {
	const former = "useless-wakeups/op"
	current, renamed := results.CurrentMetric(former)
	if !renamed {
		t.Fatalf("%s is not known as a former name", former)
	}
	dir := t.TempDir()
	const text = `{"schema": 1, "scenario": "self-test", "load": {"recipe": "synthetic", "mode": "drain", "size": 1},
		"rows": [{"clients": 50, "variant": "synthetic", "exact": true, "counts": {"notifications/op": 1}}]}`
	if err := os.WriteFile(filepath.Join(dir, "self-test.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	baselines, err := ReadBaselines(dir)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := ParseRules("r.yaml", fmt.Appendf(nil, "- {scenario: self-test, check: %s <= 6}\n", former), Names{})
	if err != nil || claims[0].Metric != current {
		t.Fatalf("%+v, %v", claims, err)
	}
	d := syntheticLockstep(1)
	d.Metrics[current] = results.Metric{Value: 7}
	r := Evaluate(Evidence{Documents: []*results.Document{d}}, Rules{Baselines: baselines, Assertions: claims})
	if c := outcomeOf(t, r, "synthetic "+current+" <= 6"); r.Code != 3 || c.Outcome != outcome.Regression {
		t.Errorf("exit code %d, %+v", r.Code, r.Checks)
	}
	said := strings.Join(r.Notes, "\n")
	if want := dir + " uses former names: mode drain is now lockstep"; !strings.Contains(said, want) || strings.Count(said, "drain") != 1 {
		t.Errorf("notes %q, want %q once", said, want)
	}
	if current != former && !strings.Contains(said, "r.yaml uses former names: metric "+former+" is now "+current) {
		t.Errorf("notes %q do not name the new metric", said)
	}
}
