package doubts

import (
	"math"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

// The test for a trend compares the means of this many blocks of the window, in the order of time.
//
// Note: neighboring bins of a series are alike because a disk, a garbage collector or another process disturbs several of them. A test over
// hundreds of bins would count each as evidence. Twelve blocks are each longer than most disturbances, and enough for a strict test.
const trendBlocks = 12

// shortestTrend is the shortest window in which trends are looked for. In a shorter one, a block is shorter than a disturbance.
const shortestTrend = 30 * time.Second

// trendDeviations is how many standard deviations the Mann-Kendall statistic must be above its mean without a trend. One window
// in 200 exceeds it by chance, and few of these also rise enough for a warning.
const trendDeviations = 2.58

// Rises from the first third of the window to the last that are large enough for a warning.
const (
	latencyRise     = 1.1
	memoryRise      = 1.2
	memoryRiseBytes = 64 << 20
)

// trend is a value over the blocks of a window; nil if it is unknown in one of them.
type trend []float64

// blocks returns a trend of the window's whole bins. value returns the value of some consecutive bins.
func blocks(d *results.Document, value func(first, end int) (v float64, known bool)) trend {
	s := d.Series
	first := int((d.Window.Start - s.Start + s.Bin - 1) / s.Bin)
	bins := min(int((d.Window.End-s.Start)/s.Bin), len(s.Operations)) - first
	if first < 0 || bins < trendBlocks {
		return nil
	}
	var out trend
	for i := range trendBlocks {
		v, known := value(first+i*bins/trendBlocks, first+(i+1)*bins/trendBlocks)
		if !known {
			return nil
		}
		out = append(out, v)
	}
	return out
}

func (t trend) third(i int) float64 {
	part := t[i*len(t)/3 : (i+1)*len(t)/3]
	return list.Sum(part) / float64(len(part))
}

// rises reports whether the values rise from third to third, and later blocks exceed earlier ones more often than by chance: the
// one-sided test of Mann and Kendall, which does not depend on how values are distributed.
func (t trend) rises() bool {
	var rises int
	for i := range t {
		for _, later := range t[i+1:] {
			switch {
			case later > t[i]:
				rises++
			case later < t[i]:
				rises--
			}
		}
	}
	n := float64(len(t))
	deviation := math.Sqrt(n * (n - 1) * (2*n + 5) / 18)
	return len(t) > 0 && float64(rises-1) > trendDeviations*deviation && t.third(0) < t.third(1) && t.third(1) < t.third(2)
}

// addTrends reports that latencies or the memory of zkbench rise during the whole window. It skips loads with faults or
// stages, and those whose pace zkbench sets, because they are expected to change.
func (r *reasons) addTrends(d *results.Document) {
	if d.Series == nil || d.Window.Length() < shortestTrend || d.Lockstep() || d.Scenario.Faulty() || d.IsStaged() {
		return
	}
	s := d.Series
	latency := blocks(d, func(first, end int) (float64, bool) { // the mean duration of the first phase
		samples := list.Sum(s.Samples[first:end])
		return float64(list.Sum(s.Time[first:end])) / float64(max(samples, 1)), samples > 0
	})
	memory := blocks(d, func(first, end int) (float64, bool) { // the largest resident size
		most := list.Largest(s.Memory[first:end])
		return float64(most), most > 0
	})
	r.add(latency.rises() && latency.third(2) >= latencyRise*latency.third(0),
		"latency rises steadily: %s takes %s on average in the first third of the window and %s in the last: "+
			"the numbers depend on how long the load lasts",
		d.FirstPhase(), table.Latency(latency.third(0)), table.Latency(latency.third(2)))
	r.add(memory.rises() && memory.third(2) >= memoryRise*memory.third(0) && memory.third(2)-memory.third(0) >= memoryRiseBytes,
		"the memory of zkbench rises steadily: %s in the first third of the window and %s in the last: a longer load takes more",
		table.Bytes(memory.third(0)), table.Bytes(memory.third(2)))
}
