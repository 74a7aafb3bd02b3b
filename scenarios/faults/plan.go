package faults

import (
	"iter"
	"math"
	"slices"
	"time"
)

// never is later than every occurrence.
const never = time.Duration(math.MaxInt64)

// Occurrence is one time that a fault happens.
type Occurrence struct {
	Fault
	Index int           // of the fault in its schedule
	Due   time.Duration // since the beginning of the window
}

// Plan returns the occurrences of a valid schedule in the order of time, and in that of the schedule where several are due at
// once. They end with the window; a window of zero has no end. The memory that a plan takes does not grow with its length.
func Plan(schedule []Fault, window time.Duration) iter.Seq[Occurrence] {
	return func(yield func(Occurrence) bool) {
		if len(schedule) == 0 {
			return
		}
		due := make([]time.Duration, len(schedule))
		for i, f := range schedule {
			due[i] = first(f)
		}
		for {
			at := slices.Min(due)
			if at == never || window > 0 && at >= window {
				return
			}
			i := slices.Index(due, at)
			f := schedule[i]
			if !yield(Occurrence{Fault: f, Index: i, Due: at}) {
				return
			}
			due[i] = never
			if f.Every > 0 {
				due[i] = at + f.Every
			}
		}
	}
}
