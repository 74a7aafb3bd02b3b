package runner

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios"
)

// bench is an open load in a bubble of synctest, whose clients take a set time for each arrival.
type bench struct {
	*arrivals
	clients []*client
	serving time.Duration
	slow    atomic.Bool      // ten times that
	stalled time.Duration    // until when nothing is served that was begun after 4 s
	last    recorder.Backlog // at the end of the window
	working sync.WaitGroup
}

func newBench(clients int, perSecond float64, serving time.Duration) *bench {
	b := &bench{arrivals: newArrivals(time.Now(), clients), serving: serving}
	b.coming, b.waiting = newDueTimes(0, steady(perSecond), scenarios.Constant, 1, 1), newDueTimes(0, steady(perSecond), scenarios.Constant, 1, 1)
	b.next = b.coming.next()
	for i := range clients {
		b.clients = append(b.clients, &client{id: i})
	}
	return b
}

// run lets arrivals come for ten seconds, and returns what was served, and how many of those from start on were not.
func (b *bench) run(ctx context.Context, start time.Duration) (served []recorder.Served, unserved int64) {
	const end = 10 * time.Second
	for _, c := range b.clients {
		b.working.Go(func() {
			for b.begin(ctx, c, 0) {
				if begun := b.since(); begun >= 4*time.Second && begun < b.stalled {
					time.Sleep(b.stalled - begun)
				}
				time.Sleep(b.serving)
				if b.slow.Load() {
					time.Sleep(9 * b.serving)
				}
				b.completed(c)
			}
		})
	}
	synctest.Wait()
	for next, more := b.release(b.since()); more && next <= end; next, more = b.release(b.since()) {
		time.Sleep(next - b.since())
	}
	time.Sleep(end - b.since())
	b.last = b.report(end)
	unserved = b.finish(start, end)
	b.working.Wait()
	return b.takeServed(nil), unserved
}

// A load below the capacity serves each arrival when it is due.
func TestOpenLoadBelowCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(2, 100, 15*time.Millisecond)
		served, unserved := b.run(t.Context(), 0)
		if len(served) != 1000 || unserved != 0 {
			t.Fatalf("%d arrivals were served and %d not, want 1000 and 0", len(served), unserved)
		}
		for _, s := range served {
			if s.Done-s.Due != b.serving || s.Begun != s.Due || s.Lateness != 0 {
				t.Fatalf("an arrival due at %s was begun at %s and done at %s", s.Due, s.Begun, s.Done)
			}
		}
		if r := b.last; r.Most != 0 || r.LastEmpty != 10*time.Second {
			t.Errorf("the backlog was %d, last empty at %s", r.Most, r.LastEmpty)
		}
	})
}

// A load beyond the capacity keeps what it cannot serve in the backlog, in order, and says so in the end.
func TestOpenLoadBeyondCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1, 100, 20*time.Millisecond) // serves 50 of 100 in a second
		served, unserved := b.run(t.Context(), 2*time.Second)
		if len(served) != 500 || unserved != 500 {
			t.Errorf("%d arrivals were served and %d not, want 500 and 500", len(served), unserved)
		}
		for i, s := range served {
			if want := time.Duration(i+1) * 10 * time.Millisecond; s.Due != want || s.Done-s.Begun != b.serving {
				t.Fatalf("arrival %d was due at %s, want %s", i, s.Due, want)
			}
		}
		if r := b.last; r.Most != 500 || r.LastEmpty > 30*time.Millisecond {
			t.Errorf("the backlog was at most %d and last empty at %s", r.Most, r.LastEmpty)
		}
	})
}

// A backlog that began in the second half of the window is served after the window: its arrivals have waited, and are not dropped.
func TestBacklogIsServedAfterTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1, 100, 5*time.Millisecond)
		go func() {
			time.Sleep(8 * time.Second)
			b.slow.Store(true)
		}()
		served, unserved := b.run(t.Context(), 0)
		if len(served) != 1000 || unserved != 0 {
			t.Errorf("%d arrivals were served and %d not, want 1000 and 0", len(served), unserved)
		}
		if last := served[len(served)-1]; last.Due != 10*time.Second || last.Done-last.Due < time.Second {
			t.Errorf("the last arrival was due at %s and served in %s", last.Due, last.Done-last.Due)
		}
	})
}

// A client whose step has failed takes the same arrival again.
func TestFailedStepKeepsItsArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1, 10, 0)
		ctx, c := t.Context(), b.clients[0]
		go func() { time.Sleep(time.Second); b.release(b.since()) }()
		if !b.begin(ctx, c, 0) {
			t.Fatal("there was no arrival")
		}
		first := b.serving0()
		time.Sleep(time.Second)
		if !b.begin(ctx, c, 0) || b.serving0() != first {
			t.Errorf("after the failure, the client serves %+v, want %+v", b.serving0(), first)
		}
		b.completed(c)
		if served := b.takeServed(nil); len(served) != 1 || served[0].Done-served[0].Due < 1900*time.Millisecond {
			t.Errorf("served %+v, want one with the time of the failure in it", served)
		}
	})
}

func (b *bench) serving0() arrival { return b.arrivals.serving[0] }

// A generator that releases arrivals late is found out: the client was free, and the arrival due.
func TestLatenessIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1, 10, 0)
		go func() { time.Sleep(130 * time.Millisecond); b.release(b.since()) }() // due at 100 ms
		b.begin(t.Context(), b.clients[0], 0)
		b.completed(b.clients[0])
		if got := b.takeServed(nil)[0]; got.Lateness != 30*time.Millisecond || got.Done-got.Due != 30*time.Millisecond {
			t.Errorf("late by %s, with a response time of %s, want 30ms for both", got.Lateness, got.Done-got.Due)
		}
	})
}

// A server that stands still for one of ten seconds delays as many arrivals as arithmetic says: those of the stall, by what is left of
// it, and those that wait behind them.
func TestStallDelaysTheRightShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(16, 100, time.Millisecond)
		b.stalled = 5 * time.Second
		served, unserved := b.run(t.Context(), 0)
		if len(served) != 1000 || unserved != 0 {
			t.Fatalf("%d arrivals were served and %d not, want 1000 and 0", len(served), unserved)
		}
		const limit = 100 * time.Millisecond
		delayed, longest := 0.0, time.Duration(0)
		for _, s := range served {
			longest = max(longest, s.Done-s.Due)
			if s.Done-s.Due > limit {
				delayed++
			}
		}
		if want := 90.0; math.Abs(delayed-want) > 0.05*want || longest < time.Second {
			t.Errorf("%g arrivals were delayed by more than %s, and the longest by %s; want %g and 1s", delayed, limit, longest, want)
		}
	})
}
