package gate

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// FuzzRules reads rules, and checks results by those that are accepted.
func FuzzRules(f *testing.F) {
	for _, text := range []string{
		"- scenario: lock-drain\n  check: znode requests/op <= 6\n",
		"- {scenario: 'lock-*', check: acquire-p99 < 250ms, clients: 3, tolerance: 0.05}\n",
		"- {scenario: self-test, check: capacity >= 100, objective: response-p99 < 50ms, by: rate}\n", "- {scenario: '[', check: a <= 1e400}\n",
		"- {scenario: self-test, check: herd-max <= 1 x znode, tolerance: 1e400, clients: 99999999999999999999}\n",
		"- &a [*a]\n",
		"- {scenario: &a x, check: *a}\n", strings.Repeat("- {}\n", 100), strings.Repeat("[", 100),
		"- {<<: {scenario: x}, check: !!binary aGk=}\n",
	} {
		f.Add([]byte(text))
	}
	docs := []*results.Document{syntheticClosed(1)}
	f.Fuzz(func(t *testing.T, text []byte) {
		rules, err := ParseRules("rules.yaml", text, Names{})
		if err != nil {
			if len(err.Error()) > 64<<10 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if r := Evaluate(Evidence{Documents: docs}, Rules{Assertions: rules}); len(r.Checks) == 0 {
			t.Errorf("%q checks nothing", text)
		}
	})
}
