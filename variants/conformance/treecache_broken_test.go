package conformance_test

import (
	"cmp"
	"context"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/treecache"
)

// cacheLiar is a session that alters what it reads of leaves: the number of the change that wrote them.
type cacheLiar struct {
	*zk.Conn
	alter func(number string) string
}

func (l cacheLiar) GetW(p string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, watch, err := l.Conn.GetW(p)
	if err == nil && strings.HasPrefix(path.Base(p), "l") {
		data = []byte(l.alter(strings.TrimSpace(string(data))))
	}
	return data, stat, watch, err
}

// cacheHoarder is a session in which children that have been listed once are listed forever.
type cacheHoarder struct {
	*zk.Conn
	listed *sync.Map
}

func (h cacheHoarder) ChildrenW(p string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, watch, err := h.Conn.ChildrenW(p)
	for _, name := range names {
		h.listed.Store(path.Join(p, name), nil)
	}
	names = nil
	h.listed.Range(func(child, _ any) bool {
		if path.Dir(child.(string)) == p {
			names = append(names, path.Base(child.(string)))
		}
		return true
	})
	return names, stat, watch, err
}

// hearing gives a client a handle whose cache learns of only some of its session's events.
func hearing(c *client, session variants.Conn, hears func(zk.Event) bool) *variants.Session {
	monitor := variants.NewMonitor(ensemble.SessionTimeout)
	observe := func(e zk.Event) {
		if hears(e) {
			monitor.Observe(e)
		}
	}
	c.also.Store(&observe)
	return variants.NewMonitoredSession(session, monitor)
}

// cacheHistory is what happens when a writer takes some steps, and the only reader, whose session is not what it seems, follows
// until it waits in vain. In an outage, the reader is cut off during each step of the writer.
func cacheHistory(t *testing.T, v venue, name string, f cacheFlaw) variants.History {
	t.Helper()
	c := newCompany(t.Context(), variantOf(treecache.Recipe(), name), variants.Env{Clients: 2, Size: 2, Root: directory(t, v)})
	other := clients(t, v, 1)[0]
	cut, cable := cabled(t, v, ensemble.SessionTimeout)
	c.prepare(t, other)
	session := hearing(cut, f.spoil(cut.conn), f.hears())
	reader := c.joinWith(t, session)
	writer := c.join(t, other.conn, other.monitor.Lost())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	inVain := func() bool { wait, _ := session.Waiting(); return wait != nil && !wait.Fired() }
	for range 3 {
		done := background(func() error { return reader.Step(ctx) })
		eventually(t, "the reader neither waits nor goes on", func() bool { return len(done) > 0 || inVain() })
		if f.outage {
			cable.unplug()
		}
		must(t, writer.Step(testContext(t)))
		cable.replug()
		must(t, cut.session().Sync(testContext(t), c.env.Root)) // all notifications have arrived
		eventually(t, "the reader does not come to rest", func() bool { return len(done) > 0 || inVain() })
		if len(done) == 0 {
			cancel()
			wantError(t, "a step in vain", await(t, "the reader did not end with its context", done), context.Canceled)
			break
		}
		must(t, <-done)
	}
	return c.history()
}

// cacheFlaw is what is wrong with a reader.
type cacheFlaw struct {
	name   string
	spoil  broken
	hears  func() func(zk.Event) bool
	outage bool
	want   map[string]string // by variant, the breach; "" for any other variant
}

// ears returns what hears some events.
func ears(hears func(zk.Event) bool) func() func(zk.Event) bool {
	return func() func(zk.Event) bool { return hears }
}

// untilCutOff hears all events of the session, and notifications until the connection is lost: as if the library did not send its
// watches again.
func untilCutOff() func(zk.Event) bool {
	var over atomic.Bool
	return func(e zk.Event) bool {
		if e.State == zk.StateDisconnected {
			over.Store(true)
		}
		return e.Type == zk.EventSession || !over.Load()
	}
}

// cacheFlaws are the ways in which a cache can break the promise.
func cacheFlaws() []cacheFlaw {
	everything := ears(func(zk.Event) bool { return true })
	lying := func(alter func(string) string) broken {
		return func(s variants.Conn) variants.Conn { return cacheLiar{s.(*zk.Conn), alter} }
	}
	always := func(text string) map[string]string { return map[string]string{"": text} }
	return []cacheFlaw{
		{"sound", honest, everything, false, nil},
		{"never notified", honest, ears(func(e zk.Event) bool { return e.Type == zk.EventSession }), false, always("never showed change 1")},
		{"not told of new znodes", honest, ears(func(e zk.Event) bool { return e.Type != zk.EventNodeChildrenChanged }), false, always("never showed change 2")},
		{"foreign", lying(func(string) string { return "1000" }), everything, false, always("shows change 1000, when the last was")},
		{"backwards", lying(func(number string) string { return strings.Replace(number, "5", "1", 1) }), everything, false, always("shows change 1 of a znode after change 3")},
		{"hoards", func(s variants.Conn) variants.Conn { return cacheHoarder{s.(*zk.Conn), &sync.Map{}} },
			ears(func(e zk.Event) bool { return e.Type != zk.EventNodeDeleted }), false, always("shows 5 leaves of a tree of 2")},
		{"without its watches after an outage", honest, untilCutOff, true, map[string]string{"resumed-watches": "never showed change 1"}},
	}
}

// What a cache shows that it must not, and what it does not show, is caught.
func TestBrokenCaches(t *testing.T) {
	t.Parallel()
	for _, f := range cacheFlaws() {
		for _, variant := range treecache.Recipe().Variants {
			if f.outage && variant.Name == "jittered-reload" {
				continue // it would take seconds
			}
			bubbles.run(t, f.name+" "+variant.Name, func(t *testing.T, v venue) {
				h := cacheHistory(t, v, variant.Name, f)
				if want := cmp.Or(f.want[variant.Name], f.want[""]); want != "" {
					mustBreak(t, treecache.Recipe(), h, want)
				} else if got := treecache.Recipe().Violations(h); len(got) > 0 {
					t.Errorf("violations %v in a correct history", got)
				}
			})
		}
	}
}
