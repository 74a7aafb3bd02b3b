package runner

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
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
)

// opened returns a background on a server, with one znode.
func opened(t *testing.T, e ensemble.Ensemble, load results.BackgroundLoad, alone time.Duration) *background {
	t.Helper()
	load.Znodes, load.Bytes = 1, 10
	root, err := openRoot(t.Context(), e.Servers(), false, "/background-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(root.closeSession)
	znodes, err := root.createBackground(t.Context(), load)
	if err != nil {
		t.Fatal(err)
	}
	b := newBackground(&load, znodes, alone)
	if err := b.open(t.Context(), time.Now(), e.Servers()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	return b
}

// However many requests are due, only some of them are sent before earlier ones are answered.
func TestBackgroundIsBounded(t *testing.T) {
	ensembletest.Bubble(t, embedded.Config{ReadDelay: 10 * time.Millisecond}, func(t *testing.T, e *embedded.Ensemble) {
		const sessions, rate = 4, 50_000
		b := opened(t, e, results.BackgroundLoad{Reads: rate, Sessions: sessions}, 200*time.Millisecond)
		before := runtime.NumGoroutine()
		if err := b.start(t.Context()); !errors.Is(err, errSaturated) {
			t.Fatalf("got %v, want %v", err, errSaturated)
		}
		outstanding := 0
		for _, s := range b.each {
			outstanding += len(s.slots)
		}
		due := b.progress().due[backgroundRead]
		if due < 4*maxOutstanding || outstanding > maxOutstanding || runtime.NumGoroutine() > before+maxOutstanding+3*sessions {
			t.Errorf("%d requests were due, %d are outstanding, %d goroutines; want at most %d outstanding", due, outstanding, runtime.NumGoroutine(), maxOutstanding)
		}
		b.close()
		got, err := b.report()
		if err != nil || got.During != nil || got.Alone.BacklogMax < due/2 {
			t.Errorf("got %+v (%v), want no window and a backlog of %d", got, err, due)
		}
	})
}

// If the run is interrupted while the znodes are created, those that exist are removed before the clean-up gives up. To delete by
// single requests what does not exist takes the server longer than that.
func TestInterruptedCreationIsRemoved(t *testing.T) {
	t.Parallel()
	const delay = 20 * time.Millisecond
	ensembletest.Bubble(t, embedded.Config{WriteDelay: delay}, func(t *testing.T, e *embedded.Ensemble) {
		root, err := openRoot(t.Context(), e.Servers(), false, "/interrupted")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		trap := e.Inject(embedded.Fault{Op: wire.OpMulti, Nth: 3, Do: embedded.HoldReply})
		go func() { <-trap.Fired(); cancel() }()
		load := results.BackgroundLoad{Znodes: 3 * int(clearTimeout/delay), Bytes: 1}
		if _, err := root.createBackground(ctx, load); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		trap.Release()
		if err := root.close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
		ensembletest.AwaitNoZnodes(t, e.Servers())
	})
}

// A pause of the server that delays the background alone is in none of its latencies: they are those of the trial in which it keeps up.
func TestDelayedTrialIsNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const length, pause = 2 * time.Second, 2050 * time.Millisecond
		b := newBackground(&results.BackgroundLoad{Reads: 100}, nil, length)
		b.epoch = time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // a server that answers all that is due
			for i := 0; sleep(ctx, max(pause-time.Since(b.epoch), time.Millisecond)) == nil; {
				for ; b.plans[backgroundRead].due(i) < time.Since(b.epoch); i++ {
					due := b.plans[backgroundRead].due(i)
					b.record(backgroundRead, due, due, nil)
				}
			}
		}()
		if err := b.start(ctx); err != nil {
			t.Error(err)
		}
		got, err := b.reportStretch(b.stretches[aloneStretch])
		if err != nil || got.Start != length || got.Read.Due != 200 {
			t.Errorf("%d requests from %s on are reported (%v), want the 200 of the second trial", got.Read.Due, got.Start, err)
		}
		response, err := got.Read.Response.Decode()
		if most := time.Duration(response.Max()); err != nil || most > pause-length+time.Millisecond {
			t.Errorf("a response of %s is reported (%v), which is of the first trial", most, err)
		}
		cancel()
		b.close()
	})
}

// What is left after the load may take longer than drainPatience, as long as requests are answered.
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
				b := &background{started: true, epoch: time.Now(), stopping: make(chan struct{})}
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
				err := b.drain(t.Context())
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%d %s", 1000-tt.answers, tt.want)) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				b.wait.Wait()
			})
		})
	}
}

// Requests that fail are counted, and end neither the background nor the load.
func TestBackgroundOutlivesItsServer(t *testing.T) {
	ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
		b := opened(t, e, results.BackgroundLoad{Reads: 200, Writes: 200, Sessions: 2}, 100*time.Millisecond)
		if err := b.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.enter(windowStretch)
		if err := e.Server.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		b.leave()
		if err := b.drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.close()
		got, err := b.report()
		if err != nil {
			t.Fatal(err)
		}
		if w := got.During.Write; w.Failed == 0 || w.Due != w.Failed+w.Response.All() {
			t.Errorf("of %d writes, %d failed and %d were answered", w.Due, w.Failed, w.Response.All())
		}
	})
}

func TestKeepsUp(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after backgroundProgress
		want          bool
	}{
		{"all answered", backgroundProgress{}, backgroundProgress{due: [kinds]int64{100, 10}, done: [kinds]int64{100, 10}}, true},
		{"one of 200 under way", backgroundProgress{}, backgroundProgress{due: [kinds]int64{200}, done: [kinds]int64{199}}, true},
		{"too slow", backgroundProgress{}, backgroundProgress{due: [kinds]int64{100}, done: [kinds]int64{98}}, false},
		{"a backlog that shrinks", backgroundProgress{due: [kinds]int64{100}, done: [kinds]int64{50}},
			backgroundProgress{due: [kinds]int64{200}, done: [kinds]int64{151}}, true},
		{"a backlog that grows", backgroundProgress{due: [kinds]int64{100}, done: [kinds]int64{50}},
			backgroundProgress{due: [kinds]int64{200}, done: [kinds]int64{148}}, false},
		{"writes too slow beside many reads", backgroundProgress{}, backgroundProgress{due: [kinds]int64{10_000, 10}, done: [kinds]int64{10_000, 5}}, false},
	} {
		if got := tt.after.keepsUp(tt.before); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// The number of requests that are due is that of the moments in the schedule.
func TestDueRequests(t *testing.T) {
	for _, rate := range []int{1, 3, 333, 1000} {
		b := &background{}
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

// The oracle contains the background's writes: without one of them, it does not agree.
func TestOracleCountsTheBackground(t *testing.T) {
	begin, end := snapshot{leader: 1, zxid: 100}, snapshot{leader: 1, zxid: 107}
	end.client.Requests[wire.OpCreate] = 2
	end.background.Requests[wire.OpSetData] = 5
	end.background.Requests[wire.OpGetData] = 9
	if o := crossCheck(true, begin, end); !o.Checked || !o.Agrees() || o.ClientWrites != 2 || o.BackgroundWrites != 5 {
		t.Errorf("got %+v", o)
	}
	end.background.Requests[wire.OpSetData] = 4
	if o := crossCheck(true, begin, end); o.Agrees() {
		t.Errorf("agrees without a write: %+v", o)
	}
}
