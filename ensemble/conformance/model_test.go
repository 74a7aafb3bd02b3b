package conformance_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// model is a tree of znodes that passes through all its states once.
type model struct {
	nodes   map[string]*node
	changes map[string][]change // of each path, in order
}

type node struct {
	zk.Stat
	data    []byte
	creates int32
	names   map[string]bool
}

// change is a change of a znode of which a watch may be notified.
type change struct {
	zxid int64
	typ  wire.EventType
}

func newModel() *model {
	m := &model{nodes: map[string]*node{}, changes: map[string][]change{}}
	for _, path := range []string{"", logPath, keptPath} {
		m.nodes[path] = &node{names: map[string]bool{}}
	}
	return m
}

func (n *node) stat() zk.Stat {
	st := n.Stat
	st.NumChildren, st.DataLength = int32(len(n.names)), int32(len(n.data))
	st.Cversion = 2*n.creates - st.NumChildren
	return st
}

func (m *model) show(r read) string {
	n := m.nodes[r.path]
	if n == nil {
		return outcome(wire.NoNode, "", zk.Stat{})
	}
	children := strings.Join(slices.Sorted(maps.Keys(n.names)), " ")
	switch r.op {
	case wire.OpExists:
		return outcome(wire.OK, "", n.stat())
	case wire.OpGetData:
		return outcome(wire.OK, string(n.data), n.stat())
	case wire.OpGetChildren:
		return outcome(wire.OK, children, zk.Stat{})
	default:
		return outcome(wire.OK, children, n.stat())
	}
}

// apply applies a write of a session if it succeeds, and returns the answer.
func (m *model) apply(zxid, session int64, e *exchange) (ok bool, told string) {
	if e.op != wire.OpMulti {
		return m.applyOne(zxid, session, e.write)
	}
	_, first := m.applyOne(zxid, session, write{op: wire.OpCreate, path: mark(e.number)})
	ok, second := m.applyOne(zxid, session, e.write)
	if !ok {
		delete(m.nodes, mark(e.number)) // the stat of its parent is not compared
		first = outcome(wire.OK, "", zk.Stat{})
	}
	return ok, first + second
}

func (m *model) applyOne(zxid, session int64, w write) (ok bool, told string) {
	if w.flags&sequential != 0 {
		if parent := m.nodes[dir(w.path)]; parent != nil {
			w.path += fmt.Sprintf("%010d", parent.creates)
		}
	}
	code := m.code(w)
	if code != wire.OK {
		return false, outcome(code, "", zk.Stat{})
	}
	n := m.nodes[w.path]
	switch w.op {
	case wire.OpDelete:
		m.remove(zxid, w.path)
		return true, outcome(wire.OK, "", zk.Stat{})
	case wire.OpSetData:
		n.data, n.Mzxid = w.data, zxid
		n.Version++
		m.note(w.path, zxid, wire.NodeDataChanged)
		return true, outcome(wire.OK, "", n.stat())
	default:
		n = m.insert(zxid, w)
		if w.flags&ephemeral != 0 {
			n.EphemeralOwner = session
		}
		if w.op == wire.OpCreate {
			return true, outcome(wire.OK, w.path, zk.Stat{})
		}
		return true, outcome(wire.OK, w.path, n.stat())
	}
}

func (m *model) code(w write) wire.Code {
	n, parent := m.nodes[w.path], m.nodes[dir(w.path)]
	isCreate := w.op == wire.OpCreate || w.op == wire.OpCreate2
	switch {
	case isCreate && parent == nil, !isCreate && n == nil:
		return wire.NoNode
	case isCreate && n != nil:
		return wire.NodeExists
	case isCreate && parent.EphemeralOwner != 0:
		return wire.NoChildrenForEphemerals
	case !isCreate && w.version != -1 && w.version != n.Version:
		return wire.BadVersion
	case w.op == wire.OpDelete && len(n.names) > 0:
		return wire.NotEmpty
	default:
		return wire.OK
	}
}

func dir(path string) string { return path[:strings.LastIndexByte(path, '/')] }

func (m *model) insert(zxid int64, w write) *node {
	n := &node{Stat: zk.Stat{Czxid: zxid, Mzxid: zxid, Pzxid: zxid}, data: w.data, names: map[string]bool{}}
	m.nodes[w.path] = n
	parent := m.nodes[dir(w.path)]
	parent.Pzxid, parent.names[w.path[len(dir(w.path))+1:]] = zxid, true
	parent.creates++
	m.note(w.path, zxid, wire.NodeCreated)
	m.note(dir(w.path), zxid, wire.NodeChildrenChanged)
	return n
}

func (m *model) remove(zxid int64, path string) {
	parent := m.nodes[dir(path)]
	parent.Pzxid = zxid
	delete(parent.names, path[len(dir(path))+1:])
	delete(m.nodes, path)
	m.note(path, zxid, wire.NodeDeleted)
	m.note(dir(path), zxid, wire.NodeChildrenChanged)
}

func (m *model) note(path string, zxid int64, typ wire.EventType) {
	m.changes[path] = append(m.changes[path], change{zxid, typ})
}

func (m *model) end(zxid, session int64) {
	for _, path := range slices.Sorted(maps.Keys(m.nodes)) {
		if m.nodes[path].EphemeralOwner == session {
			m.remove(zxid, path)
		}
	}
}
