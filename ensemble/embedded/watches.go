package embedded

import (
	"maps"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// watches are the one-shot watches of a server. They belong to connections, not to sessions: a client that comes back
// has to set them again.
type watches struct {
	data, child watchTable
	fired       [wire.NodeChildrenChanged + 1]int64 // by type of event, as ZooKeeper's mntr counts
}

func newWatches() *watches { return &watches{data: newWatchTable(), child: newWatchTable()} }

// set sets the watch that a read asks for. On a znode that does not exist only exists leaves one.
func (w *watches) set(op wire.Opcode, path string, exists bool, c *connection) {
	switch {
	case op == wire.OpExists, op == wire.OpGetData && exists:
		w.data.add(path, c)
	case exists:
		w.child.add(path, c)
	}
}

// fire takes the watches that wait for an event and returns whom to tell, each once.
//
// A connection that watches both the data and the children of a znode that is deleted is told once and counted
// twice, by ZooKeeper as well as here.
func (w *watches) fire(e event) set[*connection] {
	var told set[*connection]
	switch e.typ {
	case wire.NodeChildrenChanged:
		told = w.child.take(e.path)
		w.fired[e.typ] += int64(len(told))
	case wire.NodeDeleted:
		told = w.data.take(e.path)
		also := w.child.take(e.path)
		w.fired[e.typ] += int64(len(told) + len(also))
		if told == nil {
			return also
		}
		maps.Copy(told, also)
	default:
		told = w.data.take(e.path)
		w.fired[e.typ] += int64(len(told))
	}
	return told
}

// drop forgets a connection.
func (w *watches) drop(c *connection) {
	w.data.drop(c)
	w.child.drop(c)
}

// set is a set.
type set[T comparable] map[T]struct{}

func (s set[T]) add(v T) { s[v] = struct{}{} }

// watchTable is who watches what, from both ends.
type watchTable struct {
	byPath       map[string]set[*connection]
	byConnection map[*connection]set[string]
}

func newWatchTable() watchTable {
	return watchTable{map[string]set[*connection]{}, map[*connection]set[string]{}}
}

func (t watchTable) add(path string, c *connection) {
	if t.byPath[path] == nil {
		t.byPath[path] = set[*connection]{}
	}
	if t.byConnection[c] == nil {
		t.byConnection[c] = set[string]{}
	}
	t.byPath[path].add(c)
	t.byConnection[c].add(path)
}

// take removes the watches on a path and returns whose they were; nil if there were none.
func (t watchTable) take(path string) set[*connection] {
	watchers := t.byPath[path]
	delete(t.byPath, path)
	for c := range watchers {
		t.forget(c, path)
	}
	return watchers
}

func (t watchTable) forget(c *connection, path string) {
	delete(t.byConnection[c], path)
	if len(t.byConnection[c]) == 0 {
		delete(t.byConnection, c)
	}
}

func (t watchTable) drop(c *connection) {
	for path := range t.byConnection[c] {
		delete(t.byPath[path], c)
		if len(t.byPath[path]) == 0 {
			delete(t.byPath, path)
		}
	}
	delete(t.byConnection, c)
}

func (t watchTable) len() int {
	n := 0
	for _, paths := range t.byConnection {
		n += len(paths)
	}
	return n
}
