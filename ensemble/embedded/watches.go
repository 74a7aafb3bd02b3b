package embedded

import (
	"maps"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// watches are the one-shot watches of a server. They belong to connections: a client that reconnects sets them again.
type watches struct {
	data, child watchTable
	fired       [wire.NodeChildrenChanged + 1]int64 // by type of event, as ZooKeeper's mntr counts
}

// set sets the watch of a read. On a znode that does not exist, only exists sets one.
func (w *watches) set(op wire.Opcode, path string, exists bool, c *connection) {
	switch {
	case op == wire.OpExists, op == wire.OpGetData && exists:
		w.data.add(path, c)
	case exists:
		w.child.add(path, c)
	}
}

// fire removes the watches for an event and returns their connections. As in ZooKeeper, a connection that watches both the
// data and the children of a deleted znode is notified once and counted twice.
func (w *watches) fire(e event) set[*connection] {
	var data, child set[*connection]
	if e.typ != wire.NodeChildrenChanged {
		data = w.data.take(e.path)
	}
	if e.typ == wire.NodeChildrenChanged || e.typ == wire.NodeDeleted {
		child = w.child.take(e.path)
	}
	w.fired[e.typ] += int64(len(data) + len(child))
	if data == nil {
		return child
	}
	maps.Copy(data, child)
	return data
}

func (w *watches) has(kind wire.WatchKind, path string, c *connection) bool {
	return kind != wire.ChildWatch && w.data.has(path, c) || kind != wire.DataWatch && w.child.has(path, c)
}

func (w *watches) remove(kind wire.WatchKind, path string, c *connection) bool {
	removed := kind != wire.ChildWatch && w.data.remove(path, c)
	return kind != wire.DataWatch && w.child.remove(path, c) || removed
}

type set[T comparable] map[T]bool

func (s set[T]) add(v T) { s[v] = true }

// index holds a set of values for each key; it has no empty sets.
type index[K, V comparable] map[K]set[V]

func (x index[K, V]) add(key K, v V) {
	if x[key] == nil {
		x[key] = set[V]{}
	}
	x[key].add(v)
}

func (x index[K, V]) remove(key K, v V) {
	delete(x[key], v)
	if len(x[key]) == 0 {
		delete(x, key)
	}
}

func (x index[K, V]) size() (values int) {
	for _, s := range x {
		values += len(s)
	}
	return values
}

type watchTable struct {
	byPath       index[string, *connection]
	byConnection index[*connection, string]
}

func newWatchTable() watchTable {
	return watchTable{index[string, *connection]{}, index[*connection, string]{}}
}

func (t watchTable) add(path string, c *connection) {
	t.byPath.add(path, c)
	t.byConnection.add(c, path)
}

// take removes the watches on a path and returns their connections; nil if there are none.
func (t watchTable) take(path string) set[*connection] {
	watchers := t.byPath[path]
	delete(t.byPath, path)
	for c := range watchers {
		t.byConnection.remove(c, path)
	}
	return watchers
}

func (t watchTable) has(path string, c *connection) bool { return t.byPath[path][c] }

func (t watchTable) remove(path string, c *connection) bool {
	found := t.has(path, c)
	t.byPath.remove(path, c)
	t.byConnection.remove(c, path)
	return found
}

func (t watchTable) drop(c *connection) {
	for path := range t.byConnection[c] {
		t.byPath.remove(path, c)
	}
	delete(t.byConnection, c)
}
