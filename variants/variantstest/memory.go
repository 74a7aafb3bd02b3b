package variantstest

import (
	"runtime"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// ObserverMemory does the same as the function of this name, with operations that are given as stories.
func (w HistoryBuilder) ObserverMemory(t *testing.T, recipe variants.Recipe, operation func(i int) string) {
	t.Helper()
	ObserverMemory(t, recipe, func(i int) []variants.Event { return w.Build(t, operation(i)) })
}

// ObserverMemory gives 200,000 operations to a new observer of the recipe. The observer must find no breach, and its live
// heap must not depend on how many operations it has seen. operation returns the events of operation i; ObserverMemory sets
// their times, one microsecond apart. The test must not run in parallel with others.
func ObserverMemory(t *testing.T, recipe variants.Recipe, operation func(i int) []variants.Event) {
	t.Helper()
	const (
		operations = 200_000
		first      = operations / 100 // after these, maps have grown to the size that they need
		limit      = 128 << 10
	)
	breaches := 0
	o := recipe.NewObserver(variants.Findings{
		Span: func(variants.Span) {},
		Violation: func(v variants.Violation) {
			if breaches++; breaches == 1 {
				t.Errorf("a violation in a correct history, at %s: %s", v.At, v.Text)
			}
		},
	})
	var now time.Duration
	observe := func(from, to int) {
		for i := from; i < to; i++ {
			for _, e := range operation(i) {
				now += time.Microsecond
				e.At = now
				o.Observe(e)
			}
		}
	}
	observe(0, first)
	before := liveHeap()
	observe(first, operations)
	if grown := liveHeap() - before; grown > limit {
		t.Errorf("the observer keeps %d bytes more after %d operations than after %d, want at most %d", grown, operations, first, limit)
	}
	o.Complete()
	if breaches > 1 {
		t.Errorf("%d violations in all", breaches)
	}
}

func liveHeap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
