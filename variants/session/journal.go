package session

import (
	"context"
	"crypto/rand"
	"errors"
	"path"

	"github.com/go-zookeeper/zk"
)

// Journal makes the writes of one client safe to repeat. It is an ephemeral znode of the client's session whose version counts
// the writes: each is sent in one multi with a set of the journal that expects the current version. A write that is repeated
// because its reply was lost is refused if it has taken effect before. That costs no additional request.
//
// A search for the item by a GUID in its name would not be enough: another client may have taken the item meanwhile, and a
// second put would hand it out twice. In the same way, a second delete that finds no item does not show which client made the
// first.
//
// The journal ends with its session, so that nothing is written under a later session of the same client.
type Journal struct {
	session *Session
	path    string
	version int32
}

// OpenJournal creates a journal below dir, and dir if it is missing.
func OpenJournal(ctx context.Context, session *Session, dir string) (Journal, error) {
	j := Journal{session: session, path: path.Join(dir, rand.Text())}
	if err := session.Ensure(ctx, dir, nil, 0); err != nil {
		return Journal{}, err
	}
	return j, session.Ensure(ctx, j.path, nil, zk.FlagEphemeral)
}

// Do makes all of the writes or none, once. It returns their results, or the error of the first that is refused. If the reply
// with the results was lost, it returns none. It finishes a write that has been sent even if ctx ends: its effect would
// otherwise remain unknown.
func (j *Journal) Do(ctx context.Context, ops ...any) ([]zk.MultiResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := Cleanup(ctx)
	defer cancel()
	ops = append([]any{&zk.SetDataRequest{Path: j.path, Version: j.version}}, ops...)
	results, repeated, err := j.session.Multi(ctx, ops...)
	switch {
	case err == nil:
		j.version++
		return results[1:], nil
	case repeated && refused(results, zk.ErrBadVersion):
		j.version++
		return nil, nil
	case refused(results, zk.ErrNoNode): // the journal is gone
		return nil, ErrSessionLost
	case ctx.Err() != nil: // the outcome was unknown for longer than any session lives
		return nil, errors.Join(ErrSessionLost, err)
	default:
		return nil, err
	}
}

// refused reports whether the set of the journal was refused for this reason. Other writes may be refused for the same
// reason.
func refused(results []zk.MultiResponse, reason error) bool {
	return len(results) > 0 && errors.Is(results[0].Error, reason)
}

// Zxid returns the transaction of the last write. A znode that was created in it has this czxid.
func (j *Journal) Zxid(ctx context.Context) (int64, error) {
	_, stat, err := j.session.Get(ctx, j.path)
	switch {
	case errors.Is(err, zk.ErrNoNode): // the journal is gone
		return 0, ErrSessionLost
	case err != nil:
		return 0, err
	}
	return stat.Mzxid, nil
}
