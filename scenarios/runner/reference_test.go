package runner_test

import (
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// raw has what an observer received and reported in one measurement.
type raw struct {
	times map[time.Duration]bool // of events
	spans map[string][]time.Duration
	loose []variants.Span // spans that do not begin and end with an event
}

// listening returns a recipe whose observers also keep what they receive and report.
func listening(recipe variants.Recipe) (_ variants.Recipe, latest func() *raw) {
	var mu sync.Mutex
	var last *raw
	inner := recipe.NewObserver
	recipe.NewObserver = func(out variants.Findings) variants.Observer {
		r := &raw{times: map[time.Duration]bool{}, spans: map[string][]time.Duration{}}
		mu.Lock()
		defer mu.Unlock()
		last = r
		report := out.Span
		out.Span = func(s variants.Span) {
			r.spans[s.Phase] = append(r.spans[s.Phase], max(s.End-s.Start, 0))
			if !r.times[s.Start] || !r.times[s.End] {
				r.loose = append(r.loose, s)
			}
			report(s)
		}
		return variants.Observers{variants.ObserverFunc(func(e variants.Event) { r.times[e.At] = true }), inner(out)}
	}
	return recipe, func() *raw { mu.Lock(); defer mu.Unlock(); return last }
}

// Every time in a document is the time between two events that clients recorded: no observer and no recorder changes, adds or omits one.
// The load begins and ends at rest, so that window and warm-up have all of them.
func TestTimesAreThoseBetweenEvents(t *testing.T) {
	for _, recipe := range catalog.Recipes() {
		t.Run(recipe.Name, func(t *testing.T) {
			t.Parallel()
			recipe, latest := listening(recipe)
			s := lockstepOf(5)
			s.Recipe = recipe.Name
			bubble(t, func(t *testing.T, e *embedded.Ensemble) {
				keep := func(d *results.Document) { compareTimes(t, d, latest()) }
				if err := measure(t.Context(), t, e, s, []variants.Recipe{recipe}, keep); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func compareTimes(t *testing.T, d *results.Document, r *raw) {
	t.Helper()
	if len(r.loose) > 0 || len(r.spans[d.Operation]) == 0 {
		t.Errorf("%s: %d spans of %s; spans without an event at both ends: %v", d.Variant, len(r.spans[d.Operation]), d.Operation, r.loose)
	}
	for phase, times := range r.spans {
		got := results.DecodeAll([]results.Histogram{d.Histograms[phase], d.Histograms[results.WarmUpPrefix+phase]})
		if want := results.NewHistogram(times).Decode(); !got.Equals(want) {
			t.Errorf("%s, %s: %d times of %.0f ns on average, want %d of %.0f ns",
				d.Variant, phase, got.TotalCount(), got.Mean(), want.TotalCount(), want.Mean())
		}
	}
}
