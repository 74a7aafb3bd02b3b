package lock

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// PredecessorWatch is the lock in which each waiter watches only the znode just below its own.
//
//  1. Create <dir>/<guid>-lock-, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir>, without a watch. If its own znode is the lowest, the client holds the lock.
//  3. Read the next lower znode with a watch. If it is gone, go to 2. Unlike the recipe's exists,
//     getData leaves no watch behind on a znode that is gone.
//  4. Wait for the watch, then go to 2: the predecessor may have withdrawn rather than released.
//  5. To release, or to withdraw, delete the client's own znode.
//
// Cost of one acquire and release: 3 requests alone (create, getChildren, delete), 5 after a wait (and getData and
// getChildren), 2 of them writes. One release notifies one client. In lockstep all but the first of N clients wait: 5N-2
// requests. Each listing is O(N) bytes all the same. Waiters are served in the order of their creates. The fencing token is the
// sequence number, which begins with 0 and grows as long as <dir> lives, for 2^31 creates.
//
// What may fail: a request whose reply is lost is repeated when the connection is back, the create after a look for its GUID; a watch
// that was set on a former connection counts as fired. A client whose session is lost, at the latest when it has known for a third of the
// session timeout that it has no connection, gets session.ErrSessionLost while it waits, and its grant's Lost is closed while it holds.
// A client whose context ends while it waits goes to 5; if the server does not answer within a second, in the background and for at
// most a minute.
//
// Bound: in a handoff, which is the phase that a lock is compared by, one quorum write of the holder and one notification of the
// next holder lie one after another in any lock with this promise: the next holder learns of the release by nothing else. Here one
// listing follows, with which the next holder makes sure that its predecessor did not withdraw before its turn.
//
// Source: as written, but it reads the predecessor with getData instead of exists: ZooKeeper recipes page (Locks). Junqueira and
// Reed chapter 4 and Leberknight part 5 describe the same algorithm.
type PredecessorWatch struct{ *session.Exclusive }

// NewPredecessorWatch returns the lock of one client below an existing znode dir.
func NewPredecessorWatch(s *session.Session, dir string) PredecessorWatch {
	line := tickets.New(s, dir, marker)
	return PredecessorWatch{tickets.NewExclusive(s, line, line.AwaitTurn)}
}

func predecessorWatchVariant() variants.Variant {
	return variants.Variant{
		Name:     "predecessor-watch",
		Kind:     variants.Optimized,
		Summary:  "sequential znodes, each waiter watches the one just below its own",
		BadAt:    "long lines: every client lists the whole line once, and once more when its turn comes",
		Lockstep: tickets.LockstepCost("(5N-2)/N", "2"),
		Free:     tickets.FreeCost("5 (3 for N=1)", "2"),
		Join:     join(NewPredecessorWatch),
	}
}
