// Package faults defines what goes wrong in a scenario, and when.
//
// It takes one position: a fault that cannot happen as it is written is a mistake, which is reported before the run. A run
// whose faults silently did not happen would show every variant as robust.
package faults

import (
	"cmp"
	"slices"
	"time"
)

// Kind is what goes wrong.
type Kind string

// The kinds.
const (
	Kill      Kind = "kill"      // a server ends at once
	Pause     Kind = "pause"     // a server stops without ending its connections
	Partition Kind = "partition" // a server is cut off from the other servers
	Expire    Kind = "expire"    // a client's session ends, while the client is alive
	Cut       Kind = "cut"       // a client's connection ends, and the client connects again
	Stop      Kind = "stop"      // a client stops dead: its session runs out, and then it joins again
	Deaf      Kind = "deaf"      // a client ignores requests of other clients, such as to give up a lock
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
type Fault struct {
	Kind  Kind
	Whom  string
	At    time.Duration // of the first occurrence, since the beginning of the measured window; 0 means after Every
	Every time.Duration // from one occurrence to the next; 0 means that there is one
	For   time.Duration // until it is undone; 0 means at the end of the measurement

	// Of a cut and a stop: the operation, such as "create", before whose next request the connection ends, or after it and before
	// its reply. Both are empty for a fault at once.
	Before, After string
}

// First returns the time of the first occurrence.
func (f Fault) First() time.Duration { return cmp.Or(f.At, f.Every) }

// AtOperation reports whether the fault waits for an operation of the client that it hits.
func (f Fault) AtOperation() bool { return f.Before != "" || f.After != "" }

// Kinds returns all kinds: first those of servers, then those of clients.
func Kinds() []Kind { return []Kind{Kill, Pause, Partition, Expire, Cut, Stop, Deaf} }

// OfServer reports whether the fault is one of a server. Other faults are those of a client.
func (k Kind) OfServer() bool { return slices.Contains([]Kind{Kill, Pause, Partition}, k) }

// Lasts reports whether the fault lasts until it is undone. Other faults happen at once, and the clients recover by themselves.
func (k Kind) Lasts() bool { return k.OfServer() || k == Deaf }

// Servers returns the names of the servers of an ensemble that zkbench starts.
func Servers() []string { return []string{"zoo1", "zoo2", "zoo3"} }

// OfServers reports whether a schedule has faults of servers.
func OfServers(schedule []Fault) bool {
	return slices.ContainsFunc(schedule, func(f Fault) bool { return f.Kind.OfServer() })
}
