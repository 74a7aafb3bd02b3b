package embedded

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// znode is one node of the tree.
type znode struct {
	data         []byte // nil is null, which clients can tell from empty
	children     set[string]
	listing      []byte // the children as replies list them; nil when they have changed
	czxid, mzxid int64
	pzxid        int64 // of the last create or delete among the children
	ctime, mtime int64 // in milliseconds since 1970
	version      int32
	creates      int32 // how many children were ever created: what sequence numbers count
	owner        int64 // the session of an ephemeral
	container    bool
}

func (n *znode) stat() jute.Stat {
	children := int32(len(n.children))
	return jute.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version,
		// Every child was created, and those that are not here any more were deleted, too.
		Cversion:       2*n.creates - children,
		EphemeralOwner: n.owner,
		DataLength:     int32(len(n.data)),
		NumChildren:    children,
	}
}

// list returns the children as a vector of strings, in random order: ZooKeeper promises none. It is kept for the next
// client, as ZooKeeper does, for whom a herd of identical listings is cheap.
func (n *znode) list() []byte {
	if n.listing == nil {
		var out jute.Encoder
		out.Texts(slices.Collect(maps.Keys(n.children)))
		n.listing = out.Bytes()
	}
	return n.listing
}

// The znodes that every server has; they cannot be deleted, and the last one is read-only.
const (
	rootPath   = "/"
	systemPath = "/zookeeper"
	quotaPath  = "/zookeeper/quota"
	configPath = "/zookeeper/config"
)

// tree is the data of a server.
type tree struct {
	nodes      map[string]*znode
	ephemerals map[int64]set[string] // paths by session
	containers set[string]
}

func newTree() *tree {
	t := &tree{
		nodes:      map[string]*znode{},
		ephemerals: map[int64]set[string]{},
		containers: set[string]{},
	}
	for _, path := range []string{rootPath, systemPath, quotaPath, configPath} {
		t.nodes[path] = &znode{data: []byte{}, children: set[string]{}}
	}
	t.nodes[rootPath].children.add("zookeeper")
	t.nodes[systemPath].children.add("quota")
	t.nodes[systemPath].children.add("config")
	return t
}

// node returns nil if there is none. The empty path is the root's other name.
func (t *tree) node(path string) *znode {
	if path == "" {
		path = rootPath
	}
	return t.nodes[path]
}

// event is something that watches can be waiting for.
type event struct {
	typ  wire.EventType
	path string
}

// change is one transaction. Its operations see each other's effects, and all of them can be taken back; nobody is
// told of the events before that is out of the question.
type change struct {
	*tree
	zxid    int64
	now     int64 // in milliseconds since 1970
	session int64
	undo    []func()
	events  []event
}

// operation is one write that a client asks for, alone or in a multi.
type operation struct {
	op      wire.Opcode
	path    string
	data    []byte
	acl     []jute.ACL
	flags   int32
	version int32
}

// outcome is what an operation that succeeded answers.
type outcome struct {
	op   wire.Opcode
	path string
	stat jute.Stat
}

func (c *change) apply(o operation) (outcome, wire.Code) {
	switch o.op {
	case wire.OpDelete:
		return outcome{op: o.op}, c.remove(o)
	case wire.OpSetData:
		return c.setData(o)
	case wire.OpCheck:
		_, code := c.expect(o)
		return outcome{op: o.op}, code
	default:
		return c.create(o)
	}
}

// rollback takes everything back.
func (c *change) rollback() {
	for i := len(c.undo) - 1; i >= 0; i-- {
		c.undo[i]()
	}
	c.undo, c.events = nil, nil
}

// The create modes, as the protocol numbers them.
const (
	flagEphemeral  = 1
	flagSequential = 2
	flagContainer  = 4
	flagTTL        = 5
	flagTTLSeq     = 6
)

func (o operation) modeKnown() bool { return 0 <= o.flags && o.flags <= flagTTLSeq }

// create follows the order of ZooKeeper's own checks, which decides on the answer where several things are wrong.
func (c *change) create(o operation) (outcome, wire.Code) {
	if !o.modeKnown() {
		return outcome{}, wire.BadArguments
	}
	switch {
	case o.flags >= flagTTL: // as of a server without extendedTypesEnabled
		return outcome{}, wire.Unimplemented
	case o.op == wire.OpCreateTTL: // a time to live without the mode for it
		return outcome{}, wire.BadArguments
	}
	parentPath, name, ok := split(o.path)
	if !ok {
		return outcome{}, wire.BadArguments
	}
	if !isWorld(o.acl) {
		return outcome{}, wire.InvalidACL
	}
	parent := c.node(parentPath)
	switch {
	case parent == nil:
		return outcome{}, wire.NoNode
	case parentPath == configPath:
		return outcome{}, wire.NoAuth
	}
	path := o.path
	if o.flags&flagSequential != 0 {
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
	n := &znode{data: o.data, czxid: c.zxid, mzxid: c.zxid, pzxid: c.zxid, ctime: c.now, mtime: c.now}
	n.container = o.op == wire.OpCreateContainer
	if o.flags&flagEphemeral != 0 && !n.container {
		n.owner = c.session
	}
	c.insert(path, parent, name, n)
	c.events = append(c.events, event{wire.NodeCreated, path}, event{wire.NodeChildrenChanged, orRoot(parentPath)})
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

// remove deletes a znode that has no children, if its version is the one that is asked for.
func (c *change) remove(o operation) wire.Code {
	parentPath, name, ok := split(o.path)
	switch o.path {
	case rootPath, systemPath, quotaPath, configPath:
		ok = false
	}
	if !ok {
		return wire.BadArguments
	}
	parent := c.node(parentPath)
	switch {
	case parent == nil:
		return wire.NoNode
	case parentPath == configPath:
		return wire.NoAuth
	}
	n := c.nodes[o.path]
	switch {
	case n == nil:
		return wire.NoNode
	case o.version != anyVersion && o.version != n.version:
		return wire.BadVersion
	case len(n.children) > 0:
		return wire.NotEmpty
	}
	pzxid := parent.pzxid
	c.unlink(o.path, parent, name, n)
	parent.pzxid = c.zxid
	c.undo = append(c.undo, func() {
		c.link(o.path, parent, name, n)
		parent.pzxid = pzxid
	})
	c.events = append(c.events, event{wire.NodeDeleted, o.path}, event{wire.NodeChildrenChanged, orRoot(parentPath)})
	return wire.OK
}

func (c *change) setData(o operation) (outcome, wire.Code) {
	if o.path == configPath {
		return outcome{}, wire.NoAuth
	}
	n, code := c.expect(o)
	if code != wire.OK {
		return outcome{}, code
	}
	before := *n
	n.data, n.mzxid, n.mtime = o.data, c.zxid, c.now
	n.version++
	c.undo = append(c.undo, func() {
		n.data, n.mzxid, n.mtime, n.version = before.data, before.mzxid, before.mtime, before.version
	})
	c.events = append(c.events, event{wire.NodeDataChanged, o.path})
	return outcome{op: o.op, stat: n.stat()}, wire.OK
}

// anyVersion matches every version.
const anyVersion = -1

// expect returns the znode if it has the version that is asked for.
func (c *change) expect(o operation) (*znode, wire.Code) {
	if !validPath(o.path) {
		return nil, wire.BadArguments
	}
	n := c.nodes[o.path]
	switch {
	case n == nil:
		return nil, wire.NoNode
	case o.version != anyVersion && o.version != n.version:
		return nil, wire.BadVersion
	default:
		return n, wire.OK
	}
}

// link and unlink keep the tree and its indices together.
func (t *tree) link(path string, parent *znode, name string, n *znode) {
	t.nodes[path] = n
	if parent.children == nil {
		parent.children = set[string]{}
	}
	parent.children.add(name)
	parent.listing = nil
	if n.container {
		t.containers.add(path)
	}
	if n.owner != 0 {
		if t.ephemerals[n.owner] == nil {
			t.ephemerals[n.owner] = set[string]{}
		}
		t.ephemerals[n.owner].add(path)
	}
}

func (t *tree) unlink(path string, parent *znode, name string, n *znode) {
	delete(t.nodes, path)
	delete(parent.children, name)
	parent.listing = nil
	delete(t.containers, path)
	if n.owner != 0 {
		delete(t.ephemerals[n.owner], path)
		if len(t.ephemerals[n.owner]) == 0 {
			delete(t.ephemerals, n.owner)
		}
	}
}

// split cuts a path at its last slash.
func split(path string) (parent, name string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 || strings.IndexByte(path, 0) >= 0 {
		return "", "", false
	}
	return path[:i], path[i+1:], true
}

func orRoot(path string) string {
	if path == "" {
		return rootPath
	}
	return path
}

// validPath tells whether ZooKeeper accepts a path for a znode.
func validPath(path string) bool {
	if path == rootPath {
		return true
	}
	if !strings.HasPrefix(path, "/") {
		return false
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return !strings.ContainsFunc(path, func(r rune) bool {
		// Java sees what lies beyond the first 65536 characters as pairs of surrogates, which are not allowed.
		return r <= 0x1f || 0x7f <= r && r <= 0x9f || 0xd800 <= r && r <= 0xf8ff || 0xfff0 <= r
	})
}

// isWorld tells whether a list lets everybody do everything, the only one that this server keeps to.
func isWorld(acl []jute.ACL) bool {
	for _, a := range acl {
		if a != (jute.ACL{Perms: jute.PermAll, Scheme: "world", ID: "anyone"}) {
			return false
		}
	}
	return len(acl) > 0
}
