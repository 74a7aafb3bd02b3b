package revocable

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
)

// Poll is the revocable lock whose holder asks again and again whether another client wants it.
//
//  1. Create <dir>/<guid>-lock-, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir>. If the client's own znode is the lowest, go to 5.
//  3. Write "unlock" to the next lower znode, unless that has been done. If it is gone, go to 2.
//  4. Read it with a watch, wait for the watch, and go to 2.
//  5. The client holds the lock. Read its own znode, now and after every interval T. If it says "unlock", another client
//     wants the lock.
//  6. To release, or to withdraw, delete the client's own znode.
//
// Cost of one acquire and release: 4 requests alone (create, getChildren, getData, delete), and after a wait 3 more
// (setData and getData of the next lower znode, getChildren) and 1 notification. Of the 3 writes, the one that asks fails if
// the holder was faster. Beyond that a holder sends one read per interval until it is asked: hold/T, with no bound that
// depends on N alone. The 4 of a client that is alone are exact if it holds for less than T. A request is noticed up to T
// late, and at once if it came before its receiver held. A client that polls never comes to rest, so there is no cost in
// lockstep.
//
// The interval must be well below the grace.
//
// Source: as written, but for an exclusive lock, in which each client asks the one before it, and whose holder reads its znode
// after each interval where the page has a watch: ZooKeeper recipes page, Recoverable Shared Locks.
type Poll struct{ sequential }

// NewPoll returns the lock of one client below an existing znode dir. The interval must be positive.
func NewPoll(s *session.Session, dir string, interval time.Duration) *Poll {
	l := &Poll{}
	l.init(s, dir, func(own revocation.Znode, ctx context.Context, again bool) (revocation.Seen, error) {
		if again {
			if err := own.Session.Sleep(ctx, interval); err != nil {
				return revocation.Seen{}, err
			}
		}
		return own.Read(ctx)
	})
	return l
}

func pollVariant() variants.Variant {
	return variants.Variant{
		Name:    "poll",
		Kind:    variants.Naive,
		Summary: fmt.Sprintf("the holder reads its znode every %s", interval),
		BadAt: "locks that are held for long, which cost reads for nothing, and successors in a hurry, " +
			"which wait for the next read; and a holder that does not listen keeps the lock",
		Forgoes: []variants.Loss{variants.Blocked},
		Free: variants.Cost{
			Requests: "no bound (4 for N=1)", Writes: "3 (2 for N=1)", FailedWrites: "1 (0 for N=1)",
			Notifications: "1 (0 for N=1)", HerdMax: "1 (0 for N=1)",
		},
		Join: join(agreed, func(s *session.Session, dir string) *Poll { return NewPoll(s, dir, interval) }),
	}
}
