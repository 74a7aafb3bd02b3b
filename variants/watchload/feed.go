package watchload

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// feed is shared by the variants. They differ in which znode stands for a topic, and in how a topic is published.
type feed struct {
	session *session.Session
	group   Group

	own     []string // the client's znodes, ephemeral
	znodeOf func(topic int) string
	watches []armedWatch  // by topic
	state   []publication // by topic; belongs to the operation that runs
}

// armedWatch is a watch and the version of the znode when it was set, or the version that it has notified of.
type armedWatch struct {
	watch   *session.Watch // nil for none
	version int32
}

type publication struct {
	count    int32 // how often it has been published, which is the version of its znodes
	notified int   // how many of the clients with a znode of their own the current publication has notified
	inDoubt  bool  // the outcome of a write is unknown
}

func newFeed(s *session.Session, group Group) *feed {
	group.Dir = path.Clean(group.Dir) // no server accepts a path with a trailing slash
	return &feed{
		session: s, group: group,
		watches: make([]armedWatch, group.Topics), state: make([]publication, group.Topics),
	}
}

// opsPerMulti keeps the requests that create and delete znodes well below the 1 MB that a server accepts.
const opsPerMulti = 500

func (f *feed) open(ctx context.Context) error {
	return f.session.Do(ctx, func(ctx context.Context) error {
		for paths := range slices.Chunk(f.own, opsPerMulti) {
			err := f.multi(ctx, paths, func(p string) any { return &zk.CreateRequest{Path: p, Flags: zk.FlagEphemeral} })
			if errors.Is(err, zk.ErrNodeExists) { // after a lost reply they may be there already: all of them or none
				err = f.checkOwner(ctx, paths[0])
			}
			if err != nil {
				return session.Attempted("create "+paths[0]+" and others", err)
			}
		}
		return nil
	}, f.remove)
}

// multi makes one operation for each path, in one transaction.
func (f *feed) multi(ctx context.Context, paths []string, operation func(path string) any) error {
	var ops []any
	for _, p := range paths {
		ops = append(ops, operation(p))
	}
	_, _, err := f.session.Multi(ctx, ops...)
	return err
}

func (f *feed) checkOwner(ctx context.Context, path string) error {
	exists, stat, err := f.session.Exists(ctx, path)
	if err == nil && (!exists || stat.EphemeralOwner != f.session.ID()) {
		err = ErrTaken
	}
	return err
}

// Watch uses exists, because with getData the server would keep a copy of the znode's data in a cache.
func (f *feed) Watch(ctx context.Context, topic int) (published int, err error) {
	armed, err := session.Run(ctx, f.session, func(ctx context.Context) (armedWatch, error) { return f.arm(ctx, topic) }, nil)
	if err != nil {
		return 0, err
	}
	f.watches[topic] = armed
	return int(armed.version), nil
}

// arm sets a watch. A server to which the session has moved may lag behind a notification that the client has got from
// the one before, as clients do not report the zxids of notifications when they move. It then catches up first.
func (f *feed) arm(ctx context.Context, topic int) (armedWatch, error) {
	exists, stat, watch, err := f.session.ExistsW(ctx, f.znodeOf(topic))
	if err == nil && exists && stat.Version < f.watches[topic].version {
		if err := f.session.Sync(ctx, f.group.Dir); err != nil {
			return armedWatch{}, err
		}
		exists, stat, watch, err = f.session.ExistsW(ctx, f.znodeOf(topic))
	}
	if err == nil && !exists {
		err = ErrClosed
	}
	if err != nil {
		return armedWatch{}, err
	}
	return armedWatch{watch, stat.Version}, nil
}

// A watch that only counts as fired, after an outage, says nothing about the topic, which is then watched again.
func (f *feed) Changed(ctx context.Context, topic int) error {
	armed := f.watches[topic]
	if armed.watch == nil {
		return ErrNotWatched
	}
	published := int(armed.version)
	for published == int(armed.version) {
		event, err := f.session.AwaitEvent(ctx, f.watches[topic].watch)
		if err != nil {
			return err
		}
		switch event.Type {
		case zk.EventNodeDataChanged:
			published++
		case zk.EventNodeDeleted:
			f.watches[topic] = armedWatch{}
			return ErrClosed
		default:
			if published, err = f.Watch(ctx, topic); err != nil {
				return err
			}
		}
	}
	f.watches[topic] = armedWatch{version: int32(published)}
	return nil
}

func (f *feed) publish(ctx context.Context, topic int, write func(context.Context, *publication) error) error {
	if f.group.Client != 0 {
		return ErrNotPublisher
	}
	return f.session.Do(ctx, func(ctx context.Context) error {
		p := &f.state[topic]
		if err := write(ctx, p); err != nil {
			return err
		}
		p.count, p.notified = p.count+1, 0
		return nil
	}, nil)
}

// once makes a write that expects the version that the last publication made. So a write that had taken effect,
// although its reply was lost, fails when it is sent again, instead of notifying all clients a second time.
func (p *publication) once(ctx context.Context, write func() (repeated bool, err error)) error {
	repeated, err := write()
	p.inDoubt = p.inDoubt || repeated || ctx.Err() != nil
	if errors.Is(err, zk.ErrBadVersion) && p.inDoubt {
		err = nil
	}
	if err == nil {
		p.inDoubt = false
	}
	return err
}

func (f *feed) Close(ctx context.Context) error { return f.session.Do(ctx, f.remove, nil) }

// remove deletes the client's znodes, unless they end with their session anyway.
func (f *feed) remove(ctx context.Context) error {
	if err := f.session.Alive(); err != nil {
		return err
	}
	for paths := range slices.Chunk(f.own, opsPerMulti) {
		err := f.multi(ctx, paths, func(p string) any { return &zk.DeleteRequest{Path: p, Version: -1} })
		if err != nil && !errors.Is(err, zk.ErrNoNode) { // an attempt whose reply was lost has deleted them, or they were never created
			return session.Attempted("delete "+paths[0]+" and others", err)
		}
	}
	f.own = nil
	return nil
}
