package masterworker

import (
	"context"
	"slices"

	"github.com/zkbench/zkbench/variants/session"
)

// inbox is a znode in which other clients create children, and from which one client removes them.
//
// After a notification it lists the children without a watch: a watch would fire when the first child is removed. It
// sets the watch again when all children have been removed. If others have come by then, that watch does fire early.
//
// An inbox that always watches lists with a watch each time, as in the book. The first child that is removed makes that
// watch fire.
type inbox struct {
	session *session.Session
	dir     string
	always  bool // lists with a watch each time

	watch    *session.Watch // while the inbox is empty as far as the client knows; nil if none is set
	notified bool           // there may be children
	found    []string       // by the listing that set the last watch
}

func (b *inbox) sync(ctx context.Context) error {
	return session.Attempted("sync "+b.dir, b.session.Sync(ctx, b.dir))
}

func (b *inbox) due() bool {
	return b.notified || len(b.found) > 0 || b.watch == nil || b.watch.Fired()
}

// next returns the children in order. If there are none, a watch has been set.
func (b *inbox) next(ctx context.Context) ([]string, error) {
	if !b.always && (b.notified || b.watch.Fired()) {
		names, err := list(ctx, b.session, b.dir)
		if err != nil {
			return nil, err
		}
		if b.notified, b.watch = false, nil; len(names) > 0 {
			return names, nil
		}
	}
	if len(b.found) == 0 && (!b.always || b.due()) {
		if err := b.rearm(ctx); err != nil {
			return nil, err
		}
		b.notified = false
	}
	names := b.found
	b.found = nil
	return names, nil
}

// again makes next list the children once more, because they have not been processed.
func (b *inbox) again() { b.notified, b.watch, b.found = true, nil, nil }

// rearm lists the children with a watch. Unless the inbox always watches, it keeps the watch only if there are no
// children: otherwise the watch would fire too early.
func (b *inbox) rearm(ctx context.Context) error {
	names, _, watch, err := b.session.ChildrenW(ctx, b.dir)
	if err != nil {
		return session.Attempted("list "+b.dir, err)
	}
	slices.Sort(names)
	if b.found = names; b.always || len(names) == 0 {
		b.watch = watch
	}
	return nil
}

func list(ctx context.Context, s *session.Session, dir string) ([]string, error) {
	names, _, err := s.Children(ctx, dir)
	slices.Sort(names)
	return names, session.Attempted("list "+dir, err)
}
