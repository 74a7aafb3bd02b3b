package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/exclusion"
)

// A promise that is broken because a client fails has its own exit code, and the report names the breach.
func TestBrokenUnderFaults(t *testing.T) {
	s := must.Get(scenarioOf(t, "lock-contention", "--fault", "expire: holder, every: 300ms", "--clients", "4", "--hold", "1ms",
		"--duration", "2s", "--warm-up", "0s"))(t)
	recipes := catalog.Recipes()
	lock := &recipes[slices.IndexFunc(recipes, func(r variants.Recipe) bool { return r.Name == s.Recipe })]
	lock.Variants = []variants.Variant{withOneToken(lock.Variants[0])}
	s.Variants, s.Repeats = nil, 1
	dir := planted(t, s, recipes)
	docs := must.Get(store.ReadAll([]string{dir}))(t)
	var out bytes.Buffer
	a := app{stdout: &out, stderr: &out, started: &started{}}
	err := a.report(docs, nil, runFlags{out: dir}, nil)
	if code := exitCode(t.Context(), err); code != outcome.CodeBroken || !strings.Contains(out.String(), "was granted fencing token") {
		t.Errorf("exit code %d (%v), want %d with what was broken in\n%s", code, err, outcome.CodeBroken, out.String())
	}
}

// withOneToken returns a lock whose holders all say that they were granted the same fencing token.
func withOneToken(v variants.Variant) variants.Variant {
	join := v.Join
	v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		record := env.RecordUnless
		env.RecordUnless = func(closed <-chan struct{}, kind, otherwise variants.EventKind, _ int64) {
			record(closed, kind, otherwise, 1)
		}
		recordAlways := env.Record
		env.Record = func(kind variants.EventKind, value int64) {
			if kind == exclusion.Acquired {
				value = 1
			}
			recordAlways(kind, value)
		}
		return join(ctx, env)
	}
	return v
}
