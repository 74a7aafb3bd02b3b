package barrier

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// Recheck is the barrier whose waiting clients read its znode again when they are notified.
//
// To wait at <dir>/barrier-<k>:
//
//  1. Read it with a watch. If it is gone, pass.
//  2. Wait for the watch, and go to 1.
//
// To open it: delete it and create <dir>/barrier-<k+1>, in one multi.
//
// A client passes because the znode is absent, and not because of the notification. So this is right even if a client
// writes to the znode. But no client does, and all waiting clients send the second read at the same moment.
//
// The recipe asks with exists, which leaves a watch behind where it finds the znode gone. getData costs the same and
// does not.
//
// Cost of one opening, for which N-1 others wait:
//
//	requests       N-1 reads before, the multi, N-1 reads after  =  2N-1
//	writes         1
//	notifications  N-1, all from the multi, which is the herd; it cannot be smaller, as all clients must be notified
//
// In closed mode, a client that comes when the barrier is open already reads once and is not notified: the formulas are
// upper bounds then.
//
// Source: as written, but with getData instead of exists, and with a name of its own for each barrier: ZooKeeper recipes page,
// Barriers.
func Recheck(ctx context.Context, s *session.Session, dir string) (*Barrier, error) {
	return open(ctx, s, dir, true)
}

func recheckVariant() variants.Variant {
	cost := variants.Cost{Requests: "2N-1", Writes: "1", FailedWrites: "0", Notifications: "N-1", HerdMax: "N-1"} // of an opening
	return variants.Variant{
		Name:     "recheck",
		Kind:     variants.Naive,
		Summary:  "all waiting clients watch the barrier's znode, and read it again when they are notified",
		BadAt:    "crowds: at each opening all waiting clients send one more read, at the same moment",
		Lockstep: cost,
		Free:     cost,
		Join:     join(Recheck),
	}
}
