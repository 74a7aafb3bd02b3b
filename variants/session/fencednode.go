package session

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/go-zookeeper/zk"
)

// FencedNode is an ephemeral znode that belongs to the client that created it, and a persistent fence whose version counts
// the creations. It may be copied.
//
// The create is sent in one multi with a set of the fence, whose version is the fencing token. A plain create returns none, and
// a read after it would cost a round trip. A multi is one request, one transaction, and fails as a whole.
type FencedNode struct {
	Session *Session
	Path    string // the ephemeral znode
	Fence   string // the persistent one
}

// Exclusive returns a [Lock] that is held while the client owns the znode, and makes sure that the fence exists. win returns when it
// does, such as [FencedNode.Win].
func (n FencedNode) Exclusive(ctx context.Context, win func(context.Context) (token int64, err error)) (*Exclusive, error) {
	var token int64
	return NewExclusive(n.Session, func(ctx context.Context) (_ Grant, err error) {
		token, err = win(ctx)
		return Grant{Token: token}, err
	}, func(ctx context.Context) error { return n.Give(ctx, token) }), n.Session.Ensure(ctx, n.Fence, nil, 0)
}

// Take tries to create the znode, and returns the fencing token, or zk.ErrNodeExists if another client owns it. After a
// lost reply the znode's data says which client created it.
func (n FencedNode) Take(ctx context.Context) (token int64, err error) {
	owner := rand.Text()
	for {
		err := n.Session.Once(ctx, func(c Conn) error {
			results, err := c.Multi(
				&zk.CreateRequest{Path: n.Path, Data: []byte(owner), Flags: zk.FlagEphemeral},
				&zk.SetDataRequest{Path: n.Fence, Version: -1})
			if err == nil {
				token = int64(results[1].Stat.Version)
			}
			return err
		})
		if !OutcomeUnknown(err) {
			return token, Attempted("create "+n.Path, err)
		}
		token, ours, err := n.recover(ctx, owner)
		if err != nil || ours {
			return token, err
		}
	}
}

// Win takes the znode. While another client owns it, Win waits until it is gone and tries again, in a race with all other
// clients that wait.
func (n FencedNode) Win(ctx context.Context) (token int64, err error) {
	for {
		token, err := n.Take(ctx)
		if !errors.Is(err, zk.ErrNodeExists) {
			return token, err
		}
		taken, _, watch, err := n.Session.ExistsW(ctx, n.Path) // if it is gone already, the watch stays and fires at the next creation
		if err == nil && taken {
			err = n.Session.Await(ctx, watch)
		}
		if err != nil {
			return 0, err
		}
	}
}

// recover finds out whether a create whose reply was lost took effect, even if ctx has ended: a znode left behind would block
// all clients. No other client changes the fence while the znode is ours. Another one may have changed it if the session has
// ended between the two reads, and the client library has sent the second read in a new session.
func (n FencedNode) recover(ctx context.Context, owner string) (token int64, ours bool, err error) {
	ctx, cancel := Cleanup(ctx)
	defer cancel()
	err = n.Session.Synced(ctx, n.Fence, func(c Conn) error {
		data, stat, err := c.Get(n.Path)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return nil
		case err != nil || string(data) != owner:
			return err
		}
		_, fence, err := c.Exists(n.Fence)
		switch {
		case err != nil:
			return err
		case stat.EphemeralOwner != c.SessionID(): // it is gone or about to go, with the old session
			return ErrSessionLost
		}
		token, ours = int64(fence.Version), true
		return nil
	})
	return token, ours, err
}

// Give deletes the znode if it is still the one that was taken with this token, in one multi that checks the fence. A
// plain delete can end another client's ownership: when the session has expired, the client library goes on with a new
// one, under which it sends requests that were still queued, and another client may have created the znode by then.
func (n FencedNode) Give(ctx context.Context, token int64) error {
	_, repeated, err := n.Session.Multi(ctx,
		&zk.CheckVersionRequest{Path: n.Fence, Version: int32(token)},
		&zk.DeleteRequest{Path: n.Path, Version: -1})
	return n.Session.Ended("delete "+n.Path, repeated, err)
}
