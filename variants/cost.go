package variants

import "fmt"

// Cost states the cost of one operation.
type Cost struct {
	Requests      Formula
	Writes        Formula // requests that go through the leader, failed ones included
	FailedWrites  Formula // writes to which the answer is an error
	Notifications Formula
	HerdMax       Formula // the most notifications that a single transaction causes
}

// Bound is the least that one operation costs with any algorithm that keeps the recipe's promise for N clients: all requests without which
// it would not happen, such as those of the put of an item and of its take. A variant's cost is the bound and its own choices, such as the
// reads that set its watches and the listings that show its place in a line.
//
// The writes are an average over all operations of any load in which a client asks for one thing at a time: a batch may share a write. A
// client that comes back at once may share a write between two operations, as between a release and the next request, and so it is counted
// once. But no client takes anything, such as an item, before it is asked to.
// The reads and notifications are those of steps in which all clients want the same at once and wait without polling, as in lockstep: a
// client that falls behind is notified of several changes once, and reads once for all of them.
type Bound struct {
	Phase                        string // the phase whose time is compared with the floor
	Writes, Reads, Notifications Formula
	Why                          string // a sentence without its full stop: what in the promise demands it
}

// String returns the bound's formulas in words.
func (b Bound) String() string {
	return fmt.Sprintf("writes %s, reads %s, notifications %s", b.Writes, b.Reads, b.Notifications)
}
