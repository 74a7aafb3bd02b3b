package gate

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// known is what there is to name: two scenarios of different recipes.
func known() Names {
	locks := Subject{Variants: []string{"znode", "children-watch"}, Metrics: []string{"requests/op", "acquire-p99-ns"}}
	queues := Subject{Variants: []string{"multi-claim"}, Metrics: []string{"requests/op", "sojourn-p99-ns"}}
	return Names{
		Scenarios: map[string]Subject{"lock-drain": locks, "queue-drain": queues},
		Any:       Subject{Variants: append(queues.Variants, locks.Variants...), Metrics: append(queues.Metrics, locks.Metrics...)},
	}
}

// What a rule names exists for the scenario that it is about, or it is a mistake in the file.
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
