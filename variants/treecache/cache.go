package treecache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/variants/session"
)

// readsAtOnce is how many reads a client has under way while it reads many znodes. Without this, a copy of a large tree would
// take a round trip for each znode.
const readsAtOnce = 32

// cache is shared by the variants. They differ in what they do when the connection is made again.
type cache struct {
	session     *session.Session
	events      *session.Events
	root        string
	depth       int // of the znodes that have no children, below the root
	listen      Listener
	reconnected func(context.Context) error // completes the copy, or sets reload

	mu    sync.Mutex // guards these fields: several reads are under way at once
	nodes map[string]*node
	data  map[string]bool // paths of znodes whose data must be read again
	lists map[string]bool // paths of znodes whose children must be listed again

	cut      bool
	back     bool // it has been made again, and reconnected has not been called since
	resuming bool
	doubt    bool // the connection was lost again before reconnected had returned
	behind   bool // the copy may lack something that happened before the connection was made

	reload    time.Time // when the whole tree must be read, or as soon as possible after it; zero means never
	overtakes int64     // of the session, before it was read last
}

type node struct {
	read     bool // its data is known
	mzxid    int64
	children map[string]bool
}

func newNode() *node { return &node{children: map[string]bool{}} }

// open makes a cache of a tree, which must be read in full before it is used.
func open(s *session.Session, tree Tree, listen Listener) (*cache, error) {
	events, err := s.Subscribe()
	root := path.Clean(tree.Root)
	return &cache{
		session: s.Fork(), events: events, root: root, depth: tree.Depth, listen: listen,
		nodes: map[string]*node{root: newNode()}, data: map[string]bool{}, lists: map[string]bool{},
		behind: true, reload: time.Now(),
	}, err
}

func (c *cache) Load(ctx context.Context) error {
	err := c.Refresh(ctx)
	for ; err == nil && c.State() == CutOff; err = c.Refresh(ctx) {
		if err := c.Changed(ctx); err != nil {
			return err
		}
	}
	return err
}

func (c *cache) isDue() bool { return !c.reload.IsZero() && !time.Now().Before(c.reload) }

func (c *cache) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state()
}

// The caller of state holds the mutex.
func (c *cache) state() State {
	switch {
	case c.cut:
		return CutOff
	case c.behind:
		return Restoring
	default:
		return Current
	}
}

func (c *cache) Changed(ctx context.Context) error {
	return c.session.DoWhileAlive(ctx, func(ctx context.Context) error {
		if !c.hasWork() {
			if err := c.session.AwaitEvents(ctx, c.events, c.timer()); err != nil {
				return err
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.note()
		return nil
	}, nil)
}

// timer returns a channel that receives when the whole tree must be read. While the connection is lost, that is not before it
// is made again.
func (c *cache) timer() <-chan time.Time {
	if c.reload.IsZero() || c.State() == CutOff {
		return nil
	}
	return time.After(time.Until(c.reload))
}

// hasWork reports whether there is something to do. While the connection is lost, there is not: a read that is queued for the next
// connection may overtake the watches.
func (c *cache) hasWork() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.back || !c.cut && (c.isDue() || len(c.data)+len(c.lists) > 0)
}

// note takes the events that have arrived, and remembers what must be read. The caller holds the mutex.
func (c *cache) note() {
	for _, e := range c.events.Take() {
		switch e.Type {
		case zk.EventSession:
			c.cut = e.State == zk.StateDisconnected
			c.doubt = c.doubt || c.cut && (c.back || c.resuming)
			c.back, c.behind = !c.cut, true
			c.listen(Update{Kind: Connection, State: c.state()})
		case zk.EventNodeDeleted:
			c.remove(e.Path)
		case zk.EventNodeDataChanged:
			c.data[e.Path] = true
		case zk.EventNodeChildrenChanged:
			c.lists[e.Path] = true
		}
	}
}

func (c *cache) Refresh(ctx context.Context) error {
	return c.session.DoWhileAlive(ctx, func(ctx context.Context) error {
		for {
			if err := c.refresh(ctx); err != nil {
				return err
			}
			if !c.events.Pending() && !c.hasWork() {
				c.mu.Lock()
				c.behind = c.cut || !c.reload.IsZero() // it has everything, unless the whole tree must be read
				c.mu.Unlock()
				return nil
			}
		}
	}, nil)
}

func (c *cache) refresh(ctx context.Context) error {
	c.mu.Lock()
	c.note()
	back, cut := c.back, c.cut
	c.back, c.resuming = false, back
	c.mu.Unlock()
	if cut {
		return nil
	}
	if back {
		err := c.reconnected(ctx)
		c.mu.Lock()
		c.back, c.resuming = c.back || err != nil, false
		c.mu.Unlock()
		if err != nil {
			return err
		}
	}
	if c.isDue() {
		return c.readAll(ctx)
	}
	return c.readChanged(ctx)
}

func (c *cache) readAll(ctx context.Context) error {
	c.overtakes = c.session.Overtakes()
	c.mu.Lock()
	clear(c.data) // these are read with all others
	clear(c.lists)
	c.doubt = false
	c.mu.Unlock()
	if err := c.descend(ctx, []string{c.root}, true); err != nil {
		return err
	}
	c.reload = time.Time{}
	return nil
}

func (c *cache) readChanged(ctx context.Context) error {
	c.mu.Lock()
	data, lists := c.data, c.lists
	c.data, c.lists = map[string]bool{}, map[string]bool{}
	c.mu.Unlock()
	added, err := c.read(ctx, slices.Collect(maps.Keys(data)), slices.Collect(maps.Keys(lists)), false)
	if err == nil {
		err = c.descend(ctx, added, false)
	}
	if err != nil {
		c.reload = time.Now() // it is not known which reads have been made
	}
	return err
}

// descend reads some znodes and all znodes below them, or only the ones that are not in the copy yet.
func (c *cache) descend(ctx context.Context, paths []string, all bool) (err error) {
	isLeaf := func(p string) bool { return strings.Count(strings.TrimPrefix(p, c.root), "/") >= c.depth }
	for len(paths) > 0 && err == nil {
		parents := slices.DeleteFunc(slices.Clone(paths), isLeaf)
		paths, err = c.read(ctx, paths, parents, all)
	}
	return err
}

// read reads the data of some znodes and lists the children of some, several at once. It returns the paths of the children: all of
// them, or only those that were not in the copy.
func (c *cache) read(ctx context.Context, data, lists []string, all bool) (children []string, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for _, p := range data {
		group.Go(func() error { return c.get(ctx, p) })
	}
	for _, p := range lists {
		group.Go(func() error {
			found, err := c.list(ctx, p, all)
			c.mu.Lock()
			defer c.mu.Unlock()
			children = append(children, found...)
			return err
		})
	}
	err = group.Wait()
	return children, err
}

func (c *cache) get(ctx context.Context, p string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, stat, _, err := c.session.GetW(ctx, p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		return c.failed(p, err)
	}
	n := c.nodes[p]
	if n == nil || n.read && stat.Mzxid <= n.mzxid { // it has gone meanwhile, or a faster read has seen a newer state
		return nil
	}
	kind := Changed
	if !n.read {
		kind = Added
	}
	n.read, n.mzxid = true, stat.Mzxid
	c.listen(Update{Kind: kind, Path: p, Data: data})
	return nil
}

// list lists the children of a znode, and removes from the copy the ones that are gone. It returns the paths of all
// children, or of those that are new.
//
// Note: a notification that came before the listing must be noted before the listing is used. A child that has been
// deleted and created again in between would otherwise be removed from the copy when the notification is noted, and the
// listing, which has it, would not bring it back.
func (c *cache) list(ctx context.Context, p string, all bool) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	names, _, _, err := c.session.ChildrenW(ctx, p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note()
	n := c.nodes[p]
	if err != nil || n == nil {
		return nil, c.failed(p, err)
	}
	gone := maps.Clone(n.children)
	var wanted []string
	for _, name := range names {
		delete(gone, name)
		child := path.Join(p, name)
		if c.nodes[child] == nil {
			c.nodes[child] = newNode()
			n.children[name] = true
		} else if !all {
			continue
		}
		wanted = append(wanted, child)
	}
	for name := range gone {
		c.remove(path.Join(p, name))
	}
	return wanted, nil
}

// failed removes a znode that does not exist from the copy, and returns any other error. The caller holds the mutex.
func (c *cache) failed(p string, err error) error {
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, zk.ErrNoNode):
		return session.Attempted("read "+p, err)
	case p == c.root:
		return fmt.Errorf("%s: %w", p, ErrNoTree)
	default:
		c.remove(p)
		return nil
	}
}

// remove removes a znode and all below it from the copy. The caller holds the mutex.
func (c *cache) remove(p string) {
	n := c.nodes[p]
	if n == nil || p == c.root {
		return
	}
	for name := range n.children {
		c.remove(path.Join(p, name))
	}
	delete(c.nodes, p)
	delete(c.data, p)
	delete(c.lists, p)
	delete(c.nodes[path.Dir(p)].children, path.Base(p))
	if n.read {
		c.listen(Update{Kind: Removed, Path: p})
	}
}
