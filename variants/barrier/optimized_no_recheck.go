package barrier

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// NoRecheck is the barrier whose waiting clients pass when they are notified of its znode's deletion.
//
// To wait at <dir>/barrier-<k>:
//
//  1. Read it with a watch. If it is gone, pass.
//  2. Wait for the watch. If its event is the znode's deletion, pass; else go to 1.
//
// To open it: delete it and create <dir>/barrier-<k+1>, in one multi.
//
// As no barrier's name is used twice, a deleted znode stays deleted, and a second read is not needed. That holds
// across an outage, too: when the client library sets its watches again, a server that no longer has the znode reports
// its deletion.
//
// Cost of one opening, for which N-1 others wait:
//
//	requests       N-1 reads and the multi  =  N
//	writes         1
//	notifications  N-1, all from the multi, which is the herd; it cannot be smaller, as all clients must be notified
//
// So a client passes the barrier with the notification, and not a round trip later. In closed mode, a client that comes
// when the barrier is open already reads once, too, and is not notified: the formulas are upper bounds then.
//
// Grows: with the N-1 clients that wait, each of which must look whether the barrier is there and set a watch for its opening. That is one
// request of each client; an opening is an operation of the group.
//
// Bound: in the passage phase, any algorithm needs one write, which opens the barrier, and then one notification of each waiting
// client; nothing shorter lets a client in another process know. This variant has just these on its path, and no read.
//
// Source: as written, but without the last step, with getData instead of exists, and with a name of its own for each barrier:
// ZooKeeper recipes page, Barriers.
func NoRecheck(ctx context.Context, s *session.Session, dir string) (*Barrier, error) {
	return open(ctx, s, dir, false)
}

func noRecheckVariant() variants.Variant {
	v := recheckVariant()
	v.Name, v.Kind = "no-recheck", variants.Optimized
	v.Summary = "all waiting clients watch the barrier's znode, and pass when they are notified of its deletion"
	v.BadAt = "crowds, still: one opening notifies all waiting clients, as it must"
	v.Lockstep.Requests, v.Free.Requests = "N", "N"
	v.Join = join(NoRecheck)
	return v
}
