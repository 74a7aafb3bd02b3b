package simulation_test

import (
	"context"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/election"
	"github.com/zkbench/zkbench/variants/hiddenchannel"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/session"
)

// serverMistakes are mistakes that only servers that lag behind can show, and mistakes of clients that do not compare
// what distinguishes one holder, or one version, from another.
//
// Of the other syncs, the one of revocable/forced and the one of barrier/no-recheck are not found in thousands of
// seeds. The rest are not needed for a promise, or not in the simulator: see the survivors in ../mutants/testdata.
func serverMistakes() []mistake {
	all := []mistake{
		{"hiddenchannel/watch reads after a move", hiddenchannel.Recipe, in(hiddenchannel.Recipe, "watch", credulously)},
		{"lock/znode of another client", lock.Recipe, on(lock.Recipe, "znode", adopt)},
		{"election/master-znode of another client", election.Recipe, on(election.Recipe, "master-znode", adopt)},
		{"lock/znode released without a fence", lock.Recipe, on(lock.Recipe, "znode", changed(func(op any) any {
			if _, checks := op.(*zk.CheckVersionRequest); checks {
				return nil
			}
			return op
		}))},
	}
	for _, name := range []string{
		"lock/znode", "lock/predecessor-watch", "lock/released-mark", "lock/relay",
		"rwlock/nearest-writer-watch", "revocable/data-watch", "queue/queue-wide-lock", "blockingqueue/marked-ticket",
		"election/master-znode", "election/acknowledged",
		"doublebarrier/children-watch", "doublebarrier/counted", "doublebarrier/ready-node",
		"membership/diff-cache", "treecache/resumed-watches",
	} {
		recipe, variant, _ := strings.Cut(name, "/")
		all = append(all, mistake{name + " without a sync", catalog.Named(recipe), on(catalog.Named(recipe), variant, withoutSync)})
	}
	return all
}

// unsynced is a connection that lets no server catch up.
type unsynced struct{ session.Conn }

func withoutSync(c session.Conn) session.Conn { return unsynced{c} }

func (u unsynced) Sync(path string) (string, error) { return path, nil }

// credulous is a connection that takes its server's version of a znode for the newest that it knows, although the
// session has moved there from a server that had a later version.
type credulous struct {
	session.Conn
	session *session.Session // of which this is the connection

	mu    sync.Mutex
	known map[string]int32 // the newest version of each znode that it has read or been notified of
}

func credulously(_ context.Context, s *session.Session) *session.Session {
	c := &credulous{Conn: s.Conn(), known: map[string]int32{}}
	c.session = s.Through(c)
	return c.session
}

func (c *credulous) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	overtakes := c.session.Overtakes()
	data, stat, watch, err := c.Conn.GetW(path)
	if err == nil {
		watch = c.believe(path, stat, watch, overtakes)
	}
	return data, stat, watch, err
}

// believe changes the version of a znode to the newest that the connection knows. The event of the watch announces the
// next one, unless the watch may be from before an outage.
func (c *credulous) believe(path string, stat *zk.Stat, watch <-chan zk.Event, overtakes int64) <-chan zk.Event {
	next := stat.Version + 1
	stat.Version = c.knows(path, stat.Version)
	passed := make(chan zk.Event, 1) // like the client library's: nothing may wait for the event
	go func() {
		defer close(passed)
		e, ok := <-watch
		if e.Type == zk.EventNodeDataChanged && c.session.Overtakes() == overtakes {
			c.knows(path, next)
		}
		if ok {
			passed <- e
		}
	}()
	return passed
}

// knows records that a version of a znode exists, and returns the newest that the connection knows.
func (c *credulous) knows(path string, version int32) int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[path] = max(c.known[path], version)
	return c.known[path]
}

// adopting is a connection on which each znode that a client may have created, as it got no reply, seems to be that one.
type adopting struct {
	session.Conn

	mu   sync.Mutex
	mine map[string][]byte // the data of the last creation
}

func adopt(c session.Conn) session.Conn { return &adopting{Conn: c} }

func (a *adopting) Multi(ops ...any) ([]zk.MultiResponse, error) {
	if create, ok := ops[0].(*zk.CreateRequest); ok {
		a.mu.Lock()
		a.mine = map[string][]byte{create.Path: create.Data}
		a.mu.Unlock()
	}
	return a.Conn.Multi(ops...)
}

func (a *adopting) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, err := a.Conn.Get(path)
	a.mu.Lock()
	defer a.mu.Unlock()
	if mine := a.mine[path]; err == nil && mine != nil {
		data, stat.EphemeralOwner = mine, a.SessionID()
	}
	return data, stat, err
}
