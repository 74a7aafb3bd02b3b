package load

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
	"github.com/zkbench/zkbench/scenarios/pool"
)

// bench is an open load in a bubble of synctest, whose clients take a set time for each arrival.
type bench struct {
	*Arrivals
	clients []*pool.Client
	serving time.Duration
	slow    atomic.Bool      // an arrival takes a hundred times as long as serving
	stalled time.Duration    // arrivals that were begun after 4 s are not served before this time
	last    recorder.Backlog // at the end of the window

	restored time.Duration // how long faults take to be undone after the window
	working  sync.WaitGroup
}

func newBench(clients int, perSecond float64, serving time.Duration) *bench {
	b := &bench{Arrivals: NewArrivals(time.Now(), pool.BlockOf(clients, 0, 1)), serving: serving}
	b.follow(steady(perSecond))
	for i := range clients {
		b.clients = append(b.clients, &pool.Client{ID: i})
	}
	return b
}

func (b *bench) follow(perSecond levels) {
	b.coming, b.waiting = newDueTimes(0, perSecond, scenarios.Constant, 1, 1), newDueTimes(0, perSecond, scenarios.Constant, 1, 1)
	b.next = b.coming.next()
}

func (b *bench) slowFrom(at time.Duration) {
	go func() {
		time.Sleep(at)
		b.slow.Store(true)
	}()
}

// run lets arrivals come for ten seconds. It returns the served arrivals, and how many of the window from start were given up.
func (b *bench) run(ctx context.Context, start time.Duration) (served []recorder.Served, givenUp int64) {
	const end = 10 * time.Second
	for _, c := range b.clients {
		b.working.Go(func() {
			for b.Begin(ctx, c, 0) {
				if begun := b.since(); begun >= 4*time.Second && begun < b.stalled {
					time.Sleep(b.stalled - begun)
				}
				time.Sleep(b.serving)
				if b.slow.Load() {
					time.Sleep(99 * b.serving)
				}
				b.Completed(c)
			}
		})
	}
	synctest.Wait()
	for next, more := b.release(b.since()); more && next <= end; next, more = b.release(b.since()) {
		time.Sleep(next - b.since())
	}
	time.Sleep(end - b.since())
	b.last = b.Report(end)
	b.start = start
	b.WindowClosed(end)
	time.Sleep(b.restored)
	b.End()
	b.working.Wait()
	b.limit.Stop()
	givenUp, serving := b.Left()
	if serving > 0 {
		panic("a client still serves an arrival")
	}
	return b.TakeServed(), givenUp
}

// A load below the capacity serves each arrival when it is due.
func TestOpenLoadBelowCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(2, 100, 15*time.Millisecond)
		served, givenUp := b.run(t.Context(), 0)
		if len(served) != 1000 || givenUp != 0 {
			t.Fatalf("%d arrivals were served and %d given up, want 1000 and 0", len(served), givenUp)
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

// A load beyond the capacity keeps arrivals in the backlog, in order, and reports in the end how many were given up.
func TestOpenLoadBeyondCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1, 100, 20*time.Millisecond) // serves 50 of 100 in a second
		served, givenUp := b.run(t.Context(), 2*time.Second)
		if len(served) != 500 || givenUp != 500 {
			t.Errorf("%d arrivals were served and %d given up, want 500 and 500", len(served), givenUp)
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

// A backlog that began in the second half of the window is served after the window and not dropped. No arrival comes meanwhile,
// even if faults are undone only later.
func TestBacklogIsServedAfterTheWindow(t *testing.T) {
	for _, restored := range []time.Duration{0, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(1, 100, time.Millisecond)
			b.restored = restored
			b.slowFrom(9900 * time.Millisecond)
			served, givenUp := b.run(t.Context(), 0)
			if len(served) != 1000 || givenUp != 0 {
				t.Errorf("%d arrivals were served and %d given up, want 1000 and 0", len(served), givenUp)
			}
			if last := served[len(served)-1]; last.Due != 10*time.Second || last.Done-last.Due < 900*time.Millisecond {
				t.Errorf("the last arrival was due at %s and served in %s", last.Due, last.Done-last.Due)
			}
		})
	}
}

// A backlog that is not served within the length of the window is given up, and all its arrivals are counted. Otherwise the
// response times would lack the longest ones.
func TestBacklogIsGivenUp(t *testing.T) {
	for _, restored := range []time.Duration{0, 15 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(1, 100, time.Millisecond)
			b.restored = restored
			b.slowFrom(8 * time.Second)
			served, givenUp := b.run(t.Context(), 0)
			// 800 before clients are slow, and ten in each of the twelve seconds until the arrivals are given up
			if n := int64(len(served)); n < 915 || n > 925 || n+givenUp != 1000 {
				t.Errorf("%d arrivals were served and %d given up, want 920 and 80", n, givenUp)
			}
		})
	}
}

// The levels of a rate begin with the window. Arrivals that wait at that moment keep their due times, and none is lost or invented.
func TestBacklogAtTheEndOfTheWarmUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1, 1, 40*time.Millisecond) // 25 in a second
		b.follow(append(steady(100), piece{from: 100, to: 100, length: time.Second}, piece{from: 5, to: 5, length: 1000 * time.Second}))
		var backlog int64
		go func() {
			time.Sleep(2005 * time.Millisecond)
			b.release(b.since())
			backlog = b.Report(b.since()).Most
			b.WindowOpened(b.since())
		}()
		served, givenUp := b.run(t.Context(), 2005*time.Millisecond)
		for i, s := range served {
			want := time.Duration(i+1) * 10 * time.Millisecond
			if s.Due < 3*time.Second && (s.Due > want+5*time.Millisecond || s.Due < want-5*time.Millisecond) {
				t.Fatalf("arrival %d was due at %s, want about %s", i, s.Due, want)
			}
		}
		inWindow := int64(0)
		for _, s := range served {
			if s.Due >= 2005*time.Millisecond {
				inWindow++
			}
		}
		if want := int64(100 + 7*5); backlog < 100 || inWindow+givenUp < want-2 || inWindow+givenUp > want+2 {
			t.Errorf("with a backlog of %d, %d arrivals of the window were served and %d given up, want %d", backlog, inWindow, givenUp, want)
		}
	})
}

// A server that stands still for one of ten seconds delays the arrivals that arithmetic predicts: the arrivals during the stall,
// each by the rest of it, and the arrivals behind them.
func TestStallDelaysTheRightShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(16, 100, time.Millisecond)
		b.stalled = 5 * time.Second
		served, givenUp := b.run(t.Context(), 0)
		if len(served) != 1000 || givenUp != 0 {
			t.Fatalf("%d arrivals were served and %d given up, want 1000 and 0", len(served), givenUp)
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

// A client whose step has failed takes the same arrival again.
func TestFailedStepKeepsItsArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1, 10, 0)
		ctx, c := t.Context(), b.clients[0]
		go func() {
			time.Sleep(time.Second)
			if !b.Idle() {
				t.Error("no arrival is due, and the load is not idle")
			}
			b.release(b.since())
		}()
		if !b.Begin(ctx, c, 0) || b.Idle() {
			t.Fatal("there was no arrival, or the load is idle while it is served")
		}
		first := b.serving0()
		time.Sleep(time.Second)
		if !b.Begin(ctx, c, 0) || b.serving0() != first {
			t.Errorf("after the failure, the client serves %+v, want %+v", b.serving0(), first)
		}
		b.Completed(c)
		if served := b.TakeServed(); len(served) != 1 || served[0].Done-served[0].Due < 1900*time.Millisecond {
			t.Errorf("served %+v, want one with the time of the failure in it", served)
		}
	})
}

func (b *bench) serving0() arrival { return b.Arrivals.serving[0] }

// A generator that releases an arrival late is detected: the client was free when the arrival was due.
func TestLatenessIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1, 10, 0)
		go func() { time.Sleep(130 * time.Millisecond); b.release(b.since()) }() // due at 100 ms
		b.Begin(t.Context(), b.clients[0], 0)
		b.Completed(b.clients[0])
		if got := b.TakeServed()[0]; got.Lateness != 30*time.Millisecond || got.Done-got.Due != 30*time.Millisecond {
			t.Errorf("late by %s, with a response time of %s, want 30ms for both", got.Lateness, got.Done-got.Due)
		}
	})
}
