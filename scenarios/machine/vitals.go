package machine

import (
	"math"
	"os"
	"path"
	"runtime"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"

	"github.com/zkbench/zkbench/results"
)

// Vitals is a snapshot of the load of the process and its machine.
type Vitals struct {
	at        time.Time
	client    time.Duration // CPU time of this process
	busy      float64       // CPU seconds of the machine that were not idle
	total     float64
	throttled int64
	scheduler *metrics.Float64Histogram
	gc        *metrics.Float64Histogram
}

// TakeVitals reads the vitals. Values that the system does not provide stay zero.
func TakeVitals() Vitals {
	v := Vitals{at: time.Now(), client: cpuTime(), throttled: throttledPeriods()}
	if times, err := cpu.Times(false); err == nil && len(times) == 1 {
		t := times[0]
		v.total = t.User + t.Nice + t.System + t.Irq + t.Softirq + t.Steal + t.Idle + t.Iowait
		v.busy = v.total - t.Idle - t.Iowait
	}
	samples := []metrics.Sample{{Name: "/sched/latencies:seconds"}, {Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(samples)
	v.scheduler, v.gc = samples[0].Value.Float64Histogram(), samples[1].Value.Float64Histogram()
	return v
}

// throttledPeriods returns how often the control group used up its share of CPU; 0 without a limit.
func throttledPeriods() int64 {
	group, _ := os.ReadFile("/proc/self/cgroup") // empty on other systems than Linux
	// Version 2 of control groups has a single line.
	_, dir, _ := strings.Cut(strings.TrimSpace(string(group)), "0::/")
	return int64(statistic(os.DirFS(groupRoot), path.Join(dir, "cpu.stat"), "nr_throttled")) //nolint:gosec // far below the largest number
}

// Since summarizes what happened between an earlier snapshot and this one.
func (v Vitals) Since(before Vitals) results.Health {
	elapsed := max(v.at.Sub(before.at), 1) // virtual time may have stood still
	h := results.Health{
		ClientCPU:    (v.client - before.client).Seconds() / elapsed.Seconds() / float64(runtime.NumCPU()),
		MachineCPU:   -1,
		SchedulerP99: histogramQuantile(before.scheduler, v.scheduler, 0.99),
		GCPauseMax:   histogramQuantile(before.gc, v.gc, 1),
		Throttled:    v.throttled - before.throttled,
	}
	if total := v.total - before.total; total > 0 {
		h.MachineCPU = (v.busy - before.busy) / total
	}
	return h
}

// histogramQuantile returns a quantile of the values that were added between two readings of a runtime histogram: the upper
// bound of its bucket, or the lower bound if the upper one is infinite.
func histogramQuantile(before, after *metrics.Float64Histogram, q float64) time.Duration {
	var total, seen uint64
	for i := range after.Counts {
		total += after.Counts[i] - before.Counts[i]
	}
	if total == 0 {
		return 0
	}
	for i := range after.Counts {
		seen += after.Counts[i] - before.Counts[i]
		if float64(seen) >= q*float64(total) {
			bound := after.Buckets[i+1]
			if math.IsInf(bound, 1) {
				bound = after.Buckets[i]
			}
			return time.Duration(bound * float64(time.Second))
		}
	}
	return 0
}
