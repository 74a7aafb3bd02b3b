package metric

import (
	"github.com/zkbench/zkbench/results"
)

// addFloor adds the floor's medians to the metrics, and the multiples for the phases whose medians are among the metrics.
func addFloor(d *results.Document, metrics values) error {
	if d.Floor == nil {
		return nil
	}
	for _, operation := range FloorOperations() {
		before, after, err := d.Floor.Medians(operation)
		if err != nil {
			return err
		}
		if before > 0 && after > 0 {
			metrics.set(Floor(operation), (before+after)/2)
		}
	}
	for phase, operation := range d.Floor.Phases {
		median, timed := metrics[Quantile(phase, 50)]
		if floor, measured := metrics[Floor(operation)]; timed && measured {
			metrics.set(FloorMultiple(phase), median.Value/floor.Value)
		}
	}
	return nil
}
