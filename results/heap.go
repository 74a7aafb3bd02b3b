package results

import "slices"

// Heap is what lining up has left in the servers' heaps.
type Heap struct {
	Why string `json:"why,omitempty"` // it was not measured
	// Bytes in use on all servers together, after each of several full collections: at rest before anybody started, and
	// again when all had lined up.
	Before []int64 `json:"before_bytes,omitempty"`
	After  []int64 `json:"after_bytes,omitempty"`
	// Watches that the servers had more then, by their own count.
	Watches int64 `json:"watches"`
}

// heapPrecision is how many times larger than its uncertainty a growth must be to be told.
const heapPrecision = 5

// heapDrift is what three servers, although at rest, may hold more from one weighing to the next without any watch: 10 to
// 30 KB was seen on ZooKeeper 3.8.0 beyond what 10 to 1,000 watches take, and is in no spread of readings.
const heapDrift = 32 << 10

// Growth returns by how much the heaps have grown, and how far that may be off. What comes and goes, such as buffers of
// requests under way, can only add to a reading, so that the smallest is the nearest to what stays.
func (h Heap) Growth() (bytes, uncertainty int64) {
	if len(h.Before) == 0 || len(h.After) == 0 {
		return 0, 0
	}
	spread := func(readings []int64) int64 { return slices.Max(readings) - slices.Min(readings) }
	return slices.Min(h.After) - slices.Min(h.Before), max(spread(h.Before), spread(h.After), heapDrift)
}

// PerWatch returns the growth per watch; ok is false where it was not measured, or drowns in the noise.
func (h Heap) PerWatch() (bytes float64, ok bool) {
	growth, uncertainty := h.Growth()
	if h.Watches < 1 || growth <= 0 || growth < heapPrecision*uncertainty {
		return 0, false
	}
	return float64(growth) / float64(h.Watches), true
}
