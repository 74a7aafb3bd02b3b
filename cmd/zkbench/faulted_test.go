package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	bugs "github.com/zkbench/zkbench/variants/planted"
)

// A promise that is broken because a client fails ends in the exit code for that, and the report names what was broken.
func TestBrokenUnderFaults(t *testing.T) {
	s, err := scenarioOf(t, "lock-contention", "--fault", "expire: holder, every: 300ms", "--clients", "4", "--hold", "1ms", "--duration", "2s", "--warm-up", "0s")
	if err != nil {
		t.Fatal(err)
	}
	recipes := catalog.Recipes()
	lock := &recipes[slices.IndexFunc(recipes, func(r variants.Recipe) bool { return r.Name == s.Recipe })]
	lock.Variants = []variants.Variant{bugs.StaleTokenLock()}
	s.Variants, s.Repeats = nil, 1
	dir := planted(t, s, recipes)
	docs, err := results.ReadAll([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	a := app{stdout: &out, stderr: &out}
	err = a.report(docs, []scenarios.Scenario{s}, runFlags{out: dir}, nil)
	if code := exitCode(t.Context(), err); code != outcome.CodeBroken || !strings.Contains(out.String(), "was granted fencing token") {
		t.Errorf("exit code %d (%v), want %d with what was broken in\n%s", code, err, outcome.CodeBroken, out.String())
	}
}
