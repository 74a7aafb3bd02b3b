package runner_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// openLoad returns an open load of reads, of which the embedded server serves thousands in a second.
func openLoad(clients int, rate results.Rate, d time.Duration) scenarios.Scenario {
	s := closedOf("configread", clients, "read-through")
	s.Mode, s.Arrivals, s.Rate, s.Duration = scenarios.Open, scenarios.Constant, []results.Rate{rate}, d
	return s
}

// countOver returns how many of the times in a histogram are longer than a limit.
func countOver(h results.Histogram, limit time.Duration) int64 {
	var n int64
	for _, bar := range h.Decode().Distribution() {
		if bar.From > int64(limit) {
			n += bar.Count
		}
	}
	return n
}

// stallOnce makes the embedded server stand still for a second once, some time after the first operation. wait returns when it is over.
func stallOnce(e *embedded.Ensemble, v *variants.Variant, after time.Duration) (wait func()) {
	var first sync.Once
	done := make(chan struct{})
	surround(v, func(_ variants.Env, p variants.Participant) variants.Participant {
		return &interrupted{Participant: p, before: func(context.Context, int) error {
			first.Do(func() {
				go func() {
					defer close(done)
					time.Sleep(after)
					e.Fail(ensemble.Pause)
					time.Sleep(time.Second)
					e.Recover()
				}()
			})
			return nil
		}}
	})
	return func() { <-done }
}

// A server that stands still for one of ten seconds delays a tenth of the arrivals of an open load, and the first of them by the whole
// second. Of a closed load, it delays one operation of each client, which no percentile shows.
//
// The arrivals of half a second are delayed by more than half a second. TestStallDelaysTheRightShare checks the share for a load whose
// clients are nearly busy.
func TestCoordinatedOmission(t *testing.T) {
	t.Parallel()
	for _, mode := range []results.Mode{scenarios.Open, scenarios.Closed} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, e *embedded.Ensemble) { checkStall(t, e, mode) })
		})
	}
}

func checkStall(t *testing.T, e *embedded.Ensemble, mode results.Mode) {
	t.Helper()
	const clients, rate, length, limit = 4, 20, 10 * time.Second, 500 * time.Millisecond
	s := openLoad(clients, rate, length)
	if mode == scenarios.Closed {
		s.Mode, s.Rate, s.Arrivals, s.Think = mode, nil, "", time.Second*clients/rate
	}
	var wait func()
	recipes := sabotageOf("configread", "read-through", func(v *variants.Variant) { wait = stallOnce(e, v, 4*time.Second) })
	d := mustMeasure(t, e, s, recipes)[0]
	wait()
	if d.Scenario.Mode != mode {
		t.Errorf("the document says mode %q", d.Scenario.Mode)
	}
	if mode == scenarios.Closed {
		if n := countOver(d.Histograms[d.Operation], limit); n > clients {
			t.Errorf("%d of %d operations took over %s, want one of each client", n, d.Window.Operations, limit)
		}
		if _, has := d.Metrics["response-max-ns"]; has {
			t.Error("a closed load has response times")
		}
		return
	}
	got, want := countOver(d.Histograms[results.ResponsePhase], limit), int64((time.Second-limit).Seconds()*rate)
	if got < want-1 || got > want+1 {
		t.Errorf("%d of %d arrivals took over %s, want %d", got, d.Open.Arrivals, limit, want)
	}
	if most := maxOf(d.Histograms[results.ResponsePhase]); most < time.Second-time.Second/rate {
		t.Errorf("the longest response time is %s, although the server stood still for 1s", most)
	}
}

func maxOf(h results.Histogram) time.Duration { return time.Duration(h.Decode().Max()) }

// Every arrival is served exactly once, by a fast or a slow server.
func TestOpenLoadServesEveryArrival(t *testing.T) {
	t.Parallel()
	for _, arrivals := range []string{scenarios.Constant, scenarios.Poisson} {
		t.Run(arrivals, func(t *testing.T) {
			t.Parallel()
			s := openLoad(8, 100, 2*time.Second)
			s.Arrivals, s.WarmUp = arrivals, 300*time.Millisecond
			d := measureInBubble(t, s, catalog.Recipes())[0]
			if d.Open == nil || d.BeyondCapacity() || d.Open.Served != d.Open.Arrivals {
				t.Fatalf("open is %+v", d.Open)
			}
			want := float64(d.Rate) * d.Window.Length().Seconds()
			if n := float64(d.Open.Arrivals); arrivals == scenarios.Constant && (n < want-1 || n > want+1) {
				t.Errorf("%g arrivals in %s at %s/s", n, d.Window.Length(), d.Rate)
			}
			if d.Scenario.Arrivals != arrivals || len(d.Invalid) > 0 {
				t.Errorf("the document says %q arrivals, invalid %q", d.Scenario.Arrivals, d.Invalid)
			}
		})
	}
}

// At 6/min, the first arrival is due after 10 s, and the sixth after a minute, just before the window closes. So six operations begin in
// a minute, and one in 11 s.
func TestRateBelowOnePerSecond(t *testing.T) {
	t.Parallel()
	for length, want := range map[time.Duration]int64{time.Minute: 6, 11 * time.Second: 1, 119 * time.Second: 11} {
		t.Run(length.String(), func(t *testing.T) {
			t.Parallel()
			s := openLoad(4, 6.0/60, length)
			s.Recipe, s.Variants = "lock", []string{"znode"} // every client's step is an operation: any one may serve the only arrival
			d := measureInBubble(t, s, catalog.Recipes())[0]
			if d.Open.Arrivals != want || d.Open.Served != want || d.BeyondCapacity() || len(d.Invalid) > 0 {
				t.Errorf("%+v in %s, want %d arrivals; invalid: %q", d.Open, length, want, d.Invalid)
			}
			if d.Load() != "4 clients at 6/min" || !strings.HasSuffix(d.Filename(), "_n4-rate6-per-min_r1.json") {
				t.Errorf("the load is %q, and the file %s", d.Load(), d.Filename())
			}
		})
	}
}

// A load beyond the capacity is reported as such, and has no response times: each write takes a hundredth of a second, and the rate is
// twice as high.
func TestLoadBeyondCapacityHasNoResponseTimes(t *testing.T) {
	t.Parallel()
	bubbleOn(t, embedded.Config{WriteDelay: 10 * time.Millisecond}, func(t *testing.T, e *embedded.Ensemble) {
		s := openLoad(4, 200, 2*time.Second)
		s.Recipe, s.Variants = "enqueue", []string{"consumable-flag"}
		d := mustMeasure(t, e, s, catalog.Recipes())[0]
		if !d.BeyondCapacity() || d.Open.Served >= d.Open.Arrivals || d.Open.BacklogMax == 0 {
			t.Errorf("open is %+v", d.Open)
		}
		if got, has := d.Metrics["response-p99-ns"]; has {
			t.Errorf("response-p99-ns is %v of a load beyond the capacity", got)
		}
		if offered, achieved := d.Metrics[metric.OfferedPerSecond].Value, d.Metrics[metric.AchievedPerSecond].Value; achieved > offered*0.9 {
			t.Errorf("%g/s of %g/s were achieved", achieved, offered)
		}
	})
}

// A client that stops dead while it holds serves its arrival when it has joined again, and the arrival has waited for that.
func TestOpenLoadWithFaults(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second
	config := paced
	config.Tick = timeout / 2
	bubbleOn(t, config, func(t *testing.T, e *embedded.Ensemble) {
		s := openLoad(4, 20, 3*timeout)
		s.Recipe, s.Variants, s.SessionTimeout = "lock", []string{"predecessor-watch"}, timeout
		s.Faults = schedule(t, "stop: holder, at: 1s")
		d := mustMeasure(t, e, s, catalog.Recipes())[0]
		if len(d.Violations) > 0 || d.BeyondCapacity() || d.Open.Served != d.Open.Arrivals {
			t.Errorf("%d of %d arrivals were served, with violations %v", d.Open.Served, d.Open.Arrivals, d.Violations)
		}
		if most := maxOf(d.Histograms[results.ResponsePhase]); most < timeout {
			t.Errorf("response-max is %s, although a client stopped dead and its session lasts for %s", most, timeout)
		}
	})
}

// Each stage has the arrivals of its rate, and the numbers of the stages add up to the numbers of the document.
func TestOpenLoadInStages(t *testing.T) {
	t.Parallel()
	s := openLoad(8, 0, 0)
	s.WarmUp = 300 * time.Millisecond
	s.Rate, s.Stages = nil, []results.StageLoad{
		{For: time.Second, Rate: 10}, {For: 2 * time.Second, Rate: 40, Ramp: true}, {For: time.Second, Rate: 20},
	}
	s.Complete()
	d := measureInBubble(t, s, catalog.Recipes())[0]
	if d.BeyondCapacity() || d.Rate != 40 {
		t.Fatalf("rate %s, beyond the capacity %t", d.Rate, d.BeyondCapacity())
	}
	for i, want := range []int64{10, 50, 20} {
		if got := d.Stages[i].Latency.All(); got < want-1 || got > want+1 {
			t.Errorf("stage %d has %d arrivals, want %d", i+1, got, want)
		}
	}
}

// In a stage of one client, no client waits for another one. When further clients join, clients wait, and when these pause, no client
// waits any more.
func TestClosedLoadInStages(t *testing.T) {
	t.Parallel()
	s := closedOf("lock", 6, "predecessor-watch")
	s.Hold, s.Clients = time.Millisecond, nil // the stages say how many
	s.Stages = []results.StageLoad{
		{For: 500 * time.Millisecond, Clients: 1}, {For: 1500 * time.Millisecond, Clients: 6}, {For: time.Second, Clients: 1},
	}
	s.Complete()
	d := measureInBubble(t, s, catalog.Recipes())[0]
	if d.Clients != 6 || len(d.Stages) != 3 {
		t.Fatalf("%d clients and %d stages, want 6 and 3", d.Clients, len(d.Stages))
	}
	alone, together, after := d.Stages[0], d.Stages[1], d.Stages[2]
	if alone.Notifications > 0 || together.Notifications == 0 {
		t.Errorf("%d notifications of one client and %d of six", alone.Notifications, together.Notifications)
	}
	// Each of the five finishes its step, for which it is notified once and for which the sixth client waits at most once. The sixth
	// client may be waiting already.
	if after.Notifications > 2*5+1 || after.Operations < 1 {
		t.Errorf("%d notifications and %d operations after five of six clients were to pause", after.Notifications, after.Operations)
	}
}

// A client that stands in line between steps does not where stages say when a step is due: it pays for two writes, to which its formulas
// do not apply.
func TestStagesOfClientsThatStandInLine(t *testing.T) {
	t.Parallel()
	s := closedOf("lock", 3, "relay")
	s.Hold, s.Clients = time.Millisecond, nil
	s.Stages = []results.StageLoad{{For: time.Second, Clients: 3}, {For: time.Second, Clients: 1}}
	s.Complete()
	d := measureInBubble(t, s, catalog.Recipes())[0]
	if got := d.Metrics[metric.WritesPerOp].Value; got < 1.5 || len(d.Expected.Costs) > 0 {
		t.Errorf("%g writes per operation, and the formulas %v", got, d.Expected.Costs)
	}
}

// The threads of a client that stand in line between steps do so together.
func TestThreadsStandInLine(t *testing.T) {
	t.Parallel()
	s := closedOf("lock", 3, "relay")
	s.Size, s.Operations, s.Hold, s.WarmUp, s.Duration = 2, 3, time.Millisecond, 0, 0
	d := measureInBubble(t, s, catalog.Recipes())[0]
	if got := d.Metrics[metric.WritesPerOp].Value; got != 1 || d.Window.Operations != 3*2*3 {
		t.Errorf("%g writes for each of %d operations, want 1 for each of 18", got, d.Window.Operations)
	}
}
