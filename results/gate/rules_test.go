package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
)

func assertion(t *testing.T, text string) Assertion {
	t.Helper()
	c := must.Get(claim.Parse(text))(t)
	return Assertion{Claim: c, Source: FromFile, Scenario: "self-*"}
}

// woken returns a document of a free-running load with a notification for each operation.
func woken() *results.Document {
	return syntheticDocument(results.ClosedMode, 1000, time.Millisecond, 1000)
}

// Package claim decides assertions; the gate selects the results that they are about.
func TestAssertions(t *testing.T) {
	few := func(d *results.Document) { d.Histograms = map[string]results.Histogram{"wait": {Samples: 100}} }
	embedded := func(d *results.Document) { d.Environment.Engine = "embedded" }
	for _, tt := range []struct {
		claim  string
		change func(d *results.Document)
		adjust func(c *Assertion)
		want   outcome.Outcome
	}{
		{claim: "synthetic notifications/op <= 1", want: outcome.Pass},
		{claim: "* notifications/op == 1", want: outcome.Pass},
		{claim: "synthetic ops/s > 2000", want: outcome.Regression},
		{claim: "synthetic wait-p98 < 2ms", want: outcome.Inconclusive},
		{claim: "synthetic wait-p99 < 2ms", change: few, want: outcome.Inconclusive},
		{claim: "synthetic wait-p99 < 2ms", change: embedded, want: outcome.Inconclusive},
		{claim: "synthetic notifications/op <= 0.96", adjust: func(c *Assertion) { c.Tolerance = 0.05 }, want: outcome.Pass},
		{claim: "synthetic notifications/op <= 1", adjust: func(c *Assertion) { c.Clients = 10 }, want: outcome.Inconclusive},
		{claim: "synthetic notifications/op <= 1", adjust: func(c *Assertion) { c.Scenario = "lock-*" }, want: outcome.Inconclusive},
	} {
		d, c := woken(), assertion(t, tt.claim)
		if tt.change != nil {
			tt.change(d)
		}
		if tt.adjust != nil {
			tt.adjust(&c)
		}
		r := Evaluate(Evidence{Documents: []*results.Document{d}}, Rules{Assertions: []Assertion{c}})
		if got := outcomeOf(t, r, strings.Replace(c.String(), claim.Every+" ", "synthetic ", 1)); got.Outcome != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.claim, got.Outcome, got.Why, tt.want)
		}
	}
}

// A scenario is not held to those of its claims that its servers cannot decide; a rules file is.
func TestClaimsThatServersCannotDecide(t *testing.T) {
	d := woken()
	d.Environment.Engine = "embedded"
	for source, want := range map[Source]int{FromScenario: 1, FromFile: 2} {
		times, counts := assertion(t, "synthetic wait-p99 < 2ms"), assertion(t, "synthetic notifications/op <= 1")
		times.Source, counts.Source = source, source
		if checks := checkAssertions(Evidence{Documents: []*results.Document{d}}, []Assertion{times, counts}, Names{}); len(checks) != want {
			t.Errorf("%s: %d checks, want %d", source, len(checks), want)
		}
	}
}

// Of two conditions, the claim might hold under one and fail under the other.
func TestClaimsUnderTwoConditions(t *testing.T) {
	for name, change := range map[string]func(d *results.Document){
		"engine": func(d *results.Document) { d.Environment.Engine = "process" },
		"load":   func(d *results.Document) { d.Scenario.Hold = time.Second },
		"size":   func(d *results.Document) { d.Scenario.Size = 2 },
		"build":  func(d *results.Document) { d.Environment.Zkbench = "another" },
	} {
		for _, text := range []string{"synthetic notifications/op <= 1", "* notifications/op <= 1", "other notifications/op <= 1 x synthetic"} {
			one, two, other := syntheticLockstep(1), syntheticLockstep(2), syntheticLockstep(1)
			other.Variant = "other"
			change(two)
			for _, docs := range [][]*results.Document{{one, two, other}, {two, one, other}} {
				checks := checkAssertions(Evidence{Documents: docs}, []Assertion{assertion(t, text)}, Names{})
				if c := NewReport(checks, nil).Checks[0]; c.Outcome != outcome.Inconclusive || !strings.Contains(c.Why, "two conditions") {
					t.Errorf("another %s, %s: %s (%s)", name, text, c.Outcome, c.Why)
				}
			}
		}
	}
}

func TestParseRules(t *testing.T) {
	claims, err := ParseRules("r.yaml", []byte(`
- scenario: lock-*
  check: predecessor-watch acquire-p99 < 250ms
  clients: 50
- {scenario: lock-drain, check: violations == 0}
- {scenario: lock-drain, check: requests/op <= 2, tolerance: 0.05}
`), Names{})
	if err != nil || len(claims) != 3 || claims[0].Value != 250e6 || claims[0].Clients != 50 || claims[1].Variant != claim.Every || claims[2].Tolerance != 0.05 {
		t.Errorf("%+v, %v", claims, err)
	}
	_, err = ParseRules("r.yaml", []byte(`
- scenario: lock-*
  chek: violations == 0
- {scenario: "[", check: "a b"}
- {scenario: lock-drain, check: wait-p99 < 3ms, tolerance: 0.1, clients: many}
- {scenario: lock-drain, check: wait-p99 < 3ms, tolerance: 0.1}
- {scenario: lock-drain, check: herd-max < 3, tolerance: .nan}
- nothing
- {scenario: lock-drain, check: herd-max < 3, clients: 0}
- {scenario: lock-drain, check: herd-max < 3, clients: -1}
- {scenario: lock-drain, check: herd-max < +Inf}
- {scenario: lock-drain, check: herd-max < 1e999}
- {scenario: lock-drain, check: requests/op >= 0}
- {scenario: lock-drain, check: violations > -1}
- {scenario: lock-drain, check: a wait-p50 <= 1 x a}
- {scenario: lock-drain, check: herd-max < 3, clients: 010}
- {scenario: lock-drain, check: herd-max < 3, clients: 1.5}
- {scenario: lock-drain, check: herd-max < 3, tolerance: 00.5}
- {scenario: lock-drain, check: requests/op < 1e300}
`), Names{})
	for _, want := range []string{
		`r.yaml:3: there is no field "chek"; did you mean "check"?`, `r.yaml:2: check is missing`, `r.yaml:4: check: wants`, `r.yaml:4: scenario: "[" is not a pattern`,
		`r.yaml:5: clients: wants a whole number`, `r.yaml:6: tolerance: is for counts`, `r.yaml:7: tolerance: wants a share`, "r.yaml:8: wants `field: value` lines",
		"r.yaml:9: clients: wants at least 1, not 0", "r.yaml:10: clients: wants at least 1, not -1", "r.yaml:11: check: wants a number", "r.yaml:12: check: wants a number",
		"r.yaml:13: check: no metric is below 0, so that >= 0 is always true", "r.yaml:14: check: no metric is below 0", "r.yaml:15: check: a is compared with itself",
		"r.yaml:16: clients: wants a whole number of at least 1; 010 is not", "r.yaml:17: clients: wants a whole number of at least 1; 1.5 is not", "r.yaml:18: tolerance: wants a share of the limit, such as 0.05; 00.5 is not",
		"r.yaml:19: check: requests/op is never over 1e+12, so that * requests/op < 1e+300 is always true",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	for _, text := range []string{"", "[]", "a: b", "- a: [", "- scenario:\n  check: violations == 0",
		"- {scenario: a, check: violations == 0}\n---\n- {scenario: a, check: herd-max < 1}", "- {scenario: a, check: violations == 0}\n...\n- {a"} {
		if _, err := ParseRules("r.yaml", []byte(text), Names{}); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// known has the names of two scenarios of different recipes.
func known() Names {
	locks := Subject{Variants: []string{"znode", "children-watch"}, Metrics: []string{"requests/op", "acquire-p99-ns"}}
	queues := Subject{Variants: []string{"multi-claim"}, Metrics: []string{"requests/op", "sojourn-p99-ns"}}
	return Names{
		Scenarios: map[string]Subject{"lock-drain": locks, "queue-drain": queues},
		Any:       Subject{Variants: append(queues.Variants, locks.Variants...), Metrics: append(queues.Metrics, locks.Metrics...)},
	}
}

// The names in a rule must exist for the scenario that it is about.
func TestUnknownNames(t *testing.T) {
	for _, tt := range []struct{ scenario, check, want string }{
		{"lock-drain", "znode requests/op <= 1", ""},
		{"lock-drain", "requests/op <= 1", ""},
		{"lock-drain", "znod requests/op <= 1", `there is no variant "znod"; did you mean "znode"?`},
		{"lock-drain", "znode requests/op <= 1 x child", `there is no variant "child"`},
		{"lock-drain", "multi-claim requests/op <= 1", `there is no variant "multi-claim"`},
		{"*-drain", "multi-claim requests/op <= 1", ""},
		{"mine", "multi-claim requests/op <= 1", ""},
		{"mine", "other requests/op <= 1", `there is no variant "other"`},
		{"lock-drain", "znode reqests/op <= 1", `there is no metric "reqests/op"`},
		{"lock-drain", "znode acquire-p99 < 1s", ""},
		{"lock-drain", "znode sojourn-p99 < 1s", `there is no metric "sojourn-p99-ns"`},
		{"queue-*", "sojourn-p99 < 1s", ""},
	} {
		_, err := ParseRules("r.yaml", []byte("- {scenario: '"+tt.scenario+"', check: "+tt.check+"}"), known())
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %s: %v, want %q", tt.check, tt.scenario, err, tt.want)
		}
	}
}

// A scenario that was not measured may be one of the user's own; a hint says which may have been meant.
func TestHintAtAScenario(t *testing.T) {
	const hint = `did you mean "lock-drain"?`
	for _, scenario := range []string{"lock-drain", "lock-dran"} {
		c := assertion(t, "znode requests/op <= 1")
		c.Scenario = scenario
		r := Evaluate(Evidence{Documents: []*results.Document{syntheticLockstep(1)}}, Rules{Names: known(), Assertions: []Assertion{c}, Required: []string{scenario}})
		hints := strings.Count(outcomeOf(t, r, c.String()).Why+outcomeOf(t, r, "required").Why, hint)
		if want := map[string]int{"lock-drain": 0, "lock-dran": 2}[scenario]; hints != want || r.Code != 5 {
			t.Errorf("%s: %d hints, exit code %d, want %d, 5", scenario, hints, r.Code, want)
		}
	}
}
