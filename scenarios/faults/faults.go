// Package faults defines what goes wrong in a scenario, and when.
//
// It takes one position: a fault that cannot happen as it is written is a mistake, which is reported before the run. A run
// whose faults silently did not happen would show every variant as robust.
package faults

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
)

// Kind is what goes wrong.
type Kind = results.FaultKind

// The kinds.
const (
	Kill      = results.KillFault
	Pause     = results.PauseFault
	Partition = results.PartitionFault
	Expire    = results.ExpireFault
	Cut       = results.CutFault
	Stop      = results.StopFault
	Deaf      = results.DeafFault
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

// Kinds returns all kinds: first those of servers, then those of clients.
func Kinds() []Kind { return []Kind{Kill, Pause, Partition, Expire, Cut, Stop, Deaf} }

// Servers returns the names of the servers of an ensemble that zkbench starts.
func Servers() []string { return []string{"zoo1", "zoo2", "zoo3"} }

// OfServers reports whether a schedule has faults of servers.
func OfServers(schedule []Fault) bool {
	return slices.ContainsFunc(schedule, func(f Fault) bool { return f.Kind.OfServer() })
}

// span returns a duration in text, such as 1m30s or 2m.
func span(d time.Duration) string { return results.ShortDuration(d) }
