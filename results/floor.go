package results

import (
	"fmt"
	"slices"
	"strings"
)

// Floor is what single operations took on the otherwise idle ensemble just before and just after the load. A recipe is
// made of these operations, so that its times in multiples of theirs depend less on the machine and on the moment.
type Floor struct {
	Why string `json:"why,omitempty"` // it was not measured
	// Latencies by operation: FloorRead, FloorWrite and FloorHandoff.
	Before map[string]Histogram `json:"before,omitempty"`
	After  map[string]Histogram `json:"after,omitempty"`
	// Phases names, for each phase of the recipe that has one, the operation that it cannot do without.
	Phases map[string]string `json:"phases,omitempty"`
}

// The operations of a floor.
const (
	FloorRead    = "read"
	FloorWrite   = "write"
	FloorHandoff = "handoff" // from just before one session sends a write until another one is notified of it
)

// floorOperations lists them, the cheapest first.
func floorOperations() []string { return []string{FloorRead, FloorWrite, FloorHandoff} }

// floorPrefix begins the names of the floor's own metrics, and floorSuffix ends those of multiples of it.
const (
	floorPrefix = "floor-"
	floorSuffix = "/floor"
)

// FloorMetric returns the name of the metric that holds the median of an operation of the floor.
func FloorMetric(operation string) string { return floorPrefix + operation + "-p50-ns" }

// IsFloor reports whether a metric describes the ensemble at the moment of a measurement, and not the variant.
func IsFloor(metric string) bool { return strings.HasPrefix(metric, floorPrefix) }

// FloorMultiple returns the name of the metric that holds a phase's median in multiples of its floor.
func FloorMultiple(phase string) string { return phase + "-p50" + floorSuffix }

// TimeOfMultiple returns the metric that a multiple of the floor is a multiple of, such as handoff-p50-ns of
// handoff-p50/floor; ok is false for every other metric.
func TimeOfMultiple(metric string) (time string, ok bool) {
	name, ok := strings.CutSuffix(metric, floorSuffix)
	return name + "-ns", ok
}

// IsFloorMultiple reports whether a metric is a time in multiples of the floor.
func IsFloorMultiple(metric string) bool {
	_, ok := TimeOfMultiple(metric)
	return ok
}

// addFloor adds the floor's medians to the metrics, and multiples of them for the phases that have a median there.
func (d *Document) addFloor(metrics map[string]Metric) error {
	if d.Floor == nil {
		return nil
	}
	for _, operation := range floorOperations() {
		before, after, err := d.Floor.medians(operation)
		if err != nil {
			return err
		}
		if before > 0 && after > 0 {
			metrics[FloorMetric(operation)] = Metric{(before + after) / 2, "ns"}
		}
	}
	for phase, operation := range d.Floor.Phases {
		median, timed := metrics[phase+"-p50-ns"]
		if floor, measured := metrics[FloorMetric(operation)]; timed && measured {
			metrics[FloorMultiple(phase)] = Metric{median.Value / floor.Value, "x floor"}
		}
	}
	return nil
}

// medians returns an operation's median before and after the load; zero where it was not measured.
//
// Note: the metric is the mean of the two, and not the median of all samples together: a half in which the ensemble was
// slow has fewer of them, and would count for less.
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

// floorMoveMark is the factor between the two halves of a floor beyond which they are not taken for the same machine.
// On a quiet one they differ by less than 1.3; where a measurement itself doubles, no comparison with another is safe.
const floorMoveMark = 2

// Moved returns by how much the floor changed from before the load to after it; empty if by less than a factor of two, or
// if it was not measured. Reads are left out: they wait for neither a disk nor a quorum.
func (f *Floor) Moved() string {
	for _, operation := range []string{FloorHandoff, FloorWrite} {
		before, after, err := f.medians(operation)
		if err == nil && min(before, after) > 0 && max(before, after) > floorMoveMark*min(before, after) {
			return fmt.Sprintf("one %s on the idle ensemble took %s before the load and %s after it", operation, latency(before), latency(after))
		}
	}
	return ""
}

// spreadMark is the factor between the extremes of a floor over a table's measurements from which on they are shown.
const spreadMark = 1.5

// floorLine describes the floor of a table's measurements, such as "write 1.10 ms, handoff 1.30 ms (1.10 ms to 3.40 ms)";
// empty if none has one.
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

// floorOf returns the median of the rows' floors, with their extremes where these are far apart.
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
		return latency(median(medians))
	}
	return fmt.Sprintf("%s (%s to %s)", latency(median(medians)), latency(least), latency(most))
}
