package background

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/pool"
)

func opened(t *testing.T, e ensemble.Ensemble, load results.BackgroundLoad, alone time.Duration) *Load {
	t.Helper()
	load.Znodes, load.Bytes = 1, 10
	root, err := pool.OpenRoot(t.Context(), e.Servers(), false, "/background-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(root.CloseSession)
	znodes, err := root.CreateBackground(t.Context(), load)
	if err != nil {
		t.Fatal(err)
	}
	b := New(&load, znodes, alone)
	if err := b.Open(t.Context(), time.Now(), e.Servers()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// However many requests are due, only some of them are sent before earlier ones are answered.
func TestBackgroundIsBounded(t *testing.T) {
	ensembletest.Bubble(t, embedded.Config{ReadDelay: 10 * time.Millisecond}, func(t *testing.T, e *embedded.Ensemble) {
		const sessions, rate = 4, 50_000
		b := opened(t, e, results.BackgroundLoad{Reads: rate, Sessions: sessions}, 200*time.Millisecond)
		before := runtime.NumGoroutine()
		if err := b.Start(t.Context()); !errors.Is(err, ErrSaturated) {
			t.Fatalf("got %v, want %v", err, ErrSaturated)
		}
		outstanding := 0
		for _, slots := range b.slots {
			outstanding += len(slots)
		}
		due := b.progress().due[backgroundRead]
		if due < 4*MaxOutstanding || outstanding > MaxOutstanding || runtime.NumGoroutine() > before+MaxOutstanding+3*sessions {
			t.Errorf("%d requests were due, %d are outstanding, %d goroutines; want at most %d outstanding",
				due, outstanding, runtime.NumGoroutine(), MaxOutstanding)
		}
		b.Close()
		if got := b.Report(); got.During != nil || got.Alone.BacklogMax < due/2 {
			t.Errorf("got %+v, want no window and a backlog of %d", got, due)
		}
	})
}

// A pause of the server that delays the background before the load does not affect its latencies: they come from the try in which it
// keeps up.
func TestDelayedTrialIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const length, pause = 2 * time.Second, 2050 * time.Millisecond
		b := New(&results.BackgroundLoad{Reads: 100}, nil, length)
		b.epoch = time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // a server that answers all that is due
			for i := 0; pool.Sleep(ctx, max(pause-time.Since(b.epoch), time.Millisecond)) == nil; {
				for ; b.plans[backgroundRead].due(i) < time.Since(b.epoch); i++ {
					due := b.plans[backgroundRead].due(i)
					b.record(backgroundRead, due, due, nil)
				}
			}
		}()
		if err := b.Start(ctx); err != nil {
			t.Error(err)
		}
		got := b.reportStretch(b.before)
		if got.Start != length || got.Read.Due != 200 {
			t.Errorf("%d requests from %s on are reported, want the 200 of the second trial", got.Read.Due, got.Start)
		}
		if most := time.Duration(got.Read.Response.Decode().Max()); most > pause-length+time.Millisecond {
			t.Errorf("a response of %s is reported, which is of the first trial", most)
		}
		cancel()
		b.Close()
	})
}

// Requests that remain after the load may take longer than drainPatience together, as long as some are answered.
func TestDrainWaitsForAnswers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers int
		silent  bool // after the answers
		want    string
	}{
		{"a slow server", 10, false, ""},
		{"one that falls silent", 10, true, "requests of the background are left after the load"},
		{"a silent one", 0, true, "requests of the background are left after the load"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &Load{started: true, epoch: time.Now(), stopping: make(chan struct{})}
				b.plans[backgroundRead] = newSchedule(0, 1000, 0)
				time.Sleep(time.Second)
				b.wait.Go(func() {
					for range tt.answers {
						time.Sleep(drainPatience / 2)
						b.record(backgroundRead, 0, 0, nil)
					}
					if tt.silent {
						time.Sleep(time.Hour)
					}
				})
				err := b.Drain(t.Context())
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%d %s", 1000-tt.answers, tt.want)) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				b.wait.Wait()
			})
		})
	}
}

// Failed requests are counted, and end neither the background nor the load.
func TestBackgroundOutlivesItsServer(t *testing.T) {
	ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
		b := opened(t, e, results.BackgroundLoad{Reads: 200, Writes: 200, Sessions: 2}, 100*time.Millisecond)
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.EnterWindow()
		if err := e.Server.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		b.Leave()
		if err := b.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.Close()
		if w := b.Report().During.Write; w.Failed == 0 || w.Due != w.Failed+w.Response.All() {
			t.Errorf("of %d writes, %d failed and %d were answered", w.Due, w.Failed, w.Response.All())
		}
	})
}

// A bystander that runs again only after the pause began sends the reads that were due before, and times them from then.
func TestPauseKeepsOverdueReads(t *testing.T) {
	ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
		b := &Bystanders{Epoch: time.Now(), Path: "/", Rate: 10}
		each, err := openSessions(t.Context(), b.Epoch, e.Servers(), 1)
		if err != nil {
			t.Fatal(err)
		}
		b.each = each
		ctx, cancel := context.WithCancel(t.Context())
		b.stop = cancel
		time.Sleep(time.Second - time.Since(b.Epoch))
		b.Pause()
		b.wait.Go(func() { b.read(ctx, each[0], newSchedule(0, b.Rate, 0)) })
		time.Sleep(2 * time.Second)
		reads := b.Take()
		b.Finish()
		if len(reads) != b.Rate {
			t.Fatalf("%d reads were sent, want the %d that were due before the pause", len(reads), b.Rate)
		}
		for _, r := range reads {
			if late := time.Second - r.At; r.At >= time.Second || r.Response < late {
				t.Errorf("a read due at %s took %s, want at least %s", r.At, r.Response, late)
			}
		}
	})
}

func TestKeepsUp(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after progress
		want          bool
	}{
		{"all answered", progress{}, progress{due: [kinds]int64{100, 10}, done: [kinds]int64{100, 10}}, true},
		{"one of 200 under way", progress{}, progress{due: [kinds]int64{200}, done: [kinds]int64{199}}, true},
		{"too slow", progress{}, progress{due: [kinds]int64{100}, done: [kinds]int64{98}}, false},
		{"a backlog that shrinks", progress{due: [kinds]int64{100}, done: [kinds]int64{50}},
			progress{due: [kinds]int64{200}, done: [kinds]int64{151}}, true},
		{"a backlog that grows", progress{due: [kinds]int64{100}, done: [kinds]int64{50}},
			progress{due: [kinds]int64{200}, done: [kinds]int64{148}}, false},
		{"writes too slow beside many reads", progress{}, progress{due: [kinds]int64{10_000, 10}, done: [kinds]int64{10_000, 5}}, false},
	} {
		if got := tt.after.keepsUp(tt.before); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// The number of due requests equals the number of moments in the schedule.
func TestDueRequests(t *testing.T) {
	for _, rate := range []int{1, 3, 333, 1000} {
		b := &Load{}
		b.until.Store(int64(3 * time.Second))
		b.plans[backgroundWrite] = newSchedule(time.Second, rate, 0.5)
		for at := time.Duration(0); at < 5*time.Second; at += 71 * time.Millisecond {
			var want int64
			for i := 0; b.plans[backgroundWrite].due(i) < min(at, 3*time.Second); i++ {
				want++
			}
			if got := b.due(backgroundWrite, at); got != want || b.due(backgroundRead, at) != 0 {
				t.Fatalf("%d per second: %d are due before %s, want %d", rate, got, at, want)
			}
		}
	}
}

func TestScheduleDoesNotDependOnWhatHappens(t *testing.T) {
	s := newSchedule(time.Second, 100, 0.5)
	for i, want := range map[int]time.Duration{0: 1005 * time.Millisecond, 1: 1015 * time.Millisecond, 1000: 11005 * time.Millisecond} {
		if got := s.due(i); got != want {
			t.Errorf("request %d is due at %s, want %s", i, got, want)
		}
	}
}
