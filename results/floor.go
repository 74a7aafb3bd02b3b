package results

import "time"

// Floor holds the latencies of single operations on the otherwise idle ensemble, just before and just after the load.
// Recipes consist of these operations. A recipe's time in multiples of its floor depends less on the machine than the time.
type Floor struct {
	Why string `json:"why,omitempty"` // the reason if it was not measured
	// Before and After have a histogram for each operation: FloorRead, FloorWrite and FloorHandoff.
	Before map[string]Histogram `json:"before,omitempty"`
	After  map[string]Histogram `json:"after,omitempty"`
	// Pairs says between which servers writes and notifications went. It is empty if there was no time for all pairs, and in old documents,
	// whose rounds went from one server to the next without a pause.
	Pairs string        `json:"pairs,omitempty"`
	Pause time.Duration `json:"pause_ns,omitempty"` // before each write
	// Phases names the operation that a phase of the recipe contains at least. Some phases have none.
	Phases map[string]string `json:"phases,omitempty"`
}

// The operations of a floor.
const (
	FloorRead    = "read"
	FloorWrite   = "write"
	FloorHandoff = "handoff" // from just before one session sends a write until another session is notified of it
)

// FloorAllPairs is the value of Pairs if each server wrote for each server, also for itself.
const FloorAllPairs = "all"

// Medians returns an operation's median before and after the load; zero if it was not measured.
//
// Note: the metric is the mean of the two medians, because a half in which the ensemble is slow has fewer samples, and
// would have less weight in the median of all samples.
func (f *Floor) Medians(operation string) (before, after float64) {
	median := func(half map[string]Histogram) float64 {
		return float64(half[operation].Decode().ValueAtPercentile(50))
	}
	return median(f.Before), median(f.After)
}
