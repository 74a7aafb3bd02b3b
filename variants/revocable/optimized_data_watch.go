package revocable

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
)

// DataWatch is the revocable lock whose holder watches its own znode.
//
//  1. Create <dir>/<guid>-lock-, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir>. If the client's own znode is the lowest, go to 5.
//  3. Write "unlock" to the next lower znode, unless that has been done. If it is gone, go to 2.
//  4. Read it with a watch, wait for the watch, and go to 2.
//  5. The client holds the lock. Read its own znode with a watch. If it says "unlock", another client wants the lock.
//  6. Else wait for the watch, and read the znode again, without a watch. If it says "unlock", another client wants the
//     lock; else go to 5.
//  7. To release, or to withdraw, delete the client's own znode.
//
// The recipe watches from the beginning, but a waiter has nothing to give up. It also reads with a watch each time, which
// then fires for the holder's own release. A watch on the next lower znode that is armed before the request is written to
// it fires for the request, too, hence the order of 3 and 4. So a revocation takes 2 notifications (the request to the
// holder, the release to its successor), where the recipe as it is written takes 4.
//
// Cost in lockstep, where each of N clients comes when the one before it holds, which is asked and then releases. All
// create, list, read with a watch and delete: 4 requests. All but the first wait, which takes setData, getData and
// another getChildren. All but the last are asked, which takes one notification and one getData. Each release but the last
// notifies the successor. The last release notifies its own client, which was not asked and still has its watch:
//
//	requests       4N + 3(N-1) + (N-1)  =  8N-4
//	writes         2N + (N-1)  =  3N-1
//	notifications  (N-1) + (N-1) + 1  =  2N-1
//	herd           1
//
// Running free, these are upper bounds: 8 requests and 2 notifications for one acquire and release. A request may come
// too late, and fail. A request that comes while its receiver still waits leaves the watch of step 5 armed, so that the
// release notifies the holder along with the successor.
//
// Bound: in a revocation (phases revoke and handoff), from when the waiter stands in line, it must write, the holder must be notified,
// the holder must write, and the waiter must be notified: 2 quorum writes and 2 notifications. This variant has 2 and 2, and 2 reads in
// between: the holder reads what was written, as the notification does not say it, and the waiter lists, as the client before it may
// have withdrawn.
//
// Source: as written, but for an exclusive lock, in which each client asks the one before it, before it watches; it watches its own
// znode only from when it holds until it is asked; and with getData in place of exists: ZooKeeper recipes page, Recoverable Shared
// Locks.
type DataWatch struct{ sequential }

// NewDataWatch returns the lock of one client below an existing znode dir.
func NewDataWatch(s *session.Session, dir string) *DataWatch {
	l := &DataWatch{}
	l.init(s, dir, revocation.Znode.UntilAsked)
	return l
}

func dataWatchVariant() variants.Variant {
	return variants.Variant{
		Name:     "data-watch",
		Kind:     variants.Optimized,
		Summary:  "the holder watches its znode, to which a client that wants the lock writes",
		BadAt:    "holders that do not listen: no client can take the lock away from them",
		Forgoes:  []variants.Loss{variants.Blocked},
		Lockstep: variants.Cost{Requests: "(8N-4)/N", Writes: "(3N-1)/N", FailedWrites: "0", Notifications: "(2N-1)/N", HerdMax: "1"},
		Free: variants.Cost{
			Requests: "8 (4 for N=1)", Writes: "3 (2 for N=1)", FailedWrites: "1 (0 for N=1)",
			Notifications: "2 (1 for N=1)", HerdMax: "2 (1 for N=1)",
		},
		Join: join(agreed, NewDataWatch),
	}
}
