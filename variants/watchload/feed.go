package watchload

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// feed is what the variants share. They differ in where a topic stands, and in how it is published.
type feed struct {
	session variants.Session
	group   Group
	lost    <-chan struct{}
	lane    variants.Lane

	own     []string // the client's znodes, ephemeral
	owner   int64    // the session that created them
	place   func(topic int) string
	watches []<-chan zk.Event // by topic
	state   []publication     // by topic; belongs to the lane's owner
}

// publication is how far the publisher is with a topic.
type publication struct {
	count   int32 // how often it has been published, which is the version of its znodes
	told    int   // of the clients with a znode of their own, how many have been told in the one under way
	inDoubt bool  // a write was sent whose reply has not come
}

func newFeed(session variants.Session, group Group, lost <-chan struct{}) *feed {
	group.Dir = path.Clean(group.Dir) // a trailing slash would make dir a path that no server accepts
	return &feed{
		session: session, group: group, lost: lost, lane: variants.NewLane(),
		watches: make([]<-chan zk.Event, group.Topics), state: make([]publication, group.Topics),
	}
}

// opsPerMulti keeps the requests that create and delete znodes well below the 1 MB that a server accepts.
const opsPerMulti = 500

// open creates the client's own znodes.
func (f *feed) open(ctx context.Context) error {
	f.owner = f.session.SessionID()
	return variants.Do(ctx, f.lane, func(ctx context.Context) error {
		for paths := range slices.Chunk(f.own, opsPerMulti) {
			if err := f.create(ctx, paths); err != nil {
				return err
			}
		}
		return nil
	}, func() {
		ctx, cancel := variants.Cleanup(ctx)
		defer cancel()
		_ = f.remove(ctx) // the caller has left; if this fails too, the znodes end with the session
	})
}

// create makes some znodes at once. After a lost reply they may be there already: all of them or none.
func (f *feed) create(ctx context.Context, paths []string) error {
	var ops []any
	for _, p := range paths {
		ops = append(ops, &zk.CreateRequest{Path: p, Acl: variants.WorldACL(), Flags: zk.FlagEphemeral})
	}
	err := variants.Retry(ctx, f.lost, func() error {
		_, err := f.session.Multi(ops...)
		return err
	})
	if errors.Is(err, zk.ErrNodeExists) {
		err = f.checkOwner(ctx, paths[0])
	}
	switch {
	case err == nil && f.session.SessionID() != f.owner, errors.Is(err, variants.ErrSessionLost):
		return variants.ErrSessionLost
	case err != nil:
		return fmt.Errorf("create %s and others: %w", paths[0], err)
	}
	return nil
}

func (f *feed) checkOwner(ctx context.Context, p string) error {
	return variants.Retry(ctx, f.lost, func() error {
		there, stat, err := f.session.Exists(p)
		if err == nil && (!there || stat.EphemeralOwner != f.owner) {
			return ErrTaken
		}
		return err
	})
}

// Watch implements [Feed]. It asks whether the znode is there instead of for its data, of which the server would keep a
// copy in a cache.
func (f *feed) Watch(ctx context.Context, topic int) (published int, err error) {
	type armed struct {
		there   bool
		version int32
		watch   <-chan zk.Event
	}
	a, err := variants.Run(ctx, f.lane, func(ctx context.Context) (armed, error) {
		var a armed
		err := variants.Retry(ctx, f.lost, func() error {
			there, stat, watch, err := f.session.ExistsW(f.place(topic))
			if err == nil {
				a = armed{there, stat.Version, watch}
			}
			return err
		})
		return a, err
	}, func(armed) {})
	switch {
	case err != nil:
		return 0, err
	case !a.there:
		return 0, ErrClosed
	}
	f.watches[topic] = a.watch
	return int(a.version), nil
}

// Changed implements [Feed].
func (f *feed) Changed(ctx context.Context, topic int) error {
	if f.watches[topic] == nil {
		return ErrNotWatched
	}
	event, err := variants.AwaitEvent(ctx, f.lost, f.watches[topic])
	if err != nil {
		return err
	}
	f.watches[topic] = nil
	if event.Type == zk.EventNodeDeleted {
		return ErrClosed
	}
	return nil
}

// publish runs one publication on the lane.
func (f *feed) publish(ctx context.Context, topic int, write func(context.Context, *publication) error) error {
	if f.group.Client != 0 {
		return ErrNotPublisher
	}
	return variants.Do(ctx, f.lane, func(ctx context.Context) error {
		p := &f.state[topic]
		if err := write(ctx, p); err != nil {
			return err
		}
		p.count, p.told = p.count+1, 0
		return nil
	}, nil)
}

// once sends a write that asks for the version that the last publication made. So one whose reply was lost, and which had
// taken effect, fails when it is sent again, instead of waking everybody a second time.
func (f *feed) once(ctx context.Context, p *publication, write func() error) error {
	err := variants.Retry(ctx, f.lost, func() error {
		err := write()
		p.inDoubt = p.inDoubt || variants.OutcomeUnknown(err)
		return err
	})
	if errors.Is(err, zk.ErrBadVersion) && p.inDoubt {
		err = nil
	}
	if err == nil {
		p.inDoubt = false
	}
	return err
}

// Close implements [Feed].
func (f *feed) Close(ctx context.Context) error {
	return variants.Do(ctx, f.lane, f.remove, nil)
}

// remove deletes the client's znodes, unless they are going with their session anyway.
func (f *feed) remove(ctx context.Context) error {
	for paths := range slices.Chunk(f.own, opsPerMulti) {
		if f.session.SessionID() != f.owner {
			return variants.ErrSessionLost
		}
		var ops []any
		for _, p := range paths {
			ops = append(ops, &zk.DeleteRequest{Path: p, Version: -1})
		}
		err := variants.Retry(ctx, f.lost, func() error {
			_, err := f.session.Multi(ops...)
			return err
		})
		if err != nil && !errors.Is(err, zk.ErrNoNode) { // what a lost reply did not tell, or they were never created
			return fmt.Errorf("delete %s and others: %w", paths[0], err)
		}
	}
	f.own = nil
	return nil
}
