package embedded

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

type znode struct {
	data         []byte // nil is null, which clients can distinguish from empty
	children     set[string]
	listing      []byte // the encoded names of the children; nil after a change
	czxid, mzxid int64
	pzxid        int64 // of the last create or delete among the children
	ctime, mtime int64 // in milliseconds since 1970
	version      int32
	creates      int32 // how many children were ever created: the next sequence number
	owner        int64 // the session of an ephemeral
	container    bool
	ttl          int64 // in milliseconds; zero without a time to live
	acl          acl
	aversion     int32 // how often acl was set
}

func (n *znode) stat() zk.Stat {
	children := int32(len(n.children))
	return zk.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version,
		// The version counts creates and deletes: two for each deleted child, and one for each present child.
		Cversion:       2*n.creates - children,
		Aversion:       n.aversion,
		EphemeralOwner: n.owner,
		DataLength:     int32(len(n.data)),
		NumChildren:    children,
	}
}

// isTransient reports whether the servers remove the znode at some time after its last child.
func (n *znode) isTransient() bool { return n.container || n.ttl > 0 }

// isOver reports whether a transient znode is to be removed. now is in milliseconds since 1970.
func (n *znode) isOver(now int64) bool {
	return len(n.children) == 0 && (n.container && n.creates > 0 || n.ttl > 0 && now-n.mtime > n.ttl)
}

// list returns the names of the children as an encoded vector. ZooKeeper guarantees no order, so the order looks random. It depends on
// the transactions alone, so that a run in virtual time can be repeated. The encoding is cached, as in ZooKeeper, where identical
// listings for a herd are cheap as well.
func (n *znode) list() []byte {
	if n.listing == nil {
		names := slices.Sorted(maps.Keys(n.children))
		swap := func(i, j int) { names[i], names[j] = names[j], names[i] }
		rand.New(rand.NewPCG(uint64(n.pzxid), 0)).Shuffle(len(names), swap) //nolint:gosec // no secret
		var out jute.Encoder
		out.Texts(names)
		n.listing = out.Bytes()
	}
	return n.listing
}

// The znodes of every server. They cannot be deleted, and configPath is read-only.
const (
	rootPath   = "/"
	systemPath = "/zookeeper"
	quotaPath  = "/zookeeper/quota"
	configPath = "/zookeeper/config"
)

func ownZnodes() []string { return []string{rootPath, systemPath, quotaPath, configPath} }

type tree struct {
	nodes      map[string]*znode
	ephemerals index[int64, string] // paths by session
	transient  set[string]
}

func newTree() *tree {
	t := &tree{nodes: map[string]*znode{}, ephemerals: index[int64, string]{}, transient: set[string]{}}
	for _, path := range ownZnodes() {
		t.nodes[path] = &znode{data: []byte{}, children: set[string]{}}
	}
	t.nodes[rootPath].children.add("zookeeper")
	t.nodes[systemPath].children.add("quota")
	t.nodes[systemPath].children.add("config")
	t.nodes[configPath].acl, t.nodes[configPath].aversion = zk.WorldACL(zk.PermRead), -1
	return t
}

// clone copies the tree for another server. The data and the lists of znodes are shared: they are never changed in place.
func (t *tree) clone() *tree {
	c := &tree{nodes: make(map[string]*znode, len(t.nodes)), ephemerals: index[int64, string]{}, transient: maps.Clone(t.transient)}
	for path, n := range t.nodes {
		own := *n
		own.children = maps.Clone(n.children)
		c.nodes[path] = &own
		if n.owner != 0 {
			c.ephemerals.add(n.owner, path)
		}
	}
	return c
}

// node returns a znode, or nil if it does not exist. The empty path is another name of the root.
func (t *tree) node(path string) *znode { return t.nodes[cmp.Or(path, rootPath)] }

type event struct {
	typ  wire.EventType
	path string
	acl  acl // of the znode: only clients that may read it are notified
}

// change is one transaction at one server. Its operations see earlier ones and are rolled back together; its events are published last.
type change struct {
	*tree
	*transaction
	undo   []func()
	events []event
}

type operation struct {
	op       wire.Opcode
	path     string
	data     []byte
	acl      acl
	validACL bool
	ttl      int64 // of OpCreateTTL, in milliseconds
	flags    int32
	version  int32
	ids      []identity // of the client
}

type outcome struct {
	op   wire.Opcode
	path string
	stat zk.Stat
}

func (c *change) apply(o operation) (outcome, wire.Code) {
	switch o.op {
	case wire.OpDelete:
		return outcome{op: o.op}, c.remove(o)
	case wire.OpSetData:
		return c.setData(o)
	case wire.OpSetACL:
		return c.setACL(o)
	case wire.OpCheck:
		_, code := c.check(o, zk.PermRead)
		return outcome{op: o.op}, code
	default:
		return c.create(o)
	}
}

// applyAll applies all operations of a multi or none. Those after the first failed one get the code RuntimeInconsistency.
func (c *change) applyAll(operations []operation) ([]outcome, []wire.Code) {
	results, codes := make([]outcome, len(operations)), slices.Repeat([]wire.Code{wire.RuntimeInconsistency}, len(operations))
	for i, o := range operations {
		if results[i], codes[i] = c.apply(o); codes[i] != wire.OK {
			for _, undo := range slices.Backward(c.undo) {
				undo()
			}
			c.undo, c.events = nil, nil
			return nil, codes
		}
	}
	return results, codes
}

// maxTTL is how many milliseconds ZooKeeper can store: about 34 years.
const maxTTL = 1<<40 - 1

func (o operation) modeKnown() bool {
	return 0 <= o.flags && o.flags <= zk.FlagPersistentSequentialWithTTL
}

func (o operation) hasTTL() bool {
	return o.flags == zk.FlagTTL || o.flags == zk.FlagPersistentSequentialWithTTL
}

// ttlFits reports whether a create has a time to live exactly if its mode demands one.
func (o operation) ttlFits() bool {
	if o.op != wire.OpCreateTTL {
		return !o.hasTTL()
	}
	return o.hasTTL() && 0 < o.ttl && o.ttl <= maxTTL
}

// create makes its checks in ZooKeeper's order, which decides on the code if several fail.
func (c *change) create(o operation) (outcome, wire.Code) {
	parentPath, name, ok := split(o.path)
	parent := c.node(parentPath)
	switch {
	case !o.modeKnown(), !o.ttlFits(), !ok:
		return outcome{}, wire.BadArguments
	case !o.validACL:
		return outcome{}, wire.InvalidACL
	case parent == nil:
		return outcome{}, wire.NoNode
	case !parent.acl.allows(zk.PermCreate, o.ids):
		return outcome{}, wire.NoAuth
	}
	path := o.path
	if o.flags&zk.FlagSequence != 0 {
		number := fmt.Sprintf("%010d", parent.creates)
		path, name = path+number, name+number
	}
	switch {
	case !validPath(path):
		return outcome{}, wire.BadArguments
	case c.node(path) != nil:
		return outcome{}, wire.NodeExists
	case parent.owner != 0:
		return outcome{}, wire.NoChildrenForEphemerals
	}
	n := &znode{data: o.data, czxid: c.zxid, mzxid: c.zxid, pzxid: c.zxid, ctime: c.now, mtime: c.now, acl: o.acl}
	n.container = o.op == wire.OpCreateContainer
	if o.op == wire.OpCreateTTL {
		n.ttl = o.ttl
	}
	if o.flags&zk.FlagEphemeral != 0 && !n.isTransient() {
		n.owner = c.session
	}
	c.insert(path, parent, name, n)
	c.publish(wire.NodeCreated, path, n, parentPath, parent)
	return outcome{op: o.op, path: path, stat: n.stat()}, wire.OK
}

func (c *change) insert(path string, parent *znode, name string, n *znode) {
	creates, pzxid := parent.creates, parent.pzxid
	c.link(path, parent, name, n)
	parent.creates++
	parent.pzxid = c.zxid
	c.undo = append(c.undo, func() {
		c.unlink(path, parent, name, n)
		parent.creates, parent.pzxid = creates, pzxid
	})
}

// publish records the events of a created or deleted znode, and of its parent.
func (c *change) publish(typ wire.EventType, path string, n *znode, parentPath string, parent *znode) {
	c.events = append(c.events, event{typ, path, n.acl}, event{wire.NodeChildrenChanged, cmp.Or(parentPath, rootPath), parent.acl})
}

func (c *change) remove(o operation) wire.Code {
	parentPath, _, ok := split(o.path)
	parent, n := c.node(parentPath), c.nodes[o.path]
	switch {
	case !ok || slices.Contains(ownZnodes(), o.path):
		return wire.BadArguments
	case parent == nil:
		return wire.NoNode
	case !parent.acl.allows(zk.PermDelete, o.ids):
		return wire.NoAuth
	case n == nil:
		return wire.NoNode
	case o.version != anyVersion && o.version != n.version:
		return wire.BadVersion
	case len(n.children) > 0:
		return wire.NotEmpty
	}
	c.cut(o.path)
	return wire.OK
}

// cut removes a znode without checks: those for clients do not apply to what the servers remove.
func (c *change) cut(path string) {
	parentPath, name, _ := split(path)
	parent, n := c.node(parentPath), c.nodes[path]
	pzxid := parent.pzxid
	c.unlink(path, parent, name, n)
	parent.pzxid = c.zxid
	c.undo = append(c.undo, func() {
		c.link(path, parent, name, n)
		parent.pzxid = pzxid
	})
	c.publish(wire.NodeDeleted, path, n, parentPath, parent)
}

func (c *change) setData(o operation) (outcome, wire.Code) {
	n, code := c.check(o, zk.PermWrite)
	if code != wire.OK {
		return outcome{}, code
	}
	before := *n
	n.data, n.mzxid, n.mtime = o.data, c.zxid, c.now
	n.version++
	c.undo = append(c.undo, func() { *n = before })
	c.events = append(c.events, event{wire.NodeDataChanged, o.path, n.acl})
	return outcome{op: o.op, stat: n.stat()}, wire.OK
}

// setACL sets a list. It is no change of the znode: no watch fires, and only the version of the list grows. A multi has no setACL, so
// that it need not be undone.
func (c *change) setACL(o operation) (outcome, wire.Code) {
	n, code := c.check(o, zk.PermAdmin)
	if code != wire.OK {
		return outcome{}, code
	}
	n.acl = o.acl
	n.aversion++
	return outcome{op: o.op, stat: n.stat()}, wire.OK
}

const anyVersion = -1

// check finds the znode of an operation that needs a permission and a version, of the list for setACL.
func (c *change) check(o operation, permission int32) (*znode, wire.Code) {
	if !validPath(o.path) {
		return nil, wire.BadArguments
	}
	if o.op == wire.OpSetACL && !o.validACL {
		return nil, wire.InvalidACL
	}
	n := c.nodes[o.path]
	if n == nil {
		return nil, wire.NoNode
	}
	version := n.version
	if o.op == wire.OpSetACL {
		version = n.aversion
	}
	switch {
	case !n.acl.allows(permission, o.ids):
		return nil, wire.NoAuth
	case o.version != anyVersion && o.version != version:
		return nil, wire.BadVersion
	default:
		return n, wire.OK
	}
}

func (t *tree) link(path string, parent *znode, name string, n *znode) {
	t.nodes[path] = n
	if parent.children == nil {
		parent.children = set[string]{}
	}
	parent.children.add(name)
	parent.listing = nil
	if n.isTransient() {
		t.transient.add(path)
	}
	if n.owner != 0 {
		t.ephemerals.add(n.owner, path)
	}
}

func (t *tree) unlink(path string, parent *znode, name string, n *znode) {
	delete(t.nodes, path)
	delete(parent.children, name)
	parent.listing = nil
	delete(t.transient, path)
	t.ephemerals.remove(n.owner, path)
}

// split splits a path at its last slash. ok is false without one, or with a zero byte.
func split(path string) (parent, name string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 || strings.IndexByte(path, 0) >= 0 {
		return "", "", false
	}
	return path[:i], path[i+1:], true
}

func validPath(path string) bool {
	if path == rootPath || !strings.HasPrefix(path, "/") {
		return path == rootPath
	}
	if slices.ContainsFunc(strings.Split(path[1:], "/"), func(name string) bool { return name == "" || name == "." || name == ".." }) {
		return false
	}
	return !strings.ContainsFunc(path, func(r rune) bool {
		// Java represents characters above 0xffff as pairs of surrogates, which are not allowed.
		return r <= 0x1f || 0x7f <= r && r <= 0x9f || 0xd800 <= r && r <= 0xf8ff || 0xfff0 <= r
	})
}
