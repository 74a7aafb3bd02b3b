package items

import (
	"context"
	"crypto/rand"
	"errors"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// Journal makes the writes of one client safe to repeat. It is a znode of the session's own, whose version counts them:
// each travels in one multi with a set of the journal at the version that it must have by then. So one that is repeated
// because its reply was lost is refused if it had taken effect. That costs no request.
//
// Looking for the item instead, by a GUID in its name, does not tell: somebody may have taken it meanwhile, and putting
// it again would have it taken twice. Nor does the second delete of an item tell who made the first.
//
// As the journal goes with its session, nothing is ever written under a later session of the same client.
type Journal struct {
	session variants.Session
	lost    <-chan struct{}
	path    string
	version int32
}

// OpenJournal creates a journal below dir, and dir if it is missing.
func OpenJournal(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (Journal, error) {
	j := Journal{session: session, lost: lost, path: path.Join(dir, rand.Text())}
	if err := variants.Ensure(ctx, session, lost, dir, 0); err != nil {
		return Journal{}, err
	}
	return j, variants.Ensure(ctx, session, lost, j.path, zk.FlagEphemeral)
}

// Do writes all of ops or none of them, once, and returns their results, or the error of the first that is refused.
// There are no results where a lost reply had them. A write that has been sent is seen through even if ctx ends: what it
// did would otherwise remain unknown.
func (j *Journal) Do(ctx context.Context, ops ...any) ([]zk.MultiResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := variants.Cleanup(ctx)
	defer cancel()
	ops = append([]any{&zk.SetDataRequest{Path: j.path, Version: j.version}}, ops...)
	var results []zk.MultiResponse
	attempts := 0
	err := variants.Retry(ctx, j.lost, func() error {
		attempts++
		var err error
		results, err = j.session.Multi(ops...)
		return err
	})
	switch {
	case err == nil:
		j.version++
		return results[1:], nil
	case attempts > 1 && errors.Is(err, zk.ErrBadVersion):
		j.version++
		return nil, nil
	case len(results) > 0 && errors.Is(results[0].Error, zk.ErrNoNode): // the journal is gone
		return nil, variants.ErrSessionLost
	case variants.OutcomeUnknown(err): // for longer than any session lives
		return nil, errors.Join(variants.ErrSessionLost, err)
	default:
		return nil, err
	}
}
