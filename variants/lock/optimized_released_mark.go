package lock

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// ReleasedMark is the lock whose holder releases it by writing to its own znode, so that the next client holds the lock as
// soon as it is notified.
//
//  1. Create <dir>/<guid>-lock-, ephemeral and sequential, and delete the client's znode of last time in the same multi.
//     If the reply is lost, look for the GUID: both have happened if it is there, and neither if it is not.
//  2. List <dir>, without a watch. If its own znode is the lowest, the client holds the lock.
//  3. Read the next lower znode with a watch. If it says "released", the client holds the lock. If it is gone, go to 2.
//  4. Wait for the watch. If the znode's data has changed, the client holds the lock. Otherwise (the znode was deleted, or
//     the connection was lost meanwhile) go to 2.
//  5. To release, write "released" to the client's own znode, and leave it there. To withdraw, delete it.
//
// Why a mark is enough: only the holder marks, and only its own znode. When it came to hold the lock, each lower znode was
// marked or gone, and neither can be undone. New znodes stand behind all others. So a client whose next lower znode at some
// moment is marked has no unmarked znode before it, then or later. That the data has changed proves the mark, because nothing
// else is ever written there. It makes no difference when the holder dies: if its write took effect, the lock was released, and
// if not, its znode goes with its session and the next client lists, as in predecessor-watch. A client that withdraws or dies
// while it waits never marks, so that the client behind it lists, finds the next lower znode and waits for that. A holder
// whose session has ended at the servers cannot mark, because its znode is gone: its release fails. A holder that only takes its
// session for lost may still mark, which is a true release.
//
// Cost of one acquire and release: 3 requests alone (multi, getChildren, setData), 4 after a wait (and getData), 2 of them
// writes. One release notifies one client. In lockstep all but the first of N clients wait: 4N-1 requests. The fencing token is
// the sequence number, as in predecessor-watch.
//
// Running free, a client that comes after the release, but before the released znode is deleted, reads the mark, and its watch fires when
// the znode is deleted: one notification, too. One that lists before it is deleted and reads after must list again, and read again if the
// next lower znode is a released one, too: 2 requests more each time, and on average once per acquire at most. Several clients may have
// read one marked znode in turn, because what stood between it and them was gone when they came. All of them are notified when it is
// deleted: rarely more than one, and N-1 at most.
//
// Bound: a handoff needs one quorum write and one notification after it. This variant's has nothing else; predecessor-watch
// has a getChildren after them, whose reply names every waiter.
//
// Source: ours: predecessor-watch (ZooKeeper recipes page, Locks) with a release that is a write.
type ReleasedMark struct{ *session.Exclusive }

// NewReleasedMark returns the lock of one client below an existing znode dir.
func NewReleasedMark(s *session.Session, dir string) ReleasedMark {
	line := tickets.Marking{Line: tickets.New(s, dir, marker)}
	return ReleasedMark{tickets.NewExclusive(s, &line, line.AwaitTurn)}
}

func releasedMarkVariant() variants.Variant {
	return variants.Variant{
		Name:     "released-mark",
		Kind:     variants.Optimized,
		Summary:  "as predecessor-watch, but a holder releases by writing to its znode, so that the next one need not list",
		BadAt:    "clients that rarely come back: each leaves one released znode until its next acquire or the end of its session",
		Lockstep: tickets.LockstepCost("(4N-1)/N", "2"),
		Free:     variants.Cost{Requests: "6 (3 for N=1)", Writes: "2", FailedWrites: "0", Notifications: "1 (0 for N=1)", HerdMax: "N-1"},
		Join:     join(NewReleasedMark),
	}
}
