// Package faults defines what goes wrong in a scenario, and when.
//
// It takes one position: a fault that cannot happen as it is written is a mistake, which is reported before the run. A run
// whose faults silently did not happen would show every variant as robust.
package faults

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
)

// Whom a fault hits, beside the names of servers, the roles of the recipe and clients by their number, see [Client].
const (
	Leader   = "leader"   // the server that leads when the fault happens
	Follower = "follower" // one of the servers that follow
	Any      = "any"      // a server or a client at random, from the scenario's seed
	All      = "all"      // every client
	Holder   = "holder"   // a client that holds, such as a lock
	Waiter   = "waiter"   // a client in an operation that does not hold
	Idle     = "idle"     // a client between two operations
)

// Fault is one line of a schedule.
type Fault = results.FaultLoad

// first returns the time of the first occurrence.
func first(f Fault) time.Duration { return cmp.Or(f.At, f.Every) }

// Servers returns the names of the servers of an ensemble that zkbench starts.
func Servers() []string { return []string{"zoo1", "zoo2", "zoo3"} }

// OfServers reports whether a schedule has faults of servers.
func OfServers(schedule []Fault) bool {
	return slices.ContainsFunc(schedule, func(f Fault) bool { return f.Kind.OfServer() })
}

// span returns a duration in text, such as 1m30s or 2m.
func span(d time.Duration) string { return results.ShortDuration(d) }

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
