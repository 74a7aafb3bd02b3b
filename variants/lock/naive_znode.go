package lock

import (
	"context"
	"path"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// Znode is the lock that is one znode: the client that creates it holds it, and all others wait for its deletion.
//
//  1. Create <dir>/lock, ephemeral. If that succeeds, the client holds the lock.
//  2. If it exists, watch it with exists. If it is gone meanwhile, go to 1 at once.
//  3. Wait for the watch, then go to 1, together with every other waiter.
//  4. To release, delete <dir>/lock.
//
// The create travels in one multi with a set of <dir>/fence, whose version is the fencing token: the book's plain create
// yields none, and a read after it would cost the naive variant a round trip that its algorithm does not need. The
// delete travels with a check of that version, so that a release that comes too late cannot free the lock of the next
// holder. A multi is one request, one transaction, and fails as a whole.
//
// Cost in lockstep, where N clients come and then release one after another. A release with m waiters notifies all m. Each
// tries again, and one succeeds. A create that fails is proposed to the quorum like any other write:
//
//	notifications  Σ m for m = N-1 … 0  =  N(N-1)/2
//	writes         N creates by clients that come, N(N-1)/2 by notified ones, and N deletes; N creates succeed, N(N-1)/2 fail
//	requests       those, and one exists for each that failed  =  2N + N(N-1)
//	herd           N-1 notifications from the first release
//
// Running free, one acquire and release cost at most:
//
//	failed creates  each client at most once against each holder: after a failure it creates again only when it has seen,
//	                by a notification or by an exists that finds nothing, that this holder has gone  =  N-1
//	exists          one after each failed create  =  N-1
//	notifications   each uses up a watch, which one exists has set  =  N-1
//	writes          those creates, the one that succeeds, and the delete  =  N + 1
//	requests        writes and exists  =  2N
//	herd            N-1: the client that made the last delete has not watched since, as its next create comes first
//
// An exists that finds no znode leaves its watch behind, which fires at the next creation and means nothing, as the book's
// figure 4-1 says. That adds no notification: this watch does not fire again at the deletion. Nothing is fair: the first
// create after a release wins, and a client may starve.
//
// Source: as written, but the create and the delete each travel in a multi with the znode of the fencing token: Junqueira and Reed,
// ZooKeeper, chapter 4.
type Znode struct{ *session.Exclusive }

// NewZnode returns the lock of one client below an existing znode dir, and makes sure that its fence exists.
func NewZnode(ctx context.Context, s *session.Session, dir string) (Znode, error) {
	node := session.FencedNode{Session: s, Path: path.Join(dir, "lock"), Fence: path.Join(dir, "fence")}
	held, err := node.Exclusive(ctx, node.Win)
	return Znode{held}, err
}

func znodeVariant() variants.Variant {
	return variants.Variant{
		Name:     "znode",
		Kind:     variants.Naive,
		Summary:  "one znode; all waiters watch it and try again when it goes",
		BadAt:    "many clients, and fairness: every release sets off a race that all but one lose, with a quorum write each",
		Lockstep: variants.Cost{Requests: "N+1", Writes: "2 + (N-1)/2", FailedWrites: "(N-1)/2", Notifications: "(N-1)/2", HerdMax: "N-1"},
		Free:     variants.Cost{Requests: "2N", Writes: "N+1", FailedWrites: "N-1", Notifications: "N-1", HerdMax: "N-1"},
		Join:     joinIn(NewZnode),
	}
}
