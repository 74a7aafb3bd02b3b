package results

import "time"

// FirstBin is the width of the bins before it is doubled.
const FirstBin = 100 * time.Millisecond

// Series counts events over time, from the start of the measurement to its end, warm-up included. Each list has one entry for each bin.
type Series struct {
	Start         time.Duration   `json:"start_ns"` // of the first bin, since the measurement's epoch
	Bin           time.Duration   `json:"bin_ns"`   // width: FirstBin times a power of two
	Operations    []int64         `json:"operations"`
	Requests      []int64         `json:"requests"` // sent by the clients' sessions
	Notifications []int64         `json:"notifications"`
	LargestHerd   []int           `json:"largest_herd"`    // in notifications, of the herds that begin in the bin
	SlowestRead   []time.Duration `json:"slowest_read_ns"` // longest response time of the bystanders' reads that were due in the bin
	// Backlog is the largest number of arrivals that waited for a client; nil unless the load is open.
	Backlog []int64 `json:"backlog,omitempty"`

	// Samples counts the durations of the recipe's first phase that ended in the bin, and Time is their sum, so that bins can be
	// merged. Memory is the largest resident size of the zkbench process, in bytes; 0 if it was not read in the bin.
	Samples []int64         `json:"samples"`
	Time    []time.Duration `json:"time_ns"`
	Memory  []int64         `json:"memory_bytes"`
}
