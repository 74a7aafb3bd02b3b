package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/list"
)

// Worker is a process that had some of the clients of a measurement, on a machine with a clock of its own.
type Worker struct {
	Host    string `json:"host"`
	Zone    string `json:"zone,omitempty"`
	CPUs    int    `json:"cpus"`
	Clients int    `json:"clients"`
	// ClockBound is the largest error of the worker's times after they were converted to the measurement's clock.
	ClockBound time.Duration `json:"clock_bound_ns"`
	Began      time.Duration `json:"began_ns"` // how much later than planned it began the load; negative for earlier
	Memory     int64         `json:"memory_bytes"`
	Health     Health        `json:"health"`
	Floor      *Floor        `json:"floor,omitempty"` // nil if it was not measured from this worker
}

// Across has what the histogram of a phase does not: it contains spans that begin on one worker's clock and end on another's, with
// the errors of both, and counts the negative ones as zero. The errors cancel out in the sum of handoffs from client to client.
type Across struct {
	Spans  int64         `json:"spans"`  // between two workers
	Sum    time.Duration `json:"sum_ns"` // of all spans of the phase, negative ones included
	Within Histogram     `json:"within"` // of the spans within a worker
}

// ClockError returns how wrong a time between two workers can be, which is the sum of the two largest bounds.
func (d *Document) ClockError() float64 {
	bounds := append(list.Map(d.Workers, func(w Worker) time.Duration { return w.ClockBound }), 0, 0)
	slices.Sort(bounds)
	return float64(list.Sum(bounds[len(bounds)-2:]))
}

// Zones returns how many workers are in each zone, such as "2 in a, 1 in b"; only their number if they have no zones.
func Zones(workers []Worker) string {
	in := map[string]int{}
	for _, w := range workers {
		in[cmp.Or(w.Zone, "no zone")]++
	}
	if in["no zone"] == len(workers) {
		return fmt.Sprint(len(workers))
	}
	parts := list.Map(slices.Sorted(maps.Keys(in)), func(zone string) string { return fmt.Sprintf("%d in %s", in[zone], zone) })
	return strings.Join(parts, ", ")
}

// MergeHealth returns the health of a measurement from that of each worker: the sum of counts, and the worst of shares and delays.
func MergeHealth(each []Health) (all Health) {
	all.MachineCPU = -1
	for _, h := range each {
		all.ClientCPU = max(all.ClientCPU, h.ClientCPU)
		all.MachineCPU = max(all.MachineCPU, h.MachineCPU)
		all.SchedulerP99 = max(all.SchedulerP99, h.SchedulerP99)
		all.GCPauseMax = max(all.GCPauseMax, h.GCPauseMax)
		all.LatenessP99 = max(all.LatenessP99, h.LatenessP99)
		all.Throttled += h.Throttled
		all.Reconnects += h.Reconnects
		all.SessionsLost += h.SessionsLost
		all.BystanderErrors += h.BystanderErrors
		all.UnmatchedReplies += h.UnmatchedReplies
		all.LeaderChanged = all.LeaderChanged || h.LeaderChanged
		all.StoodStill = append(all.StoodStill, h.StoodStill...)
	}
	slices.SortStableFunc(all.StoodStill, func(a, b Standstill) int { return cmp.Compare(a.Start, b.Start) })
	return all
}
