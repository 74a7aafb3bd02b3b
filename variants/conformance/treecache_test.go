package conformance_test

import (
	"context"
	"fmt"
	"maps"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/treecache"
)

type cacheOpener func(s *session.Session, tree treecache.Tree, listen treecache.Listener) (treecache.Cache, error)

// shortSpread is the time over which reloads are spread here.
const shortSpread = 50 * time.Millisecond

// cacheVariants are the variants under test, by name.
var cacheVariants = []underTest[cacheOpener]{
	{"full-reload", func(s *session.Session, tree treecache.Tree, listen treecache.Listener) (treecache.Cache, error) {
		return treecache.NewFullReload(s, tree, listen)
	}},
	{"resumed-watches", func(s *session.Session, tree treecache.Tree, listen treecache.Listener) (treecache.Cache, error) {
		return treecache.NewResumedWatches(s, tree, listen)
	}},
	{"jittered-reload", func(s *session.Session, tree treecache.Tree, listen treecache.Listener) (treecache.Cache, error) {
		return treecache.NewJitteredReload(s, tree, shortSpread, listen)
	}},
}

// cacheDepth is the depth of the trees here.
const cacheDepth = 3

// copyOfTree is the tree as a cache's listener knows it.
type copyOfTree struct {
	treecache.Cache
	root string

	mu   sync.Mutex
	data map[string]string
}

func openCopy(t testing.TB, c *client, root string, open cacheOpener) *copyOfTree {
	t.Helper()
	out := newCopy(t, c, root, open)
	must(t, out.Load(testContext(t)))
	return out
}

func newCopy(t testing.TB, c *client, root string, open cacheOpener) *copyOfTree {
	t.Helper()
	out := &copyOfTree{root: root, data: map[string]string{}}
	cache, err := open(c.session(), treecache.Tree{Root: root, Depth: cacheDepth}, out.update)
	must(t, err)
	out.Cache = cache
	return out
}

func (c *copyOfTree) update(u treecache.Update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch u.Kind {
	case treecache.Removed:
		delete(c.data, u.Path)
	case treecache.Connection:
	default:
		c.data[u.Path] = string(u.Data)
	}
}

func (c *copyOfTree) is(want map[string]string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Equal(c.data, want)
}

// mustBecome follows the tree until the copy has everything and is the tree.
func (c *copyOfTree) mustBecome(t testing.TB, want map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !c.is(want) || c.State() != treecache.Current {
		if err := c.Changed(ctx); err != nil {
			t.Fatalf("the copy has %v (%v), want %v", c.data, err, want)
		}
		must(t, c.Refresh(ctx))
	}
}

func treeOf(t testing.TB, c *client, root string) map[string]string {
	t.Helper()
	catchUp(t, c, root)
	out := map[string]string{}
	var read func(p string, depth int)
	read = func(p string, depth int) {
		data, _, err := c.conn.Get(p)
		must(t, err)
		out[p] = string(data)
		if depth == cacheDepth {
			return
		}
		names, _, err := c.conn.Children(p)
		must(t, err)
		for _, name := range names {
			read(path.Join(p, name), depth+1)
		}
	}
	read(root, 0)
	return out
}

// growTree creates a tree of 1 + 3 + 9 znodes.
func growTree(t testing.TB, c *client, root string) {
	t.Helper()
	for i := range 3 {
		parent := fmt.Sprintf("%s/p%d", root, i)
		must(t, errorOf(c.conn.Create(parent, []byte("0"), 0, zk.WorldACL(zk.PermAll))))
		for j := range 3 {
			must(t, errorOf(c.conn.Create(fmt.Sprintf("%s/c%d", parent, j), []byte("0"), 0, zk.WorldACL(zk.PermAll))))
		}
	}
}

// shakeTree makes changes of every kind, and returns the tree.
func shakeTree(t testing.TB, c *client, root string) map[string]string {
	t.Helper()
	set := func(p, data string) { must(t, errorOf(c.conn.Set(root+p, []byte(data), -1))) }
	create := func(p, data string) {
		must(t, errorOf(c.conn.Create(root+p, []byte(data), 0, zk.WorldACL(zk.PermAll))))
	}
	remove := func(p string) { must(t, c.conn.Delete(root+p, -1)) }
	set("", "1")
	set("/p0/c0", "1")
	set("/p0/c0", "2")
	remove("/p0/c1")
	create("/p0/c1", "again")
	remove("/p1/c0")
	remove("/p1/c1")
	remove("/p1/c2")
	remove("/p1")
	create("/p3", "new")
	create("/p3/c0", "new")
	create("/p2/c0/deep", "new")
	create("/p2/c0/deep/too-deep", "not in any copy")
	return treeOf(t, c, root)
}

type cacheCheck = func(t *testing.T, v venue, root string, open cacheOpener)

// cacheChecks are what every variant must pass, on every ensemble. Each has a tree.
var cacheChecks = []check[cacheCheck]{
	{"wants a tree", cacheWantsATree},
	{"wants to hear", cacheWantsToHear},
	{"withdraws", cacheWithdraws},
	{"catches up after an outage", cacheCatchesUpAfterAnOutage},
	{"honours a deadline of a silent server", cacheHonoursADeadline},
}

func TestTreeCache(t *testing.T)     { onEmbedded(t, checkCaches) }
func TestLiveTreeCache(t *testing.T) { onLive(t, checkCaches) }

func checkCaches(t *testing.T, at place) {
	checkAll(t, at, cacheChecks, cacheVariants, func(t *testing.T, v venue, do cacheCheck, variant underTest[cacheOpener]) {
		root := directory(t, v)
		growTree(t, clients(t, v, 1)[0], root)
		do(t, v, root, variant.open)
	})
}

func cacheWantsATree(t *testing.T, v venue, root string, open cacheOpener) {
	c := newCopy(t, clients(t, v, 1)[0], root+"/nothing", open)
	wantError(t, "Load of nothing", c.Load(testContext(t)), treecache.ErrNoTree)
}

// A cache is refused on a session whose events no monitor observes: it would never learn of a change.
func cacheWantsToHear(t *testing.T, v venue, root string, open cacheOpener) {
	_, err := open(session.NewSession(clients(t, v, 1)[0].conn, nil), treecache.Tree{Root: root, Depth: cacheDepth}, nil)
	wantError(t, "opening a cache on an unmonitored session", err, session.ErrUnmonitored)
}

// A cache whose caller gives up waiting, or loading, goes on from there.
func cacheWithdraws(t *testing.T, v venue, root string, open cacheOpener) {
	cs := clients(t, v, 2)
	c := newCopy(t, cs[0], root, open)
	gone, cancel := context.WithCancel(testContext(t))
	cancel()
	wantError(t, "a cancelled Load", c.Load(gone), context.Canceled)
	must(t, c.Load(testContext(t)))
	mustWithdraw(t, "Changed", cs[0], c.Changed)
	c.mustBecome(t, shakeTree(t, cs[1], root))
}

// mustSee waits until a cache is in a state.
func (c *copyOfTree) mustSee(t testing.TB, want treecache.State) {
	t.Helper()
	for ; c.State() != want; time.Sleep(time.Millisecond) { // Changed does not wait if there is something to read
		must(t, c.Changed(testContext(t)))
	}
}

func cacheCatchesUpAfterAnOutage(t *testing.T, v venue, root string, open cacheOpener) {
	other := clients(t, v, 1)[0]
	cut, cable := cabled(t, v, ensemble.SessionTimeout)
	c := openCopy(t, cut, root, open)
	cable.unplug()
	c.mustSee(t, treecache.CutOff)
	want := shakeTree(t, other, root)
	cable.replug()
	c.mustSee(t, treecache.Restoring)
	c.mustBecome(t, want)
	must(t, errorOf(other.conn.Set(root+"/p2", []byte("after"), -1)))
	c.mustBecome(t, treeOf(t, other, root))
}

func cacheHonoursADeadline(t *testing.T, v venue, root string, open cacheOpener) {
	other := clients(t, v, 1)[0]
	cut, cable := cabled(t, v, ensemble.SessionTimeout)
	c := newCopy(t, cut, root, open)
	cable.mustTimeOut(t, "Load", c.Load)
	c.mustBecome(t, treeOf(t, other, root))
}

// After a reconnect, a cache reads everything, or only what has changed.
func TestReadsAfterAReconnect(t *testing.T) {
	t.Parallel()
	const znodes, parents, ops = 13, 13, 26 // no znode here is as deep as the tree may be
	for _, tt := range []struct {
		variant     string
		least, most int64
	}{
		{"full-reload", znodes + parents, znodes + parents + 2},
		{"resumed-watches", 1, 4}, // the znode that has changed, and syncs
		{"jittered-reload", znodes + parents, ops + 2},
	} {
		bubbles.run(t, tt.variant, func(t *testing.T, v venue) {
			root := directory(t, v)
			other := clients(t, v, 1)[0]
			growTree(t, other, root)
			cut, cable := cabled(t, v, ensemble.SessionTimeout)
			var open cacheOpener
			for _, variant := range cacheVariants {
				if variant.name == tt.variant {
					open = variant.open
				}
			}
			c := openCopy(t, cut, root, open)
			before := cut.ledger.Traffic().Requests
			cable.unplug()
			c.mustSee(t, treecache.CutOff)
			must(t, errorOf(other.conn.Set(root+"/p0/c0", []byte("1"), -1)))
			cable.replug()
			c.mustSee(t, treecache.Restoring)
			c.mustBecome(t, treeOf(t, other, root))
			if got := cut.ledger.Traffic().Requests - before; got < tt.least || got > tt.most {
				t.Errorf("%d requests after a reconnect, want %d to %d", got, tt.least, tt.most)
			}
		})
	}
}
