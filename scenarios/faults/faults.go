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
	"github.com/zkbench/zkbench/results/list"
)

// The words for whom a fault hits, besides the names of servers, the roles of the recipe, and clients by their number (see
// [results.FaultLoad.Client]).
const (
	Leader   = "leader"   // the server that leads when the fault happens
	Follower = "follower" // one of the servers that follow a leader
	Any      = "any"      // a server or a client at random, from the scenario's seed
	All      = "all"      // every client
	Holder   = "holder"   // a client that holds, such as a lock
	Waiter   = "waiter"   // a client in an operation that does not hold
	Idle     = "idle"     // a client between two operations
)

// Fault is one line of a schedule.
type Fault = results.FaultLoad

func first(f Fault) time.Duration { return cmp.Or(f.At, f.Every) }

// Servers returns the names of the servers of an ensemble that zkbench starts.
func Servers() []string { return []string{"zoo1", "zoo2", "zoo3"} }

// OfServers reports whether a schedule has faults of servers.
func OfServers(schedule []Fault) bool {
	return slices.ContainsFunc(schedule, func(f Fault) bool { return f.Kind.OfServer() })
}

func span(d time.Duration) string { return results.ShortDuration(d) }

const never = time.Duration(math.MaxInt64)

// Occurrence is one time at which a fault happens.
type Occurrence struct {
	Fault
	Index int           // of the fault in its schedule
	Due   time.Duration // since the beginning of the window
}

// Plan returns the occurrences of a valid schedule, ordered by time, and by their place in the schedule where several are
// due at once. They end with the window; a window of 0 has no end. The memory of a plan does not depend on its length.
func Plan(schedule []Fault, window time.Duration) iter.Seq[Occurrence] {
	return func(yield func(Occurrence) bool) {
		if len(schedule) == 0 {
			return
		}
		due := list.Map(schedule, first)
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
