package barrier

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// prefix is what the name of a barrier's znode begins with; its number follows.
const prefix = "barrier-"

func znode(dir string, number int64) string {
	return path.Join(dir, prefix+strconv.FormatInt(number, 10))
}

// Create closes the first barrier of an existing znode dir, which is the barriers' alone.
func Create(ctx context.Context, session variants.Session, dir string) error {
	err := variants.Retry(ctx, nil, func() error {
		_, err := session.Create(znode(dir, 0), nil, 0, variants.WorldACL())
		return err
	})
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("create a barrier in %s: %w", dir, err)
	}
	return nil
}

// Remove deletes the barrier of a directory for good, which lets everybody pass, now and ever after.
func Remove(ctx context.Context, session variants.Session, dir string) error {
	for {
		number, err := latest(ctx, session, nil, dir)
		switch {
		case errors.Is(err, ErrNone):
			return nil
		case err != nil:
			return err
		}
		err = variants.Retry(ctx, nil, func() error { return session.Delete(znode(dir, number), -1) })
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return fmt.Errorf("remove the barrier in %s: %w", dir, err)
		}
	}
}

// latest returns the number of the barrier that is closed. Should the session's server lag behind in spite of the sync, it
// is that of an earlier one, which the client will find open.
func latest(ctx context.Context, session variants.Session, lost <-chan struct{}, dir string) (int64, error) {
	var names []string
	err := variants.Retry(ctx, lost, func() error {
		if _, err := session.Sync(dir); err != nil {
			return err
		}
		var err error
		names, _, err = session.Children(dir)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("look for a barrier in %s: %w", dir, err)
	}
	last := int64(-1)
	for _, name := range names {
		digits, ours := strings.CutPrefix(name, prefix)
		if number, err := strconv.ParseInt(digits, 10, 64); ours && err == nil {
			last = max(last, number)
		}
	}
	if last < 0 {
		return 0, fmt.Errorf("look into %s: %w", dir, ErrNone)
	}
	return last, nil
}

// place is what the variants share: which barrier a client is before, and how one is opened. They differ in how they
// wait.
type place struct {
	lane    variants.Lane
	session variants.Session
	lost    <-chan struct{}
	dir     string
	number  int64 // of the barrier that the client is before
	await   func(ctx context.Context, barrier string) error
}

// enter places a client before the barrier that is closed. await waits until that of a path is gone.
func enter(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (place, error) {
	dir = path.Clean(dir) // a trailing slash would make it a path that no server accepts
	number, err := latest(ctx, session, lost, dir)
	return place{lane: variants.NewLane(), session: session, lost: lost, dir: dir, number: number}, err
}

// Wait implements [Barrier].
func (p *place) Wait(ctx context.Context) error { return p.pass(ctx, p.await) }

// Open implements [Barrier].
func (p *place) Open(ctx context.Context) error { return p.pass(ctx, p.open) }

// pass brings the client before the next barrier, if it gets past the one that it is before. A caller that has left
// meanwhile does not know, and finds itself before the same one again, which is open.
func (p *place) pass(ctx context.Context, through func(ctx context.Context, barrier string) error) error {
	return variants.Do(ctx, p.lane, func(ctx context.Context) error {
		err := errors.Join(ctx.Err(), variants.Alive(p.lost))
		if err == nil {
			err = through(ctx, znode(p.dir, p.number))
		}
		if err == nil {
			err = variants.Alive(p.lost)
		}
		if err == nil {
			p.number++
		}
		return err
	}, func() { p.number-- })
}

// open deletes the barrier and creates the next in one transaction. If the reply is lost it is sent again, and fails if
// it has taken effect already: then the barrier is open, as it is if somebody else was faster.
func (p *place) open(ctx context.Context, barrier string) error {
	err := variants.Retry(ctx, p.lost, func() error {
		_, err := p.session.Multi(
			&zk.DeleteRequest{Path: barrier, Version: -1},
			&zk.CreateRequest{Path: znode(p.dir, p.number+1), Acl: variants.WorldACL()})
		return err
	})
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("open %s: %w", barrier, err)
	}
	return nil
}

// look tells whether the barrier is closed, and if so watches it. It reads the data because that sets no watch on a
// znode that is missing; exists would, and nobody would ever be told of it.
func (p *place) look(ctx context.Context, barrier string) (closed bool, watch <-chan zk.Event, err error) {
	err = variants.Retry(ctx, p.lost, func() error {
		var err error
		_, _, watch, err = p.session.GetW(barrier)
		return err
	})
	switch {
	case err == nil:
		return true, watch, nil
	case errors.Is(err, zk.ErrNoNode):
		return false, nil, nil
	default:
		return false, nil, fmt.Errorf("look for %s: %w", barrier, err)
	}
}

// openings is what an opening costs when each of the N-1 others sends so many requests.
func openings(requests variants.Formula) variants.Cost {
	return variants.Cost{
		Requests:      requests,
		Writes:        "1",
		FailedWrites:  "0",
		Notifications: "N-1",
		HerdMax:       "N-1",
	}
}

// prepare closes the first barrier.
func prepare(ctx context.Context, s variants.Session, env variants.Env) error {
	return Create(ctx, s, env.Root)
}
