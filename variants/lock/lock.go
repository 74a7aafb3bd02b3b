// Package lock compares three ways to build an exclusive lock.
//
// The promise, to which all are held: at any moment at most one participant holds the lock, and every grant carries a
// fencing token that is larger than that of any grant before it. A store that remembers the largest token it has seen
// can so refuse a holder that does not know yet that its session has expired, which no lock can prevent by itself.
//
//	variant            znodes                    cost of one release with m waiters
//	znode              <dir>/lock  ephemeral     m notifications, m new attempts of which m-1 fail
//	children-watch     <dir>/<guid>-lock-<seq>   m+1 notifications, m listings of m children
//	predecessor-watch  <dir>/<guid>-lock-<seq>   1 notification, 1 listing
//
// Each variant's own comment has the steps and the exact formulas; `zkbench run lock-drain` holds them to it.
package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// Lock is an exclusive lock, not reentrant, of one client. Its methods may be called concurrently and then run one
// after another.
type Lock interface {
	// Acquire waits for the lock. When ctx ends first, the client withdraws and the context's error comes back within
	// about a second even from a session that does not answer; the withdrawal then goes on behind the caller's back,
	// and a later Acquire waits for it. variants.ErrSessionLost says that the session died while waiting.
	Acquire(ctx context.Context) (Grant, error)
	// Release gives the lock up; it costs one delete. variants.ErrSessionLost says that the lock had already been
	// lost, so that what was done under it may have met another holder. After any other error the lock is still held,
	// and Release may be tried again.
	Release(ctx context.Context) error
}

// Grant is the right to act as the only holder.
type Grant struct {
	// Token grows with every grant of one lock; send it along with whatever the lock protects.
	Token int64
	// Lost is closed when the session is gone or must be taken to be; the holder must stop.
	Lost <-chan struct{}
}

// ErrHeld is returned by Acquire on a lock that this client holds already.
var ErrHeld = errors.New("the lock is held already")

// Recipe returns the lock recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:        "lock",
		Summary:     "at most one holder at a time, each with a fencing token",
		Source:      "ZooKeeper recipes page, Locks; Leberknight, Distributed Coordination With ZooKeeper, part 5; Junqueira and Reed, ZooKeeper, chapter 4",
		Variants:    []variants.Variant{znodeVariant(), childrenWatchVariant(), predecessorWatchVariant()},
		Spans:       spans,
		Operation:   phaseRelease,
		Waiting:     phaseAcquire,
		PacedPhases: []string{phaseAcquire, phaseHold},
		Check:       check,
	}
}

// exclusive makes a Lock of a variant's two steps, which cannot be interrupted while the server is silent.
type exclusive struct {
	lane    variants.Lane
	acquire func(context.Context) (Grant, error)
	release func(context.Context) error
}

// newExclusive adds to acquire that nothing is granted to a lost session: the client library goes on with a new one,
// under which a variant may have created its znode.
func newExclusive(lost <-chan struct{}, acquire func(context.Context) (Grant, error), release func(context.Context) error) exclusive {
	guarded := func(ctx context.Context) (Grant, error) {
		grant, err := acquire(ctx)
		select {
		case <-lost:
			if err == nil {
				err = errors.Join(variants.ErrSessionLost, release(ctx))
			}
			return Grant{}, err
		default:
			return grant, err
		}
	}
	return exclusive{variants.NewLane(), guarded, release}
}

// Acquire implements [Lock].
func (e exclusive) Acquire(ctx context.Context) (Grant, error) {
	return variants.Run(ctx, e.lane, e.acquire, func(Grant) {
		ctx, cancel := variants.Cleanup(ctx)
		defer cancel()
		_ = e.release(ctx) // the caller has left; if this fails too, the znode ends with the session
	})
}

// Release implements [Lock].
func (e exclusive) Release(ctx context.Context) error {
	_, err := variants.Run(ctx, e.lane, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, e.release(ctx)
	}, func(struct{}) {})
	return err
}

// worldACL lets everybody do everything: what znodes are open to is not what is measured.
func worldACL() []zk.ACL { return zk.WorldACL(zk.PermAll) }

// remove deletes a znode of the lock's own. A znode that is gone before the first attempt means that the session that
// owned it is, too; gone later it is what a lost reply did not tell.
func remove(ctx context.Context, session variants.Session, lost <-chan struct{}, path string) error {
	attempts := 0
	err := variants.Retry(ctx, lost, func() error {
		attempts++
		return session.Delete(path, -1)
	})
	switch {
	case err == nil, errors.Is(err, zk.ErrNoNode) && attempts > 1:
		return nil
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, variants.ErrSessionLost):
		return variants.ErrSessionLost
	default:
		return fmt.Errorf("delete %s: %w", path, err)
	}
}

// await waits for a watch to fire. It does not look at the event: what matters is read again, never guessed.
func await(ctx context.Context, lost <-chan struct{}, watch <-chan zk.Event) error {
	select {
	case <-watch:
		return nil
	case <-lost:
		return variants.ErrSessionLost
	case <-ctx.Done():
		return ctx.Err()
	}
}
