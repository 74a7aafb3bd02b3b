package results

import "slices"

// Heap holds the use of the servers' heaps before and after all clients line up.
type Heap struct {
	Why string `json:"why,omitempty"` // the reason if it was not measured
	// Before and After are readings at rest: bytes in use on all servers together, each after a full collection.
	Before []int64 `json:"before_bytes,omitempty"`
	After  []int64 `json:"after_bytes,omitempty"`
	// Watches is the number of watches that were added in between, by the servers' own counts.
	Watches int64 `json:"watches"`
}

// heapPrecision is the smallest ratio of a growth to its uncertainty for which the growth per watch is a metric.
const heapPrecision = 5

// heapDrift is how much three servers at rest may grow between two readings without any watch. On ZooKeeper 3.8.0, 10 to 30 KB
// were observed, more than the readings of one moment vary.
const heapDrift = 32 << 10

// Growth returns the growth of the heaps and its uncertainty. Temporary objects, such as the buffers of requests, can only
// add to a reading, so that the smallest reading is the best one.
func (h *Heap) Growth() (bytes, uncertainty int64) {
	if len(h.Before) == 0 || len(h.After) == 0 {
		return 0, 0
	}
	spread := func(readings []int64) int64 { return slices.Max(readings) - slices.Min(readings) }
	return slices.Min(h.After) - slices.Min(h.Before), max(spread(h.Before), spread(h.After), heapDrift)
}

// PerWatch returns the growth per watch; ok is false if it was not measured, or is too small for its uncertainty.
func (h *Heap) PerWatch() (bytes float64, ok bool) {
	if h == nil {
		return 0, false
	}
	growth, uncertainty := h.Growth()
	if h.Watches < 1 || growth <= 0 || growth < heapPrecision*uncertainty {
		return 0, false
	}
	return float64(growth) / float64(h.Watches), true
}
