// Package revocation is shared by locks whose holders can be asked to give them up.
//
// It takes one position: a request is the word "unlock" in the asked client's own znode of the line, as on the recipes
// page. So a client can be asked before it holds as well as while it holds.
package revocation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// Unlock is the data by which the znode of a client asks it to give up.
const Unlock = "unlock"

// Grace is the time within which a holder that was asked gives up. It is ample: a holder needs milliseconds, or the interval at which it
// polls, but machines stall.
const Grace = 5 * time.Second

// Seen is the state of a client's own znode, as the client has read it.
type Seen struct {
	Asked bool
	Watch *session.Watch // nil if none is armed
}

// Znode is a client's own znode. Its session is for work in the background.
type Znode struct {
	Session *session.Session
	Path    string
}

// Look finds out whether a client has been asked to give up. It is called again when the last watch has fired, or at once if there is none.
type Look = func(own Znode, ctx context.Context, again bool) (Seen, error)

// Read looks at the znode. If that is gone, the lock is lost.
func (z Znode) Read(ctx context.Context) (Seen, error) {
	data, _, err := z.Session.Get(ctx, z.Path)
	return Seen{Asked: string(data) == Unlock}, goneIsLost(err)
}

// ReadW is Read with a watch.
func (z Znode) ReadW(ctx context.Context) (Seen, error) {
	data, _, watch, err := z.Session.GetW(ctx, z.Path)
	return Seen{Asked: string(data) == Unlock, Watch: watch}, goneIsLost(err)
}

func goneIsLost(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return session.ErrSessionLost
	}
	return err
}

// Rearmed is the [Look] of a client that watches its znode to the end, and so learns if it is deleted.
func (z Znode) Rearmed(ctx context.Context, _ bool) (Seen, error) { return z.ReadW(ctx) }

// UntilAsked is the [Look] of a client that watches its znode until it has been asked. It then reads without a watch, which would
// fire for the client's own release.
func (z Znode) UntilAsked(ctx context.Context, again bool) (Seen, error) {
	if again {
		if now, err := z.Read(ctx); err != nil || now.Asked {
			return now, err
		}
	}
	now, err := z.ReadW(ctx)
	if now.Asked { // it cannot be asked twice
		now.Watch = nil
	}
	return now, err
}

// Ask asks the owner of a znode to give up, and reports whether the znode exists. Asking twice does no harm.
func Ask(ctx context.Context, s *session.Session, path string) (exists bool, err error) {
	_, err = s.Set(ctx, path, []byte(Unlock), -1)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, session.Attempted("write to "+path, err)
}

// AskOnce asks the owner of a znode unless another client has: it expects the version that it has read, so that the
// watches of clients that have asked before do not fire. It returns nil if the znode does not exist.
func AskOnce(ctx context.Context, s *session.Session, path string) error {
	for {
		data, stat, err := s.Get(ctx, path)
		if err == nil && string(data) != Unlock {
			_, err = s.Set(ctx, path, []byte(Unlock), stat.Version)
		}
		switch {
		case errors.Is(err, zk.ErrBadVersion): // another client was faster, or an attempt whose reply was lost
		case err == nil, errors.Is(err, zk.ErrNoNode):
			return nil
		default:
			return fmt.Errorf("ask for %s: %w", path, err)
		}
	}
}
