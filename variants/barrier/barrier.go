// Package barrier compares two ways to wait at a barrier until one client opens it for all.
//
// The promise of both variants: no client passes a barrier before it is opened, and every client that waits at an opened
// barrier passes it.
//
//	variant     znodes               one opening with N-1 waiting
//	recheck     <dir>/barrier-<seq>  N-1 notifications, 2N-1 requests
//	no-recheck  <dir>/barrier-<seq>  N-1 notifications, N requests
//
// The recipe takes one position: a barrier that is used again gets a new name. Under its old name, a client that is slow
// to look for the barrier could find it closed again, and miss the opening for which it had waited. So the barriers of a
// directory are numbered. One multi deletes a barrier and creates the next, at no extra request. The absence of a barrier
// is then final: a client that has passed one barrier has seen the next, and finds it gone only after its opening.
//
// The znodes are persistent: the end of the client that created a barrier does not open it. If the client dies that was to
// open a barrier, the others wait until another client opens it, or until that client is back. In the workload each client
// has its turn to open, and one that joins again goes on with the barrier that is closed then. If that is its own, the client
// opens it, and the others have waited for about a session timeout. A client that dies while it waits delays no other client.
// It passes no barrier that was opened without it.
package barrier

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// ErrNone says that there is no barrier in the directory.
var ErrNone = errors.New("there is no barrier")

// prefix begins the name of a barrier's znode; the barrier's number follows.
const prefix = "barrier-"

func znode(dir string, number int64) string {
	return path.Join(dir, prefix+strconv.FormatInt(number, 10))
}

// Create makes the first barrier of an existing znode dir, which may hold nothing but barriers. The barrier is closed.
func Create(ctx context.Context, s *session.Session, dir string) error {
	return s.Ensure(ctx, znode(dir, 0), nil, 0)
}

// latest returns the number of the closed barrier. If the session's server lags behind in spite of the sync, it returns
// the number of an earlier barrier, which the client will find open.
func latest(ctx context.Context, s *session.Session, dir string) (int64, error) {
	var names []string
	err := s.Synced(ctx, dir, func(c session.Conn) (err error) {
		names, _, err = c.Children(dir)
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

// Barrier is one client's view of the barriers of a directory, which it passes one after another. Its methods may be
// called concurrently and then run one after another. When the context ends first, they return its error within about a
// second even if the server is silent, and the client has not passed the barrier.
//
// All return session.ErrSessionLost when the session is gone: what a new session sees may be older.
type Barrier struct {
	session *session.Session
	dir     string
	recheck bool           // the client reads the znode again when it is notified of its deletion
	number  atomic.Int64   // of the next barrier
	told    *session.Watch // the watch that has notified of the last opening; nil if the client has read of it
}

// open returns a client's view of the barriers in dir, the first of which [Create] must have made. The client's next barrier
// is the one that is closed.
func open(ctx context.Context, s *session.Session, dir string, recheck bool) (*Barrier, error) {
	b := &Barrier{session: s, dir: path.Clean(dir), recheck: recheck} // no server accepts a path with a trailing slash
	number, err := latest(ctx, s, b.dir)
	b.number.Store(number)
	return b, err
}

// Number returns the number of the client's next barrier. A new client's next barrier is the one that is closed.
func (b *Barrier) Number() int64 { return b.number.Load() }

// Wait returns when the client's next barrier has been opened.
func (b *Barrier) Wait(ctx context.Context) error { return b.pass(ctx, b.await) }

// Open opens the client's next barrier, passes it, and leaves the one after it closed. If another client has opened
// the barrier, the client only passes it. After an error the barrier may be open or not; Open may be called again.
func (b *Barrier) Open(ctx context.Context) error { return b.pass(ctx, b.open) }

// pass moves the client on to the next barrier if it gets through its current one. If the caller has left meanwhile, the
// client stays at the current one, which is then open.
func (b *Barrier) pass(ctx context.Context, through func(ctx context.Context, barrier string) error) error {
	return b.session.DoWhileAlive(ctx, func(ctx context.Context) error {
		err := cmp.Or(through(ctx, znode(b.dir, b.number.Load())), b.session.Alive())
		if err == nil {
			b.number.Add(1)
		}
		return err
	}, func(context.Context) error { b.number.Add(-1); return nil })
}

// open deletes the barrier and creates the next in one transaction. It returns nil if the znode is missing: another
// client has opened the barrier, or an earlier attempt of this one whose reply was lost.
func (b *Barrier) open(ctx context.Context, barrier string) error {
	_, _, err := b.session.Multi(ctx,
		&zk.DeleteRequest{Path: barrier, Version: -1},
		&zk.CreateRequest{Path: znode(b.dir, b.number.Load()+1)})
	return session.Unless(zk.ErrNoNode, "open "+barrier, err)
}

func (b *Barrier) await(ctx context.Context, barrier string) error {
	for {
		watch, err := b.look(ctx, barrier)
		if err != nil || watch == nil {
			return err
		}
		event, err := b.session.AwaitEvent(ctx, watch)
		if err != nil {
			return err
		}
		if !b.recheck && event.Type == zk.EventNodeDeleted {
			b.told = watch
			return nil
		}
	}
}

// look returns a watch on the barrier, or nil if the barrier is open. It reads the data, because an exists would leave
// a watch behind on a znode that is missing. A server to which the session has moved may lag behind the notification
// with which the client has passed the barrier before, and not have this one yet: it catches up first.
func (b *Barrier) look(ctx context.Context, barrier string) (*session.Watch, error) {
	_, _, watch, err := b.session.GetW(ctx, barrier)
	if errors.Is(err, zk.ErrNoNode) && b.told.Moved() {
		if err := b.session.Sync(ctx, b.dir); err != nil {
			return nil, err
		}
		_, _, watch, err = b.session.GetW(ctx, barrier)
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, session.Attempted("look for "+barrier, err)
	}
	b.told = nil
	return watch, nil
}

// Recipe returns the barrier recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:      "barrier",
		Summary:   "no client passes until the barrier is opened, then all clients do",
		Source:    "ZooKeeper recipes page, Barriers",
		Variants:  []variants.Variant{recheckVariant(), noRecheckVariant()},
		Phases:    phases(),
		Operation: phaseOpen,
		Workload:  variants.Workload{Collective: true},
		Events: []string{
			"waits at the barrier", "has passed the barrier", "begins to open the barrier", "has opened the barrier", "stops waiting",
		},
		Calls:       []variants.EventKind{opening},
		NewObserver: newObserver,
		Code:        code,
		Prepare:     func(ctx context.Context, env variants.Env) error { return Create(ctx, env.Session, env.Root) },
		Bound: variants.Bound{Phase: phasePassage, Writes: "1", Reads: "0", Notifications: "N-1",
			Why: "To open the barrier is a write, and each other client waits for a notification of it"},
	}
}
