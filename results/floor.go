package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/paired"
	"github.com/zkbench/zkbench/results/table"
)

// Floor holds the latencies of single operations on the otherwise idle ensemble, just before and just after the load.
// Recipes consist of these operations. A recipe's time in multiples of its floor depends less on the machine than the time.
type Floor struct {
	Why string `json:"why,omitempty"` // the reason if it was not measured
	// Before and After have a histogram for each operation: FloorRead, FloorWrite and FloorHandoff.
	Before map[string]Histogram `json:"before,omitempty"`
	After  map[string]Histogram `json:"after,omitempty"`
	// Phases names the operation that a phase of the recipe contains at least. Some phases have none.
	Phases map[string]string `json:"phases,omitempty"`
}

// The operations of a floor.
const (
	FloorRead    = "read"
	FloorWrite   = "write"
	FloorHandoff = "handoff" // from just before one session sends a write until another session is notified of it
)

// floorOperations returns the operations of a floor, the fastest first.
func floorOperations() []string { return []string{FloorRead, FloorWrite, FloorHandoff} }

// addFloor adds the floor's medians to the metrics, and the multiples for the phases whose medians are among the metrics.
func (d *Document) addFloor(metrics values) error {
	if d.Floor == nil {
		return nil
	}
	for _, operation := range floorOperations() {
		before, after, err := d.Floor.medians(operation)
		if err != nil {
			return err
		}
		if before > 0 && after > 0 {
			metrics.set(FloorMetric(operation), (before+after)/2)
		}
	}
	for phase, operation := range d.Floor.Phases {
		median, timed := metrics[Quantile(phase, 50)]
		if floor, measured := metrics[FloorMetric(operation)]; timed && measured {
			metrics.set(FloorMultiple(phase), median.Value/floor.Value)
		}
	}
	return nil
}

// medians returns an operation's median before and after the load; zero if it was not measured.
//
// Note: the metric is the mean of the two medians, because a half in which the ensemble is slow has fewer samples, and
// would have less weight in the median of all samples.
func (f *Floor) medians(operation string) (before, after float64, err error) {
	var out [2]float64
	for i, half := range []map[string]Histogram{f.Before, f.After} {
		h, err := half[operation].Decode()
		if err != nil {
			return 0, 0, fmt.Errorf("floor, %s: %w", operation, err)
		}
		out[i] = float64(h.ValueAtPercentile(50))
	}
	return out[0], out[1], nil
}

// floorMoveMark is the ratio between the two halves of a floor beyond which the machine is considered to have changed.
// On a quiet machine the ratio is below 1.3.
const floorMoveMark = 2

// Moved describes a change of the floor by more than a factor of two from before the load to after it; empty without such
// a change, and if the floor was not measured. It ignores reads, which wait for neither a disk nor a quorum.
func (f *Floor) Moved() string {
	for _, operation := range []string{FloorHandoff, FloorWrite} {
		before, after, err := f.medians(operation)
		if err == nil && min(before, after) > 0 && max(before, after) > floorMoveMark*min(before, after) {
			return fmt.Sprintf("one %s on the idle ensemble took %s before the load and %s after it", operation, table.Latency(before), table.Latency(after))
		}
	}
	return ""
}

// spreadMark is the ratio between the extremes of a table's floors beyond which the table shows the extremes.
const spreadMark = 1.5

// floorLine describes the floor of a table's measurements, such as "floor, on the idle ensemble: write 1.10 ms, handoff
// 1.30 ms (1.10 ms to 3.40 ms)"; empty if no measurement has a floor.
func floorLine(rows []Row) string {
	var parts []string
	for _, operation := range floorOperations() {
		if text := floorOf(rows, FloorMetric(operation)); text != "" {
			parts = append(parts, operation+" "+text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "floor, on the idle ensemble: " + strings.Join(parts, ", ")
}

// floorOf returns the median of the rows' floors, with the extremes if these are far apart.
func floorOf(rows []Row, metric string) string {
	var medians, all []float64
	for _, r := range rows {
		if m, measured := r.Metrics[metric]; measured {
			medians = append(medians, m.Value)
			all = append(all, m.Min, m.Max)
		}
	}
	if len(medians) == 0 {
		return ""
	}
	slices.Sort(medians)
	least, most := slices.Min(all), slices.Max(all)
	if most <= spreadMark*least {
		return table.Latency(paired.Median(medians))
	}
	return fmt.Sprintf("%s (%s to %s)", table.Latency(paired.Median(medians)), table.Latency(least), table.Latency(most))
}
