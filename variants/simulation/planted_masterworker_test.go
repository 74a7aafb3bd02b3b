package simulation_test

import (
	"path"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// forgetful is the connection of a client to which no worker ever seems to be gone, as long as it has a directory: the tasks of a worker that
// has died are lost, and further tasks are assigned to it.
type forgetful struct {
	session.Conn

	mu      sync.Mutex
	workers []string // all that have ever been listed
}

func (c *forgetful) Children(dir string) ([]string, *zk.Stat, error) {
	names, stat, err := c.Conn.Children(dir)
	return c.remember(dir, names), stat, err
}

func (c *forgetful) ChildrenW(dir string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, watch, err := c.Conn.ChildrenW(dir)
	return c.remember(dir, names), stat, watch, err
}

// remember returns the names in a list of workers, and all that were in such a list or had a directory before.
func (c *forgetful) remember(dir string, names []string) []string {
	kind := path.Base(dir)
	if kind != "workers" && kind != "assign" {
		return names
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers = append(c.workers, names...)
	slices.Sort(c.workers)
	c.workers = slices.Compact(c.workers)
	if kind == "assign" {
		return names
	}
	return slices.Clone(c.workers)
}
