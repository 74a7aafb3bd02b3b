package session

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// Claim creates an ephemeral znode unless it exists, and reports whether this session owns it. If another session does, it returns a
// watch on the znode.
func (s *Session) Claim(ctx context.Context, path string) (owned bool, watch *Watch, err error) {
	for {
		_, err := s.Create(ctx, path, nil, zk.FlagEphemeral)
		if !errors.Is(err, zk.ErrNodeExists) {
			return err == nil, nil, Attempted("create "+path, err)
		}
		exists, stat, watch, err := s.ExistsW(ctx, path)
		switch {
		case err != nil:
			return false, nil, Attempted("watch "+path, err)
		case exists && stat.EphemeralOwner == s.ID(): // an attempt whose reply was lost has created it
			return true, nil, nil
		case exists:
			return false, watch, nil
		}
	}
}

// Succeed creates an ephemeral znode, and waits while another session owns it. When it returns, what that session has sent can no
// longer take effect: the znode is gone because the session has ended, and servers refuse its requests from then on. A client that
// is alone in writing something calls it before it reads what its former session, or the client before it, has written.
func (s *Session) Succeed(ctx context.Context, path string) error {
	for {
		owned, watch, err := s.Claim(ctx, path)
		if err != nil || owned {
			return err
		}
		if err := s.Await(ctx, watch); err != nil {
			return Attempted("await the end of "+path, err)
		}
	}
}
