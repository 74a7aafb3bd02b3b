package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// Znode is the lock that is one znode: whoever creates it holds it, and all others wait for its deletion.
//
//  1. Create <dir>/lock, ephemeral. If that succeeds, the lock is held.
//  2. If it exists, watch it with exists. If it is gone meanwhile, go to 1 at once.
//  3. Wait for the watch, then go to 1, together with every other waiter.
//  4. To release, delete <dir>/lock.
//
// The create travels in one multi with a set of <dir>/fence, whose version is the fencing token: the book's plain create
// yields none, and a read after it would cost the naive variant a round trip that its algorithm does not need. A multi
// is one request, one transaction, and fails as a whole.
//
// Cost of a drain, where N clients have enqueued and leave one by one. A release with m waiters notifies all m; each
// tries again, one succeeds, and m-1 failing creates are proposed to the quorum like any other write:
//
//	notifications  Σ m for m = N-1 … 0  =  N(N-1)/2
//	writes         N deletes + N(N-1)/2 creates, of which (N-1)(N-2)/2 fail
//	requests       those, and one exists for each that failed  =  N + (N-1)²
//	herd           N-1 notifications from the first release
//
// Looping freely, one acquire and release are up to N creates, N-1 exists and a delete. An exists that finds the znode
// missing leaves its watch behind, which fires at the next creation, meaningless as the book's figure 4-1 says: so there
// can be up to two notifications per other client. Nothing is fair: whoever is first after a release wins, and a client
// may starve.
//
// Source: Junqueira and Reed, ZooKeeper, chapter 4.
type Znode struct {
	exclusive
	session variants.Session
	lost    <-chan struct{}
	dir     string
	held    bool
}

var _ Lock = (*Znode)(nil)

// NewZnode returns the lock of one client below an existing znode dir, and makes sure that its fence exists. lost is
// closed when the session is.
func NewZnode(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (*Znode, error) {
	l := &Znode{session: session, lost: lost, dir: dir}
	l.exclusive = newExclusive(lost, l.acquire, l.release)
	err := variants.Retry(ctx, lost, func() error {
		_, err := session.Create(l.fence(), nil, 0, worldACL())
		return err
	})
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return nil, fmt.Errorf("create %s: %w", l.fence(), err)
	}
	return l, nil
}

func (l *Znode) lock() string  { return path.Join(l.dir, "lock") }
func (l *Znode) fence() string { return path.Join(l.dir, "fence") }

func (l *Znode) acquire(ctx context.Context) (Grant, error) {
	if l.held {
		return Grant{}, ErrHeld
	}
	owner := rand.Text()
	for {
		if err := ctx.Err(); err != nil {
			return Grant{}, err
		}
		token, err := l.claim(ctx, owner)
		switch {
		case err == nil:
			l.held = true
			return Grant{Token: token, Lost: l.lost}, nil
		case errors.Is(err, zk.ErrSessionExpired):
			return Grant{}, variants.ErrSessionLost
		case !errors.Is(err, zk.ErrNodeExists):
			return Grant{}, err
		}
		if err := l.awaitDeletion(ctx); err != nil {
			return Grant{}, err
		}
	}
}

// claim tries to create the lock. After a lost reply the znode's data tells whose it is.
func (l *Znode) claim(ctx context.Context, owner string) (token int64, err error) {
	for {
		results, err := l.session.Multi(
			&zk.CreateRequest{Path: l.lock(), Data: []byte(owner), Acl: worldACL(), Flags: zk.FlagEphemeral},
			&zk.SetDataRequest{Path: l.fence(), Version: -1})
		if err == nil {
			return int64(results[1].Stat.Version), nil
		}
		if !variants.OutcomeUnknown(err) {
			return 0, err
		}
		token, ours, err := l.recover(ctx, owner)
		if err != nil || ours {
			return token, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
}

// recover finds out whether a create whose reply was lost took effect, even if ctx has ended: a lock left behind would
// block everybody. Nobody else can change the fence while the lock is ours.
func (l *Znode) recover(ctx context.Context, owner string) (token int64, ours bool, err error) {
	ctx, cancel := variants.Cleanup(ctx)
	defer cancel()
	err = variants.Retry(ctx, l.lost, func() error {
		if _, err := l.session.Sync(l.dir); err != nil {
			return err
		}
		data, lock, err := l.session.Get(l.lock())
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return nil
		case err != nil || string(data) != owner:
			return err
		case lock.EphemeralOwner != l.session.SessionID(): // it is going, with the old session
			return variants.ErrSessionLost
		}
		_, fence, err := l.session.Exists(l.fence())
		if err != nil {
			return err
		}
		token, ours = int64(fence.Version), true
		return nil
	})
	return token, ours, err
}

func (l *Znode) awaitDeletion(ctx context.Context) error {
	var exists bool
	var watch <-chan zk.Event
	err := variants.Retry(ctx, l.lost, func() error {
		var err error
		exists, _, watch, err = l.session.ExistsW(l.lock())
		return err
	})
	if err != nil || !exists {
		return err
	}
	return await(ctx, l.lost, watch)
}

func (l *Znode) release(ctx context.Context) error {
	if !l.held {
		return nil
	}
	err := remove(ctx, l.session, l.lost, l.lock())
	if err == nil || errors.Is(err, variants.ErrSessionLost) {
		l.held = false
	}
	return err
}

func znodeVariant() variants.Variant {
	return variants.Variant{
		Name:    "znode",
		Kind:    variants.Naive,
		Summary: "one znode; all waiters watch it and try again when it goes",
		Source:  "Junqueira and Reed, ZooKeeper, chapter 4",
		Stepped: variants.Cost{
			Requests:      formula("(N + (N-1)²)/N", func(n float64) float64 { return (n + (n-1)*(n-1)) / n }),
			Writes:        formula("1 + (N-1)/2", func(n float64) float64 { return 1 + (n-1)/2 }),
			FailedWrites:  formula("(N-1)(N-2)/2N", func(n float64) float64 { return (n - 1) * (n - 2) / (2 * n) }),
			Notifications: formula("(N-1)/2", func(n float64) float64 { return (n - 1) / 2 }),
			HerdMax:       formula("N-1", func(n float64) float64 { return n - 1 }),
		},
		Free: variants.Cost{
			Requests:      formula("2N", func(n float64) float64 { return 2 * n }),
			Writes:        formula("N+1", func(n float64) float64 { return n + 1 }),
			FailedWrites:  formula("N-1", func(n float64) float64 { return n - 1 }),
			Notifications: formula("2(N-1)", func(n float64) float64 { return 2 * (n - 1) }),
			HerdMax:       aloneOr(0, "N", func(n float64) float64 { return n }),
		},
		Join: join(func(ctx context.Context, s variants.Session, env variants.Env) (Lock, error) {
			return NewZnode(ctx, s, env.Root, env.Lost)
		}),
	}
}
