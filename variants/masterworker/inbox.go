package masterworker

import (
	"context"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// inbox is a znode in which others put children, and from which one client takes them out.
//
// Once told that there are some, it lists them without a watch: one that is set then would fire at the first one that is
// taken out. It sets the watch again when all have been. If others have come by then, that one does fire for nothing.
type inbox struct {
	session variants.Session
	lost    <-chan struct{}
	dir     string

	watch <-chan zk.Event // while nothing is known to be there; nil if none is set
	told  bool            // there may be something
	found []string        // by the listing that was to set the watch
}

// wait returns when there may be something in it.
func (b *inbox) wait(ctx context.Context) error {
	for !b.told && len(b.found) == 0 {
		if b.watch == nil {
			if err := b.rearm(ctx); err != nil {
				return err
			}
			continue
		}
		if err := variants.Await(ctx, b.lost, b.watch); err != nil {
			return err
		}
		b.told, b.watch = true, nil
	}
	return nil
}

// next returns what is in it, in order. If that is nothing, a watch has been set.
func (b *inbox) next(ctx context.Context) ([]string, error) {
	if b.told {
		names, err := list(ctx, b.session, b.dir, b.lost)
		if err != nil {
			return nil, err
		}
		if b.told = false; len(names) > 0 {
			return names, nil
		}
	}
	if len(b.found) == 0 {
		if err := b.rearm(ctx); err != nil {
			return nil, err
		}
	}
	names := b.found
	b.found = nil
	return names, nil
}

// again makes sure that whatever was found is found once more, after it has not been dealt with.
func (b *inbox) again() { b.told, b.watch, b.found = true, nil, nil }

// rearm lists with a watch, and trusts that only if there is nothing: otherwise it will fire too early.
func (b *inbox) rearm(ctx context.Context) error {
	var names []string
	var watch <-chan zk.Event
	err := variants.Retry(ctx, b.lost, func() error {
		var err error
		names, _, watch, err = b.session.ChildrenW(b.dir)
		return err
	})
	if err != nil {
		return attempted("list", b.dir, err)
	}
	slices.Sort(names)
	if b.found = names; len(names) == 0 {
		b.watch = watch
	}
	return nil
}

// list returns the children of a znode in order.
func list(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) ([]string, error) {
	var names []string
	err := variants.Retry(ctx, lost, func() error {
		var err error
		names, _, err = session.Children(dir)
		return err
	})
	slices.Sort(names)
	return names, attempted("list", dir, err)
}

// catchUp lets the session's server learn of everything that others have done.
func catchUp(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) error {
	err := variants.Retry(ctx, lost, func() error {
		_, err := session.Sync(dir)
		return err
	})
	return attempted("sync", dir, err)
}
