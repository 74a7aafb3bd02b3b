// Package lock compares ways to build an exclusive lock.
//
// The promise of all variants: at any moment at most one participant holds the lock, and every grant carries a fencing
// token that is larger than the token of any earlier grant. A holder may not know yet that its session has expired, which
// no lock can prevent by itself. A store that remembers the largest token it has seen can refuse such a holder. When a
// client dies or loses its session, the lock passes on as soon as its session has ended at the servers: a claim never
// outlives its session.
//
//	variant            znodes                    cost of one release with m waiters
//	znode              <dir>/lock  ephemeral     m notifications, m new attempts of which m-1 fail
//	children-watch     <dir>/<guid>-lock-<seq>   m+1 notifications, m listings of m children
//	predecessor-watch  <dir>/<guid>-lock-<seq>   1 notification, 1 listing
//	back-to-back       <dir>/<guid>-lock-<seq>   1 notification, 1 listing
//	released-mark      <dir>/<guid>-lock-<seq>   1 notification
//
// predecessor-watch-session-id is predecessor-watch with znodes <dir>/<session id>-lock-<seq>. It costs one more listing at
// each acquire. back-to-back is predecessor-watch with one round trip less at each acquire.
//
// zk-lock is the lock of the Go client library, which uses the algorithm of predecessor-watch. It runs only where a
// scenario or a flag names it.
//
// writelock is the lock that comes with ZooKeeper. It is known to be broken: a waiter may wait for ever. It runs only where a
// scenario or a flag names it.
//
// Each variant's own comment has the steps and the exact formulas. `zkbench run lock-drain` checks the formulas.
package lock

import (
	"context"
	"embed"
	"errors"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

//go:embed naive_*.go optimized_*.go library_*.go drivers
var code embed.FS

// Lock is an exclusive lock, not reentrant, of one client. A session may have several. The methods of one may be called
// concurrently and then run one after another.
type Lock interface {
	// Acquire waits for the lock. When ctx ends first, the client withdraws and the context's error comes back within
	// about a second even from a session that does not answer. The withdrawal then continues in the background, and a
	// later Acquire waits for it. session.ErrSessionLost means that the session was lost while the client waited.
	Acquire(ctx context.Context) (Grant, error)
	// Release gives the lock up; it costs one write. session.ErrSessionLost means that the lock had already been lost, and
	// that there may have been another holder since. After any other error it is not known whether the lock is still held:
	// act as if it were not, and call Release again.
	Release(ctx context.Context) error
}

// Grant is the right to act as the only holder.
type Grant struct {
	// Token grows with every grant of one lock. Send it along with every write that the lock protects.
	Token int64
	// Lost is closed when the session is lost or must be assumed to be. The holder must then stop.
	Lost <-chan struct{}
}

// ErrHeld is returned by Acquire on a lock that this client holds already.
var ErrHeld = errors.New("the lock is held already")

// Recipe returns the lock recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:    "lock",
		Summary: "at most one holder at a time, each with a fencing token",
		Source: "ZooKeeper recipes page, Locks; Leberknight, Distributed Coordination With ZooKeeper, part 5; " +
			"Junqueira and Reed, ZooKeeper, chapter 4",
		Variants: []variants.Variant{
			znodeVariant(), childrenWatchVariant(), predecessorWatchSessionIDVariant(),
			predecessorWatchVariant(), backToBackVariant(), releasedMarkVariant(),
		},
		Libraries:  []variants.Variant{zkLockVariant(), CuratorMutex(), CuratorSemaphore(), Kazoo()},
		JoinDriven: joinDriven(),
		Broken:     []variants.Variant{writeLockVariant(), Contrib()},
		Phases:     exclusion.Phases(),
		Operation:  exclusion.PhaseRelease,
		Workload: variants.Workload{
			CountFrom:      variants.FromLineUp,
			SingleThreaded: true,
			Threaded:       true,
			Size:           "locks that each client uses at the same time on its session, as threads do",
		},
		Losses:      []variants.Loss{variants.Fenced},
		Events:      exclusion.Events(),
		Calls:       exclusion.Calls(),
		NewObserver: newObserver,
		Code:        code,
	}
}

type exclusive = session.Exclusive[Grant]

// marker is in the names of a lock's tickets.
const marker = "-lock-"

type sequential struct {
	*exclusive
	tickets.Line
}

func (s *sequential) init(sess *session.Session, dir string, wait func(context.Context, tickets.Ticket) error) {
	s.Line = tickets.New(sess, dir, marker)
	s.exclusive = newExclusive(sess, &s.Line, wait)
}

// newExclusive returns a lock that is held while a ticket is held. The ticket's number is the fencing token.
func newExclusive(s *session.Session, place tickets.Place, wait func(context.Context, tickets.Ticket) error) *exclusive {
	return tickets.NewExclusive(s, place, ErrHeld, wait, func(mine tickets.Ticket) Grant {
		return Grant{Token: int64(mine.Seq), Lost: s.Lost()}
	})
}
