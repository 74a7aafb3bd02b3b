package observe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// app is an application on servers in memory, whose frames an observer sees.
type app struct {
	*testing.T
	server   ensemble.Server
	observer *Observer
	epoch    time.Time
	ctx      context.Context // until the application ends
	working  sync.WaitGroup
}

// client is a session of an application. Its methods fail the test unless the answer is one that clients expect.
type client struct {
	*zk.Conn
	app *app
}

func (a *app) client() *client {
	conn, err := ensemble.Connect(a.ctx, a.server, wire.NewTapped(a.epoch, a.observer), nil)
	must.Do(a.T, err)
	a.Cleanup(conn.Close)
	return &client{conn, a}
}

func (a *app) clients(n int) []*client {
	out := make([]*client, n)
	for i := range out {
		out[i] = a.client()
	}
	return out
}

// dirs creates persistent znodes, by a session that does nothing else.
func (a *app) dirs(paths ...string) {
	c := a.client()
	for _, path := range paths {
		for i := range path {
			if i > 0 && path[i] == '/' {
				c.make(path[:i], 0)
			}
		}
		c.make(path, 0)
	}
}

const (
	inLine = zk.FlagEphemeral | zk.FlagSequence
	asItem = zk.FlagSequence
)

// make creates a znode with some data, and returns its path; empty if it exists.
func (c *client) make(path string, flags int32) string {
	created, err := c.Create(path, []byte("data"), flags, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNodeExists) {
		return ""
	}
	must.Do(c.app.T, err)
	return created
}

func (c *client) remove(path string) bool { return c.Delete(path, -1) == nil }

func (c *client) write(path string) { _, _ = c.Set(path, []byte("new"), -1) }

func (c *client) list(dir string) []string {
	names, _, _ := c.Children(dir)
	slices.Sort(names)
	return names
}

// loop calls step until the application ends. step returns what to wait for, or nil to go on.
func (a *app) loop(step func() <-chan zk.Event) {
	a.working.Go(func() {
		for a.ctx.Err() == nil {
			if event := step(); event != nil {
				select {
				case <-event:
				case <-a.ctx.Done():
				}
			}
		}
	})
}

// follow lists a directory with a watch, reads each znode in it with read, and does so again for each change.
func (c *client) follow(dir string, read func(path string)) {
	c.app.loop(func() <-chan zk.Event {
		names, _, event, err := c.ChildrenW(dir)
		if err != nil {
			return c.app.never()
		}
		for _, name := range names {
			read(dir + "/" + name)
		}
		return event
	})
}

func (a *app) never() <-chan zk.Event { return make(chan zk.Event) }

func (c *client) read(path string) { _, _, _ = c.Get(path) }

func ignore(string) {}

// watchData watches a znode's data again after each change, until it is gone.
func (c *client) watchData(path string) {
	c.app.loop(func() <-chan zk.Event {
		_, _, event, err := c.GetW(path)
		if err != nil {
			return c.app.never()
		}
		return event
	})
}

// byNumber compares the numbers at the end of two names.
func byNumber(a, b string) int {
	return strings.Compare(a[max(len(a)-sequenceDigits, 0):], b[max(len(b)-sequenceDigits, 0):])
}

// behind waits until a znode is the first of its directory by watching the one before it, with getData or with exists.
func (c *client) behind(own string, exists bool, isAhead func(name string) bool) {
	dir, name := parentOf(own), own[strings.LastIndexByte(own, '/')+1:]
	for {
		before := ""
		for _, other := range c.list(dir) {
			if byNumber(other, name) < 0 && isAhead(other) && (before == "" || byNumber(other, before) > 0) {
				before = other
			}
		}
		if before == "" {
			return
		}
		var event <-chan zk.Event
		var err error
		found := true
		if exists {
			found, _, event, err = c.ExistsW(dir + "/" + before)
		} else {
			_, _, event, err = c.GetW(dir + "/" + before)
		}
		if err == nil && found {
			select {
			case <-event:
			case <-c.app.ctx.Done():
				return
			}
		}
	}
}

func anyName(string) bool { return true }

// each calls a function for some clients at the same time, and waits for all.
func each(clients []*client, do func(i int, c *client)) {
	var working sync.WaitGroup
	for i, c := range clients {
		working.Go(func() { do(i, c) })
	}
	working.Wait()
}
