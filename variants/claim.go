package variants

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Claim is one ephemeral znode that belongs to whoever creates it, and beside it a persistent fence that counts how
// often that happened. It may be copied.
//
// The create travels in one multi with a set of the fence, whose version is the fencing token: a plain create yields
// none, and a read after it would cost a round trip. A multi is one request, one transaction, and fails as a whole.
type Claim struct {
	Session Session
	Lost    <-chan struct{} // closed when the session is lost
	Path    string          // the ephemeral znode
	Fence   string          // the persistent one; see EnsureFence
}

// EnsureFence creates the fence unless somebody else has.
func (c Claim) EnsureFence(ctx context.Context) error {
	return Ensure(ctx, c.Session, c.Lost, c.Fence, 0)
}

// Take tries to create the znode, and returns the fencing token, or zk.ErrNodeExists if it is somebody's. After a lost
// reply the znode's data tells whose it is.
func (c Claim) Take(ctx context.Context) (token int64, err error) {
	owner := rand.Text()
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		results, err := c.Session.Multi(
			&zk.CreateRequest{Path: c.Path, Data: []byte(owner), Acl: WorldACL(), Flags: zk.FlagEphemeral},
			&zk.SetDataRequest{Path: c.Fence, Version: -1})
		switch {
		case err == nil:
			return int64(results[1].Stat.Version), nil
		case errors.Is(err, zk.ErrSessionExpired):
			return 0, ErrSessionLost
		case !OutcomeUnknown(err):
			return 0, fmt.Errorf("create %s: %w", c.Path, err)
		}
		token, ours, err := c.recover(ctx, owner)
		if err != nil || ours {
			return token, err
		}
	}
}

// Win takes the znode, and whenever it is somebody's waits until it is gone and tries again, in a race with all others
// who do.
func (c Claim) Win(ctx context.Context) (token int64, err error) {
	for {
		token, err := c.Take(ctx)
		if !errors.Is(err, zk.ErrNodeExists) {
			return token, err
		}
		if err := c.awaitEnd(ctx); err != nil {
			return 0, err
		}
	}
}

// recover finds out whether a create whose reply was lost took effect, even if ctx has ended: a znode left behind would
// block everybody. Nobody else can change the fence while the znode is ours.
func (c Claim) recover(ctx context.Context, owner string) (token int64, ours bool, err error) {
	ctx, cancel := Cleanup(ctx)
	defer cancel()
	err = Retry(ctx, c.Lost, func() error {
		if _, err := c.Session.Sync(c.Fence); err != nil {
			return err
		}
		data, claim, err := c.Session.Get(c.Path)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return nil
		case err != nil || string(data) != owner:
			return err
		case claim.EphemeralOwner != c.Session.SessionID(): // it is going, with the old session
			return ErrSessionLost
		}
		_, fence, err := c.Session.Exists(c.Fence)
		if err != nil {
			return err
		}
		token, ours = int64(fence.Version), true
		return nil
	})
	return token, ours, err
}

// Taken tells whether the znode is somebody's.
func (c Claim) Taken(ctx context.Context) (bool, error) {
	var taken bool
	err := Retry(ctx, c.Lost, func() error {
		var err error
		taken, _, err = c.Session.Exists(c.Path)
		return err
	})
	return taken, err
}

// awaitEnd returns when the znode is gone, at once if it is gone already. That leaves a watch behind, which fires at the
// next creation.
func (c Claim) awaitEnd(ctx context.Context) error {
	var taken bool
	var watch <-chan zk.Event
	err := Retry(ctx, c.Lost, func() error {
		var err error
		taken, _, watch, err = c.Session.ExistsW(c.Path)
		return err
	})
	if err != nil || !taken {
		return err
	}
	return Await(ctx, c.Lost, watch)
}

// Give deletes the znode if it is still the one that was taken with this token, in one multi that checks the fence.
// A plain delete can end somebody else's claim: when the session has expired, the client library goes on with a new
// one, under which it sends what was still queued, and another client may have created the znode by then.
func (c Claim) Give(ctx context.Context, token int64) error {
	attempts := 0
	err := Retry(ctx, c.Lost, func() error {
		attempts++
		_, err := c.Session.Multi(
			&zk.CheckVersionRequest{Path: c.Fence, Version: int32(token)},
			&zk.DeleteRequest{Path: c.Path, Version: -1})
		return err
	})
	gone := errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode)
	switch {
	case err == nil, gone && attempts > 1: // what a lost reply did not tell
		return nil
	case gone, errors.Is(err, ErrSessionLost):
		return ErrSessionLost
	default:
		return fmt.Errorf("delete %s: %w", c.Path, err)
	}
}
