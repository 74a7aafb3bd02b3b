package rwlock

import (
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
)

// auditor goes through a history and holds it to the promise. Times are taken just after an acquire returned and just
// before a release was sent, on one clock, so that an overlap in the history was one in reality.
type auditor struct {
	holders    map[int]Mode
	anybody    token // the largest granted so far
	writer     token // the largest granted to a writer so far
	violations []variants.Violation
}

type token struct {
	value   int64
	granted bool
}

func check(h variants.History) []variants.Violation {
	a := auditor{holders: map[int]Mode{}}
	for _, e := range h {
		switch e.Kind {
		case acquired:
			a.exclusion(e)
			a.order(e)
		case releasing:
			delete(a.holders, e.Client)
		}
	}
	return a.violations
}

func (a *auditor) breach(e variants.Event, format string, args ...any) {
	a.violations = append(a.violations, e.Violation(format, args...))
}

// exclusion finds whom a newcomer must not meet: a client itself, a writer anybody, a reader every writer.
func (a *auditor) exclusion(e variants.Event) {
	mode, _ := unstamp(e.Value)
	for _, client := range slices.Sorted(maps.Keys(a.holders)) {
		if held := a.holders[client]; client == e.Client || mode == Write || held == Write {
			a.breach(e, "client %d acquired the lock as a %s while client %d held it as a %s", e.Client, mode, client, held)
		}
	}
	a.holders[e.Client] = mode
}

// order holds the token of a writer against all before it, that of a reader against all of writers.
func (a *auditor) order(e variants.Event) {
	mode, value := unstamp(e.Value)
	before := a.writer
	if mode == Write {
		before = a.anybody
	}
	if before.granted && value <= before.value {
		a.breach(e, "client %d was granted fencing token %d as a %s after token %d", e.Client, value, mode, before.value)
	}
	a.anybody.raise(value)
	if mode == Write {
		a.writer.raise(value)
	}
}

func (t *token) raise(value int64) {
	if !t.granted || value > t.value {
		*t = token{value, true}
	}
}
