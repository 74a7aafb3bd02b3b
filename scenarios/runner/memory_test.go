//go:build linux && !race

// The race detector keeps several bytes of its own for each byte that is allocated, resident or not. They would hide the memory of a
// measurement.

package runner_test

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/variants"
)

// footprint is a participant that records the largest memory of the process in any of its steps.
type footprint struct {
	variants.Participant
	peak *atomic.Int64
}

func (f footprint) Step(ctx context.Context) error {
	err := f.Participant.Step(ctx)
	for now := machine.ResidentMemory(); ; {
		if seen := f.peak.Load(); now <= seen || f.peak.CompareAndSwap(seen, now) {
			return err
		}
	}
}

// The third measurement of a run takes as little memory as the first one: the buffers and the garbage of the others are gone.
//
// Note: not parallel, since the memory of the process is shared by all tests.
func TestMemoryOfMeasurements(t *testing.T) {
	const clients = 300
	const bound = 400e6 // 128 MB of it are garbage that may pile up; reused buffers alone take 900 MB
	var peak atomic.Int64
	recipes := wrapped(func(p variants.Participant) variants.Participant { return footprint{p, &peak} })
	s := closedOf("lock", clients, "predecessor-watch")
	s.Repeats, s.Operations, s.WarmUp = 3, 2, 0
	e := ensembletest.Embedded(t, embedded.Config{})
	before, measured := machine.ResidentMemory(), 0
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

// When the next measurement begins, nothing refers to the clients of the one before: their sessions would keep 1.5 MB each.
//
// Note: not parallel, since another test could collect the garbage meanwhile.
func TestClientsAreGoneAfterTheirMeasurement(t *testing.T) {
	var joined []weak.Pointer[footprint]
	recipes := wrapped(func(p variants.Participant) variants.Participant {
		for i, former := range joined {
			if former.Value() != nil {
				t.Errorf("the participant of measurement %d is in use in measurement %d", i, len(joined))
			}
		}
		f := &footprint{p, &atomic.Int64{}}
		joined = append(joined, weak.Make(f))
		return f
	})
	s := closedOf("lock", 1, "predecessor-watch")
	s.Repeats, s.Operations, s.WarmUp = 3, 10, 0
	mustMeasure(t, ensembletest.Embedded(t, embedded.Config{}), s, recipes)
	if len(joined) != 1+s.Repeats {
		t.Errorf("%d clients joined, want one in the rehearsal and in each of %d measurements", len(joined), s.Repeats)
	}
}

// litterer is a participant that drops an object in each step, and reports in Leave whether the last one is still in memory.
type litterer struct {
	variants.Participant
	dropped weak.Pointer[[64]byte]
	found   *atomic.Bool
}

func (l *litterer) Step(ctx context.Context) error {
	l.dropped = weak.Make(new([64]byte))
	return l.Participant.Step(ctx)
}

func (l *litterer) Leave(ctx context.Context) error {
	l.found.Store(l.found.Load() || l.dropped.Value() != nil)
	return l.Participant.Leave(ctx)
}

// The garbage of the load is collected before the clients leave, whose own garbage would come on top.
//
// Note: not parallel, since another test could collect the garbage meanwhile.
func TestGarbageIsCollectedBeforeClientsLeave(t *testing.T) {
	var found atomic.Bool
	recipes := wrapped(func(p variants.Participant) variants.Participant { return &litterer{Participant: p, found: &found} })
	s := closedOf("lock", 1, "predecessor-watch")
	s.Operations, s.WarmUp = 10, 0
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	mustMeasure(t, ensembletest.Embedded(t, embedded.Config{}), s, recipes)
	if found.Load() {
		t.Error("when a client left, garbage of the load was in memory")
	}
}

// liveHeap is a participant that reads how much of the heap is in use after a number of steps of all clients.
type liveHeap struct {
	variants.Participant
	done    *atomic.Int64
	at      int64
	bytes   *atomic.Int64
	reading *atomic.Bool // the clients rest meanwhile
}

func (l liveHeap) Step(ctx context.Context) error {
	for l.reading.Load() && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if err := l.Participant.Step(ctx); err != nil || l.done.Add(1) != l.at {
		return err
	}
	l.reading.Store(true)
	defer l.reading.Store(false)
	l.bytes.Store(leastHeap())
	return nil
}

// leastHeap returns the smallest number of bytes of the heap that are in use within half a second. On a busy machine, events that have not been
// handed on yet may take most of a reading.
func leastHeap() int64 {
	least := int64(math.MaxInt64)
	for range 10 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		least = min(least, int64(m.HeapAlloc))
		time.Sleep(50 * time.Millisecond)
	}
	return least
}

// heapNearTheEnd returns how many bytes of the heap are in use when a load of two clients has nine tenths of its operations
// behind it.
func heapNearTheEnd(t *testing.T, operations int) int64 {
	t.Helper()
	var done, bytes atomic.Int64
	var reading atomic.Bool
	recipes := wrapped(func(p variants.Participant) variants.Participant {
		done.Store(0) // when clients join, the clients of the rehearsal are gone
		return liveHeap{p, &done, int64(operations * 9 / 10), &bytes, &reading}
	})
	s := closedOf("lock", 2, "predecessor-watch")
	s.Operations = operations / 2
	docs := mustMeasure(t, ensembletest.Embedded(t, embedded.Config{}), s, recipes)
	if n := docs[0].Window.Operations; n != int64(operations) || bytes.Load() == 0 {
		t.Fatalf("%d operations and a heap of %d bytes, want %d and some", n, bytes.Load(), operations)
	}
	return bytes.Load()
}

// A measurement keeps nothing for each operation: thirty times as many operations do not take more of the heap.
//
// Note: not parallel, since the heap of the process is shared by all tests.
func TestMemoryDoesNotDependOnOperations(t *testing.T) {
	const few, many = 2000, 60_000
	const bound = 4 << 20 // readings differ by up to the 3 MB of a session's buffers; the events alone would take 8 MB
	short, long := heapNearTheEnd(t, few), heapNearTheEnd(t, many)
	t.Logf("%d kB after %d operations, %d kB after %d", short>>10, few, long>>10, many)
	if long-short > bound {
		t.Errorf("%d operations keep %d bytes more than %d do, want at most %d", many, long-short, few, bound)
	}
}
