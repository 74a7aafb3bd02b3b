package variantstest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// Damage gives stories to a recipe's observer. Each case expects the costs of the story, in order, such as "fenced=1
// fenced=1", and no violation.
func (w HistoryBuilder) Damage(t *testing.T, recipe variants.Recipe, cases []Case) {
	t.Helper()
	for _, c := range cases {
		name, story, want := c[0], c[1], c[2]
		t.Run(name, func(t *testing.T) {
			var got []string
			o := recipe.NewObserver(variants.Findings{
				Span:      func(variants.Span) {},
				Violation: func(v variants.Violation) { t.Errorf("violation at %s: %s", v.At, v.Text) },
				Damage:    func(d variants.Damage) { got = append(got, fmt.Sprintf("%s=%d", d.Loss, d.Amount)) },
			})
			for _, e := range w.Build(t, story) {
				o.Observe(e)
			}
			o.Complete()
			if got := strings.Join(got, " "); got != want {
				t.Errorf("the damage is %q, want %q", got, want)
			}
		})
	}
}

// Forgoing returns the recipe with an observer for which no damage is a violation.
func Forgoing(recipe variants.Recipe) variants.Recipe {
	newObserver := recipe.NewObserver
	recipe.NewObserver = func(out variants.Findings) variants.Observer {
		out.Damage = func(variants.Damage) {}
		return newObserver(out)
	}
	return recipe
}

// RecordUnless returns a function for [variants.Env] that appends the kinds of events.
func RecordUnless(kinds *[]variants.EventKind) func(<-chan struct{}, variants.EventKind, variants.EventKind, int64) {
	return func(closed <-chan struct{}, kind, otherwise variants.EventKind, _ int64) {
		if session.IsClosed(closed) {
			kind = otherwise
		}
		*kinds = append(*kinds, kind)
	}
}
