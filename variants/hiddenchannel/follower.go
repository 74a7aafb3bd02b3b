package hiddenchannel

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// follower is shared by the variants: the value's znode, how it is written, and the client's knowledge of it. They differ
// in how they hear of an update, and in how they read.
type follower struct {
	session *session.Session
	path    string
	known   int64          // the newest version that the client has written, read or heard of
	watch   *session.Watch // on the version that was read last; nil if there is none
	mail    Mail           // announces versions; nil if the client waits for its watch
	read    readFunc
}

type readFunc = func(*follower, context.Context) (Reading, error)

func follow(ctx context.Context, s *session.Session, znode string, mail Mail, read readFunc) (*follower, error) {
	f := &follower{session: s, path: path.Clean(znode), mail: mail, read: read}
	_, err := f.syncThenGet(ctx)
	return f, err
}

func (f *follower) Update(ctx context.Context, data []byte) error {
	return f.session.DoWhileAlive(ctx, func(ctx context.Context) error {
		ctx, cancel := session.Cleanup(ctx)
		defer cancel()
		if err := f.write(ctx, data); err != nil || f.mail == nil {
			return err
		}
		return session.Attempted(fmt.Sprintf("announce version %d", f.known), f.mail.Send(ctx, f.known))
	}, nil)
}

func (f *follower) Changed(ctx context.Context) (int64, error) {
	if f.mail == nil {
		return learn(ctx, f, f.awaitChange)
	}
	return learn(ctx, f, f.receive)
}

func (f *follower) Read(ctx context.Context) (Reading, error) {
	return learn(ctx, f, func(ctx context.Context) (Reading, error) { return f.read(f, ctx) })
}

// learn runs a step that adds to the client's knowledge. If the caller has left meanwhile, the result is dropped.
func learn[T any](ctx context.Context, f *follower, step func(context.Context) (T, error)) (T, error) {
	var before int64
	return session.RunWhileAlive(ctx, f.session, func(ctx context.Context) (T, error) {
		before = f.known
		return step(ctx)
	}, func(context.Context, T) error { f.known, f.watch = before, nil; return nil })
}

// write replaces the version that the client knows of. A repeated write is refused if an earlier attempt has taken effect,
// as no other client writes.
func (f *follower) write(ctx context.Context, data []byte) error {
	repeated, err := f.session.Set(ctx, f.path, data, int32(f.known))
	switch overtaken := errors.Is(err, zk.ErrBadVersion); {
	case err == nil, overtaken && repeated:
		f.known++
		return nil
	case overtaken:
		return ErrOvertaken
	default:
		return fmt.Errorf("update %s: %w", f.path, err)
	}
}

func (f *follower) get(ctx context.Context) (Reading, error) {
	data, stat, err := f.session.Get(ctx, f.path)
	return f.reading(data, stat, err)
}

func (f *follower) syncThenGet(ctx context.Context) (Reading, error) {
	if err := f.sync(ctx); err != nil {
		return Reading{}, err
	}
	return f.get(ctx)
}

// getW reads the value and watches it. A server to which the session has moved may lag behind the notification: it then catches up first.
func (f *follower) getW(ctx context.Context) (Reading, error) {
	data, stat, watch, err := f.session.GetW(ctx, f.path)
	if err == nil && int64(stat.Version) < f.known {
		if err := f.sync(ctx); err != nil {
			return Reading{}, err
		}
		data, stat, watch, err = f.session.GetW(ctx, f.path)
	}
	f.watch = watch
	return f.reading(data, stat, err)
}

func (f *follower) reading(data []byte, stat *zk.Stat, err error) (Reading, error) {
	if err != nil {
		return Reading{}, fmt.Errorf("read %s: %w", f.path, err)
	}
	r := Reading{Version: int64(stat.Version), Data: data}
	f.known = max(f.known, r.Version)
	return r, nil
}

func (f *follower) sync(ctx context.Context) error {
	return session.Attempted("sync "+f.path, f.session.Sync(ctx, f.path))
}

// updates returns the cost of an update, whose one write sets off all notifications of a burst.
func updates(requests, notifications, herd variants.Formula) variants.Cost {
	return variants.Cost{Requests: requests, Writes: "1", FailedWrites: "0", Notifications: notifications, HerdMax: herd}
}
