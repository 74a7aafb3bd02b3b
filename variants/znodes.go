package variants

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// WorldACL lets everybody do everything: what znodes are open to is not what is measured.
func WorldACL() []zk.ACL { return zk.WorldACL(zk.PermAll) }

// Ensure creates an empty znode unless it exists.
func Ensure(ctx context.Context, session Session, lost <-chan struct{}, path string, flags int32) error {
	err := Retry(ctx, lost, func() error {
		_, err := session.Create(path, nil, flags, WorldACL())
		return err
	})
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return nil
}

// Remove deletes a znode that is the session's own. One that is gone before the first attempt means that the session
// that owned it is, too, and ErrSessionLost; gone later it is what a lost reply did not tell.
func Remove(ctx context.Context, session Session, lost <-chan struct{}, path string) error {
	attempts := 0
	err := Retry(ctx, lost, func() error {
		attempts++
		return session.Delete(path, -1)
	})
	switch {
	case err == nil, errors.Is(err, zk.ErrNoNode) && attempts > 1:
		return nil
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, ErrSessionLost):
		return ErrSessionLost
	default:
		return fmt.Errorf("delete %s: %w", path, err)
	}
}
