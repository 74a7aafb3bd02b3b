package hiddenchannel

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// Create creates a znode with the value's first version.
func Create(ctx context.Context, session variants.Session, path string, data []byte) error {
	err := variants.Retry(ctx, nil, func() error {
		_, err := session.Create(path, data, 0, variants.WorldACL())
		return err
	})
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return nil
}

// follower is what the variants share: where the value stands, how it is written, and what the client knows of it. They
// differ in how readers are told, and in how they then read.
type follower struct {
	lane    variants.Lane
	session variants.Session
	lost    <-chan struct{}
	path    string
	known   int64           // the newest version that the client has written, read or been told of
	watch   <-chan zk.Event // on the version that was read last; nil if there is none
	steps   steps
}

// steps are what the variants differ in.
type steps struct {
	announce func(ctx context.Context, version int64) error
	changed  func(ctx context.Context) (int64, error)
	read     func(ctx context.Context) (Reading, error)
}

// follow looks up which version there is.
func follow(ctx context.Context, session variants.Session, znode string, lost <-chan struct{}) (*follower, error) {
	f := &follower{lane: variants.NewLane(), session: session, lost: lost, path: path.Clean(znode)}
	if err := f.sync(ctx); err != nil {
		return nil, err
	}
	_, err := f.get(ctx)
	return f, err
}

// Update implements [Value].
func (f *follower) Update(ctx context.Context, data []byte) error {
	return variants.Do(ctx, f.lane, func(ctx context.Context) error {
		if err := errors.Join(ctx.Err(), variants.Alive(f.lost)); err != nil {
			return err
		}
		ctx, cancel := variants.Cleanup(ctx)
		defer cancel()
		if err := f.write(ctx, data); err != nil {
			return err
		}
		return f.steps.announce(ctx, f.known)
	}, nil)
}

// Changed implements [Value].
func (f *follower) Changed(ctx context.Context) (int64, error) { return learn(ctx, f, f.steps.changed) }

// Read implements [Value].
func (f *follower) Read(ctx context.Context) (Reading, error) { return learn(ctx, f, f.steps.read) }

// learn runs a step by which the client learns something. When its caller has left meanwhile, it has learned nothing.
func learn[T any](ctx context.Context, f *follower, step func(context.Context) (T, error)) (T, error) {
	var before int64
	return variants.Run(ctx, f.lane, func(ctx context.Context) (T, error) {
		before = f.known
		if err := errors.Join(ctx.Err(), variants.Alive(f.lost)); err != nil {
			var none T
			return none, err
		}
		learned, err := step(ctx)
		if err == nil {
			err = variants.Alive(f.lost)
		}
		return learned, err
	}, func(T) { f.known, f.watch = before, nil })
}

// write replaces the version that the client knows of. If the reply is lost it is sent again, and fails if it has taken
// effect already, as nobody else writes.
func (f *follower) write(ctx context.Context, data []byte) error {
	attempts := 0
	err := variants.Retry(ctx, f.lost, func() error {
		attempts++
		_, err := f.session.Set(f.path, data, int32(f.known))
		return err
	})
	switch {
	case err == nil, errors.Is(err, zk.ErrBadVersion) && attempts > 1:
		f.known++
		return nil
	case errors.Is(err, zk.ErrBadVersion):
		return ErrOvertaken
	default:
		return fmt.Errorf("update %s: %w", f.path, err)
	}
}

// get reads the value.
func (f *follower) get(ctx context.Context) (Reading, error) {
	return f.look(ctx, func() ([]byte, *zk.Stat, error) { return f.session.Get(f.path) })
}

// getW reads the value and watches it.
func (f *follower) getW(ctx context.Context) (Reading, error) {
	return f.look(ctx, func() ([]byte, *zk.Stat, error) {
		data, stat, watch, err := f.session.GetW(f.path)
		f.watch = watch
		return data, stat, err
	})
}

func (f *follower) look(ctx context.Context, ask func() ([]byte, *zk.Stat, error)) (Reading, error) {
	var r Reading
	err := variants.Retry(ctx, f.lost, func() error {
		data, stat, err := ask()
		if err == nil {
			r = Reading{Version: int64(stat.Version), Data: data}
		}
		return err
	})
	if err != nil {
		return Reading{}, fmt.Errorf("read %s: %w", f.path, err)
	}
	f.known = max(f.known, r.Version)
	return r, nil
}

// sync lets the session's server catch up with the leader.
func (f *follower) sync(ctx context.Context) error {
	err := variants.Retry(ctx, f.lost, func() error {
		_, err := f.session.Sync(f.path)
		return err
	})
	if err != nil {
		return fmt.Errorf("sync %s: %w", f.path, err)
	}
	return nil
}

// updates is what an update costs, whose one write sets off all notifications.
func updates(requests, notifications variants.Formula) variants.Cost {
	return variants.Cost{
		Requests:      requests,
		Writes:        "1",
		FailedWrites:  "0",
		Notifications: notifications,
		HerdMax:       notifications,
	}
}
