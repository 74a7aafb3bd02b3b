package conformance_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/rwlock"
)

// rival is a session to which all readers of other sessions look like writers.
type rival struct {
	variants.Conn
	mu  sync.Mutex
	own string
}

func (r *rival) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := r.Conn.Create(path, data, flags, acl)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own = created[strings.LastIndex(created, "/")+1:]
	return created, err
}

func (r *rival) seen(names []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, name := range names {
		if name != r.own {
			names[i] = strings.Replace(name, "-read-", "-write-", 1)
		}
	}
	return names
}

func (r *rival) Children(path string) ([]string, *zk.Stat, error) {
	names, stat, err := r.Conn.Children(path)
	return r.seen(names), stat, err
}

func (r *rival) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, watch, err := r.Conn.ChildrenW(path)
	return r.seen(names), stat, watch, err
}

func (r *rival) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	return r.Conn.GetW(strings.Replace(path, "-write-", "-read-", 1))
}

// twoReaders lets a second reader come while the first one holds, until it waits or holds, too. It returns the history.
func twoReaders(t *testing.T, v venue, variant variants.Variant, wrap broken) variants.History {
	t.Helper()
	const n = 6 // of which the first two read first
	var holders atomic.Int64
	goOn := make(chan struct{})
	readers := newCompany(t.Context(), variant, variants.Env{Clients: n, Root: directory(t, v)})
	readers.env.Hold = func(context.Context, <-chan struct{}) error { holders.Add(1); <-goOn; return nil }
	cs := clients(t, v, 2)
	for i, c := range cs {
		readers.join(t, wrap(c.conn), c.monitor.Lost())
		readers.start(i, 1)
		eventually(t, "a reader neither holds nor waits", func() bool {
			return holders.Load() == int64(i+1) || i > 0 && c.waits()
		})
	}
	close(goOn)
	readers.mustEnd(t)
	return readers.history()
}

// Readers that exclude each other break no other part of the promise.
func TestReadersThatExcludeEachOtherAreCaught(t *testing.T) {
	t.Parallel()
	onEachOf(t, bubbles, rwlock.Recipe(), func(t *testing.T, v venue, variant variants.Variant) {
		if breaches := rwlock.Recipe().Violations(twoReaders(t, v, variant, honest)); len(breaches) > 0 {
			t.Errorf("breaches of readers that share: %v", breaches)
		}
		h := twoReaders(t, v, variant, func(s variants.Conn) variants.Conn { return &rival{Conn: s} })
		mustBreak(t, rwlock.Recipe(), h, "client 1 waited for the lock as a reader although no writer was ahead of it")
	})
}
