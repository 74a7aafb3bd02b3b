package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/plots/page"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/scenarios"
)

// claimed is a measurement of a scenario with these claims.
func claimed(variant string, claims []string, change func(d *results.Document)) *results.Document {
	d := &results.Document{
		Schema: results.Schema, Run: "r", Recipe: "lock", Variant: variant, Kind: "naive", Phases: []string{"acquire"}, Clients: 10, Repeat: 1,
		Scenario:    results.Scenario{Name: "s", Mode: results.ClosedMode, Expect: claims},
		Environment: results.Environment{Engine: "container"},
		Herd:        results.Herd{Grouping: results.GroupedByZxid, Sizes: []results.SizeCount{{Size: 9, Count: 1}}},
		Metrics:     map[string]results.Metric{metric.RequestsPerOp: {Value: 4}, metric.HerdMax: {Value: 9}, "acquire-p50-ns": {Value: 1e6}},
	}
	if change != nil {
		change(d)
	}
	return d
}

// A claim that fails ends a run with 3, and one that is not decided with 5, as with the gate. The page shows the same.
func TestClaimsOfARun(t *testing.T) {
	const fails, open = "a requests/op <= 3", "a acquire-p50 < 2ms"
	busy := func(d *results.Document) { d.Health.MachineCPU = 0.99 }
	embedded := func(d *results.Document) { d.Environment.Engine = results.Embedded }
	guessed := func(d *results.Document) { d.Herd.Grouping = results.GroupedByPathAndTime }
	unwoken := func(d *results.Document) { d.Herd.Sizes = nil }
	for _, tt := range []struct {
		name   string
		claims []string
		docs   func(claims []string) []*results.Document
		code   int
		want   string
	}{
		{"held", []string{"a requests/op <= 4"}, one(nil), outcome.CodePass, "1 of 1 claim holds"},
		{"failed", []string{fails, open}, one(nil), outcome.CodeRegression, "CLAIM DOES NOT HOLD: s: " + fails},
		{"not measured", []string{"a writes/op <= 1"}, one(nil), outcome.CodeInvalid, "CLAIM NOT DECIDED: s: a writes/op <= 1"},
		{"delayed", []string{open}, one(busy), outcome.CodeInvalid, "CLAIM NOT DECIDED: s: " + open},
		{"failed, and delayed", []string{fails, open}, one(busy), outcome.CodeInvalid, "0 of 2 claims hold, 1 does not hold, 1 not decided"},
		{"times of the embedded server", []string{open}, one(embedded), outcome.CodePass, "1 not decidable by these servers"},
		{"guessed herds after none", []string{"b herd-max <= 1"}, func(claims []string) []*results.Document {
			return []*results.Document{claimed("a", claims, unwoken), claimed("b", claims, guessed)}
		}, outcome.CodePass, "1 not decidable by these servers"},
	} {
		docs := tt.docs(tt.claims)
		var out, text bytes.Buffer
		a := app{stdout: &out, stderr: &out}
		err := a.checkClaims(docs, []scenarios.Scenario{{Scenario: results.Scenario{Name: "s", Expect: tt.claims}}})
		if code := exitCode(t.Context(), err); code != tt.code || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: exit code %d, want %d with %q in\n%s", tt.name, code, tt.code, tt.want, out.String())
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		tally := "<p>" + lines[len(lines)-1] + ".</p>"
		if err := page.Write(&text, page.Report{Sides: []compare.Side{{Name: "r", Docs: docs}}, Explain: explanation}); err != nil || !strings.Contains(text.String(), tally) {
			t.Errorf("%s: %v, the page lacks %q", tt.name, err, tally)
		}
	}
}

// A deviation does not hide the claims: the worse of both decides the exit code.
func TestClaimsAreCheckedAfterADeviation(t *testing.T) {
	d := recordertest.Whole()
	d.Expected.Costs[metric.WritesPerOp] = results.Cost{Formula: "2", Value: 2}
	docs, folder := []*results.Document{d}, runFlags{out: t.TempDir()}
	must.Do(t, store.Write(d, folder.out))
	for _, tt := range []struct {
		claim string
		code  int
		want  string
	}{
		{"a writes/op <= 1", outcome.CodeRegression, "1 of 1 claim holds"},
		{"a writes/op <= 0.5", outcome.CodeRegression, "CLAIM DOES NOT HOLD"},
		{"b writes/op <= 1", outcome.CodeInvalid, "CLAIM NOT DECIDED"},
	} {
		var out bytes.Buffer
		a := app{stdout: &out, stderr: &out}
		selected := []scenarios.Scenario{{Scenario: results.Scenario{Name: d.Scenario.Name, Expect: []string{tt.claim}}}}
		code := exitCode(t.Context(), a.report(docs, selected, folder, nil))
		if !strings.Contains(out.String(), "DEVIATES: ") || !strings.Contains(out.String(), tt.want) || code != tt.code {
			t.Errorf("%s: exit code %d, want %d with DEVIATES and %q in\n%s", tt.claim, code, tt.code, tt.want, out.String())
		}
		out.Reset()
		if err := a.report(docs, selected, folder, context.Canceled); err == nil || strings.Contains(out.String(), "of 1 claim") {
			t.Errorf("%v: a run that failed shows\n%s", err, out.String())
		}
	}
}

func one(change func(d *results.Document)) func(claims []string) []*results.Document {
	return func(claims []string) []*results.Document {
		return []*results.Document{claimed("a", claims, change)}
	}
}

// The answer is the last that a run says about its results: after the table, the findings and the claims.
func TestTheAnswerComesLast(t *testing.T) {
	d := recordertest.Whole()
	docs, folder := []*results.Document{d}, runFlags{out: t.TempDir()}
	must.Do(t, store.Write(d, folder.out))
	var out bytes.Buffer
	a := app{stdout: &out, stderr: &out}
	selected := []scenarios.Scenario{{Scenario: results.Scenario{Name: d.Scenario.Name, Expect: []string{"a writes/op <= 100"}}}}
	if err := a.report(docs, selected, folder, nil); err != nil {
		t.Fatal(err)
	}
	from := 0
	for _, want := range []string{"median of 1 repeat", "the recipe's promise was kept", "1 of 1 claim holds", "\nWith ", "results in "} {
		i := strings.Index(out.String()[from:], want)
		if i < 0 {
			t.Fatalf("no %q, or not in this order:\n%s", want, out.String())
		}
		from += i
	}
}

// The answer names the scenario of the client libraries where the recipe has one, and not after that scenario itself.
func TestTheAnswerNamesTheLibraries(t *testing.T) {
	for _, tt := range []struct{ recipe, scenario, want string }{
		{"lock", "lock-contention", "What does the lock of your client library cost? zkbench run lock-libraries --clients 10"},
		{"queue", "queue-drain", "zkbench run queue-libraries --clients 10"},
		{"lock", "lock-libraries", ""},
		{"barrier", "barrier-drain", ""},
	} {
		d := claimed("a", nil, func(d *results.Document) { d.Recipe, d.Scenario.Name = tt.recipe, tt.scenario })
		var out bytes.Buffer
		(&app{stdout: &out, stderr: &out}).printAnswers(summary.Of([]*results.Document{d}))
		got := strings.Join(strings.Fields(out.String()), " ")
		if !strings.Contains(got, "With 10 clients, a has") || !strings.Contains(got, tt.want) || strings.Contains(got, "zkbench run") != (tt.want != "") {
			t.Errorf("%s: %s", tt.scenario, out.String())
		}
	}
}
