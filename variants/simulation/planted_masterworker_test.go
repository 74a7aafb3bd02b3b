package simulation_test

import (
	"path"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/masterworker"
)

// ForgottenWorkers returns a variant of masterworker whose masters never notice that a worker has died: its tasks are lost, and
// further tasks are assigned to it.
func ForgottenWorkers() variants.Variant {
	return mistaken(named(masterworker.Recipe(), "multi"), "forgotten-workers", "multi with masters that notice no death of a worker",
		func(c variants.Conn) variants.Conn { return NewForgetfulConn(c) })
}

// ForgetfulConn is the connection of a client to which no worker ever seems to be gone.
type ForgetfulConn struct {
	variants.Conn

	mu      sync.Mutex
	workers []string // all that have ever been listed
}

// NewForgetfulConn returns a connection that leaves no worker out of a list.
func NewForgetfulConn(conn variants.Conn) *ForgetfulConn { return &ForgetfulConn{Conn: conn} }

// Children lists the children. A list of workers also has those that have a directory.
func (c *ForgetfulConn) Children(dir string) ([]string, *zk.Stat, error) {
	names, stat, err := c.Conn.Children(dir)
	return c.remember(dir, names), stat, err
}

// ChildrenW is Children with a watch.
func (c *ForgetfulConn) ChildrenW(dir string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, watch, err := c.Conn.ChildrenW(dir)
	return c.remember(dir, names), stat, watch, err
}

// remember returns the names in a list of workers, and all that were in such a list or had a directory before.
func (c *ForgetfulConn) remember(dir string, names []string) []string {
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
