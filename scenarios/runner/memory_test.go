//go:build linux && !race

// The race detector keeps several bytes of its own for each byte that is allocated, resident or not: what a measurement
// takes cannot be seen beside that.

package runner_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
)

// footprint is a participant that takes note of the most memory that the process had in any of its steps.
type footprint struct {
	variants.Participant
	peak *atomic.Int64
}

func (f footprint) Step(ctx context.Context) error {
	err := f.Participant.Step(ctx)
	for now := resident(); ; {
		if seen := f.peak.Load(); now <= seen || f.peak.CompareAndSwap(seen, now) {
			return err
		}
	}
}

// resident returns how many bytes of the process are in memory; zero if that cannot be read, which no limit exceeds.
func resident() int64 {
	var size, pages int64
	text, _ := os.ReadFile("/proc/self/statm")
	_, _ = fmt.Sscan(string(text), &size, &pages)
	return pages * int64(os.Getpagesize())
}

// The third measurement of a run takes as little memory as the first one: neither the buffers nor the garbage of the
// others are there any more.
//
// Note: not parallel, since the process's memory is everyone's.
func TestMemoryOfMeasurements(t *testing.T) {
	const clients = 300
	const bound = 400e6 // 128 MB of it are garbage that may pile up; reused buffers alone take 900 MB
	var peak atomic.Int64
	recipes := sabotage("predecessor-watch", func(v *variants.Variant) {
		join := v.Join
		v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
			p, err := join(ctx, env)
			return footprint{p, &peak}, err
		}
	})
	s := scenarios.Default()
	s.Name, s.Recipe, s.Variants, s.Clients, s.Repeats = "memory", "lock", []string{"predecessor-watch"}, []int{clients}, 3
	s.Operations, s.Duration, s.WarmUp = 2, 0, 0
	e := ensembletest.Embedded(t, embedded.Config{})
	before, measured := resident(), 0
	err := measure(t.Context(), t, e, s, recipes, func(*results.Document) {
		measured++
		grown := peak.Swap(0) - before
		t.Logf("measurement %d: %d MB", measured, grown>>20)
		if grown > bound {
			t.Errorf("measurement %d: %d clients took %d bytes, want at most %.0f", measured, clients, grown, bound)
		}
	})
	if err != nil || measured != s.Repeats {
		t.Errorf("%d measurements (%v), want %d", measured, err, s.Repeats)
	}
}
