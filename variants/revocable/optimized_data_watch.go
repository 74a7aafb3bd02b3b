package revocable

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// DataWatch is the revocable lock whose holder watches its own znode.
//
//  1. Create <dir>/<guid>-lock-, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir>. If the own znode is the lowest, go to 5.
//  3. Write "unlock" to the next lower znode, unless that has been done. If it is gone, go to 2.
//  4. Read it with a watch, wait for the watch, and go to 2.
//  5. The lock is held. Read the own znode with a watch. If it says "unlock", somebody wants the lock.
//  6. Else wait for the watch, and read the own znode again, without a watch. If it says "unlock", somebody wants the
//     lock; else go to 5.
//  7. To release, or to withdraw, delete the own znode.
//
// The recipe watches from the beginning, but a waiter has nothing to give up; and it reads with a watch each time, which
// then fires for the holder's own release. A watch on the next lower znode that is armed before the request is written
// to it would fire for the request, too: hence the order of 3 and 4. All told a revocation takes 2 notifications
// (the request to the holder, the release to its successor), where the recipe as it is written takes 4.
//
// Cost of a drain, where each of N clients comes when the one before it holds, which is asked and then releases. All
// create, list, read with a watch and delete: 4 requests. All but the first wait, which takes setData, getData and
// another getChildren; all but the last are asked, which takes one notification and one getData. Each release but the last
// notifies the successor; the last one, whom nobody asked, its own watch:
//
//	requests       4N + 3(N-1) + (N-1)  =  8N-4
//	writes         2N + (N-1)  =  3N-1
//	notifications  (N-1) + (N-1) + 1  =  2N-1
//	herd           1
//
// Looping freely, these are upper bounds: 8 requests and 2 notifications for one acquire and release. A request may come
// too late, and fail; and one that comes while its receiver still waits leaves the watch of step 5 armed, so that
// the release notifies the holder along with the successor.
//
// Source: ZooKeeper recipes page, Recoverable Shared Locks.
type DataWatch struct{ sequential }

var _ Lock = (*DataWatch)(nil)

// NewDataWatch returns the lock of one client below an existing znode dir. lost is closed when the session is.
func NewDataWatch(session variants.Session, dir string, lost <-chan struct{}) *DataWatch {
	l := &DataWatch{}
	l.init(session, dir, lost, l)
	return l
}

func (l *DataWatch) look(ctx context.Context, mine line.Ticket) (seen, error) {
	now, err := l.readW(ctx, mine)
	if now.asked { // there is nothing more to learn
		now.watch = nil
	}
	return now, err
}

func (l *DataWatch) lookAgain(ctx context.Context, mine line.Ticket, last seen) (seen, error) {
	if err := variants.Await(ctx, l.Lost, last.watch); err != nil {
		return seen{}, err
	}
	now, err := l.read(ctx, mine)
	if err != nil || now.asked {
		return now, err
	}
	return l.look(ctx, mine)
}

func dataWatchVariant() variants.Variant {
	return variants.Variant{
		Name:    "data-watch",
		Type:    "DataWatch",
		Kind:    variants.Optimized,
		Summary: "the holder watches its znode, to which whoever wants the lock writes",
		Source:  "ZooKeeper recipes page, Recoverable Shared Locks",
		BadAt:   "holders that do not listen: nobody can take the lock away from them",
		Lockstep: variants.Cost{
			Requests:      "(8N-4)/N",
			Writes:        "(3N-1)/N",
			FailedWrites:  "0",
			Notifications: "(2N-1)/N",
			HerdMax:       "1",
		},
		Free: variants.Cost{
			Requests:      "8 (4 for N=1)",
			Writes:        "3 (2 for N=1)",
			FailedWrites:  "1 (0 for N=1)",
			Notifications: "2 (1 for N=1)",
			HerdMax:       "2 (1 for N=1)",
		},
		Join: join(Terms{Grace: grace}, func(s variants.Session, env variants.Env) Lock {
			return NewDataWatch(s, env.Root, env.Lost)
		}),
	}
}
